"""Degrees of freedom: how many query points or anchors a committee wants (Tresp 2000, sec. 5)."""

import numpy as np
from sklearn.utils import check_array

from .interface.validation import generator
from .kernels import as_kernel
from .learning import dof as _core
from .numerics.threads import single_threaded

__all__ = ["effective_dof", "estimated_dof", "numerical_rank"]


def effective_dof(kernel, noise, X):
    """P_eff = trace K(K + Ψ)⁻¹, with Ψ = σ²I Σ λ/(λ + σ²): what the rows can tell apart.

    Parameters
    ----------
    kernel : kernel of collegium or scikit-learn
    noise : float or array of shape (n,)
        Noise variance, of all rows or of each.
    X : array-like of shape (n, d)

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from collegium.dof import effective_dof
    >>> from collegium.kernels import RBF
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> round(effective_dof(RBF(1.0, 0.3), 0.01, X), 1)
    6.6
    """
    kernel, X = _checked(kernel, X)
    noise = _variance(noise, "noise", X.shape[0])
    with single_threaded():
        return _core.effective_dof(kernel, noise, X)


def estimated_dof(kernel, noise, X, sample_weight=None, *, sample=1000, random_state=0):
    """P_eff of many rows from a sample of them; a lower bound where it is near `sample`.

    Parameters
    ----------
    kernel, noise, X : as in `effective_dof`, one noise for all rows
    sample_weight : array-like of shape (n,), default=None
        A weight w means w equal rows.
    sample : int, default=1000
        Rows to look at.
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
        return _core.estimated_dof(kernel, noise, X, w, generator(random_state), sample)


def numerical_rank(kernel, X):
    """Rank of K(X, X) with tolerance n ‖K‖ ε: the dimension of the functions it can make.

    Parameters
    ----------
    kernel, X : as in `effective_dof`

    Returns
    -------
    int
    """
    return _core.numerical_rank(*_checked(kernel, X))


def _checked(kernel, X):
    X = check_array(X, dtype=np.float64, input_name="X")
    return as_kernel(kernel).for_width(X.shape[1]), X


def _variance(noise, name, n):
    values = np.asarray(noise, dtype=float)
    if values.shape not in ((), (n,)) or not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError(f"{name}={noise!r}: give a variance of at least 0, or one a row")
    return values
