"""What every regressor here shares: answers in the units of y, at two levels, with bars."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..engines import single_threaded
from ..numerics import linalg
from ..rows.rows import Prediction
from .arguments import check_square
from .validation import check_queries

Array = np.ndarray
LEVELS = ("observation", "function")


class GaussianRegressor(RegressorMixin, BaseEstimator):
    """Answers from what a subclass has: `_means(X)`, `_moments(X)`, `_joint(X)`, `scaling_`,
    `_noise_scaled()` and `_prior_variance(X)`. Where it knows more levels than two, `_at(level)`
    is what has the first three.
    """

    levels = LEVELS

    def _at(self, level):
        return self

    def predict(self, X, return_std=False, return_cov=False, *, level="observation"):
        """Predict y, with the standard deviation or the covariance on request.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Queries.
        return_std, return_cov : bool
            Return (mean, std) or (mean, cov) instead of the mean; not both.
        level : {"observation", "function"}
            Of a new observation (noise included, the default) or of the function behind it.

        Returns
        -------
        mean : array of shape (n,) or (n, p)
        std : array of the same shape
        cov : array of shape (n, n) or (n, n, p)
        """
        check_is_fitted(self)
        check_level(level, self.levels)
        if return_std and return_cov:
            raise ValueError("return_std and return_cov exclude each other: ask for one of them")
        X, source = check_queries(self, X), self._at(level)
        with single_threaded():
            if return_cov:
                check_square(X.shape[0], "return_cov")
                found, covariance = source._joint(X)
                np.fill_diagonal(covariance, found.variance)  # to the last bit
                return self._mean(found.mean), self._in_units(covariance, level)
            if not return_std:
                return self._mean(source._means(X))
            found = source._moments(X)
        return self._mean(found.mean), self._std(found, level)

    def predict_interval(self, X, coverage=0.95, *, level="observation"):
        """Central interval that holds y (or the function) with probability `coverage`.

        Returns
        -------
        lower, upper : arrays of the shape of the mean
        """
        check_coverage(coverage)
        mean, std = self.predict(X, return_std=True, level=level)
        z = ndtri(0.5 + 0.5 * coverage)
        return mean - z * std, mean + z * std

    def sample_y(self, X, n_samples=1, random_state=0, *, level="observation"):
        """Draw observations (or functions) at X from the posterior, jointly.

        Returns
        -------
        samples : array of shape (n, n_samples) or (n, p, n_samples)
        """
        check_is_fitted(self)
        check_level(level, self.levels)
        rng = check_random_state(random_state)
        samples = self.scaling_.centre[:, None] + self.scaling_.scale[:, None] * self._draws(
            check_queries(self, X), n_samples, rng, level
        )
        return samples[:, 0] if self.y_ndim_ == 1 else samples

    def _draws(self, X: Array, n_samples, rng, level: str) -> Array:
        """Of scaled y, jointly  (n, p, n_samples)."""
        if not (isinstance(n_samples, Integral) and n_samples >= 1):
            raise ValueError(f"n_samples={n_samples!r}: give a positive whole number")
        check_square(X.shape[0], "sample_y")
        with single_threaded():
            found, covariance = self._at(level)._joint(X)
            if level == "observation":
                linalg.add_diagonal(covariance, self._noise_scaled())
            scale = max(self._prior_variance(X), float(covariance.diagonal().max())) or 1.0
            L, _ = linalg.cholesky(covariance, scale, nugget=linalg.JITTERS[0], overwrite=True)
            n, p = found.mean.shape
            draws = (L @ rng.standard_normal((n, p * n_samples))).reshape(n, p, n_samples)
        return found.mean[:, :, None] + draws

    def _mean(self, scaled: Array) -> Array:
        mean = self.scaling_.mean(scaled)
        return mean[:, 0] if self.y_ndim_ == 1 else mean

    def _std(self, found: Prediction, level: str) -> Array:
        noise = self._noise_scaled() if level == "observation" else 0.0
        std = np.sqrt(found.variance + noise)[:, None] * self.scaling_.scale
        return std[:, 0] if self.y_ndim_ == 1 else std

    def _in_units(self, covariance: Array, level: str) -> Array:
        if level == "observation":
            linalg.add_diagonal(covariance, self._noise_scaled())
        covariance = covariance[:, :, None] * self.scaling_.scale**2
        return covariance[:, :, 0] if self.y_ndim_ == 1 else covariance

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def check_coverage(coverage) -> None:
    if not (isinstance(coverage, Real) and 0.0 < coverage < 1.0):
        raise ValueError(f"coverage={coverage!r}: give a probability between 0 and 1")


def check_level(level, levels=LEVELS) -> None:
    if not isinstance(level, str) or level not in levels:
        raise ValueError(f"level={level!r}: give one of {levels}")
