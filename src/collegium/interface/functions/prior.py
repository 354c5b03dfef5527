"""Draw functions from a prior."""

import numpy as np
from sklearn.utils import check_array

from ...kernels import Filtered, as_kernel
from ...numerics.threads import single_threaded
from ..checks.arguments import check_draws, check_square
from ..checks.rows import generator


def sample_prior(kernel, X, n_samples=5, random_state=0, mean=None):
    """Draw functions f ~ GP(mean, kernel) at the rows of X, jointly.

    f = Lz with LLᵀ = K(X, X) and z ~ N(0, I); for a `Filtered` kernel white noise is passed
    through the filter (Zhu & Rohwer 1995, eq. 3.8), for any number of rows.

    Parameters
    ----------
    kernel : kernel of collegium or scikit-learn
    X : array-like of shape (n, d)
    n_samples : int, default=5
    random_state : int, RandomState, Generator or None, default=0
    mean : callable X -> (n,), array-like of shape (n,), float or None, default=None
        The prior mean; None: zero.

    Returns
    -------
    array of shape (n, n_samples)

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import sample_prior
    >>> from collegium.kernels import Matern12
    >>> X = np.linspace(-4, 4, 200)[:, None]
    >>> sample_prior(Matern12(variance=1.0, length_scale=0.5), X, n_samples=3).shape
    (200, 3)
    """
    X = check_array(X, dtype=np.float64, input_name="X")
    n_samples = check_draws(n_samples, X.shape[0])
    kernel = as_kernel(kernel).for_width(X.shape[1])
    centre = _mean_at(mean, X)
    rng = generator(random_state)
    if not isinstance(kernel, Filtered):
        check_square(X.shape[0], "sample_prior")
    with single_threaded():
        return centre + kernel.sample(X, n_samples, rng)


def _mean_at(mean, X):
    """Return the prior mean as a column  (n, 1) or (1, 1)."""
    given = mean(X) if callable(mean) else 0.0 if mean is None else mean
    try:
        values = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.shape not in ((), (X.shape[0],)) or not np.isfinite(values).all():
        raise ValueError(
            f"mean={mean!r}: give a number, {X.shape[0]} finite numbers (one per row of X), or a "
            "function of X that returns them"
        )
    return values.reshape(-1, 1)
