"""What every regressor shares: one path from queries to answers in the units of y."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..numerics.threads import single_threaded
from .answers import LEVELS, Answers
from .arguments import check_coverage, check_draws, check_level, check_square
from .estimator import Estimator
from .validation import check_exposure, check_queries

Array = np.ndarray


class Regressor(RegressorMixin, Estimator):
    """Answers from `model_`: a record with `predictor()`, `likelihoods`, `units` and `kernel`."""

    levels: tuple[str, ...] = LEVELS

    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        level: str = "observation",
        exposure: ArrayLike | None = None,
    ) -> Any:
        """Predict y, with the standard deviation or the covariance on request.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Queries.
        return_std, return_cov : bool
            Return (mean, std) or (mean, cov) instead of the mean; not both.
        level : {"observation", "function"}
            Of a new observation (noise included, the default) or of the function behind it (of
            counts: their rate). `RegressionFilter` also knows "model": the function's projection
            onto the basis.
        exposure : float or array-like of shape (n,), default=None
            Of counts: predict those of so much exposure; None: of one each, with a warning where
            the model was fitted with others.

        Returns
        -------
        mean : array of shape (n,) or (n, p)
        std : array of the same shape
        cov : array of shape (n, n) or (n, n, p)
        """
        if return_std and return_cov:
            raise ValueError("return_std and return_cov exclude each other: ask for one of them")
        answers = self._answers(X, level, exposure)
        with single_threaded():
            if return_cov:
                check_square(answers.X.shape[0], "return_cov")
                mean, covariance = answers.covariance(level)
                return self._shaped(mean), self._shaped(covariance)
            if not return_std:
                return self._shaped(answers.mean(level))
            mean, std = answers.moments(level)
        return self._shaped(mean), self._shaped(std)

    def predict_interval(
        self,
        X: ArrayLike,
        coverage: float = 0.95,
        *,
        level: str = "observation",
        exposure: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Central interval that holds y (or the function) with probability `coverage`.

        Of counts: whole numbers, of at least that probability with "poisson"; with a likelihood
        of your own by its `quantile`.

        Parameters
        ----------
        X, level, exposure : as in `predict`
        coverage : float, default=0.95

        Returns
        -------
        lower, upper : arrays of the shape of the mean
        """
        check_coverage(coverage)
        answers = self._answers(X, level, exposure)
        with single_threaded():
            lower, upper = answers.interval(coverage, level)
        return self._shaped(lower), self._shaped(upper)

    def sample_y(
        self,
        X: ArrayLike,
        n_samples: int = 1,
        random_state: Any = 0,
        *,
        level: str = "observation",
        exposure: ArrayLike | None = None,
    ) -> Array:
        """Draw observations (or functions; of counts: rates) at X from the posterior, jointly.

        Parameters
        ----------
        X, level, exposure : as in `predict`
        n_samples : int, default=1
        random_state : int, RandomState or None

        Returns
        -------
        samples : array of shape (n, n_samples) or (n, p, n_samples)
        """
        answers = self._answers(X, level, exposure)
        n = answers.X.shape[0]
        check_square(n, "sample_y")
        n_samples = check_draws(n_samples, n, self.model_.scaling.scale.size)
        rng = check_random_state(random_state)
        with single_threaded():
            draws = answers.draws(n_samples, rng, level)
        return draws[:, 0] if self.y_ndim_ == 1 else draws

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> float:
        """R² of the means.

        Parameters
        ----------
        X, exposure : as in `predict`
        y : array-like of shape (n,) or (n, p)
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        score : float
        """
        from sklearn.metrics import r2_score  # slow to load

        mean = self.predict(X, exposure=exposure)
        return float(r2_score(y, mean, sample_weight=sample_weight))

    def _answers(self, X, level, exposure) -> Answers:
        """What the model knows at queries; refuses what it does not."""
        check_is_fitted(self)
        check_level(level, self.levels)
        X, model = check_queries(self, X), self.model_
        e = check_exposure(exposure, X.shape[0], model.likelihoods[0], used=model.units.exposed)
        return self._answers_at(X, model.units.shift + np.log(e))

    def _answers_at(self, X: Array, shift: Array) -> Any:
        """The same for checked queries; `shift` is added to latent functions."""
        model = self.model_
        return Answers(
            X, self._predictor(), model.likelihoods, model.units, self._engine(), shift,
            self._prior_mean(X), model.kernel,
        )  # fmt: skip

    def _prior_mean(self, X: Array) -> Array | float:
        """What is added to answers, in the units of y: a number or (n, p)."""
        return 0.0

    def _shaped(self, found: Array) -> Array:
        """Without the axis of outputs, where y came without one."""
        return found[..., 0] if self.y_ndim_ == 1 else found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
