"""Labels: their likelihood, what classes weigh, and whether rows are enough to learn from."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..likelihoods.base import Observation, Scalar
from ..likelihoods.conformance import check_methods
from ..likelihoods.labels.logit import Logit
from ..likelihoods.labels.probit import Probit
from ..likelihoods.labels.softmax import Softmax
from ..likelihoods.targets.support import SIGNS
from ..rows.rows import Prediction, Rows
from ..rows.scaling import MOST_COPIES

Array = np.ndarray
LINKS = {
    name: own
    for name, own in Observation.named().items()
    if own.support == SIGNS or issubclass(own, Softmax)
}
#: Of a probability that has no digits left.
LEAST_LOG = float(np.log(np.finfo(float).tiny))
#: Rows, at least, of two classes before anything is learnt from a stream.
FEW = 5
#: Share of the rows that may change its class before a stream is relearnt.
MOVED = 0.25
#: Classes that are many, and rows of each that are few.
MANY, SELDOM = 100, 10


def chosen_link(asked) -> Observation:
    """The likelihood of labels asked for."""
    if isinstance(asked, str) and asked in LINKS:
        return LINKS[asked]()
    if isinstance(asked, Softmax):
        return asked
    if isinstance(asked, Scalar) and asked.support == SIGNS:
        check_methods(asked)
        return asked
    if isinstance(asked, type) and issubclass(asked, Observation):
        raise ValueError(f"likelihood={asked!r} is a class: give an instance, {asked.__name__}()")
    raise ValueError(
        f"likelihood={asked!r}: give one of {tuple(LINKS)}, or a likelihood of "
        "collegium.likelihoods that is of labels ±1 (support = SIGNS)"
    )


def by_sign(likelihood: Observation, m: Array, v: Array) -> Array:
    """log p(y = 1), or with one latent function log p(y = −1) and log p(y = 1), of labels ±1."""
    assert isinstance(likelihood, Scalar)
    sign = np.array([-1.0, 1.0] if m.shape[1] == 1 else [1.0])
    m, v, sign = np.broadcast_arrays(m, v, sign)
    return np.maximum(likelihood.log_predictive(sign[..., None], m, v), LEAST_LOG)


def is_balanced(given) -> bool:
    return isinstance(given, str) and given == "balanced"


def class_weights(given, classes: Array, rows: Rows) -> Array:
    """Weights of the classes, one by default; "balanced": all have the same together  (K,)."""
    codes = rows.y[:, 0].astype(int)
    if is_balanced(given):
        total = np.bincount(codes, rows.w, minlength=classes.size)
        weights = total.sum() / (total.size * total)
    elif given is None:
        weights = np.ones(classes.size)
    else:
        weights = _by_label(given, classes)
    if not ((weights >= 0.0) & (weights <= MOST_COPIES)).all():
        raise ValueError(
            f"class_weight={given!r}: give numbers of at least 0 and at most {MOST_COPIES:.0e}"
        )
    if (weights > 0.0).sum() < 2:
        raise ValueError(
            f"class_weight={given!r} leaves one class only: give at least two a positive weight"
        )
    return weights


def _by_label(given, classes: Array) -> Array:
    if not isinstance(given, dict):
        raise ValueError(f"class_weight={given!r}: give a dict, 'balanced' or None")
    known = classes.tolist()
    unknown = [label for label in given if label not in known]
    if unknown:
        raise ValueError(
            f"class_weight={given!r} has labels that are not among the classes: {unknown[:5]}"
        )
    try:
        return np.array([given.get(label, 1.0) for label in known], dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"class_weight={given!r}: {error}") from error


def counts(rows: Rows, n_classes: int) -> Array:
    """Rows of each class  (K,)."""
    return np.bincount(rows.y[:, 0].astype(int), minlength=n_classes)


def warn_of_ids(count: Array) -> None:
    """Many classes of few rows each are no classes, and take their time."""
    if count.size >= MANY and count.mean() < SELDOM:
        warnings.warn(
            f"y has {count.size} classes, of {count.mean():.1f} rows each: is it a column of names "
            "or numbers? The work grows with the number of classes",
            stacklevel=4,
        )


def ripe(count: Array) -> bool:
    """Whether there are rows of two classes, and some of each: enough to learn from."""
    return int((count >= FEW).sum()) >= 2


def moved(learnt: Array, count: Array) -> bool:
    """Whether classes now come in other shares than when something was learnt from them."""
    if not ripe(count):
        return False
    if not ripe(learnt):
        return True
    return 0.5 * float(np.abs(count / count.sum() - learnt / learnt.sum()).sum()) > MOVED


def rows_seen(model: Any) -> int | None:
    """Count the rows that a model has; None where it kept no count of them."""
    if model.waiting is not None:
        return model.waiting.rows.w.size
    if model.stored is not None or model.sum.arrived():
        return len(model.kept)
    return None if model.stream.following is None else model.stream.following.sample.seen


def codes_of(likelihood: Observation, y: list[Array]) -> Array:
    """Positions among the classes, from the targets of the problems  (n,)."""
    if isinstance(likelihood, Softmax):
        return y[0][:, 0].astype(int)
    return np.hstack(y).argmax(axis=1) if len(y) > 1 else (y[0][:, 0] > 0).astype(int)


def log_probabilities(likelihood: Observation, found: list[Prediction]) -> Array:
    """log p(class) from what is known about its latent function, or about that of the second of
    two  (n, classes)."""
    m = np.column_stack([one.mean[:, 0] for one in found])
    v = np.column_stack([one.variance for one in found])
    if isinstance(likelihood, Softmax):
        return np.log(np.maximum(likelihood.probability(m, v), np.finfo(float).tiny))
    if not isinstance(likelihood, Logit | Probit):
        table = by_sign(likelihood, m, v)
    else:
        if len(found) == 1:
            m, v = np.hstack([-m, m]), np.hstack([v, v])
        table = likelihood.log_probability(m, v)
    top = table.max(axis=1, keepdims=True)
    return table - top - np.log(np.exp(table - top).sum(axis=1, keepdims=True))


def log_loss(likelihood: Observation, y: list[Array], w: Array, found: list[Prediction]) -> float:
    """Mean −log probability of the classes that came; y as the problems have them."""
    codes = codes_of(likelihood, y)
    table = log_probabilities(likelihood, found)
    return -float(w @ table[np.arange(codes.size), codes]) / float(w.sum())
