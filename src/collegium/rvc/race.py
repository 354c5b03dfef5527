"""Which width? Committees of several widths hear the same rows; the one that foretold them best
answers. No row is stored for it.

The best width falls as rows come in. So at every doubling the committees wider than the leader
leave, narrower ones are begun where there are none, and after some doublings all but the leader
leave. In laps with newcomers only the second half counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .committee import LocalCommittee
from .experts import Assumptions

Array = np.ndarray
#: Widths at the start, relative to the typical distance √(2d) of two rows.
WIDTHS = tuple(0.05 * 2.0 ** (0.5 * i) for i in range(9))  # .05 … .8
#: Units and b of experts as published, relative to the same and to the variance about a line.
UNITS = (0.01, 0.03, 0.1)
LARGENESS = (0.03, 0.1, 0.3, 1.0, 3.0)
#: The least width that is ever tried, so measured.
NARROWEST = 0.01
#: Committees that are narrower than the leader and go on with it.
NARROWER = 3
#: Doublings after which the leader stays alone.
LAPS = 5
#: Rows of a lap after which its own leader leads.
ENOUGH = 50


@dataclass(frozen=True, eq=False)
class Race:
    """Committees, narrowest first, and what they gained in this lap: see `gain`."""

    committees: tuple[LocalCommittee, ...]
    gains: Array  # (number of committees,)
    before: int  # the leader when this lap began
    laps: int  # to come, this one included
    lap_rows: int  # rows of this lap so far
    lap_length: int
    skipped: int  # first rows of this lap, which do not count

    @classmethod
    def start(
        cls,
        committees: tuple[LocalCommittee, ...],
        first: int,
        lap_length: int,
        laps: int,
    ) -> Race:
        """`first` leads until something is known."""
        laps = 0 if len(committees) == 1 else laps
        return cls(
            committees, np.zeros(len(committees)), first, laps, 0, max(lap_length, 1), 0
        )  # fmt: skip

    def heard(self, X: Array, y: Array, w: Array) -> Race:
        """After rows (n, d), (n,), (n,)."""
        return self.foretold(X, y, w)[0]

    def foretold(self, X: Array, y: Array, w: Array) -> tuple[Race, Array, Array]:
        """After rows; the mean and variance (n,) that the leader had for each before it came."""
        race, start, mean, variance = self, 0, np.empty(y.size), np.empty(y.size)
        while start < y.size:
            stop = y.size
            if race.laps:  # rows of no weight do not count
                left = race.lap_length - race.lap_rows
                stop = start + int(np.searchsorted(np.cumsum(w[start:] > 0.0), left)) + 1
            rows = slice(start, stop)
            race, mean[rows], variance[rows] = race._within_lap(X[rows], y[rows], w[rows])
            start = stop
        return race, mean, variance

    def _within_lap(self, X: Array, y: Array, w: Array) -> tuple[Race, Array, Array]:
        found = [committee.heard(X, y, w) for committee in self.committees]
        means, variances = np.array([m for _, m, _ in found]), np.array([v for _, _, v in found])
        rows, heard = np.arange(y.size), w > 0.0
        passed = self.lap_rows + np.cumsum(heard) - heard
        counts = w * (passed >= self.skipped)
        each = counts * gain(y, means, variances, self.best.assumed.local)
        before = self.gains[:, None] + np.cumsum(each, axis=1) - each
        leader = np.where(self._enough(passed), before.argmax(axis=0), self.before)
        race = replace(
            self, committees=tuple(c for c, _, _ in found), gains=self.gains + each.sum(axis=1),
            lap_rows=self.lap_rows + int(heard.sum()),
        )  # fmt: skip
        done = race.laps and race.lap_rows >= race.lap_length
        return race._next_lap() if done else race, means[leader, rows], variances[leader, rows]

    def _enough(self, rows):
        """Whether after so many rows of a lap its own leader leads."""
        return (rows >= min(self.skipped + ENOUGH, self.lap_length)) & (self.laps > 0)

    def _next_lap(self) -> Race:
        best, laps = self.leader, self.laps - 1
        first = max(best - NARROWER, 0) if laps else best
        kept = self.committees[first : best + 1]
        while laps and len(kept) <= NARROWER:
            newcomer = _narrower(kept[0])
            if newcomer is None:
                break
            kept = (newcomer, *kept)
        length = 2 * self.lap_length
        return replace(
            self, committees=kept, gains=np.zeros(len(kept)), before=len(kept) - 1, laps=laps,
            lap_rows=0, lap_length=length, skipped=length // 2,
        )  # fmt: skip

    @property
    def leader(self) -> int:
        """The one before, until enough of this lap is done."""
        return int(np.argmax(self.gains)) if self._enough(self.lap_rows) else self.before

    @property
    def best(self) -> LocalCommittee:
        return self.committees[self.leader]


def _narrower(committee: LocalCommittee) -> LocalCommittee | None:
    """One that begins anew, with the next width; None where that would be too small."""
    assumed = committee.assumed
    width = assumed.unit / np.sqrt(2.0 * assumed.d) / np.sqrt(2.0)
    if width < NARROWEST or not assumed.local or not committee.habits.grow:
        return None
    unit = assumed.unit / np.sqrt(2.0)
    steep = assumed.level_variance * max(1.0, STEEP / unit**2)
    slim = replace(assumed, unit=unit, slope_variance=steep)
    return LocalCommittee.start(slim, committee.habits)


def gain(y: Array, mean: Array, variance: Array, local: bool) -> Array:
    """Log densities, or less the squared errors: as published bars are wide where b is large, and
    b must be large where few experts are to become many."""
    return log_density(y, mean, variance) if local else -((y - mean) ** 2)


def log_density(y: Array, mean: Array, variance: Array) -> Array:
    """Of normal errors up to five deviations: one outlier must not decide a race."""
    z2 = np.minimum((y - mean) ** 2 / variance, 25.0)
    return -0.5 * (z2 + np.log(2.0 * np.pi * variance))


def line(X: Array, y: Array, w: Array) -> tuple[Array, float]:
    """Slopes (d,) of a ridge regression of scaled rows, and the variance about it."""
    A = np.column_stack([X, np.ones(y.size)])
    penalty = np.append(np.ones(X.shape[1]), 1e-12)
    weighted = A * w[:, None]
    slopes = np.linalg.lstsq(weighted.T @ A + np.diag(penalty), weighted.T @ y, rcond=None)[0]
    left = y - A @ slopes
    if np.ptp(y) == 0.0:  # so far: nothing is known of how it varies
        return slopes[:-1], 1.0
    # few rows say little of what is left: y itself has variance one
    return slopes[:-1], float(w @ left**2 / w.sum()) + 1.0 / y.size**3


def local_assumptions(width: float, slope: Array, about: float) -> Assumptions:
    """Vague, in units of the variance about a line.

    Where regions are small, slopes may be steep: across a unit f changes by STEEP of that at least.
    """
    unit = width * np.sqrt(2.0 * slope.size)
    about = max(about, LEAST_ABOUT)
    return Assumptions(
        unit=unit, local=True, slope=slope,
        slope_variance=2.0 * about * max(1.0, STEEP / unit**2),
        level_variance=2.0 * about, a0=FIRM, b0=FIRM * 0.02 * about, c0=FIRM,
        d0=FIRM * 0.2 * about,
    )  # fmt: skip


#: Least prior variance of the change across a unit, relative to that of the level.
STEEP = 0.1
#: Rows that a first guess of noise or misfit counts for, halved.
FIRM = 0.2
#: Least variance about a line that first guesses are made from, y having variance one.
LEAST_ABOUT = 1e-6


def published_assumptions(unit: float, b: float, d: int) -> Assumptions:
    """Sec. 3.1: μ = 0, S = 1e6·I, a = 1, b given, c and d next to nothing (here 1e-3: a first
    guess of the noise is needed, since c = d says nothing of it)."""
    return Assumptions(
        unit=unit * np.sqrt(2.0 * d), local=False, slope=np.zeros(d),
        slope_variance=1e6 / (unit**2 * 2.0 * d), level_variance=1e6, a0=1.0, b0=b, c0=1e-3,
        d0=1e-4,
    )  # fmt: skip
