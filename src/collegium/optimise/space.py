"""The region that is searched, as a cube: one coordinate between 0 and 1 per column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import qmc

from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Axis:
    """One column: an interval of numbers, or a list of values."""

    name: str
    low: float = 0.0
    high: float = 1.0
    values: Sequence[Any] = ()  # as they were given; none: all numbers from low to high
    codes: Array | None = None  # the values as the model sees them  (k,)
    ordered: bool = True  # whether neighbours in the list are alike

    @property
    def numbers(self) -> bool:
        """Whether the column is an interval of numbers."""
        return not len(self.values)

    def at(self, u: Array) -> Array:
        """Numbers that the model sees  (n,)."""
        if self.codes is None:
            return np.clip((1.0 - u) * self.low + u * self.high, self.low, self.high)
        return self.codes[self._index(u)]

    def told(self, u: Array) -> list[Any]:
        """Values as users give them."""
        return self.at(u).tolist() if self.numbers else [self.values[i] for i in self._index(u)]

    def back(self, x: Array) -> Array:
        """Invert `at`; values that are not in the list become their neighbours  (n,)."""
        if self.codes is None:
            return np.clip((x - self.low) / (self.high - self.low), 0.0, 1.0)
        nearest = np.abs(x[:, None] - self.codes).argmin(axis=1)
        return (nearest + 0.5) / self.codes.size

    def holds(self, x: Array) -> Array:
        if self.codes is None:
            return (x >= self.low) & (x <= self.high)
        return np.isin(x, self.codes)

    def moved(self, u: Array, step: float, rng: np.random.Generator) -> Array:
        """Coordinates about so far away; of a list by one value at least, of levels any  (n,)."""
        normal, other = rng.standard_normal(u.size), rng.random(u.size)
        if self.codes is None:
            return np.clip(u + step * normal, 0.0, 1.0)
        if not self.ordered:
            return other
        k = self.codes.size
        far = np.sign(normal) * np.maximum(np.round(np.abs(normal) * step * k), 1.0)
        return (np.clip(self._index(u) + far, 0, k - 1) + 0.5) / k

    def _index(self, u: Array) -> Array:
        k = len(self.values)
        return np.minimum((u * k).astype(np.intp), k - 1)


@dataclass(frozen=True, eq=False)
class Space:
    """A cube whose coordinates are columns."""

    axes: tuple[Axis, ...]
    named: bool = False  # whether rows are told as dicts
    filled: int = 0  # columns after these that say what is missing: nothing is

    @property
    def size(self) -> float:
        """How many different points there are."""
        return float(np.prod([np.inf if axis.numbers else len(axis.values) for axis in self.axes]))

    def at(self, U: Array) -> Array:
        """Points as the model sees them  (n, d)."""
        own = [axis.at(u) for axis, u in zip(self.axes, U.T)]
        return np.stack(own + [np.zeros(U.shape[0])] * self.filled, axis=1)

    def told(self, U: Array) -> Any:
        """Points as users give them: dicts where columns have names, else an array."""
        columns = [axis.told(u) for axis, u in zip(self.axes, U.T)]
        if self.named:
            names = [axis.name for axis in self.axes]
            return [dict(zip(names, row)) for row in zip(*columns)]
        words = any(isinstance(column[0], str) for column in columns)
        return np.array(columns, dtype=object if words else float).T

    def back(self, X: Array) -> Array:
        """Invert `at`  (n, d)."""
        return np.stack([axis.back(x) for axis, x in zip(self.axes, X.T)], axis=1)

    def holds(self, X: Array) -> Array:
        """Which points are in the region  (n,)."""
        return np.all([axis.holds(x) for axis, x in zip(self.axes, X.T)], axis=0)

    def pool(self, n: int, rng: np.random.Generator) -> Array:
        """Sobol's points, shifted at random  (n, d)."""
        d = len(self.axes)
        power = int(np.ceil(np.log2(n)))
        points = qmc.Sobol(d, scramble=False).random_base2(power)[:n]
        return (points + rng.random(d)) % 1.0

    def near(self, U: Array, step: float, n: int, rng: np.random.Generator) -> Array:
        """n points around each of U, which differ from it in some coordinates  (n·len(U), d)."""
        d, own = U.shape[1], np.repeat(U, n, axis=0)
        share = max(TUNING.moved, min(1.0, 2.0 / d))
        moves = rng.random(own.shape) < share
        moves[np.arange(len(own)), rng.integers(d, size=len(own))] = True
        other = [axis.moved(u, step, rng) for axis, u in zip(self.axes, own.T)]
        return np.where(moves, np.stack(other, axis=1), own)
