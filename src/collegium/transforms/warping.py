"""Keep the transforms of a fitted model, and take its predictions back to the user's units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..answers.answers import OBSERVATION
from ..numerics.records import record
from ..rows.rows import Rows
from .inputs import InputTransform
from .moments import warped_moments
from .targets import TargetTransform

Array = np.ndarray


@record("transforms.warping/1")
@dataclass(frozen=True, eq=False)
class Warping:
    """Transforms of inputs and of each output; None: no transform."""

    inputs: InputTransform | None
    targets: tuple[TargetTransform | None, ...]

    @property
    def any(self) -> bool:
        """Whether anything is transformed."""
        return self.inputs is not None or any(one is not None for one in self.targets)

    @property
    def target_kinds(self) -> str | tuple[str | None, ...] | None:
        """Kind of the one output, or of each."""
        kinds = tuple(None if one is None else one.kind for one in self.targets)
        return kinds[0] if len(kinds) == 1 else kinds

    @property
    def input_kinds(self) -> tuple[str | None, ...] | None:
        """Kind of each column; None: no column is transformed."""
        if self.inputs is None:
            return None
        return tuple(None if one is None else "rank" for one in self.inputs.columns)

    def rows(self, rows: Rows) -> Rows:
        """Transform rows from the units of the user."""
        return replace(rows, X=self.places(rows.X), y=self.forward(rows.y))

    def rows_in_units(self, rows: Rows) -> Rows:
        """Invert `rows`, up to rounding."""
        X = rows.X if self.inputs is None else self.inputs.backward(rows.X)
        return replace(rows, X=X, y=self.backward(rows.y))

    def places(self, X: Array) -> Array:
        """Transform inputs for the kernel  (n, d)."""
        return X if self.inputs is None else self.inputs.forward(X)

    def forward(self, y: Array) -> Array:
        """T(y) of each output  (n, p)."""
        return self._each(y, "forward")

    def within(self, y: Array) -> Array:
        """Whether T(y) exists, per output; if not, y is below all values where it does  (n, p)."""
        each = [
            np.ones(y.shape[0], dtype=bool) if one is None else one.within(y[:, j])
            for j, one in enumerate(self.targets)
        ]
        return np.stack(each, axis=1)

    def backward(self, t: Array) -> Array:
        """T⁻¹(t)  (n, p) or (n, p, n_samples)."""
        return self._each(t, "backward")

    def log_slope(self, y: Array) -> Array:
        """log dT/dy  (n, p)."""
        each = [
            np.zeros(y.shape[0]) if one is None else one.log_slope(y[:, j])
            for j, one in enumerate(self.targets)
        ]
        return np.stack(each, axis=1)

    def moments(
        self, mean: Array, sd: Array, rest: Sequence[Array] | None = None
    ) -> tuple[Array, Array]:
        """Means and standard deviations of T⁻¹(t), t ~ N(mean, sd²), or with the standardised
        errors `rest` of each output  (n, p)."""
        mean, sd = mean.copy(), sd.copy()
        for j, one in enumerate(self.targets):
            if one is not None:
                own = None if rest is None else rest[j]
                mean[:, j], sd[:, j] = warped_moments(one, mean[:, j], sd[:, j], own)
        return mean, sd

    def _each(self, values: Array, way: str) -> Array:
        each = [
            values[:, j] if one is None else getattr(one, way)(values[:, j])
            for j, one in enumerate(self.targets)
        ]
        return np.stack(each, axis=1)


@dataclass(frozen=True, eq=False)
class WarpedAnswers:
    """Predictions of y at queries, from those of t = T(y).

    Quantiles and draws of t are transformed back. Means and standard deviations are averages of
    T⁻¹ over the standardised errors of held-out rows; where these are not known, and for the
    function, over a normal. Covariances of t are rescaled to the standard deviations of y.
    """

    inner: Any
    warping: Warping

    @property
    def X(self) -> Array:
        return self.inner.X

    def mean(self, level: str) -> Array:
        return self.moments(level)[0]

    def moments(self, level: str) -> tuple[Array, Array]:
        mean, sd = self.inner.moments(level)
        return self.warping.moments(mean, sd, self._rest(level))

    def latent_variance(self) -> Array:
        return self.inner.latent_variance()

    def covariance(self, level: str) -> tuple[Array, Array]:
        inner_mean, C = self.inner.covariance(level)
        inner_sd = np.sqrt(np.maximum(np.einsum("iip->ip", C), 0.0))
        mean, sd = self.warping.moments(inner_mean, inner_sd, self._rest(level))
        ratio = np.divide(sd, inner_sd, out=np.zeros_like(sd), where=inner_sd > 0.0)
        return mean, C * ratio[:, None] * ratio[None]

    def interval(self, coverage: float, level: str) -> tuple[Array, Array]:
        lower, upper = self.inner.interval(coverage, level)
        return self._exact(self.warping.backward(lower)), self._exact(self.warping.backward(upper))

    def quantiles(self, probabilities: Sequence[float], level: str) -> list[Array]:
        found = self.inner.quantiles(probabilities, level)
        return [self._exact(self.warping.backward(one)) for one in found]

    def log_density(self, y: Array) -> Array:
        within = self.warping.within(y)
        y = np.where(within, y, 1.0)
        t = self.warping.forward(y)
        found = self.inner.log_density(t) + self._log_slope(y, t)
        return np.where(within, found, -np.inf)

    def distribution(self, y: Array) -> Array:
        within = self.warping.within(y)
        found = self.inner.distribution(self.warping.forward(np.where(within, y, 1.0)))
        return np.where(within, found, 0.0)

    def arrived(self, y: Array, *known: Array) -> Any:
        t = self.warping.forward(y)
        found = self.inner.arrived(t, *known)
        slope = self._log_slope(y, t).mean(axis=1)
        return replace(found, log_density=found.log_density + slope)

    def draws(self, n_samples: int, rng: Any, level: str) -> Array:
        return self.warping.backward(self.inner.draws(n_samples, rng, level))

    def _rest(self, level: str) -> list[Array] | None:
        """Standardised errors of observations, where they are known."""
        known = level == OBSERVATION and hasattr(self.inner, "rest")
        return self.inner.rest() if known else None

    def _exact(self, y: Array) -> Array:
        return self.inner.exact(y) if hasattr(self.inner, "exact") else y

    def _log_slope(self, y: Array, t: Array) -> Array:
        """log dT/dy; where y has a cell, the mean slope in it, so that densities are mean densities
        of cells in either units  (n, p)."""
        slope = self.warping.log_slope(y)
        if not hasattr(self.inner, "cells"):
            return slope
        low, high = self.inner.cells(t)
        inside = ~np.isnan(low)
        ends = (np.where(inside, end, t) for end in (low, high))
        below, above = (self.warping.backward(end) for end in ends)
        inside &= above > below
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.log(high - low) - np.log(above - below)
        return np.where(inside, mean, slope)
