"""Intervals and sets with a guarantee, for any estimator: calibration rows, folds, streams."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..answers.answers import OBSERVATION
from ..conformal.adaptive import ENOUGH, adaptive_bound, known_scores
from ..conformal.calibration import CalibrationRows
from ..conformal.cross import cross_interval
from ..conformal.quantiles import FEW_IN_GROUP, corrected_quantile, fewest, quantiles_of_groups
from ..conformal.scores import Ends, in_order
from ..transforms.warping import WarpedAnswers, Warping
from .checks.groups import group_codes

Array = np.ndarray
#: Where intervals come from.
METHODS = ("model", "split", "cv+", "adaptive")
#: Names of what is computed of calibration rows and folds begin with this.
MADE = "conformal "
#: Units of scores are at least this share of the scale of y.
LEAST_UNIT = 1e-12


class FewInGroupWarning(UserWarning):
    """A group has so few calibration rows that the share covered varies much."""


def check_interval_method(method: Any, level: str, groups: Any, n_local: Any) -> None:
    """Refuse unknown methods, and arguments that mean nothing for this one."""
    if method not in METHODS:
        raise ValueError(f"method={method!r}: give one of {', '.join(map(repr, METHODS))}")
    if method != "model" and level != OBSERVATION:
        raise ValueError(
            f"level={level!r}: method={method!r} covers observations, and functions are never "
            "observed. Leave level out, or give method='model'"
        )
    if groups is not None and method != "split":
        raise ValueError(f"groups mean nothing with method={method!r}: give method='split'")
    if n_local is not None and method in ("cv+", "adaptive"):
        raise ValueError(f"n_local={n_local!r} means nothing with method={method!r}: leave it out")


def calibration_rows(X: Array, y: Array, log_exposure: Array, groups: Any) -> CalibrationRows:
    """Checked rows, with the codes of their groups; warn where a group has few."""
    code = None if groups is None else group_codes(groups, X.shape[0])
    if code is not None:
        _, count = np.unique(code, return_counts=True)
        if (few := int((count < FEW_IN_GROUP).sum())) > 0:
            warnings.warn(
                f"{few} of {count.size} groups have fewer than {FEW_IN_GROUP} calibration rows "
                f"({count.min()} at least): intervals cover on average over calibrations, but "
                "in one of them by several percent more or less. Give more rows, or join groups",
                FewInGroupWarning,
                stacklevel=4,
            )
    return CalibrationRows(X, y, log_exposure, code)


def required_rows(estimator: Any) -> CalibrationRows:
    """The calibration rows of an estimator; a ValueError where it has none."""
    rows = getattr(estimator, "conformal_", None)
    if rows is None:
        raise ValueError(
            "method='split' needs calibration rows: call calibrate(X, y) first, with rows that "
            "the model has not learnt from (fit drops those of an earlier model)"
        )
    return rows


def bounds(rows: CalibrationRows, scores: Array, groups: Any, n: int, coverage: float) -> Array:
    """Corrected quantiles of the scores (m, p): one for all queries (p,), or for each (n, p)."""
    if groups is None:
        _refuse_few(rows.n, coverage, "")
        return corrected_quantile(scores, coverage)
    if rows.group is None:
        raise ValueError("groups: calibrate had none. Call calibrate(X, y, groups=…) first")
    asked = group_codes(groups, n)
    new = ~np.isin(asked, rows.group)
    if new.any():
        at = int(np.flatnonzero(new)[0])
        raise ValueError(
            f"groups has labels without calibration rows, in {int(new.sum())} of {n} queries (row "
            f"{at} is the first): calibrate with rows of these groups, or leave groups out"
        )
    for one in np.unique(asked):
        _refuse_few(int((rows.group == one).sum()), coverage, " in each group")
    return quantiles_of_groups(scores, rows.group, asked, coverage)


def _refuse_few(n: int, coverage: float, where: str) -> None:
    if n < (need := fewest(coverage)):
        raise ValueError(
            f"coverage={coverage:g} needs {need} calibration rows{where} for intervals of finite "
            f"length, and there are {n}: give more, or ask for less coverage"
        )


# -- intervals of regressors ------------------------------------------------------------------


def split_interval(
    estimator: Any, answers: Any, predictor: Any, coverage: float, groups: Any
) -> tuple[Array, Array]:
    """Move the ends of the model's intervals until they cover calibration rows, and one more.

    `predictor`: that of the answers, where it is not the model's own.
    """
    rows = required_rows(estimator)

    def known() -> Any:
        shift = estimator.model_.units.shift + rows.log_exposure
        return estimator._answers_at(rows.X, shift, predictor)

    way = repr(getattr(estimator, "n_local", None))
    own = known() if predictor is not None else estimator._made.named(f"{MADE}{way}", known)
    scores = scores_at(estimator, own, rows.y, coverage)
    q = bounds(rows, scores, groups, answers.X.shape[0], coverage)
    return in_units(estimator, answers, *ends_at(estimator, answers, coverage).moved(q))


def folds_interval(estimator: Any, X: Array, coverage: float) -> tuple[Array, Array]:
    """CV+ from models without each of the folds; scores are kept, predictors are not."""
    made, folds = estimator._made, estimator._made.named(f"{MADE}folds", estimator._folds)
    name = f"{MADE}scores {coverage!r}"
    known, scores, at = made.others.get(name), [], []
    for fold in folds:
        ask = fold.asking(estimator._engine())
        answers = ask(X)
        at.append(ends_at(estimator, answers, coverage))
        if known is None:
            own = scores_at(estimator, ask(fold.rows.X), fold.rows.y, coverage)
            scores.append(fold.copied(own))
    scores = made.named(name, lambda: scores)
    n = sum(map(len, scores))
    if n < (need := fewest(coverage)):
        raise ValueError(f"coverage={coverage:g} needs {need} rows, and there are {n}")
    return in_units(estimator, answers, *cross_interval(at, scores, coverage))


def adaptive_interval(estimator: Any, answers: Any, coverage: float) -> tuple[Array, Array]:
    """mean ± q·deviation, with q by the errors of the rows of the stream that came last."""
    errors = known_scores(estimator.stream_.errors)
    if errors.size < ENOUGH:
        raise ValueError(
            f"method='adaptive' needs {ENOUGH} rows of a stream that were predicted before they "
            f"were learnt from, and there are {errors.size}: call partial_fit (up to 64 rows of "
            "each call are predicted first), or give method='split'"
        )
    if estimator.model_.scaling.scale.size > 1:
        raise ValueError("method='adaptive' is for one output: fit a model for each")
    inner, _ = untransformed(answers)
    mean, deviation = inner.moments(OBSERVATION)
    q = max(adaptive_bound(errors, coverage)[0], 0.0)
    return in_units(estimator, answers, mean - q * deviation, mean + q * deviation)


def untransformed(answers: Any) -> tuple[Any, Warping | None]:
    """Answers about y, or about T(y) and T: intervals of one are those of the other."""
    if isinstance(answers, WarpedAnswers):
        return answers.inner, answers.warping
    return answers, None


def ends_at(estimator: Any, answers: Any, coverage: float) -> Ends:
    """Ends of the model's intervals for y, or for T(y), which keeps its skew."""
    inner, _ = untransformed(answers)
    lower, upper = inner.interval(coverage, OBSERVATION)
    deviation = inner.moments(OBSERVATION)[1]
    return Ends.of(lower, upper, deviation, LEAST_UNIT * estimator.model_.scaling.scale)


def scores_at(estimator: Any, answers: Any, y: Array, coverage: float) -> Array:
    """Scores of y (n, p), in the units of the user; infinite where T(y) does not exist."""
    ends, (_, warping) = ends_at(estimator, answers, coverage), untransformed(answers)
    if warping is None:
        return ends.scores(y)
    within = warping.within(y)
    return np.where(within, ends.scores(warping.forward(np.where(within, y, 1.0))), np.inf)


def in_units(estimator: Any, answers: Any, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Take ends back from T(y) to y, and to values that y may have."""
    _, warping = untransformed(answers)
    if warping is not None:
        lower, upper = warping.backward(lower), warping.backward(upper)
    support = getattr(next(iter(estimator.model_.likelihoods), None), "support", None)
    if not support:
        return lower, upper
    if support.whole:
        middle = np.round(0.5 * (lower + upper))
        lower, upper = np.ceil(lower), np.floor(upper)
        crossed = lower > upper
        lower, upper = np.where(crossed, middle, lower), np.where(crossed, middle, upper)
    return in_order(
        np.clip(lower, support.low, support.high), np.clip(upper, support.low, support.high)
    )


# -- sets of classifiers ----------------------------------------------------------------------


def proba_of_calibration(estimator: Any, ask: Callable[[Array], Array]) -> Array:
    """Probabilities of all classes at the calibration rows, by the model as it is now."""
    return estimator._made.named(f"{MADE}classes", lambda: ask(required_rows(estimator).X))
