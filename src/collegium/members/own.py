"""Regressors of the user as members: fitted to rows here, or fitted before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..numerics.records import record
from ..rows.rows import Rows
from ..rows.scaling import Scaling
from ..transforms.warping import Warping
from .estimators import fitted_copy, is_estimator, weight_argument

Array = np.ndarray


@record("members.trained/1")
@dataclass(frozen=True, eq=False)
class Trained:
    """A regressor that was fitted to scaled targets of one output."""

    estimator: Any

    def __call__(self, X: Array) -> Array:
        return _numbers(self.estimator.predict(X), X.shape[0])


@record("members.given/1")
@dataclass(frozen=True, eq=False)
class GivenMember:
    """A regressor that was fitted before, in the units of y; its answers are transformed and
    scaled. Where y is transformed, they are raised to the smallest y, so that T(y) exists."""

    estimator: Any
    scaling: Scaling
    warping: Warping | None
    output: int
    least: float  # y of the rows, in the units of the user

    def __call__(self, X: Array) -> Array:
        found, j = np.asarray(self.estimator.predict(X), dtype=float), self.output
        y = found[:, j] if found.ndim == 2 and found.shape[1] > 1 else found
        y, own = _numbers(y, X.shape[0]), None if self.warping is None else self.warping.targets[j]
        t = y if own is None else own.forward(np.maximum(y, self.least))
        return _finite((t - self.scaling.centre[j]) / self.scaling.scale[j])


def train(
    estimator: Any, rows: Rows, hopeless: Callable[[Any], bool] = lambda part: False
) -> Trained | None:
    """Fit a copy of a regressor to rows of one output; None where it is hopeless."""
    weight = None if np.ptp(rows.w) == 0.0 else rows.w / rows.w.mean()
    found = Trained(fitted_copy(estimator, rows.X, rows.y[:, 0], weight))
    return None if hopeless(found) else found


def is_fitted(estimator: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def check_member(estimator: Any, name: str = "members") -> Any:
    """Refuse what is no regressor with `fit` and `predict`."""
    if not is_estimator(estimator):
        raise ValueError(
            f"{name}={estimator!r}: give 'auto', 'trees', None, or a regressor with fit and predict"
        )
    return estimator


def check_member_weights(estimator: Any, w: Array) -> None:
    """Refuse weights that a regressor of the user would not take."""
    if is_estimator(estimator) and np.ptp(w) > 0.0 and weight_argument(estimator) is None:
        raise ValueError(
            f"members={estimator!r} takes no sample_weight: leave out one of them, or give another "
            "regressor"
        )


def _numbers(found: Any, n: int) -> Array:
    values = np.asarray(found, dtype=float)
    if values.size != n:
        raise ValueError(
            f"members: a regressor predicted an array of shape {values.shape} for {n} rows: one "
            "number per row is needed"
        )
    return _finite(values.reshape(n))


def _finite(values: Array) -> Array:
    if not np.isfinite(values).all():
        raise ValueError("members: a regressor predicted values that are not finite numbers")
    return values
