"""Select the width of local experts as rows come in: several committees, one width each.

All of them learn from the same rows; the one whose predictions were best so far answers. No row
is stored. The best width falls as rows come in, so selection goes in rounds, each twice as long as
the last: after a round the committees wider than the best are dropped, and narrower ones are added
where there are too few. After the last round only the best is left. In a round with new committees
only the second half counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..numerics.records import record
from .committee import LocalCommittee
from .experts import Assumptions
from .tuning import TUNING

Array = np.ndarray


@record("rvc.widths/1")
@dataclass(frozen=True, eq=False)
class WidthSelection:
    """Committees, narrowest first, and the `prediction_gain` of each in this round."""

    committees: tuple[LocalCommittee, ...]
    gains: Array  # (number of committees,)
    previous: int  # index of the best when this round began
    rounds: int  # still to come, this one included
    round_rows: int  # rows of this round so far
    round_length: int
    skipped: int  # first rows of this round, which do not count

    @classmethod
    def start(
        cls,
        committees: tuple[LocalCommittee, ...],
        first: int,
        round_length: int,
        rounds: int,
    ) -> WidthSelection:
        """Start before any row; committee `first` answers until enough rows have come."""
        rounds = 0 if len(committees) == 1 else rounds
        return cls(
            committees, np.zeros(len(committees)), first, rounds, 0, max(round_length, 1), 0
        )  # fmt: skip

    def add(self, X: Array, y: Array, w: Array) -> WidthSelection:
        """Learn from rows (n, d), (n,), (n,)."""
        return self.predicted(X, y, w)[0]

    def predicted(self, X: Array, y: Array, w: Array) -> tuple[WidthSelection, Array, Array]:
        """Learn from rows; return the best committee's mean and variance (n,) before each too."""
        selection, start, mean, variance = self, 0, np.empty(y.size), np.empty(y.size)
        while start < y.size:
            stop = y.size
            if selection.rounds:  # rows of no weight do not count
                left = selection.round_length - selection.round_rows
                stop = start + int(np.searchsorted(np.cumsum(w[start:] > 0.0), left)) + 1
            rows = slice(start, stop)
            selection, mean[rows], variance[rows] = selection._within_round(
                X[rows], y[rows], w[rows]
            )
            start = stop
        return selection, mean, variance

    def _within_round(self, X: Array, y: Array, w: Array) -> tuple[WidthSelection, Array, Array]:
        """`predicted`, for rows that do not go beyond the end of this round."""
        found = [committee.add(X, y, w) for committee in self.committees]
        means, variances = np.array([m for _, m, _ in found]), np.array([v for _, _, v in found])
        rows, used = np.arange(y.size), w > 0.0
        before_row = self.round_rows + np.cumsum(used) - used
        counts = w * (before_row >= self.skipped)
        each = counts * prediction_gain(y, means, variances, self.best.assumed.local)
        so_far = self.gains[:, None] + np.cumsum(each, axis=1) - each
        best = np.where(self._enough(before_row), so_far.argmax(axis=0), self.previous)
        after = replace(
            self, committees=tuple(c for c, _, _ in found), gains=self.gains + each.sum(axis=1),
            round_rows=self.round_rows + int(used.sum()),
        )  # fmt: skip
        done = after.rounds and after.round_rows >= after.round_length
        return after._next_round() if done else after, means[best, rows], variances[best, rows]

    def _enough(self, rows):
        """Whether the best committee of a round answers after this many of its rows."""
        return (rows >= min(self.skipped + TUNING.enough, self.round_length)) & (self.rounds > 0)

    def _next_round(self) -> WidthSelection:
        """Drop the committees wider than the best, add narrower ones."""
        best, rounds = self.best_index, self.rounds - 1
        first = max(best - TUNING.narrower, 0) if rounds else best
        kept = self.committees[first : best + 1]
        while rounds and len(kept) <= TUNING.narrower:
            added = _narrower(kept[0])
            if added is None:
                break
            kept = (added, *kept)
        length = 2 * self.round_length
        return replace(
            self, committees=kept, gains=np.zeros(len(kept)), previous=len(kept) - 1,
            rounds=rounds, round_rows=0, round_length=length, skipped=length // 2,
        )  # fmt: skip

    def covering(self, X: Array, y: Array) -> WidthSelection:
        """Scale error bars to cover rows learnt before (n, d), (n,)."""
        return replace(self, committees=tuple(c.covering(X, y) for c in self.committees))

    @property
    def best_index(self) -> int:
        """Index of the committee that answers: the previous one until this round has enough."""
        return int(np.argmax(self.gains)) if self._enough(self.round_rows) else self.previous

    @property
    def best(self) -> LocalCommittee:
        return self.committees[self.best_index]


def _narrower(committee: LocalCommittee) -> LocalCommittee | None:
    """Start a committee narrower by √2; None where that would be too narrow."""
    assumed = committee.assumed
    width = assumed.unit / np.sqrt(2.0 * assumed.d) / np.sqrt(2.0)
    if width < TUNING.narrowest or not assumed.local or not committee.rules.grow:
        return None
    unit = assumed.unit / np.sqrt(2.0)
    steep = assumed.level_variance * max(1.0, TUNING.steep / unit**2)
    return LocalCommittee.start(replace(assumed, unit=unit, slope_variance=steep), committee.rules)


def prediction_gain(y: Array, mean: Array, variance: Array, local: bool) -> Array:
    """Score predictions by log densities; as published by −(y − mean)².

    As published a large b makes error bars wide, but is needed for experts to be added at all:
    densities would choose b too small.
    """
    return bounded_log_density(y, mean, variance) if local else -((y - mean) ** 2)


def bounded_log_density(y: Array, mean: Array, variance: Array) -> Array:
    """log N(y | mean, variance), errors cut at five deviations so that no outlier decides."""
    z2 = np.minimum((y - mean) ** 2 / variance, 25.0)
    return -0.5 * (z2 + np.log(2.0 * np.pi * variance))


def line(X: Array, y: Array, w: Array) -> tuple[Array, float]:
    """Ridge regression of scaled rows: slopes (d,), and the variance of the residuals."""
    A = np.column_stack([X, np.ones(y.size)])
    penalty = np.append(np.ones(X.shape[1]), 1e-12)
    weighted = A * w[:, None]
    slopes = np.linalg.lstsq(weighted.T @ A + np.diag(penalty), weighted.T @ y, rcond=None)[0]
    left = y - A @ slopes
    if np.ptp(y) == 0.0:  # equal targets do not show how y varies
        return slopes[:-1], 1.0
    # 1/n³: few rows fit too well, and y itself has variance one
    return slopes[:-1], float(w @ left**2 / w.sum()) + 1.0 / y.size**3


def local_assumptions(width: float, slope: Array, about: float) -> Assumptions:
    """Vague prior for local experts, in units of `about`, the variance about a line.

    Narrow experts may have steep slopes: the prior variance of the change of f across a unit is
    at least `steep` of that of its level.
    """
    unit = width * np.sqrt(2.0 * slope.size)
    about = max(about, TUNING.least_about)
    return Assumptions(
        unit=unit, local=True, slope=slope,
        slope_variance=2.0 * about * max(1.0, TUNING.steep / unit**2),
        level_variance=2.0 * about, a0=TUNING.firm, b0=TUNING.firm * 0.02 * about, c0=TUNING.firm,
        d0=TUNING.firm * 0.2 * about,
    )  # fmt: skip


def published_assumptions(unit: float, b: float, d: int) -> Assumptions:
    """Sec. 3.1: μ = 0, S = 1e6·I, a = 1, b given, c and d almost zero.

    Here c = 1e-3 and d = 1e-4: the first rows need a guess of the noise d/c.
    """
    return Assumptions(
        unit=unit * np.sqrt(2.0 * d), local=False, slope=np.zeros(d),
        slope_variance=1e6 / (unit**2 * 2.0 * d), level_variance=1e6, a0=1.0, b0=b, c0=1e-3,
        d0=1e-4,
    )  # fmt: skip
