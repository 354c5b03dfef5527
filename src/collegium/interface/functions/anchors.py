"""Choose anchors, and estimate how many are enough: degrees of freedom (Tresp 2000, sec. 5)."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from ...kernels import as_kernel
from ...learning.anchors import RULES, Stop, described, measured
from ...learning.dof import exact_dof, kernel_rank, matching_dof, sampled_dof
from ...learning.tuning import TUNING
from ...numerics.threads import single_threaded
from ...rows.rows import Rows
from ..checks.arguments import pool_asked
from ..checks.rows import generator


def select_anchors(
    X,
    y=None,
    *,
    kernel,
    noise=None,
    rule="sgma",
    n_anchors=None,
    share=0.0,
    gap=0.0,
    candidates="auto",
    picks="auto",
    sample_weight=None,
    random_state=None,
):
    """Choose anchors among (or between) the rows of X, and report the gain of each.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,) or (n, p), default=None
        Targets, centred; "postapp" needs them.
    kernel : kernel of collegium or scikit-learn
    noise : float, default=None
        Noise variance; "postapp" needs it.
    rule : str, default="sgma"
        RULES
    n_anchors : int, default=None
        The largest number of anchors; None: as many as it takes to reach `share` or `gap`.
    share : float, default=0.0
        Stop when this share of the total is left: of Σ var f(xᵢ), or for "postapp" of ½Σ y².
    gap : float, default=0.0
        "postapp": stop when the log posterior is this close to its dual bound (relative).
    candidates, picks : int or "auto", default="auto"
        "sgma" and "postapp": random rows that are drawn at a time, and anchors that are taken of
        them. "auto": 118 and 4, which is faster and hardly less accurate than the published 59
        and 1.
    sample_weight : array-like of shape (n,), default=None
        For "postapp"; the other rules use the inputs alone.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    Selection
        `Z`, the anchors in the order taken; `index`, their rows (empty for "kmeans"); `gains`,
        the gain of each; `remaining`, the share of the total left after each: plot it to see how
        many anchors are enough; `gap`, for "postapp" the relative distance of the log posterior
        from its dual bound, otherwise NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import select_anchors
    >>> from collegium.kernels import RBF
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(500, 1))
    >>> chosen = select_anchors(X, kernel=RBF(1.0, 0.8), rule="sgma", share=0.001, random_state=0)
    >>> bool(chosen.remaining[-1] <= 0.001), bool(5 < len(chosen.Z) < 20)
    (True, True)
    """
    X = check_array(X, dtype=np.float64, input_name="X")
    if not isinstance(rule, str) or rule not in RULES:
        raise ValueError(f"rule={rule!r}: give one of {tuple(RULES)}")
    if rule == "postapp" and (y is None or noise is None):
        raise ValueError("rule='postapp' needs y and noise")
    for name, value in (("share", share), ("gap", gap), ("noise", 0.0 if noise is None else noise)):
        if not (isinstance(value, Real) and np.isfinite(value) and value >= 0):
            raise ValueError(f"{name}={value!r}: give a number of at least 0")
    if gap and rule != "postapp":
        raise ValueError("gap is for rule='postapp' only")
    if n_anchors is None and not (share or gap):
        raise ValueError("give n_anchors, share or gap: when is it enough?")
    if n_anchors is not None and not (isinstance(n_anchors, Integral) and n_anchors >= 1):
        raise ValueError(f"n_anchors={n_anchors!r}: give a whole number of at least 1")
    y = np.zeros(X.shape[0]) if y is None else np.asarray(y, dtype=float)
    w = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    check_consistent_length(X, y, w)
    if not (np.isfinite(y).all() and np.isfinite(w).all() and (w > 0).all()):
        raise ValueError("y must be finite, sample_weight finite and positive")
    rows = Rows(X, y.reshape(X.shape[0], -1), w)
    pool = pool_asked(rule, candidates, picks)
    stop = Stop(min(n_anchors or X.shape[0], X.shape[0]), float(share), float(gap), pool)
    kernel = as_kernel(kernel).for_width(X.shape[1])
    with single_threaded():
        chosen = RULES[rule](kernel, float(noise or 0.0), rows, stop, generator(random_state))
        return chosen if chosen.total else measured(kernel, X, chosen)


if select_anchors.__doc__:
    select_anchors.__doc__ = select_anchors.__doc__.replace("RULES", described(indent=8))


def effective_dof(kernel, noise, X):
    """P_eff = trace K(K + Ψ)⁻¹; Σ λ/(λ + σ²) over the eigenvalues λ of K where Ψ = σ²I.

    Parameters
    ----------
    kernel : kernel of collegium or scikit-learn
    noise : float or array of shape (n,)
        Noise variance, one for all rows or one per row.
    X : array-like of shape (n, d)

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import effective_dof
    >>> from collegium.kernels import RBF
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> round(effective_dof(RBF(1.0, 0.3), 0.01, X), 1)
    6.6
    """
    kernel, X = _checked(kernel, X)
    noise = _variance(noise, "noise", X.shape[0])
    with single_threaded():
        return exact_dof(kernel, noise, X)


def estimated_dof(
    kernel, noise, X, sample_weight=None, *, sample=TUNING.dof_sample, random_state=0
):
    """Estimate P_eff of many rows from a sample; a lower bound if the result is near `sample`.

    Parameters
    ----------
    kernel, noise, X : as in `effective_dof`, one noise for all rows
    sample_weight : array-like of shape (n,), default=None
        A weight w counts as w equal rows.
    sample : int, default=1000
        Number of rows in the sample.
    random_state : int, RandomState, Generator or None, default=0

    Returns
    -------
    float
    """
    kernel, X = _checked(kernel, X)
    noise = float(_variance(noise, "noise", 0))
    w = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if w.shape != (X.shape[0],) or not (np.isfinite(w).all() and (w > 0).all()):
        raise ValueError(f"sample_weight must be {X.shape[0]} positive numbers")
    with single_threaded():
        return sampled_dof(kernel, noise, X, w, generator(random_state), sample)


def match_dof(kernel, noise, X, dof, *, sample=TUNING.dof_sample, random_state=0):
    """Stretch the length scales of a kernel by one factor, so that P_eff of the rows is `dof`.

    With `dof` the number of query points a committee can represent what the rows show: Tresp
    (2000, sec. 8) chooses γ so where there are many rows and few query points.

    Parameters
    ----------
    kernel, noise, X : as in `effective_dof`, one noise for all rows
    dof : float
        P_eff to be reached, above 0 and below the number of rows.
    sample, random_state : as in `estimated_dof`

    Returns
    -------
    Kernel
        Of collegium; length scales that are fixed stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import effective_dof, match_dof
    >>> from collegium.kernels import RBF
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    >>> wide = match_dof(RBF(1.0, 0.2), 0.01, X, dof=30)
    >>> round(effective_dof(wide, 0.01, X), 1), bool(wide.length_scale[0] > 0.2)
    (30.0, True)
    """
    kernel, X = _checked(kernel, X)
    noise = float(_variance(noise, "noise", 0))
    if not (isinstance(dof, Real) and 0.0 < dof < X.shape[0]):
        raise ValueError(f"dof={dof!r}: give a number above 0 and below the {X.shape[0]} rows")
    if not any(kind == "length" for kind, _ in kernel.labels):
        raise ValueError(f"kernel={kernel!r} has no length scale that may change")
    state = generator(random_state).integers(2**31)
    w = np.ones(X.shape[0])

    def found(stretched):
        return sampled_dof(stretched, noise, X, w, np.random.default_rng(state), sample)

    with single_threaded():
        matched = matching_dof(kernel, found, float(dof))
    if matched is None:
        raise ValueError(
            f"dof={dof!r} is beyond what length scales of {kernel!r} reach: give another dof or "
            "noise, or a larger sample"
        )
    return matched


def numerical_rank(kernel, X):
    """Rank of K(X, X) with tolerance n ‖K‖ ε: the dimension of its column space.

    Parameters
    ----------
    kernel, X : as in `effective_dof`

    Returns
    -------
    int
    """
    return kernel_rank(*_checked(kernel, X))


def _checked(kernel, X):
    X = check_array(X, dtype=np.float64, input_name="X")
    return as_kernel(kernel).for_width(X.shape[1]), X


def _variance(noise, name, n):
    values = np.asarray(noise, dtype=float)
    if values.shape not in ((), (n,)) or not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError(f"{name}={noise!r}: give a variance of at least 0, or one per row")
    return values
