"""What explanations ask a fitted estimator: one number per row, and its covariances."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..explain.asking import Asked
from ..numerics.threads import single_threaded
from ..rows.rows import Prediction
from ..tables.encoding import Column
from ..tables.reading import NUMBER
from .checks.arguments import check_is_fitted
from .checks.rows import check_queries
from .frames.encoded import columns_of
from .words.effects import columns_together

Array = np.ndarray
PROBABILITY, LOG_ODDS = "probability", "log odds"
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


def asked_of_regressor(estimator: Any, X: Any, level: str, output: Any) -> tuple[Array, Asked]:
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
            try:
                return answers(X).covariance(level)[1][:, :, k]
            except ValueError:  # rules that combine experts point by point
                return None

    words = "prediction" if p == 1 else f"prediction of output {k}"
    return X, Asked(**table_columns(estimator, X), moments=moments, joint=joint, mean=mean,
                    words=words)  # fmt: skip


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


# -- classes ----------------------------------------------------------------------------------


def asked_of_classifier(estimator: Any, X: Array, level: str, output: Any) -> tuple[Array, Asked]:
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
            return sum(np.outer(g, g) * C for g, C in zip(slopes, each))

    words = f"{level} of {estimator.classes_[k]}"
    return X, Asked(**table_columns(estimator, X), moments=moments, joint=joint, mean=mean,
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
