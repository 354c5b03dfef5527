"""A table as a series: rows in the order of time, of equal times their mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...rows.rows import Rows
from ..tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Series:
    """Rows by time; means of consecutive ones, where they are many."""

    t: Array  # ascending  (n,)
    y: Array  # (n, p)
    others: Array  # features of all other columns  (n, q)

    @classmethod
    def of(cls, rows: Rows, column: int, levels: Sequence[int] = ()) -> Series:
        """Put rows in the order of a column; `levels`: columns of codes."""
        rows = rows.take(np.argsort(rows.X[:, column], kind="stable"))
        t, w = rows.X[:, column], rows.w / rows.w.mean()
        first = np.flatnonzero(np.append(True, t[1:] > t[:-1]))
        first = first[:: 1 + (first.size - 1) // TUNING.seasons.most_times]
        weight = np.add.reduceat(w, first)

        def mean(A: Array) -> Array:
            return np.add.reduceat(w[:, None] * A, first) / weight[:, None]

        start = t[0]  # keeps the digits of years and seconds
        at = start + mean((t - start)[:, None])[:, 0]
        return cls(at, mean(rows.y), mean(other_features(rows.X, column, levels)))

    @property
    def n(self) -> int:
        return self.t.size

    @property
    def span(self) -> float:
        return float(self.t[-1] - self.t[0])

    @property
    def step(self) -> float:
        """The median distance of adjacent times."""
        return float(np.median(np.diff(self.t)))


def is_regular(t: Array) -> bool:
    """Whether numbers have a constant step, some of them left out."""
    s, at = TUNING.seasons, np.unique(t)
    if at.size < s.fewest or at.size < s.distinct * t.size:
        return False
    steps = np.diff(at) / np.median(np.diff(at))
    return float(np.mean(np.abs(steps - np.maximum(np.rint(steps), 1.0)) < s.off)) >= s.regular


def other_features(X: Array, column: int, levels: Sequence[int] = ()) -> Array:
    """Make features of all columns but one: indicators of few values, else z and z²  (n, q)."""
    s, found = TUNING.seasons, list[Array]()
    for k in range(X.shape[1]):
        if k == column:
            continue
        x = X[:, k]
        values, count = np.unique(x[:: 1 + x.size // s.looked_at], return_counts=True)
        if values.size < 2:
            continue
        if k in levels or values.size <= s.few_values:
            common = values[np.argsort(-count, kind="stable")][: s.few_values]
            found += [(x == one).astype(float) for one in common[1:]]
        else:
            middle = float(np.median(values))
            size = float(np.abs(values - middle).mean())
            z = np.clip((x - middle) / size, -s.most_z, s.most_z)
            found += [z, z**2]
    return np.stack(found[: s.most_others], axis=1) if found else np.empty((X.shape[0], 0))
