"""Arriving rows of a stream, compared with what was predicted before they were learnt from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.special import ndtri

from ..rows.partition import evenly_spaced

Array = np.ndarray
#: Coverage of the intervals that arriving rows are checked with.
COVERAGE = 0.95
#: Rows of one call that are checked, evenly spaced; where predictions cost more than learning
#: does, FEW at first.
CHECKED, FEW = 64, 8
#: Share of rows beyond those promised that may be missed.
TOLERATED = 0.15


@dataclass(frozen=True, eq=False)
class Arrived:
    """How arriving rows compare with the predictions made before them, averaged over outputs."""

    missed: Array  # share of outputs outside their intervals; 1: another class came  (n,)
    promised: Array  # the share that was promised to be missed  (n,)
    log_density: Array  # of the row, in the units of y  (n,)
    square: Array  # (y − mean)²/variance  (n,)
    outside: Array  # whether little was known there: var[f] is above half the prior's  (n,)

    @classmethod
    def gaussian(cls, y: Array, mean: Array, variance: Array, outside: Array | None = None):
        """Compare with Gaussian answers, each (n, p)."""
        with np.errstate(invalid="ignore"):
            square = (y - mean) ** 2 / np.maximum(variance, 1e-300)
            density = -0.5 * (square + np.log(2.0 * np.pi * np.maximum(variance, 1e-300)))
            missed = (square > ndtri(0.5 + 0.5 * COVERAGE) ** 2).mean(axis=1)
        outside = np.zeros(missed.shape) if outside is None else outside
        promised = np.full(missed.shape, 1.0 - COVERAGE)
        return cls(missed, promised, density.mean(axis=1), square.mean(axis=1), outside)

    @classmethod
    def of_classes(cls, logs: Array, codes: Array) -> Arrived:
        """Compare log probabilities (n, n_classes) with the positions of the classes that came."""
        each, best = np.arange(codes.size), logs.argmax(axis=1)
        missed, promised = (best != codes).astype(float), 1.0 - np.exp(logs[each, best])
        return cls(missed, promised, logs[each, codes], np.ones(codes.size), np.zeros(codes.size))

    def __add__(self, other: Arrived) -> Arrived:
        """Concatenate two records."""
        both = [np.concatenate([getattr(a, f.name) for a in (self, other)]) for f in fields(self)]
        return Arrived(*both)

    @property
    def suspicious(self) -> bool:
        """Whether more rows are missed than should be, and than is tolerated."""
        return float((self.missed - self.promised).sum()) > TOLERATED * self.missed.size

    def in_units(self, scale: Array) -> Arrived:
        """Densities of y instead of y/scale."""
        return replace(self, log_density=self.log_density - np.log(scale).mean())


def look(ask: Callable[[Array], Arrived], n: int, few: int) -> Arrived:
    """Check at most CHECKED of n rows; only `few` where these are predicted as promised.

    `ask(rows)` checks the rows at these positions.
    """
    rows = evenly_spaced(n, CHECKED)
    if few >= rows.size:
        return ask(rows)
    first = np.zeros(rows.size, dtype=bool)
    first[evenly_spaced(rows.size, few)] = True
    found = ask(rows[first])
    return found + ask(rows[~first]) if found.suspicious else found
