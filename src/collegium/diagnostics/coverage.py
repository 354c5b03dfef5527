"""Shares of rows inside their intervals, overall and by part, with what chance allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .numbers import digits

Array = np.ndarray
#: Levels at which coverage is counted; probability that a band holds where intervals are right.
LEVELS, CONFIDENCE = (0.5, 0.8, 0.9, 0.95), 0.95


@dataclass(frozen=True)
class CoveredShare:
    """`inside` of n rows lie inside intervals that promise `level`.

    Where intervals are right and rows independent, all shares of a family lie between their `low`
    and `high` with probability 95 %.
    """

    label: str
    n: int
    inside: int
    level: float
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.inside / self.n if self.n else np.nan

    @property
    def sign(self) -> int:
        """−1 where fewer rows are covered than chance allows, 1 where more are, else 0."""
        return 0 if not self.n else int(self.share > self.high) - int(self.share < self.low)


def covers(pit: Array, level: float) -> Array:
    """|2u − 1| ≤ c: whether the central interval of probability c holds y  (n,)."""
    return np.abs(2.0 * np.asarray(pit) - 1.0) <= level


def binomial_band(n: int, level: float, tests: int = 1) -> tuple[float, float]:
    """Shares of n rows between which a binomial share lies with probability 1 − 0.05/tests."""
    from scipy.stats import binom

    tail = 0.5 * (1.0 - CONFIDENCE) / tests
    low, high = binom.ppf([tail, 1.0 - tail], n, level)
    return float(low / n), float(high / n)


def covered_share(inside: Array, level: float, label: str = "", tests: int = 1) -> CoveredShare:
    """Count rows inside; `tests`: so many shares are looked at together (Bonferroni)."""
    n = len(inside)
    band = binomial_band(n, level, tests) if n else (0.0, 1.0)
    return CoveredShare(label, n, int(np.count_nonzero(inside)), level, *band)


def promised(level: float | Array, rows: Array) -> float:
    """The mean of what is promised to some rows: one number for all, or one per row."""
    return float(level) if np.ndim(level) == 0 else float(np.mean(np.asarray(level)[rows]))


def coverage_of_levels(pit: Array, levels: Sequence[float] = LEVELS) -> tuple[CoveredShare, ...]:
    """Coverage of central intervals at each level."""
    return tuple(covered_share(covers(pit, c), c, f"{c:.0%}") for c in levels)


def coverage_by_size(
    inside: Array, level: float | Array, size: Array, parts: int = 10
) -> tuple[CoveredShare, ...]:
    """Coverage in equal parts of the rows, from the smallest to the largest `size`; rows of the
    same size are in one part.

    `size` is what was predicted, such as the standard deviation; labels say from where to where.
    `level` may be one number per row, such as the probability of the class that was predicted:
    bands are then those of their mean, a little too wide.
    """
    size = np.asarray(size, dtype=float)
    each = equal_parts(size, parts)
    words = [f"{_end(size[one[0]])} to {_end(size[one[-1]])}" for one in each]
    return tuple(
        covered_share(inside[one], promised(level, one), word, len(each))
        for one, word in zip(each, words)
    )


def equal_parts(size: Array, parts: int) -> list[Array]:
    """Positions of rows in so many parts by size, as equal as ties allow: these are in the part of
    their middle rank."""
    order = np.argsort(size, kind="stable")
    ranked = size[order]
    middle = np.searchsorted(ranked, ranked) + np.searchsorted(ranked, ranked, side="right") - 1
    ends = np.cumsum([len(one) for one in np.array_split(order, parts)])
    code = np.searchsorted(ends, middle // 2, side="right")
    return [order[code == k] for k in np.unique(code)]


def coverage_by_third(inside: Array, level: float | Array, mean: Array) -> tuple[CoveredShare, ...]:
    """Coverage where predictions are low, middle and high."""
    found = coverage_by_size(inside, level, mean, 3)
    words = {1: ("all",), 2: ("low", "high")}.get(len(found), ("low", "middle", "high"))
    return tuple(
        CoveredShare(f"{word} ({one.label})", *_counts(one)) for word, one in zip(words, found)
    )


def coverage_by_group(
    inside: Array, level: float | Array, groups: Any, most: int = 20
) -> tuple[CoveredShare, ...]:
    """Coverage in each of the `most` largest groups, those of fewest rows covered first."""
    names, code = np.unique(
        np.array([str(one) for one in groups], dtype=object), return_inverse=True
    )
    count = np.bincount(code, minlength=len(names))
    large = np.argsort(-count, kind="stable")[:most]
    parts = [(names[k], np.flatnonzero(code == k)) for k in large]
    found = [covered_share(inside[i], promised(level, i), k, len(parts)) for k, i in parts]
    return tuple(sorted(found, key=lambda one: (one.share, one.label)))


def _end(value: float) -> str:
    return digits(value, brief=True)


def _counts(one: CoveredShare) -> tuple[int, int, float, float, float]:
    return one.n, one.inside, one.level, one.low, one.high
