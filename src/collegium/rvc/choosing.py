"""Choose units, b and width of a committee from rows: in a batch, or as rows come in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .absorbing import QUANTILE
from .batch import fit_experts
from .committee import LocalCommittee, StreamRules
from .experts import Assumptions, Experts
from .tuning import TUNING
from .widths import (
    WidthSelection,
    line,
    local_assumptions,
    prediction_gain,
    published_assumptions,
)

Array = np.ndarray


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
    """Committee after all rows, and the bound of each expert after every sweep.

    For local experts also before the first sweep.
    """

    committee: LocalCommittee
    bounds: list[list[float]]

    @property
    def bound(self) -> float:
        """Sum of the last bounds over experts."""
        return float(sum(trace[-1] for trace in self.bounds))

    @property
    def sweeps(self) -> int:
        before = 1 if self.committee.assumed.local else 0
        return max(len(trace) for trace in self.bounds) - before


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
    return Fit(replace(after, scale=bars), found.bounds)


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
    quick = replace(choice, max_iter=min(choice.max_iter, TUNING.few_sweeps))
    best, factor = len(every) // 2, 1.0
    if n >= 2 * TUNING.folds:
        scores = _Scores(quick, every, X, y, w)
        best = _climbed(scores, best, len(every)) if choice.local else scores.best()
        factor = scores.of(best)[1]
    say(f"width {every[best].unit:.3g} standard deviations")
    found = _by_em(choice, every[best], X, y, w)
    scale = np.array([0.5 * np.log(factor), float(n), 0.0])
    return Fit(replace(found.committee, scale=scale), found.bounds)


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
        return float(w @ prediction_gain(y, mean, factor * variance, assumed.local)), factor


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
    experts, bounds = fit_experts(experts, X, y, w, assumed, choice.max_iter, choice.tol)
    return Fit(replace(committee, experts=experts), bounds)


def _fresh(experts: Experts, assumed: Assumptions) -> Experts:
    """Reset experts to the prior at their centres: the published start of EM."""
    fresh = Experts.at(experts.centres[: experts.size], assumed)
    return fresh.with_room(experts.centres.shape[0])
