"""Inputs of the scale of an error: predicted sd and mean, place, and nearby errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.spatial import cKDTree

from ..numerics.records import record
from ..rows.nearest import nearest
from ..rows.partition import distinct
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class ScaleInputs:
    """Inputs of g at rows, targets in units where y has variance one.

    Places are x in the metric of the kernel, 1/ℓⱼ² = Σₖ vₖ/ℓₖⱼ² over its terms, up to a factor:
    `rows.metric.Metric.of(kernel, X).forward(X)`.
    """

    log_sd: Array  # of predictions of y  (n, p)
    mean: Array  # m  (n, p)
    place: Array  # (n, d)
    near: Array | None  # q, the log of mean squared errors nearby; None: no rows are kept  (n, p)
    trees: Array | None = None  # log squared errors as trees expect them; None: unknown  (n, p)

    @classmethod
    def of(cls, mean: Array, variance: Array, place: Array, near: Array | None) -> ScaleInputs:
        """Make inputs from means (n, p) and variances of y (n,), one for all outputs, or (n, p)."""
        wide = variance[:, None] if variance.ndim == 1 else variance
        log_sd = 0.5 * np.log(np.maximum(wide, 1e-300))
        return cls(np.broadcast_to(log_sd, mean.shape), mean, place, near)

    @classmethod
    def joined(cls, parts: Sequence[ScaleInputs]) -> ScaleInputs:
        """Concatenate several sets of rows."""

        def every(name: str) -> Array | None:
            found = [getattr(part, name) for part in parts]
            return None if any(one is None for one in found) else np.concatenate(found)

        return cls(*(every(field.name) for field in fields(cls)))  # type: ignore[arg-type]

    @property
    def kinds(self) -> tuple[int, ...]:
        """Numbers of the lines that are known: 0 log sd, 1 m, 2 q, 3 by trees."""
        return tuple(k for k, one in enumerate(self._lines()) if one is not None)

    def lines(self, output: int, kinds: Sequence[int], unknown: Array | None = None) -> Array:
        """Lines of one output  (n, k); `unknown`: a number in place of each that is not known."""
        every, n = self._lines(), self.mean.shape[0]
        found = []
        for i, kind in enumerate(kinds):
            own = every[kind]
            if own is None:
                assert unknown is not None
                found.append(np.full(n, unknown[i]))
            else:
                found.append(own[:, output])
        return np.stack(found, axis=1)

    def _lines(self) -> tuple[Array | None, ...]:
        return self.log_sd, self.mean, self.near, self.trees

    def take(self, index: Array | slice) -> ScaleInputs:
        near, trees = (None if one is None else one[index] for one in (self.near, self.trees))
        return ScaleInputs(self.log_sd[index], self.mean[index], self.place[index], near, trees)


@record("scale.standard/1")
@dataclass(frozen=True, eq=False)
class Standard:
    """t = (a − centre)/spread, within the range that held-out rows had."""

    centre: Array  # (k,)
    spread: Array  # (k,)
    low: Array  # smallest t  (k,)
    high: Array  # (k,)
    kinds: tuple[int, ...] = (0, 1)  # which lines these are, log sd the first: see `ScaleInputs`

    @classmethod
    def of(cls, lines: Array, weight: Array, kinds: tuple[int, ...]) -> Standard:
        """Standardise lines at held-out rows, log sd the first of them; smaller spreads than
        `TUNING.basis.least_spreads` do not count."""
        centre = np.average(lines, axis=0, weights=weight)
        spread = np.sqrt(np.average((lines - centre) ** 2, axis=0, weights=weight))
        least = np.array([TUNING.basis.least_spreads[kind] for kind in kinds])
        least[1] *= np.exp(centre[0])
        spread = np.maximum(spread, np.maximum(least, 1e-300))
        t = (lines - centre) / spread
        return cls(centre, spread, t.min(axis=0), t.max(axis=0), kinds)

    def moved(self, ratio: float, shift: float) -> Standard:
        """Adapt to targets ratio·y + shift: log sd, m and q move with them, trees do not."""
        own = list(self.kinds)
        add = np.array([np.log(ratio), shift, 2.0 * np.log(ratio), 0.0])[own]
        times = np.array([1.0, ratio, 1.0, 1.0])[own]
        return replace(self, centre=times * self.centre + add, spread=times * self.spread)

    def forward(self, lines: Array) -> Array:
        return np.clip((lines - self.centre) / self.spread, self.low, self.high)


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Training rows around queries, equal places merged; the same in any order of the rows.

    A row counts as its weight over the mean weight.
    """

    tree: cKDTree  # of distinct places
    count: Array  # of rows at each  (u,)
    mean: Array  # of their targets  (u, p)
    scatter: Array  # mean squared deviation from that  (u, p)
    where: Array  # index of the place of every row  (n,)
    y: Array  # (n, p)
    w: Array  # (n,)

    @classmethod
    def of(cls, place: Array, y: Array, w: Array | None = None) -> Neighbours:
        S, where = distinct(place)
        w = np.ones(where.size) if w is None else w / w.mean()
        order = np.lexsort((*y.T, w, where))  # so that sums round alike
        at, own = where[order], w[order, None]
        count = np.bincount(at, w[order], S.shape[0])

        def average(values: Array) -> Array:
            columns = [np.bincount(at, one, S.shape[0]) for one in (own * values).T]
            return np.stack(columns, axis=1) / count[:, None]

        mean = average(y[order])
        scatter = average((y[order] - mean[at]) ** 2)
        return cls(cKDTree(S), count, mean, scatter, where, y, w)

    def log_error(self, place: Array, mean: Array, own: Array | None = None) -> Array:
        """q = log(mean of (yⱼ − m)² over the 20 nearest rows + 10⁻⁶)  (n, p).

        With `own`, numbers of training rows, query i is row own[i], which is left out.
        """
        size = TUNING.basis.nearest
        k = min(size + (own is not None), self.count.size)
        index = nearest(self.tree, place, k)
        count, centre, scatter = self.count[index], self.mean[index], self.scatter[index]
        if own is not None:
            mine = index == self.where[own][:, None]
            row = np.nonzero(mine)[0]
            w, y = self.w[own][row], self.y[own][row]
            count[mine], centre[mine], scatter[mine] = _without(
                count[mine], centre[mine], scatter[mine], w, y
            )
        share = np.clip(size - (np.cumsum(count, axis=1) - count), 0.0, count)[:, :, None]
        squares = scatter + (centre - mean[:, None, :]) ** 2
        total = np.maximum(share.sum(axis=1), 1e-300)
        return np.log((share * squares).sum(axis=1) / total + TUNING.basis.least_error)


def _without(count: Array, mean: Array, scatter: Array, w: Array, y: Array):
    """Remove one row of each place from count, mean and mean squared deviation."""
    left = np.where(count - w <= 1e-9 * count, 0.0, count - w)
    safe = np.where(left > 0.0, left, 1.0)[:, None]
    before, own = count[:, None], w[:, None]
    new = mean + own * (mean - y) / safe
    rest = (before * scatter - own * (y - mean) * (y - new)) / safe
    gone = left[:, None] == 0.0
    return left, np.where(gone, mean, new), np.where(gone, 0.0, np.maximum(rest, 0.0))
