"""From what a predictor knows of f to what users ask about y."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..kernels import Kernel
from ..likelihoods.base import Scalar
from ..likelihoods.targets.units import Units
from ..numerics import linalg
from ..rows.rows import Prediction
from .arrived import COVERAGE, Arrived
from .outside import little_known

Array = np.ndarray
#: Of a new observation, or of the function behind it.
LEVELS = ("observation", "function")
OBSERVATION = LEVELS[0]


class Made:
    """Caches objects derived from a fitted model; never saved."""

    def __init__(self) -> None:
        self.value: Any = None
        self.last: tuple[str, Any] | None = None
        self.others: dict[str, Any] = {}

    def get(self, make: Callable[[], Any]) -> Any:
        found = self.value
        if found is None:
            found = self.value = make()
        return found

    def latest(self, name: str, make: Callable[[], Any]) -> Any:
        """Make an object, and keep it until one of another name is asked for."""
        found = self.last
        if found is None or found[0] != name:
            found = self.last = (name, make())
        return found[1]

    def named(self, name: str, make: Callable[[], Any]) -> Any:
        """Make an object when it is first asked for."""
        found = self.others.get(name)
        if found is None:
            found = self.others[name] = make()
        return found

    def without(self, beginning: str) -> Made:
        """Copy all but the objects whose names begin like this."""
        other = Made()
        other.value, other.last = self.value, self.last
        other.others = {
            name: one for name, one in [*self.others.items()] if not name.startswith(beginning)
        }
        return other


@dataclass(frozen=True, eq=False)
class Answers:
    """y at queries: f ~ N(mean + shift, variance), y | f by the likelihood.

    Moments are (n, p) in the units of y; covariances (n, n, p), draws (n, p, n_samples).
    """

    X: Array  # (n, d)
    predictor: Any  # has mean, predict and joint; one that knows further levels has `at(level)`
    likelihoods: tuple[Scalar, ...]  # one per output
    units: Units
    engine: Any = None
    shift: Array | float = 0.0  # added to f  (n,)
    offset: Array | float = 0.0  # added to y, in its units  (n, p)
    kernel: Kernel | None = None  # jitter of draws is relative to its variance
    made: Made = field(default_factory=Made)  # shared by all that is asked of them

    def mean(self, level: str) -> Array:
        if all(own.identity for own in self.likelihoods):
            return self._in_units(self._source(level).mean(self.X, self.engine))
        return self.moments(level)[0]

    def moments(self, level: str) -> tuple[Array, Array]:
        """Means and standard deviations."""
        mean, variance = self._through(self._found(level), level)
        return self._in_units(mean), np.sqrt(variance) * self.units.scaling.scale

    def covariance(self, level: str) -> tuple[Array, Array]:
        """Means, and covariances between queries; noise on the diagonal of an observation's."""
        found, C = self._source(level).joint(self.X, self.engine)
        mean, variance = self._through(found, level)
        each = []
        for j, own in enumerate(self.likelihoods):
            m, v = self._output(found, j)
            block = _of_output(C, j).copy()
            np.fill_diagonal(block, v)  # as `predict` has it, to the last bit
            block = own.covariance(m, v, block)
            np.fill_diagonal(block, variance[:, j])
            each.append(block)
        return self._in_units(mean), np.stack(each, axis=-1) * self.units.scaling.scale**2

    def interval(self, coverage: float, level: str) -> tuple[Array, Array]:
        """Quantiles of y, or of E[y | f], with (1 − coverage)/2 beyond each."""
        tail = 0.5 - 0.5 * coverage
        lower, upper = self.quantiles((tail, 1.0 - tail), level)
        return lower, upper

    def quantiles(self, probabilities: Sequence[float], level: str) -> list[Array]:
        """Values that y, or E[y | f], falls below with each probability  (n, p)."""
        found = self._found(level)
        return [self._in_units(self._quantile(found, q, level)) for q in probabilities]

    def log_density(self, y: Array) -> Array:
        """log p(y) of observations (n, c), in the units of y  (n, p)."""
        found = self._found(OBSERVATION)
        return self._log_densities(found, y) - np.log(self.units.scaling.scale)

    def distribution(self, y: Array) -> Array:
        """P(Y ≤ y) of observations (n, c)  (n, p)."""
        return self._distributions(self._found(OBSERVATION), y)

    def arrived(self, y: Array, known: Array | None = None) -> Arrived:
        """Compare observations y (n, c), in the units of the user, with these answers; `known`:
        noise variances that they have beside that of the likelihood  (n,)."""
        tail = 0.5 - 0.5 * COVERAGE
        wide = found = self._found(OBSERVATION)
        if known is not None:
            wide = Prediction(found.mean, found.variance + self.units.scaling.known(known))
        lower, upper = (self._quantile(wide, q, OBSERVATION) for q in (tail, 1.0 - tail))
        mean, variance = self._through(wide, OBSERVATION)
        seen = np.column_stack([self._seen(y, j)[:, 0] for j in range(mean.shape[1])])
        density = self._log_densities(wide, y) - np.log(self.units.scaling.scale)
        square = (seen - mean) ** 2 / np.maximum(variance, 1e-300)
        outside = np.zeros(mean.shape)
        if self.kernel is not None:
            each = [self._output(found, j)[1] for j in range(mean.shape[1])]
            outside = little_known(self.kernel, np.stack(each, axis=1), self.X)
        missed = ((seen < lower) | (seen > upper)).mean(axis=1)
        return Arrived(
            missed, np.full(missed.shape, 2.0 * tail), density.mean(axis=1), square.mean(axis=1),
            np.mean(outside, axis=1),
        )  # fmt: skip

    def _log_densities(self, found: Prediction, y: Array) -> Array:
        """Log densities of y as the likelihoods see it  (n, p)."""
        each = []
        for j, own in enumerate(self.likelihoods):
            (m, v), seen = self._output(found, j), self._seen(y, j)
            exposure = seen.shape[1] > 1  # then m without the shift, which is in its column
            each.append(own.log_predictive(seen, found.mean[:, j] if exposure else m, v))
        return np.column_stack(each)

    def _distributions(self, found: Prediction, y: Array) -> Array:
        each = [
            own.distribution(self._seen(y, j)[:, 0], *self._output(found, j))
            for j, own in enumerate(self.likelihoods)
        ]
        return np.column_stack(each)

    def _seen(self, y: Array, j: int) -> Array:
        """Observations of output j as its likelihood sees them, exposures included  (n, c)."""
        if self.likelihoods[j].takes_exposure:
            return self.units.forward(y)
        return self.units.scaling.forward(y - self.offset)[:, j : j + 1]

    def draws(self, n_samples: int, rng: Any, level: str) -> Array:
        """Functions drawn jointly over the queries, and an observation of each."""
        found, C = self._source(level).joint(self.X, self.engine)
        f = self._functions(found, C, n_samples, rng)
        each = [
            own.draw(f[:, j], rng) if level == OBSERVATION else own.mean(f[:, j])
            for j, own in enumerate(self.likelihoods)
        ]
        return self._in_units(np.stack(each, axis=1))

    def latent_variance(self) -> Array:
        """Variances of f, without that of transforms  (n,) or (n, p)."""
        return self._found(LEVELS[1]).variance

    def _found(self, level: str) -> Prediction:
        """Means and variances of f, predicted once."""
        source = self._source(level)
        name = "" if source is self.predictor else level
        return self.made.named(name, lambda: source.predict(self.X, self.engine))

    def _source(self, level: str) -> Any:
        return self.predictor if level in LEVELS else self.predictor.at(level)

    def _through(self, found: Prediction, level: str) -> tuple[Array, Array]:
        """Means and variances of y, or of E[y | f], in standardised units  (n, p)."""
        each = []
        for j, own in enumerate(self.likelihoods):
            tell = own.predict if level == OBSERVATION else own.function
            each.append(tell(*self._output(found, j)))
        mean, variance = (np.column_stack(parts) for parts in zip(*each))
        return mean, variance

    def _quantile(self, found: Prediction, q: float, level: str) -> Array:
        each = []
        for j, own in enumerate(self.likelihoods):
            m, v = self._output(found, j)
            end = own.quantile(q, m, v) if level == OBSERVATION else own.mean(
                m + ndtri(q) * np.sqrt(v)
            )  # fmt: skip
            each.append(end)
        return np.column_stack(each)

    def _output(self, found: Prediction, j: int) -> tuple[Array, Array]:
        """Mean and variance of the latent function of one output  (n,), (n,)."""
        return found.mean[:, j] + self.shift, _of_output(found.variance, j, ndim=1)

    def _functions(self, found: Prediction, C: Array, n_samples: int, rng: Any) -> Array:
        """f = mean + Lz, LLᵀ the covariance, which is overwritten  (n, p, n_samples)."""
        n, p = found.mean.shape
        prior = 0.0 if self.kernel is None else float(self.kernel.diag(self.X).max(initial=0.0))

        def root(C: Array) -> Array:
            scale = max(prior, float(C.diagonal().max())) or 1.0
            return linalg.cholesky(C, scale, nugget=linalg.JITTERS[0], overwrite=True)[0]

        if C.ndim == 2:  # outputs share it
            z = rng.standard_normal((n, p * n_samples))
            draws = (root(C) @ z).reshape(n, p, n_samples)
        else:
            each = [
                root(np.ascontiguousarray(C[:, :, j])) @ rng.standard_normal((n, n_samples))
                for j in range(p)
            ]
            draws = np.stack(each, axis=1)
        return found.mean[:, :, None] + np.reshape(self.shift, (-1, 1, 1)) + draws

    def _in_units(self, y: Array) -> Array:
        """centre + scale·y + offset, y (n, p) or (n, p, n_samples)."""
        scaling, offset = self.units.scaling, np.atleast_2d(self.offset)
        if y.ndim == 2:
            return scaling.centre + scaling.scale * y + offset
        return scaling.centre[:, None] + scaling.scale[:, None] * y + offset[:, :, None]


def _of_output(values: Array, j: int, ndim: int = 2) -> Array:
    """Take the values of output j, where outputs have their own."""
    return values if values.ndim == ndim else values[..., j]
