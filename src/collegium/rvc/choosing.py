"""Committees that choose their own units, b and width from rows: at once, or as rows pass by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .batch import fit_experts
from .committee import Habits, LocalCommittee
from .experts import Assumptions, Experts
from .passing import QUANTILE
from .race import (
    LAPS,
    LARGENESS,
    UNITS,
    WIDTHS,
    Race,
    gain,
    line,
    local_assumptions,
    published_assumptions,
)

Array = np.ndarray
#: Up to so many rows settings are compared by leaving out a fifth at a time.
FEW, FEW_PUBLISHED, FOLDS = 200, 500, 5
#: Sweeps of EM for a comparison.
FEW_SWEEPS = 5
#: Rows of the first lap of a race, at least.
LEAST_LAP = 25
#: Rows that settings are compared on where there are more.
RACE_ROWS = 8_192
#: Rows of a standard normal that the spread of few errors is mixed with.
DOUBT = 20.0


@dataclass(frozen=True, eq=False)
class Choice:
    """What is given, and what is left to the data. Lengths in standard deviations of X."""

    local: bool
    habits: Habits
    width: float | None  # None: chosen
    b: float | None  # in units of the variance of y; None: chosen
    centres: Array | None  # (M, d), scaled; None: grown
    max_iter: int
    tol: float


def settings(choice: Choice, X: Array, y: Array, w: Array) -> list[Assumptions]:
    """All that come into question, narrowest first."""
    d = X.shape[1]
    diagonal = np.sqrt(2.0 * d)
    if choice.local:
        slope, about = line(X, y, w)
        widths = WIDTHS if choice.width is None else (choice.width / diagonal,)
        found = [local_assumptions(width, slope, about) for width in widths]
        if choice.b is None:
            return found
        return [replace(each, b0=each.a0 * choice.b) for each in found]
    units = UNITS if choice.width is None else (choice.width / diagonal,)
    sizes = LARGENESS if choice.b is None else (choice.b,)
    return [published_assumptions(unit, b, d) for unit in units for b in sizes]


def begin(choice: Choice, X: Array, y: Array, w: Array, lap_length: int) -> Race:
    """Before a row is heard; the rows given set the scale of what is assumed."""
    assumed = settings(choice, X, y, w)
    committees = tuple(LocalCommittee.start(a, choice.habits, choice.centres) for a in assumed)
    lap_length = max(lap_length, LEAST_LAP)
    return Race.start(
        committees, len(assumed) // 2, lap_length, LAPS if choice.local else 1
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Fit:
    """A committee after all rows, and the bounds its experts climbed: one a sweep, and that of
    local experts before the first."""

    committee: LocalCommittee
    bounds: list[list[float]]

    @property
    def bound(self) -> float:
        """Σ over experts."""
        return float(sum(trace[-1] for trace in self.bounds))

    @property
    def sweeps(self) -> int:
        before = 1 if self.committee.assumed.local else 0
        return max(len(trace) for trace in self.bounds) - before


def fit(choice: Choice, X: Array, y: Array, w: Array, say: Callable[[str], None]) -> Fit:
    """By variational EM. Rows come in a random order, unless the past fades.

    Where the past fades a row counts forgettingᵃᵍᵉ times.
    """
    n = y.size
    if n <= (FEW if choice.local else FEW_PUBLISHED):
        return _fit_few(choice, X, y, _aged(w, choice), say)
    assumed = _raced(choice, X, y, w)
    say(f"width {assumed.unit:.3g} standard deviations")
    if not choice.local:
        return _by_em(choice, assumed, X, y, _aged(w, choice))
    kept = n - n // FOLDS
    first, last = slice(kept), slice(kept, n)
    found = _by_em(choice, assumed, X[first], y[first], _aged(w[first], choice))
    committee = replace(found.committee, scale=np.zeros(3))
    heard, _, _ = committee.heard(X[last], y[last], w[last])
    answer = committee.answer(X[last])  # before any row of the last fifth was heard
    factor = _spread((y[last] - answer.mean) ** 2 / answer.variance, w[last])
    bars = np.array([0.5 * np.log(factor), float(n), 0.0])
    return Fit(replace(heard, scale=bars), found.bounds)


def _aged(w: Array, choice: Choice) -> Array:
    age = np.arange(w.size - 1, -1, -1.0)
    return w * choice.habits.forgetting**age


def _raced(choice: Choice, X: Array, y: Array, w: Array) -> Assumptions:
    rows = np.linspace(0, y.size - 1, min(y.size, RACE_ROWS)).astype(int)
    X, y, w = X[rows], y[rows], w[rows]
    laps = LAPS if choice.local else 1
    race = begin(choice, X, y, w, y.size // (2**laps - 1))
    return race.heard(X, y, w).best.assumed


def _fit_few(choice: Choice, X: Array, y: Array, w: Array, say: Callable[[str], None]) -> Fit:
    """Settings by the densities of rows left out, which say how wide bars must be as well."""
    every, n = settings(choice, X, y, w), y.size
    quick = replace(choice, max_iter=min(choice.max_iter, FEW_SWEEPS))
    best, factor = len(every) // 2, 1.0
    if n >= 2 * FOLDS:
        scores = _Scores(quick, every, X, y, w)
        best = _climbed(scores, best, len(every)) if choice.local else scores.best()
        factor = scores.of(best)[1]
    say(f"width {every[best].unit:.3g} standard deviations")
    found = _by_em(choice, every[best], X, y, w)
    scale = np.array([0.5 * np.log(factor), float(n), 0.0])
    return Fit(replace(found.committee, scale=scale), found.bounds)


class _Scores:
    """What settings gain on rows left out a fifth at a time, each tried once at most."""

    def __init__(self, choice: Choice, every: list[Assumptions], X: Array, y: Array, w: Array):
        self.choice, self.every, self.rows = choice, every, (X, y, w)
        self.folds = np.arange(y.size) % FOLDS
        self.found: dict[int, tuple[float, float]] = {}

    def of(self, index: int) -> tuple[float, float]:
        """The gain, and the factor of variances with which bars hold."""
        if index not in self.found:
            self.found[index] = self._tried(self.every[index])
        return self.found[index]

    def best(self) -> int:
        return max(range(len(self.every)), key=lambda i: self.of(i)[0])

    def _tried(self, assumed: Assumptions) -> tuple[float, float]:
        X, y, w = self.rows
        mean, variance = np.empty((2, y.size))
        for fold in range(FOLDS):
            out = self.folds == fold
            found = _by_em(self.choice, assumed, X[~out], y[~out], w[~out])
            answer = replace(found.committee, scale=np.zeros(3)).answer(X[out])
            mean[out], variance[out] = answer.mean, answer.variance
        factor = _spread((y - mean) ** 2 / variance, w) if assumed.local else 1.0
        return float(w @ gain(y, mean, factor * variance, assumed.local)), factor


def _climbed(scores: _Scores, start: int, count: int) -> int:
    """From width to width while the gain grows: the narrowest are the dearest to try."""
    best = start
    for step in (1, -1):
        while 0 <= best + step < count and scores.of(best + step)[0] > scores.of(best)[0]:
            best += step
        if best != start:
            break
    return best


def _spread(squares: Array, w: Array) -> float:
    """Factor of variances with which 95 % bars hold 95 % of rows, and of some that fit."""
    order = np.argsort(squares)
    z, share = np.sqrt(squares[order]), w[order] / w.max()
    total = share.sum()
    # weighted quantile, mixed with that of a standard normal as if DOUBT rows had said so
    level = np.searchsorted(np.cumsum(share), 0.95 * total)
    log_ratio = np.log(max(z[min(level, z.size - 1)], 0.1) / QUANTILE)
    return float(np.exp(2.0 * log_ratio * total / (total + DOUBT)))


def _by_em(choice: Choice, assumed: Assumptions, X: Array, y: Array, w: Array) -> Fit:
    """Centres as given, or where rows that pass by ask for them; then EM."""
    committee = LocalCommittee.start(assumed, choice.habits, choice.centres)
    committee, _, _ = committee.heard(X, y, w)
    experts = committee.experts
    if not assumed.local:
        experts = _fresh(experts, assumed)
    experts, bounds = fit_experts(experts, X, y, w, assumed, choice.max_iter, choice.tol)
    return Fit(replace(committee, experts=experts), bounds)


def _fresh(experts: Experts, assumed: Assumptions) -> Experts:
    """As published, EM begins at the prior."""
    fresh = Experts.at(experts.centres[: experts.size], assumed)
    return fresh.with_room(experts.centres.shape[0])
