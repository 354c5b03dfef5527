"""The answers of a regressor whose likelihood may not be Gaussian."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..engines import single_threaded
from ..interface.arguments import check_square
from ..interface.fitted import FittedCommittee
from ..interface.regressor import LEVELS, check_coverage, check_level
from ..interface.validation import check_queries
from ..likelihoods.base import Scalar
from ..likelihoods.poisson import Poisson
from ..rows.rows import Prediction
from .latent_regression import LIKELIHOODS, LatentFit, check_exposure

Array = np.ndarray
OBSERVATION = LEVELS[0]


class LatentAnswers(FittedCommittee):
    """Answers by `built_`: a committee with Gaussian noise, or a `LatentFit`."""

    def predict(self, X, return_std=False, return_cov=False, *, level="observation", exposure=None):
        """Predict y, with the standard deviation or the covariance on request.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Queries.
        return_std, return_cov : bool
            Return (mean, std) or (mean, cov) instead of the mean; not both.
        level : {"observation", "function"}
            Of a new observation (noise included, the default) or of the function behind it (of
            counts: their rate).
        exposure : float or array-like of shape (n,), default=None
            Of counts: predict those of so much exposure; None: of one each, which is warned of
            where the model was fitted with others.

        Returns
        -------
        mean : array of shape (n,) or (n, p)
        std : array of the same shape
        cov : array of shape (n, n) or (n, n, p)
        """
        fit = self._latent(exposure)
        if fit is None:
            return super().predict(X, return_std, return_cov, level=level)
        check_level(level)
        if return_std and return_cov:
            raise ValueError("return_std and return_cov exclude each other: ask for one of them")
        X, shift = self._queries(X, exposure, fit)
        tell = fit.likelihood.predict if level == OBSERVATION else fit.likelihood.function
        scale = float(fit.scaling.scale[0])
        with single_threaded():
            if return_cov:
                check_square(X.shape[0], "return_cov")
                found, C = self._joint(X)
                m, v = found.mean[:, 0] + shift, found.variance
                np.fill_diagonal(C, v)  # to the last bit
                mean, variance = tell(m, v)
                covariance = fit.likelihood.covariance(m, v, C)
                np.fill_diagonal(covariance, variance)
                return self._mean(mean[:, None]), scale**2 * covariance
            if fit.likelihood.identity and not return_std:
                return self._mean(self._means(X))
            found = self._moments(X)
            mean, variance = tell(found.mean[:, 0] + shift, found.variance)
        mean = self._mean(mean[:, None])
        return (mean, scale * np.sqrt(variance)) if return_std else mean

    def predict_interval(self, X, coverage=0.95, *, level="observation", exposure=None):
        """Central interval that holds y (or the function) with probability `coverage`.

        Of counts: whole numbers, with "poisson" of at least that probability (with a likelihood of
        your own by its `quantile`, by default that of negative binomials with its moments).

        Parameters
        ----------
        X, level, exposure : as in `predict`
        coverage : float, default=0.95

        Returns
        -------
        lower, upper : arrays of the shape of the mean
        """
        fit = self._latent(exposure)
        if fit is None:
            return super().predict_interval(X, coverage, level=level)
        check_coverage(coverage)
        check_level(level)
        X, shift = self._queries(X, exposure, fit)
        tail, own = 0.5 - 0.5 * coverage, fit.likelihood
        with single_threaded():
            found = self._moments(X)
            m, v = found.mean[:, 0] + shift, found.variance
            if level == OBSERVATION:
                ends = own.quantile(tail, m, v), own.quantile(1.0 - tail, m, v)
            else:
                ends = tuple(own.mean(m + z * np.sqrt(v)) for z in (ndtri(tail), -ndtri(tail)))
        lower, upper = (self._mean(end[:, None]) for end in ends)
        return lower, upper

    def sample_y(self, X, n_samples=1, random_state=0, *, level="observation", exposure=None):
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
        fit = self._latent(exposure)
        if fit is None:
            return super().sample_y(X, n_samples, random_state, level=level)
        check_level(level)
        X, shift = self._queries(X, exposure, fit)
        rng, own = check_random_state(random_state), fit.likelihood
        f = self._draws(X, n_samples, rng, "function")[:, 0] + shift[:, None]
        return self.scaling_.mean(own.draw(f, rng) if level == OBSERVATION else own.mean(f))

    def score(self, X, y, sample_weight=None, exposure=None):
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

        own = {} if exposure is None else {"exposure": exposure}
        return float(r2_score(y, self.predict(X, **own), sample_weight=sample_weight))

    # -- of the latent function -----------------------------------------------------------------

    def _latent(self, exposure=None) -> LatentFit | None:
        check_is_fitted(self)
        if isinstance(self.built_, LatentFit):
            return self.built_
        check_exposure(exposure, 0, None)
        return None

    def _queries(self, X, exposure, fit: LatentFit) -> tuple[Array, Array]:
        """X, and what an exposure adds to a log rate."""
        X = check_queries(self, X)
        if exposure is None and fit.units.exposed:
            warnings.warn(
                "the counts came with exposures, and these queries without: their exposure is "
                "taken to be one; give exposure=1.0 if that is meant",
                stacklevel=3,
            )
        e = check_exposure(exposure, X.shape[0], fit.likelihood)
        return X, fit.units.log_rate + np.log(e)

    def _means(self, X: Array) -> Array:
        found = super()._means(X)
        return found[0] if isinstance(found, list) else found

    def _moments(self, X: Array) -> Prediction:
        found = super()._moments(X)
        return found[0] if isinstance(found, list) else found

    def _joint(self, X: Array) -> tuple[Prediction, Array]:
        found = super()._joint(X)
        return found[0] if isinstance(found, list) else found

    # -- what was found -------------------------------------------------------------------------

    @property
    def noise_(self) -> float | Array | None:  # type: ignore[override]
        """The noise variance in the units of y; one an output where these differ in scale, None
        where the likelihood has no noise."""
        fit = self._latent()
        if fit is None:
            return super().noise_
        noise = getattr(fit.likelihood, "noise", None)
        return None if noise is None else noise * float(self.scaling_.scale[0] ** 2)

    @property
    def likelihood_(self) -> Scalar:
        """The likelihood used, where that is not Gaussian noise, in the units of y."""
        fit = self._latent()
        if fit is None:
            raise AttributeError("likelihood_ is of likelihoods other than 'gaussian': see noise_")
        own: dict[str, Any] = {} if self.noise_ is None else {"noise": self.noise_}
        return replace(fit.likelihood, **own)

    @property
    def log_evidence_(self) -> float:
        """log p(y | X) in the units of y, summed over outputs."""
        fit = self._latent()
        if fit is None:
            return super().log_evidence_
        with single_threaded():
            scaled = fit.latent.log_evidence()
        return float(scaled - fit.latent.total_weight * np.log(self.scaling_.scale[0]))

    @property
    def n_sweeps_(self) -> int:
        """How often chunks were heard: with Gaussian noise once, which is exact."""
        fit = self._latent()
        return 1 if fit is None else fit.latent.sweeps

    @property
    def change_(self) -> float:
        """By how much messages moved in the last sweep."""
        fit = self._latent()
        return 0.0 if fit is None else fit.latent.change

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        asked = self.likelihood
        if isinstance(asked, str):
            asked = LIKELIHOODS.get(asked)
        tags.target_tags.multi_output = asked is None
        tags.target_tags.positive_only = isinstance(asked, Poisson)
        return tags
