"""Conformity scores: how far an observation lies outside what a model said of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Ends:
    """Ends of a model's intervals at queries, and the unit in which they are moved, all (n, p).

    Scores keep the skew of the model's intervals, and their widths where noise varies (Romano,
    Patterson and Candès 2019, with the scale of each row as a unit).
    """

    lower: Array
    upper: Array
    unit: Array  # > 0

    @classmethod
    def of(cls, lower: Array, upper: Array, deviation: Array, least: Array) -> Ends:
        """Take standard deviations as units; widths where these are infinite; at least `least`."""
        finite = np.isfinite(deviation)
        return cls(lower, upper, np.maximum(np.where(finite, deviation, upper - lower), least))

    def scores(self, y: Array) -> Array:
        """max(lower − y, y − upper)/unit: negative inside  (n, p)."""
        return np.maximum(self.lower - y, y - self.upper) / self.unit

    def moved(self, q: Array) -> tuple[Array, Array]:
        """All y whose scores are at most q, (p,) or (n, p); one point where there is none."""
        return in_order(self.lower - q * self.unit, self.upper + q * self.unit)


def in_order(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Replace ends that have crossed by the point between them, which covers no less."""
    with np.errstate(invalid="ignore"):  # ∞ − ∞ where the interval is the whole line
        middle = 0.5 * (lower + upper)
    crossed = lower > upper
    return np.where(crossed, middle, lower), np.where(crossed, middle, upper)


def class_scores(probability: Array, codes: Array) -> Array:
    """1 − p of the class that came; probability (n, n_classes), codes (n,)  (n, 1)."""
    return 1.0 - probability[np.arange(codes.size), codes][:, None]


def likely_classes(probability: Array, q: Array) -> Array:
    """All classes whose score is at most q, (1,) or (n, 1); at least the most probable one.

    These are the smallest sets of a given coverage (Sadinle, Lei and Wasserman 2019).
    """
    best = probability == probability.max(axis=1, keepdims=True)
    return (1.0 - probability <= q) | best


def smallest_classes(probability: Array, coverage: float) -> Array:
    """The fewest classes whose probabilities add up to the coverage  (n, n_classes)."""
    order = np.argsort(-probability, axis=1, kind="stable")
    before = np.cumsum(np.take_along_axis(probability, order, axis=1), axis=1)
    before = np.concatenate([np.zeros((len(before), 1)), before[:, :-1]], axis=1)
    found = np.empty(probability.shape, dtype=bool)
    np.put_along_axis(found, order, before < coverage, axis=1)
    return found
