"""Draw functions of one input: those of a prior, or of a basis."""

import numpy as np

from ..interface.functions.prior import sample_prior
from ..kernels import as_kernel
from .axes import GRID, check_ends, dress, grid, new_axes, one_column


def plot_prior(kernel, X=None, n_samples=5, ax=None, random_state=0):
    """Draw functions from a prior.

    Parameters
    ----------
    kernel : kernel of collegium or scikit-learn
    X : array-like of shape (n, 1), default=None
        Inputs; None: 400 points from −4 to 4.
    n_samples : int, default=5
    ax : matplotlib Axes, default=None
        None: a new figure.
    random_state : int, RandomState, Generator or None, default=0

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from collegium.kernels import RBF
    >>> from collegium.plots import plot_prior
    >>> ax = plot_prior(RBF(variance=1.0, length_scale=0.5))
    """
    x = grid(-4.0, 4.0) if X is None else np.sort(one_column(X, "X"), axis=0)
    samples = sample_prior(as_kernel(kernel), x, n_samples, random_state)
    ax = new_axes(ax)
    ax.plot(x[:, 0], samples, lw=1)
    dress(ax, "", "x", "f").set(xlim=(x[0, 0], x[-1, 0]))
    return ax


def plot_basis(basis, low, high, ax=None):
    """Draw the functions of a basis from low to high.

    Parameters
    ----------
    basis : callable
        X (n, 1) -> Φ (n, m), such as the objects of `collegium.bases`.
    low, high : float
    ax : matplotlib Axes, default=None

    Returns
    -------
    matplotlib Axes
    """
    if not callable(basis):
        raise ValueError(f"basis={basis!r}: give a function of X")
    x = grid(*check_ends(low, high), 2 * GRID + 1)
    Phi = np.asarray(basis(x), dtype=float)
    if Phi.ndim != 2 or Phi.shape[0] != x.shape[0]:
        raise ValueError(f"basis gave an array of shape {Phi.shape} for {x.shape[0]} rows")
    ax = new_axes(ax)
    ax.plot(x[:, 0], Phi, lw=1)
    dress(ax, "", "x", "φ").set(xlim=(x[0, 0], x[-1, 0]))
    return ax
