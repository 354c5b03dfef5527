"""Ask a fitted estimator for what explanations need: one number per row, and covariances."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..answers.predictors import ExactPredictor
from ..explain.asking import AskedModel, plain_values
from ..explain.covariances import correlations, from_sds, quick
from ..explain.explaining import Question, explain_rows
from ..explain.explanation import Explanation, NearestRows
from ..explain.nearest import moved_most, rows_below
from ..explain.products import KernelSums
from ..explain.tuning import TUNING
from ..messages.expansion import Expansion
from ..numerics.threads import single_threaded
from ..rows.rows import Prediction
from ..tables.encoding import Column
from ..tables.reading import NUMBER
from ..transforms.targets import TargetTransform
from .checks.arguments import check_is_fitted, whole_number
from .checks.rows import check_queries, generator
from .frames.encoded import KnownColumns, columns_of
from .model import Model
from .words.effects import columns_together

Array = np.ndarray
FUNCTION, PROBABILITY, LOG_ODDS = "function", "probability", "log odds"
#: Of differences of latent functions, in their standard deviations.
STEP = 1e-3


def table_columns(estimator: Any, X: Array) -> dict[str, Any]:
    """Columns of the user's table, and where a model sees each."""
    encoding = getattr(estimator, "encoding_", None)
    groups = tuple(map(tuple, columns_together(X.shape[1], encoding)))
    if encoding is not None:
        return {"columns": encoding.columns, "groups": groups}
    names = columns_of(estimator).names or [f"x{j}" for j in range(X.shape[1])]
    return {"columns": tuple(Column(name, NUMBER) for name in names), "groups": groups}


def asked_of_regressor(estimator: Any, X: Any, level: str, output: Any) -> tuple[Array, AskedModel]:
    """Ask for one output of a regressor, at exposure one."""
    X, _ = estimator._queries(X, level, exposure_of(estimator, X))
    p = estimator.model_.scaling.scale.size
    k = output_position(output, p)

    def answers(X: Array) -> Any:
        return estimator._answers_at(X, np.full(X.shape[0], estimator.model_.units.shift))

    def moments(X: Array) -> tuple[Array, Array]:
        with single_threaded():
            mean, sd = answers(X).moments(level)
        return mean[:, k], sd[:, k]

    def mean(X: Array) -> Array:
        with single_threaded():
            return answers(X).mean(level)[:, k]

    def joint(X: Array) -> Array | None:
        with single_threaded():
            found = answers(X)
            R = correlations_of_f(estimator, found, X, k)
            if R is None:
                return None
            C = from_sds(R, found.moments(FUNCTION)[1][:, k])
            if level != FUNCTION:
                np.fill_diagonal(C, found.moments(level)[1][:, k] ** 2)
            return C

    words = "prediction" if p == 1 else f"prediction of output {k}"
    return X, AskedModel(**table_columns(estimator, X), moments=moments, joint=joint, mean=mean,
                    words=words)  # fmt: skip


def correlations_of_f(estimator: Any, answers: Any, X: Array, k: int) -> Array | None:
    """Correlations of f between rows, for output k (n, n); None where rules combine experts point
    by point."""
    places = getattr(answers, "inner", answers).X
    own = quick(function_predictor_of(estimator))
    try:
        if not hasattr(own, "joint"):
            C = answers.covariance(FUNCTION)[1]
        else:
            C = own.joint(places, estimator._engine())[1]
    except ValueError:
        return None
    return correlations(C if C.ndim == 2 else C[:, :, k])


def function_predictor_of(estimator: Any) -> Any:
    """The predictor of f; None: the model has no such thing."""
    made = getattr(type(estimator.model_), "predictor", Model.predictor)
    return None if made is Model.predictor else estimator._predictor()


def exposure_of(estimator: Any, X: Any) -> Any:
    """Exposure one of each row, said so that no warning comes, where rows came with exposures."""
    model = getattr(estimator, "model_", None)
    return 1.0 if model is not None and model.units.exposed else None


def output_position(output: Any, p: int) -> int:
    """Position of the output to explain."""
    if output is None and p == 1:
        return 0
    whole = isinstance(output, (int, np.integer)) and not isinstance(output, bool)
    if not (whole and -p <= output < p):
        raise ValueError(f"output={output!r}: the model has {p} outputs; give 0 … {p - 1}")
    return int(output) % p


# -- explanations of single predictions -------------------------------------------------------


def explanation_of(
    estimator: Any, X: Any, background: Any, output: Any, level: str | None, n: int | None,
    orders: int | None, error: bool, random_state: Any,
) -> Explanation:  # fmt: skip
    """Explain predictions of a fitted estimator; see `Estimator.explain`."""
    rng = generator(random_state)
    X, asked = estimator._asked(X, level or estimator.explained_level, output)
    function = asked if level_is_known(estimator) else estimator._asked(
        X.view(KnownColumns), FUNCTION, output
    )[1]  # fmt: skip
    n = TUNING.background if n is None else whole_number(n, "n_background")
    orders = TUNING.orders if orders is None else whole_number(orders, "n_orders")
    kept = kept_inputs(estimator)
    if background is not None:
        rows = estimator._asked(background, level or estimator.explained_level, output)[0]
    elif kept is None:
        raise ValueError(
            f"background=None: {type(estimator).__name__} keeps no rows to compare with; give "
            "some rows, those that it was fitted to for instance"
        )
    else:
        rows = kept
    if not len(rows):
        raise ValueError("background has no rows: give at least one")
    some = rows[np.sort(rng.choice(len(rows), min(n, len(rows)), replace=False))]
    box = rows if kept is None else kept
    k = 0 if output is None or hasattr(estimator, "classes_") else output_position(
        output, estimator.model_.scaling.scale.size
    )  # fmt: skip
    with single_threaded():
        q = Question(
            asked, function, X, some, (box.min(axis=0), box.max(axis=0)),
            None if hasattr(estimator, "classes_") else sums_of(estimator, k),
            getattr(estimator.model_, "places", lambda X: X),
            None if hasattr(estimator, "classes_") else nearest_of(estimator, asked, X, k),
        )  # fmt: skip
        return explain_rows(q, orders, error=error, rng=rng)


def level_is_known(estimator: Any) -> bool:
    """Whether what is explained has no noise of its own: probabilities of classes."""
    return hasattr(estimator, "classes_")


def kept_inputs(estimator: Any) -> Array | None:
    """Rows that a model keeps, or anchors, as its table is encoded; None: it has none  (n, D)."""
    model = estimator.model_
    try:
        X = model.some_inputs() if hasattr(model, "some_inputs") else None
    except TypeError:  # an abstract one
        return None
    warping = getattr(model, "warping", None)
    if X is None or not len(X) or warping is None or warping.inputs is None:
        return X if X is not None and len(X) else None
    return warping.inputs.backward(X)


def sums_of(estimator: Any, k: int) -> KernelSums | None:
    """The mean of output k as a sum of kernels; None where it is none."""
    model = estimator.model_
    warping = getattr(model, "warping", None)
    if warping is not None and warping.targets[k] is not None:
        return None
    if not all(own.identity for own in getattr(model, "likelihoods", ())):
        return None
    found: list[tuple[Any, int]] = []
    predictor = function_predictor_of(estimator)
    if hasattr(predictor, "errors"):
        predictor = predictor.own
    cells = getattr(predictor, "cells", None)
    if cells is not None:
        if cells.k or not isinstance(predictor.accurate, ExactPredictor):
            return None
        predictor = predictor.accurate
    expansion = getattr(predictor, "expansion", None)
    if hasattr(predictor, "weights") and hasattr(predictor, "own"):  # refined: two sums
        found.append((expansion, k))
        expansion = getattr(predictor.own, "expansion", None)
    if not isinstance(expansion, Expansion):
        return None
    return KernelSums((*found, (expansion, k)), float(model.scaling.scale[k]))


def nearest_of(estimator: Any, asked: AskedModel, X: Array, k: int) -> NearestRows | None:
    """Rows that moved each prediction most, in the user's terms; None where there are none."""
    model, own = estimator.model_, rows_below(function_predictor_of(estimator))
    if getattr(model, "averaged", ()):
        own = rows_below(model.summed_predictor())
    if own is None:
        return None
    warping = getattr(model, "warping", None)
    found = moved_most(own, model.places(X) if warping is not None else X, k)
    at, y = found.X.reshape(-1, found.X.shape[2]), model.scaling.mean(
        np.repeat(found.y.reshape(-1, 1), model.scaling.scale.size, axis=1)
    )  # fmt: skip
    moved, weight = found.moved * model.scaling.scale[k], found.weight
    if warping is not None:
        at = at if warping.inputs is None else warping.inputs.backward(at)
        y = warping.backward(y)
    y = y[:, k].reshape(found.y.shape)
    if warping is not None and warping.targets[k] is not None:
        inner = estimator._answers_at(X, np.zeros(len(X))).inner
        weight, moved = untransformed(
            warping.targets[k], inner.moments(FUNCTION)[0][:, [k]], y, weight, moved
        )
    data = np.empty((len(at), len(asked.groups)), dtype=object)
    for j in range(data.shape[1]):
        data[:, j] = plain_values(asked.values(j, at))
    data = data.reshape(*y.shape, -1)
    order = np.argsort(-np.abs(moved), axis=1, kind="stable")
    y, weight, moved = (np.take_along_axis(one, order, axis=1) for one in (y, weight, moved))
    return NearestRows(np.take_along_axis(data, order[:, :, None], axis=1), y, weight, moved)


def untransformed(
    target: TargetTransform, t: Array, y: Array, weight: Array, moved: Array
) -> tuple[Array, Array]:
    """Weights and moves of t = T(y) as those of the median T⁻¹(t) of y  (n, k), (n, k).

    A row with the weight w of t has w T′(y)/T′(T⁻¹(t)), and one that moved t by m moved the median
    by T⁻¹(t) − T⁻¹(t − m).
    """
    median = target.backward(t)
    slope = np.exp(target.log_slope(y) - target.log_slope(median))
    return weight * slope, median - target.backward(t - moved)


# -- classes ----------------------------------------------------------------------------------


def asked_of_classifier(
    estimator: Any, X: Array, level: str, output: Any
) -> tuple[Array, AskedModel]:
    """Ask for the probability of a class, or for its log odds.

    Standard deviations and covariances are Σⱼ gⱼgⱼᵀ ∘ Cⱼ over latent functions j with covariances
    Cⱼ, where g is the derivative of the answer by the mean of the latent function.
    """
    check_is_fitted(estimator)
    if level not in (PROBABILITY, LOG_ODDS):
        raise ValueError(f"level={level!r}: give {PROBABILITY!r} or {LOG_ODDS!r}")
    X, k = check_queries(estimator, X), class_position(output, estimator.classes_)

    def score(table: Array) -> Array:
        if level == PROBABILITY:
            return np.exp(table[:, k])
        return table[:, k] - logsumexp(np.delete(table, k, axis=1), axis=1)

    def mean(X: Array) -> Array:
        with single_threaded():
            return score(estimator._latents_at(X)[1]())

    def moments(X: Array) -> tuple[Array, Array]:
        with single_threaded():
            found, tell = estimator._latents_at(X)
            slopes = slopes_of(lambda moved: score(tell(moved)), found)
            square = sum(g**2 * one.variance for g, one in zip(slopes, found))
            return score(tell()), np.sqrt(square)

    def joint(X: Array) -> Array | None:
        with single_threaded():
            found, tell = estimator._latents_at(X)
            slopes = slopes_of(lambda moved: score(tell(moved)), found)
            each = estimator._latent_covariances(X)
            sds = [g * np.sqrt(one.variance) for g, one in zip(slopes, found)]
            return np.sum([from_sds(correlations(C), sd) for sd, C in zip(sds, each)], axis=0)

    words = f"{level} of {estimator.classes_[k]}"
    return X, AskedModel(**table_columns(estimator, X), moments=moments, joint=joint, mean=mean,
                    words=words)  # fmt: skip


def class_position(output: Any, classes: Array) -> int:
    """Position of the class to explain: of two the second, unless it is named."""
    if output is None and classes.size == 2:
        return 1
    known = classes.tolist()
    if output not in known:
        raise ValueError(f"output={output!r}: give the label of a class, one of {known[:10]}")
    return known.index(output)


def slopes_of(score: Any, found: list[Prediction]) -> list[Array]:
    """∂ score/∂ mean of each latent function, by central differences  (n,) each."""
    slopes = []
    for j, one in enumerate(found):
        step = STEP * np.sqrt(np.maximum(one.variance, STEP**2))
        ends = []
        for sign in (1.0, -1.0):
            moved = Prediction(one.mean + sign * step[:, None], one.variance)
            ends.append(score([*found[:j], moved, *found[j + 1 :]]))
        slopes.append((ends[0] - ends[1]) / (2.0 * step))
    return slopes
