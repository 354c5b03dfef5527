"""Answers about y where the scale of its errors varies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..answers.answers import OBSERVATION, Answers, _of_output
from ..engines.local import here
from ..rows.partition import blocks
from ..rows.rows import Prediction
from .features import ScaleInputs
from .margins import Margins
from .tuning import TUNING

Array = np.ndarray
#: Queries whose nearest rows are looked for at a time.
BATCH = 1024
#: Normal scores of draws are not beyond this: a nugget that a query far away needs is larger than
#: the variance of others.
FARTHEST = 8.0


class ScaledAnswers(Answers):
    """y = m + scale(x) · t_ν; what is known of the function f is as in `Answers`.

    The predictor is a `scale.errors.ErrorPredictor`. Densities, quantiles and draws are those of
    Student's t; the standard deviation is the one that a Gaussian about the mean would need.
    Observations at several queries have a Gaussian copula with the correlations of f and noise.
    """

    def covariance(self, level: str) -> tuple[Array, Array]:
        mean, C = super().covariance(level)
        if level != OBSERVATION:
            return mean, C
        found = self._found(level)
        each = [_of_output(found.variance, j, ndim=1) for j in range(mean.shape[1])]
        plain = np.stack(each, axis=1) + self._noises()
        now = C.diagonal().T  # (n, p), as it should be
        ratio = np.sqrt(now / np.maximum(plain * self.units.scaling.scale**2, 1e-300))
        scaled = C * ratio[:, None, :] * ratio
        n = np.arange(scaled.shape[0])
        scaled[n, n] = now
        return mean, scaled

    def draws(self, n_samples: int, rng: Any, level: str) -> Array:
        if level != OBSERVATION:
            return super().draws(n_samples, rng, level)
        found, C = self.predictor.joint(self.X, self.engine)
        margins = self._margins(found)
        variance = found.variance if found.variance.ndim == 2 else found.variance[:, None]
        sd = np.sqrt(np.maximum(variance + self._noises(), 1e-300))
        f = self._functions(found, C, n_samples, rng) - found.mean[:, :, None]
        noisy = f + np.sqrt(self._noises())[:, None] * rng.standard_normal(f.shape)
        u = np.clip(noisy / sd[:, :, None], -FARTHEST, FARTHEST)
        drawn = margins.from_normal(np.moveaxis(u, 2, 0))
        return self._in_units(np.moveaxis(drawn, 0, 2))

    def _through(self, found: Prediction, level: str) -> tuple[Array, Array]:
        if level != OBSERVATION:
            return super()._through(found, level)
        scale, inputs = self.predictor.scale, self._inputs(found)
        parts = blocks(self.X.shape[0], BATCH)
        if len(parts) < 2 or self.engine is None:
            return found.mean, scale.variance(inputs)
        each = here(self.engine).map(lambda part: scale.variance(inputs.take(part)), parts)
        return found.mean, np.concatenate(each)

    def _quantile(self, found: Prediction, q: float, level: str) -> Array:
        if level != OBSERVATION:
            return super()._quantile(found, q, level)
        return self._margins(found).quantile(q)

    def quantiles(self, probabilities: Sequence[float], level: str) -> list[Array]:
        found = super().quantiles(probabilities, level)
        return [self.exact(one) for one in found] if level == OBSERVATION else found

    def exact(self, y: Array) -> Array:
        """Replace numbers that are values of y up to rounding by these, in the units of the
        user  (n, p)."""
        y = y.copy()
        for j, one in enumerate(self.predictor.scale.outputs):
            if one.values is not None and one.values.values is not None:
                y[:, j] = closest(one.values.values, y[:, j])
        return y

    def cells(self, y: Array) -> tuple[Array, Array]:
        """Ends of the cell of each y, in its units; NaN where y has none  (n, p)."""
        t, ends = self._all_seen(y), np.full((2, *y.shape), np.nan)
        for j, one in enumerate(self.predictor.scale.outputs):
            if one.values is not None:
                ends[:, :, j] = one.values.cell(t[:, j])
        low, high = (self._in_units(end) for end in ends)
        return low, high

    def rest(self) -> list[Array]:
        """Quantiles of the standardised errors of each output; empty: they are not known."""
        return [one.rest for one in self.predictor.scale.outputs]

    def _seen(self, y: Array, j: int) -> Array:
        found, own = super()._seen(y, j), self.predictor.scale.outputs[j].values
        return found if own is None else closest(own.seen, found[:, 0])[:, None]

    def _log_densities(self, found: Prediction, y: Array) -> Array:
        return self._margins(found).log_density(self._all_seen(y))

    def _distributions(self, found: Prediction, y: Array) -> Array:
        return self._margins(found).cdf(self._all_seen(y))

    def _all_seen(self, y: Array) -> Array:
        return np.hstack([self._seen(y, j) for j in range(len(self.likelihoods))])

    def _inputs(self, found: Prediction) -> ScaleInputs:
        if found is not self.made.others.get(""):
            return self._inputs_of(found)
        return self.made.named("inputs", lambda: self._inputs_of(found))

    def _inputs_of(self, found: Prediction) -> ScaleInputs:
        """Some queries at a time, which an engine runs: the nearest rows of each are looked for."""

        def ask(part: slice) -> ScaleInputs:
            own = Prediction(found.mean[part], found.variance[part])
            return self.predictor.inputs(self.X[part], own)

        parts = blocks(self.X.shape[0], BATCH)
        if len(parts) < 2 or self.engine is None:
            return self.predictor.inputs(self.X, found)
        return ScaleInputs.joined(here(self.engine).map(ask, parts))

    def _margins(self, found: Prediction) -> Margins:
        return self.predictor.scale.predictive(self._inputs(found))

    def _noises(self) -> Array:
        """Noise variance of each output  (p,)."""
        return np.broadcast_to(self.predictor.noise, len(self.likelihoods))


def closest(values: Array, y: Array) -> Array:
    """Replace each y that is a value up to rounding by that value."""
    at = np.searchsorted(0.5 * (values[:-1] + values[1:]), y)
    own, unit = values[at], np.abs(values).max()
    return np.where(np.abs(own - y) <= TUNING.values.close * unit, own, y)
