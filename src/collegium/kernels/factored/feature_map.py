"""Kernels of features of the user's own: a linear model, seen as a Gaussian process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np

from .base import Factored

Array = np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class FeatureMap(Factored, listed=False):
    """variance · φ(x)ᵀSφ(x′): f(x) = φ(x)ᵀw with weights w ~ N(0, variance · S).

    Fixed basis functions and Gaussian processes are two forms of one model (Tresp 2000, eqs
    11–13): with this kernel every estimator is a Bayesian linear regression on φ, and a committee
    of any chunks is exact as soon as it has as many independent query points as there are
    features. Learning changes the variance alone.

    Parameters
    ----------
    function : callable
        φ: rows X (n, d) -> features (n, m), finite. Give a dataclass with `__call__` if the model
        is to be stored in a file, which `collegium.load(path, types=[…])` then reads; a plain
        function or a lambda cannot be stored.
    covariance : array of shape (m,) or (m, m), default=None
        S, the prior covariance of the weights, or its diagonal. None: the identity.
    variance : float, default=1.0

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import CommitteeRegressor
    >>> from collegium.kernels import FeatureMap
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> y = 1 + 2 * X[:, 0] ** 2
    >>> squares = FeatureMap(lambda X: np.column_stack([np.ones(len(X)), X, X**2]))
    >>> model = CommitteeRegressor(squares, noise=1e-6, learn=False).fit(X, y)
    >>> model.predict([[0.5]]).round(3)
    array([1.5])
    """

    kinds = {"variance": "variance"}

    function: Callable[[Array], Array]
    covariance: Any = None  # becomes an array, where given
    variance: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.function):
            raise ValueError(f"function of FeatureMap must be callable, not {self.function!r}")
        if self.covariance is None:
            return
        try:
            S = np.array(self.covariance, dtype=float)
        except (TypeError, ValueError):
            S = np.array(np.nan)
        square = S.ndim == 2 and S.shape[0] == S.shape[1] and np.allclose(S, S.T, rtol=1e-9)
        if not (S.size and (S.ndim == 1 or square) and np.isfinite(S).all()):
            raise ValueError(
                "covariance of FeatureMap: give a finite array (m,) of variances, or a symmetric "
                "array (m, m)"
            )
        S.flags.writeable = False
        object.__setattr__(self, "covariance", S)
        self._root()

    def factor(self, X: Array) -> Array:
        """√variance · φ(x)R, S = RRᵀ  (n, m)."""
        X = np.ascontiguousarray(X, dtype=float)
        Phi = np.asarray(self.function(X), dtype=float)
        if Phi.ndim != 2 or Phi.shape[0] != X.shape[0] or not np.isfinite(Phi).all():
            raise ValueError(
                f"function of FeatureMap gave an array of shape {Phi.shape} for {X.shape[0]} rows: "
                "give finite features, one row per row of X"
            )
        if self.covariance is not None and len(self.covariance) != Phi.shape[1]:
            raise ValueError(
                f"covariance of FeatureMap is for {len(self.covariance)} features, function gave "
                f"{Phi.shape[1]}"
            )
        R = self._root()
        weighted = Phi if R is None else Phi * R if R.ndim == 1 else Phi @ R
        return np.sqrt(self.variance) * weighted

    def _root(self) -> Array | None:
        if self.covariance is None:
            return None
        return _root(self.covariance.tobytes(), self.covariance.shape)

    def for_width(self, d: int) -> Self:
        return self


@lru_cache(maxsize=16)
def _root(content: bytes, shape: tuple[int, ...]) -> Array:
    """R with S = RRᵀ, or its diagonal, for a symmetric S without negative eigenvalues."""
    S = np.frombuffer(content).reshape(shape)
    values, Q = (S, None) if S.ndim == 1 else np.linalg.eigh(S)
    if values.min() < -1e-9 * np.abs(values).max():
        raise ValueError("covariance of FeatureMap has negative eigenvalues: it is no covariance")
    root = np.sqrt(np.maximum(values, 0.0))
    return root if Q is None else Q * root
