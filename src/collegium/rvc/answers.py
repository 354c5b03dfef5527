"""What fitted local experts answer, and what was found of them."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..engines import single_threaded
from ..interface.arguments import check_square
from ..interface.regressor import GaussianRegressor, check_level
from ..interface.validation import check_queries
from ..rows.scaling import Scaling
from .committee import Answer
from .stream import RVCStream

Array = np.ndarray


class LocalAnswers(GaussianRegressor):
    """`stream_` is an RVCStream; noise and bars are those of each query."""

    def predict(self, X, return_std=False, return_cov=False, *, level="observation"):
        """Predict y, with the standard deviation or the covariance on request.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Queries.
        return_std, return_cov : bool
            Return (mean, std) or (mean, cov) instead of the mean; not both. Answers are as
            correlated as the experts' lines that they are made of.
        level : {"observation", "function"}
            Of a new observation (noise included, the default) or of the function behind it. The
            latter includes how lines miss it away from their centres, and is rather too wide.

        Returns
        -------
        mean : array of shape (n,) or (n, p)
        std : array of the same shape
        cov : array of shape (n, n) or (n, n, p)
        """
        check_is_fitted(self)
        check_level(level)
        if return_std and return_cov:
            raise ValueError("return_std and return_cov exclude each other: ask for one of them")
        X = check_queries(self, X)
        if return_cov:
            check_square(X.shape[0], "return_cov")
        with single_threaded():
            answers = self.stream_.answers(X)
        mean = self._mean(np.column_stack([answer.mean for answer in answers]))
        if not (return_std or return_cov):
            return mean
        scale = self.scaling_.scale
        if return_std:
            variance = np.column_stack([_variance(answer, level) for answer in answers])
            return mean, self._shaped(np.sqrt(variance) * scale)
        covariances = self._covariances(X, answers, level)
        return mean, self._shaped(np.stack(covariances, axis=-1) * scale**2)

    def predict_gradient(self, X, return_std=False):
        """The slopes of the function at X: the experts' coefficients, weighed as in `predict`.

        Not the derivative of `predict` to the last digit: weights have slopes of their own.

        Parameters
        ----------
        X : array-like of shape (n, d)
        return_std : bool, default=False

        Returns
        -------
        gradient : array of shape (n, d) or (n, d, p)
        std : array of the same shape, if asked for
        """
        check_is_fitted(self)
        X = check_queries(self, X)
        with single_threaded():
            answers = self.stream_.answers(X)
        units = self.scaling_.scale / self.stream_.inputs.scale[:, None]
        slopes = np.stack([answer.slopes for answer in answers], axis=-1) * units
        if not return_std:
            return self._shaped(slopes)
        spread = np.stack([answer.slope_variance for answer in answers], axis=-1)
        return self._shaped(slopes), self._shaped(np.sqrt(spread) * units)

    def sample_y(self, X, n_samples=1, random_state=0, *, level="observation"):
        """Draw observations (or functions) at X, jointly.

        Returns
        -------
        samples : array of shape (n, n_samples) or (n, p, n_samples)
        """
        mean, covariance = self.predict(X, return_cov=True, level=level)
        rng = check_random_state(random_state)
        if not (isinstance(n_samples, (int, np.integer)) and n_samples >= 1):
            raise ValueError(f"n_samples={n_samples!r}: give a positive whole number")
        mean = mean.reshape(mean.shape[0], -1)
        covariance = covariance.reshape(*covariance.shape[:2], -1)
        draws = np.stack(
            [
                _draw(rng, m, C, n_samples)
                for m, C in zip(mean.T, np.moveaxis(covariance, -1, 0), strict=True)
            ],
            axis=1,
        )
        return draws[:, 0] if self.y_ndim_ == 1 else draws

    def _foretell(self, X: Array) -> tuple[Array, Array]:
        """Mean and standard deviation (p,) at one row."""
        found = self.stream_.answers(X)
        scale = self.scaling_.scale
        mean = self.scaling_.mean(np.array([answer.mean[0] for answer in found]))
        return mean, np.sqrt([answer.variance[0] for answer in found]) * scale

    def _covariances(self, X: Array, answers: list[Answer], level: str) -> list[Array]:
        scaled, found = self.stream_.inputs.forward(X), []
        for committee, answer in zip(self.stream_.committees, answers, strict=True):
            sd = np.sqrt(np.maximum(answer.variance - answer.noise, 0.0))
            C = committee.correlation(scaled) * np.outer(sd, sd)
            np.fill_diagonal(C, _variance(answer, level))
            found.append(C)
        return found

    def _shaped(self, found: Array) -> Array:
        return found[..., 0] if self.y_ndim_ == 1 else found

    # -- what was found -----------------------------------------------------------------------

    @property
    def scaling_(self) -> Scaling:
        check_is_fitted(self)
        return self.stream_.scaling

    @property
    def n_seen_(self) -> int:
        check_is_fitted(self)
        return self.stream_.n_seen

    @property
    def settled_(self) -> bool:
        stream = self._stream()
        return stream.waiting is None and all(race.laps == 0 for race in stream.races)

    @property
    def n_experts_(self):
        return self._each([c.experts.size for c in self._committees()])

    @property
    def width_(self):
        return self._each([float(c.assumed.unit) for c in self._committees()])

    @property
    def bound_(self):
        check_is_fitted(self)
        if not self.stream_.bounds:
            raise AttributeError("bound_ is known after fit only")
        return self._each(list(self.stream_.bounds))

    @property
    def n_iter_(self) -> int:
        return self._stream().n_iter

    @property
    def experts_(self):
        """What every expert knows, in the units of X and y."""
        inputs, found = self._stream().inputs, []
        for j, committee in enumerate(self._committees()):
            e, unit = committee.experts, committee.assumed.unit
            centre, scale = self.scaling_.centre[j], self.scaling_.scale[j]
            lengths = unit * inputs.scale
            found.append({
                "centre": inputs.centre + inputs.scale * e.centres[: e.size],
                "value": centre + scale * e.mu[: e.size, -1],
                "slope": scale * e.mu[: e.size, :-1] / lengths,
                "bandwidth": 1.0 / e.misfit(),
                "reach": committee.reach() * lengths,
                "noise": scale * np.sqrt(e.noise()),
                "rows": e.seen[: e.size].copy(),
            })  # fmt: skip
        return self._each(found)

    def _stream(self) -> RVCStream:
        check_is_fitted(self)
        return self.stream_

    def _committees(self):
        return self._stream().committees

    def _each(self, found: list):
        return found[0] if self.y_ndim_ == 1 else found


def _variance(answer: Answer, level: str) -> Array:
    if level == "observation":
        return answer.variance
    return np.maximum(answer.variance - answer.noise, 0.0)


def _draw(rng, mean: Array, covariance: Array, n_samples: int) -> Array:
    """Columns: draws from a Gaussian whose covariance may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return mean[:, None] + root @ rng.standard_normal((mean.size, n_samples))
