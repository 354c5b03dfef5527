"""Where anchors go, and how many are enough.

Rules: "random", "kmeans" (centres), "sgma" (Smola & Schölkopf 2000), "postapp" (Smola & Bartlett
2001; it looks at the targets) and "pivoted-cholesky" (Burt et al. 2020).
"""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from .interface.validation import generator
from .kernels import as_kernel
from .learning.anchors import RULES, Selection, Stop, measured
from .numerics.threads import single_threaded
from .rows.rows import Rows

__all__ = ["Selection", "select"]


def select(
    X,
    y=None,
    *,
    kernel,
    noise=None,
    rule="sgma",
    n_anchors=None,
    share=0.0,
    gap=0.0,
    sample_weight=None,
    random_state=None,
):
    """Choose anchors among (or between) the rows of X, and tell what each brings.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,) or (n, p), default=None
        Targets, centred; "postapp" needs them.
    kernel : kernel of collegium or scikit-learn
    noise : float, default=None
        Noise variance; "postapp" needs it.
    rule : {"sgma", "postapp", "pivoted-cholesky", "kmeans", "random"}
    n_anchors : int, default=None
        At most so many; None: as many as it takes to reach `share` or `gap`.
    share : float, default=0.0
        Stop where so little of the total is left: of Σ var f(xᵢ), or for "postapp" of ½Σ y².
    gap : float, default=0.0
        "postapp": stop where the log posterior is so near to its dual bound (relative).
    sample_weight : array-like of shape (n,), default=None
        For "postapp"; the other rules look at inputs alone.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    Selection
        `Z`, the anchors in the order taken; `index`, their rows (none for "kmeans"); `gains`,
        what each brought; `remaining`, the share of the total left after each: a curve to plot,
        which says how many anchors are enough.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium.kernels import RBF
    >>> from collegium.selection import select
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(500, 1))
    >>> chosen = select(X, kernel=RBF(1.0, 0.8), rule="sgma", share=0.001, random_state=0)
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
        raise ValueError("gap means something with rule='postapp' only")
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
    stop = Stop(min(n_anchors or X.shape[0], X.shape[0]), float(share), float(gap))
    kernel = as_kernel(kernel).for_width(X.shape[1])
    with single_threaded():
        chosen = RULES[rule](kernel, float(noise or 0.0), rows, stop, generator(random_state))
        return chosen if chosen.total else measured(kernel, X, chosen)
