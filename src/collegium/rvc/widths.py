"""Choose units, b and width of local experts from rows: in a batch, or as rows come in.

On a stream there are several committees, one width each.
All of them learn from the same rows; the one whose predictions were best so far answers. No row
is stored. The best width falls as rows come in, so selection goes in rounds, each twice as long as
the last: after a round the committees wider than the best are dropped, and narrower ones are added
where there are too few. After the last round only the best is left. In a round with new committees
only the second half counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..engines.local import Serial
from ..interface.streams.rates import bounded_log_density
from ..numerics.records import record
from .absorbing import QUANTILE
from .batch import ONE_THREAD, Climb, fit_experts
from .committee import LocalCommittee, StreamRules
from .experts import Assumptions, Experts
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

    def by_rules(self, rules: StreamRules) -> WidthSelection:
        """Go on with all committees by other rules."""
        return replace(self, committees=tuple(replace(c, rules=rules) for c in self.committees))

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

    On a stream as published a large b makes error bars wide, but is needed for experts to be added
    at all: densities would choose b too small.
    """
    return bounded_log_density(y, mean, variance) if local else -((y - mean) ** 2)


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


@dataclass(frozen=True, eq=False)
class Choice:
    """Settings given by the user, None where data choose. Lengths in standard deviations of X."""

    local: bool
    rules: StreamRules
    width: float | None
    b: float | None  # in units of the variance of y
    centres: Array | None  # (M, d), scaled; None: grown
    max_iter: int
    tol: float
    engine: Serial = ONE_THREAD  # maps over experts


def committees_held(local: bool, width: float | None, b: float | None, n: int) -> int:
    """Number of committees in memory at once: candidates and their copies.

    On few rows that are fitted at once candidates are compared one at a time; n = 0: a stream.
    """
    if 0 < n <= (TUNING.few if local else TUNING.few_published):
        return 3
    widths = 1 if width is not None else len(TUNING.widths if local else TUNING.units)
    return 2 * widths * (1 if local or b is not None else len(TUNING.largeness))


def settings(choice: Choice, X: Array, y: Array, w: Array) -> list[Assumptions]:
    """List the candidates, narrowest first."""
    d = X.shape[1]
    diagonal = np.sqrt(2.0 * d)
    if choice.local:
        slope, about = line(X, y, w)
        widths = TUNING.widths if choice.width is None else (choice.width / diagonal,)
        found = [local_assumptions(width, slope, about) for width in widths]
        if choice.b is None:
            return found
        return [replace(each, b0=each.a0 * choice.b) for each in found]
    units = TUNING.units if choice.width is None else (choice.width / diagonal,)
    sizes = TUNING.largeness if choice.b is None else (choice.b,)
    return [published_assumptions(unit, b, d) for unit in units for b in sizes]


def begin_selection(
    choice: Choice, X: Array, y: Array, w: Array, round_length: int
) -> WidthSelection:
    """Start a selection before any row is learnt; the rows given set the scale of the priors."""
    assumed = settings(choice, X, y, w)
    committees = tuple(LocalCommittee.start(a, choice.rules, choice.centres) for a in assumed)
    rounds = TUNING.rounds if choice.local else 1
    return WidthSelection.start(
        committees, len(assumed) // 2, max(round_length, TUNING.least_round), rounds
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Fit:
    """Committee after all rows, and the path of each expert to it.

    The bounds of local experts begin before the first sweep.
    """

    committee: LocalCommittee
    climbs: list[Climb]

    @property
    def bound(self) -> float:
        """Sum of the last bounds over experts."""
        return float(sum(climb.bounds[-1] for climb in self.climbs))

    @property
    def sweeps(self) -> int:
        before = 1 if self.committee.assumed.local else 0
        return max(len(climb.bounds) for climb in self.climbs) - before

    @property
    def unconverged(self) -> int:
        """Number of experts whose bound was still growing after the last sweep."""
        return sum(not climb.converged for climb in self.climbs)


def fit(choice: Choice, X: Array, y: Array, w: Array, say: Callable[[str], None]) -> Fit:
    """Fit by variational EM, in the order of the rows.

    With forgetting a row counts forgettingᵃᵍᵉ times. Among many rows the last fifth is held out
    from EM, sets the scale of the error bars, and is learnt afterwards.
    """
    n = y.size
    if n <= (TUNING.few if choice.local else TUNING.few_published):
        return _fit_few(choice, X, y, _aged(w, choice), say)
    assumed = _selected(choice, X, y, w)
    say(f"width {assumed.unit:.3g} standard deviations")
    if not choice.local:
        return _by_em(choice, assumed, X, y, _aged(w, choice))
    kept = n - n // TUNING.folds
    first, last = slice(kept), slice(kept, n)
    found = _by_em(choice, assumed, X[first], y[first], _aged(w[first], choice))
    committee = replace(found.committee, scale=np.zeros(3))
    after, _, _ = committee.add(X[last], y[last], w[last])
    answer = committee.answer(X[last])  # before any row of the last fifth is learnt
    factor = _spread((y[last] - answer.mean) ** 2 / answer.variance, w[last])
    bars = np.array([0.5 * np.log(factor), float(n), 0.0])
    return Fit(replace(after, scale=bars), found.climbs)


def _aged(w: Array, choice: Choice) -> Array:
    """w·forgettingᵃᵍᵉ."""
    age = np.arange(w.size - 1, -1, -1.0)
    return w * choice.rules.forgetting**age


def _selected(choice: Choice, X: Array, y: Array, w: Array) -> Assumptions:
    """Find the best setting on a stream of some of the rows."""
    rows = np.linspace(0, y.size - 1, min(y.size, TUNING.compared_rows)).astype(int)
    X, y, w = X[rows], y[rows], w[rows]
    rounds = TUNING.rounds if choice.local else 1
    return begin_selection(choice, X, y, w, y.size // (2**rounds - 1)).add(X, y, w).best.assumed


def _fit_few(choice: Choice, X: Array, y: Array, w: Array, say: Callable[[str], None]) -> Fit:
    """Choose the setting, and the scale of the error bars, by cross-validation."""
    every, n = settings(choice, X, y, w), y.size
    most = TUNING.few_sweeps if choice.local else TUNING.few_sweeps_published
    quick = replace(choice, max_iter=min(choice.max_iter, most))
    best, factor = len(every) // 2, 1.0
    if n >= 2 * TUNING.folds:
        scores = _Scores(quick, every, X, y, w)
        best = _climbed(scores, best, len(every)) if choice.local else scores.best()
        factor = scores.of(best)[1]
    say(f"width {every[best].unit:.3g} standard deviations")
    found = _by_em(choice, every[best], X, y, w)
    scale = np.array([0.5 * np.log(factor), float(n), 0.0])
    return Fit(replace(found.committee, scale=scale), found.climbs)


class _Scores:
    """Cross-validated gains of settings; each setting is tried once at most."""

    def __init__(self, choice: Choice, every: list[Assumptions], X: Array, y: Array, w: Array):
        self.choice, self.every, self.rows = choice, every, (X, y, w)
        self.folds = np.arange(y.size) % TUNING.folds
        self.found: dict[int, tuple[float, float]] = {}

    def of(self, index: int) -> tuple[float, float]:
        """Return the gain, and the factor of variances with which 95 % bars cover 95 % of rows."""
        if index not in self.found:
            self.found[index] = self._tried(self.every[index])
        return self.found[index]

    def best(self) -> int:
        return max(range(len(self.every)), key=lambda i: self.of(i)[0])

    def _tried(self, assumed: Assumptions) -> tuple[float, float]:
        """Fit on all folds but one, predict that one."""
        X, y, w = self.rows
        mean, variance = np.empty((2, y.size))
        for fold in range(TUNING.folds):
            out = self.folds == fold
            found = _by_em(self.choice, assumed, X[~out], y[~out], w[~out])
            answer = replace(found.committee, scale=np.zeros(3)).answer(X[out])
            mean[out], variance[out] = answer.mean, answer.variance
        factor = _spread((y - mean) ** 2 / variance, w) if assumed.local else 1.0
        return float(w @ bounded_log_density(y, mean, factor * variance)), factor


def _climbed(scores: _Scores, start: int, count: int) -> int:
    """Go from width to width while the gain grows: the narrowest are costly to try."""
    best = start
    for step in (1, -1):
        while 0 <= best + step < count and scores.of(best + step)[0] > scores.of(best)[0]:
            best += step
        if best != start:
            break
    return best


def _spread(squares: Array, w: Array) -> float:
    """Factor of the variances with which 95 % bars cover 95 % of rows, shrunk towards one."""
    order = np.argsort(squares, kind="stable")
    z, share = np.sqrt(squares[order]), w[order] / w.max()
    total = share.sum()
    # log of the weighted quantile over the normal one, shrunk as if `doubt` rows had shown zero
    level = np.searchsorted(np.cumsum(share), 0.95 * total)
    log_ratio = np.log(max(z[min(level, z.size - 1)], 0.1) / QUANTILE)
    return float(np.exp(2.0 * log_ratio * total / (total + TUNING.doubt)))


def _by_em(choice: Choice, assumed: Assumptions, X: Array, y: Array, w: Array) -> Fit:
    """Take the centres given, or those a stream of the rows adds; then run EM."""
    committee = LocalCommittee.start(assumed, choice.rules, choice.centres)
    committee, _, _ = committee.add(X, y, w)
    experts = committee.experts
    if not assumed.local:
        experts = _fresh(experts, assumed)
    experts, climbs = fit_experts(
        experts, X, y, w, assumed, choice.max_iter, choice.tol, choice.engine
    )
    return Fit(replace(committee, experts=experts), climbs)


def _fresh(experts: Experts, assumed: Assumptions) -> Experts:
    """Reset experts to the prior at their centres: the published start of EM."""
    fresh = Experts.at(experts.centres[: experts.size], assumed)
    return fresh.with_room(experts.centres.shape[0])
