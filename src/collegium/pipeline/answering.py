"""Answers in less time: fewer nearest rows, or cells, with error bars by held-out rows.

A model that answers otherwise is the same record with other `n_local`, `cells` and `errors`. The
scale of errors belongs to the way of answering: it is relearnt from some of the rows kept, each
answered by the others.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ..answers.cells.cells import Cells, scaled_variance
from ..answers.cells.predictor import CellPredictor, HeldOutAnswers
from ..answers.leave_one_out import leave_one_out
from ..answers.predictors import LocalPredictor
from ..answers.tuning import TUNING as ANSWERS
from ..engines.local import Serial
from ..errors.errors import ErrorPredictor, Errors, inputs_at
from ..rows.metric import Metric
from ..rows.rows import Prediction
from .checks.errors import blurred, nats_for_tails
from .layers import Fast
from .model import CommitteeModel
from .tuning import TUNING

Array = np.ndarray
Say = Callable[[str], None]
#: Rows that means of cells are made of; of means that are refined; nearest rows. Most first.
CELL_ROWS, REST_ROWS, NEAREST_ROWS = (800, 400, 200, 100), (100,), (200, 100, 50, 25, 12)
#: Rows that variances of cells are made of, most first; a model has so many times as many rows.
VARIANCE_ROWS, LEAST_ROWS = (200, 100, 50), 4
#: Cells that show what they are worth, of these the first ones; queries that show how long one
#: takes, and about how many seconds they may take.
SHOWN, FEW, TIMED, LONG_ENOUGH = 256, 24, 256, 0.2
#: Boxes are small where variances are made of few rows: means of more than so many times as many
#: would take long to make.
MOST_TIMES = 4
#: Bounds of the power of variances.
POWERS = (0.5, 2.0)


class AnswerTimeWarning(UserWarning):
    """No way of answering was found that takes as little time as asked for."""


def answers_by(model: CommitteeModel, fast: Fast) -> CommitteeModel:
    """Answer in the way that was chosen; of a stream that has grown, by cells of all rows."""
    averaged, cells = model.averaged if fast.averaged else (), fast.cells
    if cells is not None and len(model.kept) != fast.rows:
        cells = cells.rebuilt(model.kernel, model.committee.rows().X)
    model = with_nearest(model, fast.n_local)
    answering = replace(model.answering, cells=cells, rows=0)
    return replace(model, answering=answering, errors=fast.errors, averaged=averaged)


def with_nearest(model: Any, k: int) -> Any:
    """Answer from k nearest rows, with the errors as they are."""
    return replace(from_rows(model), sizes=replace(model.sizes, n_local=k))


def from_rows(model: Any) -> Any:
    """Answer from nearest rows where cells answer by default."""
    if getattr(model, "answering", None) is None or model.answering.cells is None:
        return model
    return with_cells(model, None)


@dataclass(frozen=True, eq=False)
class Way:
    """A way of answering, and what it is worth."""

    words: str
    model: CommitteeModel
    milliseconds: float  # of CPU time, a row
    log_density: float  # of held-out rows, on average; −inf: too slow to be looked at; inf: best
    answers: Any = None  # who answers for f, with the cells that were made
    look: Callable[[], Way] | None = None  # finds its density, where that is not known yet

    def better(self, other: Way, asked: float) -> bool:
        """Quick enough, then by density; else the quicker."""
        quick, others = self.milliseconds <= asked, other.milliseconds <= asked
        if quick and others:
            return self.log_density > other.log_density
        if quick or others:
            return quick
        return self.milliseconds < other.milliseconds

    def predictor(self) -> Any:
        own = self.answers
        return self.model.predictor(own and replace(own, cells=self.model.answering.cells))


def way_is_due(model: CommitteeModel, limit: tuple[float, float]) -> bool:
    """Whether a stream that no longer waits has to look for a way to answer in time."""
    fast = model.answering.fast
    return not (model.alone or (fast is not None and fast.holds(*limit, len(model.kept))))


def with_n_local(model: Any, k: int, say: Say) -> Any:
    """Answer from k nearest rows, with the scale of errors that such answers have."""
    other = with_nearest(model, k)
    if getattr(model, "errors", None) is None or model.alone or k >= model.sizes.n_local:
        return other  # errors of more rows are not larger, and would take long to learn
    return with_errors_held_out(other, *nearest_held_out(other), say)[0]


def nearest_held_out(model: CommitteeModel) -> tuple[Array, Prediction]:
    """Answer at some rows from the nearest of the others; numbers of these rows come first.

    Without nearest rows: from the anchors, which have seen each row as one among all.
    """
    own, answers = model.sample_of_rows(TUNING.checking.error_rows), model.committee_predictor()
    X = model.kept.take(own).X
    if not isinstance(answers, LocalPredictor):
        return own, _refined(model, own, answers.predict(X, Serial()))
    return own, _refined(model, own, answers.left_out(own, X))


def _refined(model: CommitteeModel, own: Array, found: Prediction) -> Prediction:
    """Add the exact part of refined means: y = (K + Ψ)w + r, and `found` answers for r."""
    if model.refined is None:
        return found
    rest, known = model.refined.rest, model.refined.errors
    exact = model.committee.rows().y[own] - rest.rows().y[own]
    if known is not None:  # else as if there were none but for r
        exact = exact - known.wrong[np.searchsorted(known.at, own)]
    return Prediction(exact + found.mean, found.variance)


def with_errors_held_out(
    model: CommitteeModel, own: Array, found: Prediction, say: Say
) -> tuple[CommitteeModel, float]:
    """Learn the scale of errors that answers at held-out rows have, if it is worth having; and the
    mean log density of these rows, in units where y has variance one.

    Rows that came in groups keep the errors of `fit`: others of its group answer for a row here."""
    kept = model.kept
    rows, noise = kept.take(own), model.sum.noise
    if model.members is not None:
        found = model.members.beside(found, rows.X, noise, left_out=True, group=rows.group)
    if model.errors is None:
        known = found.variance + noise + rows.known()
        return model, _normal_density(rows.y - found.mean, known).mean()
    metric, y, expects = model.errors.metric, rows.y, model.errors.trees
    values = [one.values for one in model.errors.scale.outputs]
    near: Any = None
    if model.alone:  # see `exact_with_errors`
        drawn = blurred(found)
        found, rows = drawn, replace(rows, y=rows.y + drawn.mean - found.mean)
    else:
        near = kept.neighbours(metric)
    at = inputs_at(metric, near, rows.X, found, noise, None if near is None else own)
    errors = model.errors if rows.group is not None else Errors.learn(
        at, rows, metric, values, always=False, say=say, nats=nats_for_tails(model), of=y,
        trees=None if expects is None else (expects, expects.left_out(rows.X, rows.group)),
    )  # fmt: skip
    if errors is not None and errors.trees is not None:
        at = replace(at, trees=errors.trees.left_out(rows.X, rows.group))
    if errors is None:
        score = _normal_density(rows.y - found.mean, found.variance + noise + rows.known()).mean()
    else:
        margins = errors.scale.predictive(at)
        if errors.scale.discrete:  # values are as they came, not moved
            margins, rows = replace(margins, location=at.mean - (rows.y - y)), replace(rows, y=y)
        score = margins.log_density(rows.y).mean()
    return replace(model, errors=errors), float(score)


def _normal_density(error: Array, variance: Array) -> Array:
    wide = variance[:, None]
    return -0.5 * (np.log(2.0 * np.pi * wide) + error**2 / wide)


def chosen(
    model: CommitteeModel, asked: float, memory: float, say: Say,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[Fast, Any]:  # fmt: skip
    """Choose the way of answering with the highest held-out log density, of those quick enough;
    and make its predictor. Once `stop()` is true, no further ways are tried."""
    tried, best, model = list[Way](), None, from_rows(model)
    for way in ways(model, asked, memory, say):
        tried.append(replace(way, model=model, answers=None, look=None))
        best = way if best is None or way.better(best, asked) else best  # the other's cells go
        if stop():
            say("time is up: no other way of answering is tried")
            break
    assert best is not None
    if best.look is not None:  # nothing is quick enough, and this is the quickest
        quickest = best.words
        best = best.look()
        known = replace(best, model=model, answers=None)
        tried = [known if one.words == quickest else one for one in tried]
    if best.milliseconds > asked:
        warnings.warn(
            f"n_local=AnswerTime({asked:g}): the quickest way found, {best.words}, takes about "
            f"{best.milliseconds:.2g} ms per row and is used. Give AnswerTime("
            f"{1.1 * best.milliseconds:.2g}) or more, or AnswerTime(…, memory=) above "
            f"{memory / 1e6:.0f} MB if cells were too large for that",
            AnswerTimeWarning,
            stacklevel=2,
        )
    say(f"answers by {best.words}")
    found = Fast(
        asked, memory, len(model.kept), best.model.sizes.n_local, best.model.answering.cells,
        best.model.errors,
        bool(best.model.averaged), best.words,
        tuple((one.words, one.milliseconds, one.log_density) for one in tried),
    )  # fmt: skip
    return found, best.predictor()


def ways(model: CommitteeModel, asked: float, memory: float, say: Say) -> Iterator[Way]:
    """Try nearest rows and cells, of each those of most rows first, as long as fewer are better.
    The quickest of a kind is looked at in any case."""
    kinds = [_as_fitted(model) if model.alone else _by_nearest(model, asked, say)]
    kept = model.kept
    if kept.in_memory and len(kept) >= LEAST_ROWS * VARIANCE_ROWS[-1]:
        kinds.append(_by_cells(model, asked, memory, say))
    for kind in kinds:
        best = -np.inf
        for way in kind:
            worth = f", log density of held-out rows {way.log_density:.3f}"
            if not np.isfinite(way.log_density):
                worth = ": too slow" if way.milliseconds > asked else ""
            say(f"{way.words}: {way.milliseconds:.3f} ms a row{worth}")
            yield way
            if way.log_density < best:
                break
            best = way.log_density


def _as_fitted(model: CommitteeModel) -> Iterator[Way]:
    """Answer by an exact GP, or one that is averaged over hyperparameters: the best there is."""
    X = model.kept.take(model.sample_of_rows(TIMED)).X
    words = "all rows" + ", averaged over hyperparameters" * bool(model.averaged)
    yield Way(words, model, milliseconds_a_row(model.predictor(), X), np.inf)


def _by_nearest(model: CommitteeModel, asked: float, say: Say) -> Iterator[Way]:
    X, most = model.kept.take(model.sample_of_rows(TIMED)).X, model.sizes.n_local
    sizes = [most, *(k for k in NEAREST_ROWS if k < most)]
    for k in sizes:
        other = with_nearest(model, k)
        words, spent = f"{k} nearest rows", milliseconds_a_row(other.predictor(), X)
        look = partial(_nearest_way, other, words, spent, say)
        if spent > asked and k != sizes[-1]:
            yield Way(words, other, spent, -np.inf, look=look)
        else:
            yield look()


def _nearest_way(model: CommitteeModel, words: str, spent: float, say: Say) -> Way:
    model, score = with_errors_held_out(model, *nearest_held_out(model), say)
    return Way(words, model, spent, score)


def _by_cells(model: CommitteeModel, asked: float, memory: float, say: Say) -> Iterator[Way]:
    all_rows = CELL_ROWS if model.refined is None else REST_ROWS
    sizes = [0] if model.alone else [k for k in all_rows if k <= len(model.kept) // LEAST_ROWS]
    for k in sizes:
        other = _cells_within(replace(model, averaged=()), k, memory)
        if other is None:
            say(f"cells of {k} rows: more than can be kept in {memory / 1e6:.0f} MB")
        else:
            yield _cells_way(other, asked, say, last=k == sizes[-1])


def _cells_within(model: CommitteeModel, k: int, memory: float) -> CommitteeModel | None:
    """Make cells of k rows, all of which can be kept; None: they cannot."""
    kept = model.kept
    for near in VARIANCE_ROWS:
        if near > max(k, model.alone * VARIANCE_ROWS[0]) or near > len(kept) // LEAST_ROWS:
            continue
        cells = Cells.of(model.kernel, kept.rows.X, k, near, memory, shared=ANSWERS.cells.shared)
        levels = Metric.of(model.kernel, kept.rows.X).level_columns()
        cells = replace(cells, own=int(bool(levels and cells.centres.size)))
        if not cells.centres.size and k > MOST_TIMES * near:
            continue
        other = with_cells(model, cells)
        own = model.sample_of_rows(SHOWN)
        answers = other.summed_predictor()
        assert isinstance(answers, CellPredictor)
        if answers.all_bytes(kept.take(own).X) <= memory:
            return other
    return None


def with_cells(model: CommitteeModel, cells: Cells | None) -> CommitteeModel:
    """Answer by cells; None: from nearest rows."""
    return replace(model, answering=replace(model.answering, cells=cells, rows=0))


def _cells_way(model: CommitteeModel, asked: float, say: Say, *, last: bool) -> Way:
    """Try cells: a few queries first, and where these take too long, nothing else."""
    cells, answers, kept = model.answering.cells, model.summed_predictor(), model.kept
    assert cells is not None and isinstance(answers, CellPredictor)
    words = "means of all rows" if model.alone else f"cells, means of {cells.k} rows"
    words = "refined means of all rows" if model.refined is not None else words
    words = f"{words}, variances of {cells.near}"
    known = None if model.refined is None else model.refined.errors
    at = model.sample_of_rows(SHOWN) if known is None else known.at
    names = answers.places.names(kept.take(at).X)[0]
    only = None if known is None else at
    first = answers.left_out(names[:FEW], only)
    queries = kept.take(first.own).X
    spent = milliseconds_a_row(model.predictor(answers), queries)

    def look() -> Way:
        left = first + answers.left_out(names[FEW:], only)
        known, found = _calibrated(model, answers.rows.y, left)
        known, score = with_errors_held_out(known, left.own, found, say)
        return Way(words, known, spent, score, answers)

    if spent > asked and not last:
        return Way(words, model, spent, -np.inf, answers, look)
    return look()


def _calibrated(
    model: CommitteeModel, y: Array, left: HeldOutAnswers
) -> tuple[CommitteeModel, Prediction]:
    """Choose the power of variances that errors at held-out rows ask for, and answer at these;
    `y`: targets of all rows that cells see."""
    kept, cells, refined = model.kept, model.answering.cells, model.refined
    rows, mean = kept.take(left.own), y[left.own] - left.error
    if model.alone:
        mean = leave_one_out(model.kernel, model.sum.noise, kept.rows).mean[left.own]
    found = _refined(model, left.own, Prediction(mean, left.variance))
    if refined is not None and refined.errors is None:
        return model, found  # of refined means no errors are known
    assert cells is not None
    rest = model.sum.noise + rows.known()
    power = power_of_variances(rows.y - found.mean, left.variance, cells.prior, rest)
    cells = replace(cells, power=power)
    return with_cells(model, cells), Prediction(found.mean, cells.variance(left.variance))


def power_of_variances(error: Array, given: Array, prior: float, rest: Array | float) -> float:
    """The power of `scaled_variance` under which errors (h, p) are likeliest; `rest`: noise."""
    rest = np.maximum(rest, 1e-300)

    def loss(power: float) -> float:
        variance = scaled_variance(given, prior, power) + rest
        return -float(_normal_density(error, variance).mean())

    if not error.size:
        return 1.0
    return float(minimize_scalar(loss, bounds=POWERS, method="bounded").x)


def milliseconds_a_row(answers: Any, X: Array) -> float:
    """CPU time of one thread for mean and standard deviation, the least of some calls."""
    _moments(answers, X[:2])  # what is made when first asked for
    one = _moments(answers, X[:1])
    n = int(np.clip(LONG_ENOUGH / max(one, 1e-9), min(FEW, X.shape[0]), X.shape[0]))
    _moments(answers, X[:n])
    return 1e3 * min(_moments(answers, X[:n]) for _ in range(3)) / n


def _moments(answers: Any, X: Array) -> float:
    start = time.thread_time()
    found = answers.predict(X, Serial())
    if isinstance(answers, ErrorPredictor):
        answers.scale.variance(answers.inputs(X, found))
    return time.thread_time() - start
