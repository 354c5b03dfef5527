"""Answers in less time: fewer nearest rows, or cells, with error bars by rows that were left out.

A model that answers otherwise is the same record with other `n_local`, `cells` and `errors`. The
scale of errors belongs to the way of answering: it is learnt anew, from some of the rows kept,
each answered by the others.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize_scalar

from ..answers.cells import CellPredictor, Cells, LeftOut, scaled_variance
from ..answers.leave_one_out import leave_one_out
from ..answers.predictors import Local
from ..engines.local import Serial
from ..errors.errors import ErrorPredictor, Errors, inputs_at, neighbours
from ..errors.scale import resolution
from ..numerics.records import record
from ..rows.rows import Prediction
from .errors import ERROR_ROWS, blurred, nats_for_tails

if TYPE_CHECKING:
    from .model import CommitteeModel

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
#: A model that has grown by this factor since a way was chosen is looked at anew.
GROWN = 2.0
#: Bounds of the power of variances.
POWERS = (0.5, 2.0)


class AnswerTimeWarning(UserWarning):
    """No way of answering was found that takes as little time as asked for."""


@record("committee.refined_errors/1")
@dataclass(frozen=True, eq=False)
class RefinedErrors:
    """Errors at rows left out of the exact GP of the others, for (K + Ψ)w; see `Solution`."""

    at: Array  # numbers of rows, ascending  (h,)
    wrong: Array  # (h, p)


@record("committee.fast/1")
@dataclass(frozen=True, eq=False)
class Fast:
    """A way of answering that was chosen by the density of rows left out."""

    asked: float  # milliseconds a row
    memory: float  # bytes of cells that are kept
    rows: int  # of the model when it was chosen
    n_local: int
    cells: Cells | None
    errors: Errors | None
    averaged: bool  # whether it averages over hyperparameters, where the model does
    words: str
    tried: tuple[tuple[str, float, float], ...]  # words, milliseconds, mean log density

    def of(self, model: CommitteeModel) -> CommitteeModel:
        """The model that answers so; of a stream that has grown, by cells of all rows."""
        averaged, cells = model.averaged if self.averaged else (), self.cells
        if cells is not None and model.n_kept != self.rows:
            cells = cells.anew(model.kernel, model.committee.rows().X)
        return replace(
            model, n_local=self.n_local, cells=cells, errors=self.errors, averaged=averaged
        )

    def holds(self, asked: float, memory: float, rows: int) -> bool:
        """Whether it is what is asked for, of about as many rows."""
        return (self.asked, self.memory) == (asked, memory) and rows <= GROWN * self.rows


@dataclass(frozen=True, eq=False)
class Way:
    """A way of answering, and what it is worth."""

    words: str
    model: CommitteeModel
    milliseconds: float  # of CPU time, a row
    log_density: float  # of rows left out, on average; −inf: too slow to be looked at; inf: best
    answers: Any = None  # who answers for f, with the cells that were made

    def better(self, other: Way, asked: float) -> bool:
        """Quick enough, then by density; else one that was looked at, then the quicker."""
        quick, others = self.milliseconds <= asked, other.milliseconds <= asked
        if quick and others:
            return self.log_density > other.log_density
        if quick or others:
            return quick
        seen, seen_other = self.log_density > -np.inf, other.log_density > -np.inf
        return (seen, -self.milliseconds) > (seen_other, -other.milliseconds)

    def predictor(self) -> Any:
        own = self.answers
        return self.model.predictor(own and replace(own, cells=self.model.cells))


def due(model: CommitteeModel, limit: tuple[float, float]) -> bool:
    """Whether a stream that no longer waits has to look for a way to answer in time."""
    known = model.fast is not None and model.fast.holds(*limit, model.n_kept)
    return not (model.exact or known)


def with_n_local(model: Any, k: int, say: Say) -> Any:
    """The model that answers from k nearest rows."""
    other = replace(model, n_local=k)
    if getattr(model, "errors", None) is None or model.exact or k > model.n_local:
        return other  # errors of more rows are not larger, and would take long to learn
    return with_errors_left_out(other, *nearest_left_out(other), say)[0]


def nearest_left_out(model: CommitteeModel) -> tuple[Array, Prediction]:
    """Numbers of some rows, and answers at these from the nearest of the others.

    Without nearest rows: from the anchors, which have seen each row as one among all.
    """
    own, answers = model.sample_of_rows(ERROR_ROWS), model.committee_predictor()
    X = model.rows_at(own).X
    if not isinstance(answers, Local):
        return own, _refined(model, own, answers.predict(X, Serial()))
    return own, _refined(model, own, answers.left_out(own, X))


def _refined(model: CommitteeModel, own: Array, found: Prediction) -> Prediction:
    """Where means were refined y = (K + Ψ)w + r, and `found` answers for r."""
    if model.rest is None:
        return found
    exact, known = model.committee.rows().y[own] - model.rest.rows().y[own], model.refined_errors
    if known is not None:  # else as if there were none but for r
        exact = exact - known.wrong[np.searchsorted(known.at, own)]
    return Prediction(exact + found.mean, found.variance)


def with_errors_left_out(
    model: CommitteeModel, own: Array, found: Prediction, say: Say
) -> tuple[CommitteeModel, float]:
    """The model with the scale of errors that answers at rows left out have, if it is worth
    having; and the mean log density of these rows, in units where y has variance one."""
    rows, noise = model.rows_at(own), model.committee.noise
    if model.errors is None:
        known = found.variance + noise + rows.known()
        return model, _normal_density(rows.y - found.mean, known).mean()
    metric = model.errors.metric
    near: Any = None
    if model.exact:  # see `exact_with_errors`
        drawn = blurred(found)
        found, rows = drawn, replace(rows, y=rows.y + drawn.mean - found.mean)
    elif model.stored is not None:
        near = replace(model.on_disk(), metric=metric)
    else:
        near = neighbours(metric, model.committee.rows())
    at = inputs_at(metric, near, rows.X, found, noise, None if near is None else own)
    errors = Errors.learn(
        at, rows, metric, resolution(rows.y), always=False, say=say, nats=nats_for_tails(model)
    )
    if errors is None:
        score = _normal_density(rows.y - found.mean, found.variance + noise + rows.known()).mean()
    else:
        score = errors.scale.predictive(at).log_density(rows.y).mean()
    return replace(model, errors=errors), float(score)


def _normal_density(error: Array, variance: Array) -> Array:
    wide = variance[:, None]
    return -0.5 * (np.log(2.0 * np.pi * wide) + error**2 / wide)


def chosen(model: CommitteeModel, asked: float, memory: float, say: Say) -> tuple[Fast, Any]:
    """The way of answering with the best density at rows left out, of those quick enough; and who
    answers so."""
    tried, best = list[Way](), None
    for way in ways(model, asked, memory, say):
        tried.append(replace(way, model=model, answers=None))
        best = way if best is None or way.better(best, asked) else best  # the other's cells go
    assert best is not None
    if best.milliseconds > asked:
        warnings.warn(
            f"answer_time={asked:g}: the quickest way found, {best.words}, takes about "
            f"{best.milliseconds:.2g} ms a row and is used. Give answer_time="
            f"{1.1 * best.milliseconds:.2g} or more, or AnswerTime(…, memory=) above "
            f"{memory / 1e6:.0f} MB if cells were too large for that",
            AnswerTimeWarning,
            stacklevel=2,
        )
    say(f"answers by {best.words}")
    found = Fast(
        asked, memory, model.n_kept, best.model.n_local, best.model.cells, best.model.errors,
        bool(best.model.averaged), best.words,
        tuple((one.words, one.milliseconds, one.log_density) for one in tried),
    )  # fmt: skip
    return found, best.predictor()


def ways(model: CommitteeModel, asked: float, memory: float, say: Say) -> Iterator[Way]:
    """By nearest rows and by cells, of each those of most rows first, as long as fewer are
    better. The quickest of a kind is looked at in any case."""
    kinds = [_as_fitted(model) if model.exact else _by_nearest(model, asked, say)]
    if model.stored is None and model.n_kept >= LEAST_ROWS * VARIANCE_ROWS[-1]:
        kinds.append(_by_cells(model, asked, memory, say))
    for kind in kinds:
        best = -np.inf
        for way in kind:
            worth = f", log density of rows left out {way.log_density:.3f}"
            if not np.isfinite(way.log_density):
                worth = ": too slow" if way.milliseconds > asked else ""
            say(f"{way.words}: {way.milliseconds:.3f} ms a row{worth}")
            yield way
            if way.log_density < best:
                break
            best = way.log_density


def _as_fitted(model: CommitteeModel) -> Iterator[Way]:
    """An exact GP, or one that is averaged over hyperparameters: the best there is."""
    X = model.rows_at(model.sample_of_rows(TIMED)).X
    words = "all rows" + ", averaged over hyperparameters" * bool(model.averaged)
    yield Way(words, model, milliseconds_a_row(model.predictor(), X), np.inf)


def _by_nearest(model: CommitteeModel, asked: float, say: Say) -> Iterator[Way]:
    X = model.rows_at(model.sample_of_rows(TIMED)).X
    sizes = [model.n_local, *(k for k in NEAREST_ROWS if k < model.n_local)]
    for k in sizes:
        other = replace(model, n_local=k)
        words, spent = f"{k} nearest rows", milliseconds_a_row(other.predictor(), X)
        if spent > asked and k != sizes[-1]:
            yield Way(words, other, spent, -np.inf)
            continue
        other, score = with_errors_left_out(other, *nearest_left_out(other), say)
        yield Way(words, other, spent, score)


def _by_cells(model: CommitteeModel, asked: float, memory: float, say: Say) -> Iterator[Way]:
    all_rows = REST_ROWS if model.rest is not None else CELL_ROWS
    sizes = [0] if model.exact else [k for k in all_rows if k <= model.n_kept // LEAST_ROWS]
    for k in sizes:
        other = _cells_within(replace(model, averaged=()), k, memory)
        if other is None:
            say(f"cells of {k} rows: more than can be kept in {memory / 1e6:.0f} MB")
        else:
            yield _cells_way(other, asked, say, last=k == sizes[-1])


def _cells_within(model: CommitteeModel, k: int, memory: float) -> CommitteeModel | None:
    """With cells of k rows, all of which can be kept; None: they cannot."""
    for near in VARIANCE_ROWS:
        if near > max(k, model.exact * VARIANCE_ROWS[0]) or near > model.n_kept // LEAST_ROWS:
            continue
        cells = Cells.of(model.kernel, model.committee.rows().X, k, near, memory)
        if not cells.centres.size and k > MOST_TIMES * near:
            continue
        other = replace(model, cells=cells)
        own = model.sample_of_rows(SHOWN)
        answers = other.function_predictor()
        assert isinstance(answers, CellPredictor)
        if answers.all_bytes(model.rows_at(own).X) <= memory:
            return other
    return None


def _cells_way(model: CommitteeModel, asked: float, say: Say, *, last: bool) -> Way:
    """Cells that a few queries are asked first; where these take too long, nothing else is."""
    cells, answers = model.cells, model.function_predictor()
    assert cells is not None and isinstance(answers, CellPredictor)
    words = "means of all rows" if model.exact else f"cells, means of {cells.k} rows"
    words = "refined means of all rows" if model.rest is not None else words
    words = f"{words}, variances of {cells.near}"
    known, at = model.refined_errors, model.sample_of_rows(SHOWN)
    if known is not None:
        at = known.at
    names = answers.places.names(model.rows_at(at).X)[0]
    only = None if known is None else at
    first = answers.left_out(names[:FEW], only)
    queries = model.rows_at(first.own).X
    spent = milliseconds_a_row(model.predictor(answers), queries)
    if spent > asked and not last:
        return Way(words, model, spent, -np.inf, answers)
    left = first + answers.left_out(names[FEW:], only)
    model, found = _calibrated(model, answers.rows.y, left)
    model, score = with_errors_left_out(model, left.own, found, say)
    return Way(words, model, spent, score, answers)


def _calibrated(
    model: CommitteeModel, y: Array, left: LeftOut
) -> tuple[CommitteeModel, Prediction]:
    """The model with the power of variances that errors at rows left out ask for, and answers at
    these; `y`: targets of all rows that cells see."""
    rows, mean = model.rows_at(left.own), y[left.own] - left.error
    if model.exact:
        all_rows = model.committee.rows()
        mean = leave_one_out(model.kernel, model.committee.noise, all_rows).mean[left.own]
    found = _refined(model, left.own, Prediction(mean, left.variance))
    if model.rest is not None and model.refined_errors is None:
        return model, found  # of refined means no errors are known
    rest = model.committee.noise + rows.known()
    assert model.cells is not None
    power = power_of_variances(rows.y - found.mean, left.variance, model.cells.prior, rest)
    cells = replace(model.cells, power=power)
    return replace(model, cells=cells), Prediction(found.mean, cells.variance(left.variance))


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
