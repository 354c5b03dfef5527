"""Regressors of the user as members: fitted to rows here, or fitted before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ..numerics.records import record
from ..rows.rows import Rows
from ..rows.scaling import Scaling
from ..transforms.warping import Warping

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
    scaled."""

    estimator: Any
    scaling: Scaling
    warping: Warping | None
    output: int

    def __call__(self, X: Array) -> Array:
        found = np.asarray(self.estimator.predict(X), dtype=float)
        p, j = self.scaling.scale.size, self.output
        y = np.zeros((X.shape[0], p))
        y[:, j] = found[:, j] if found.ndim == 2 and found.shape[1] > 1 else _numbers(found, len(y))
        t = self.scaling.forward(y if self.warping is None else self.warping.forward(y))
        return _finite(t[:, j])


def train(
    estimator: Any, rows: Rows, hopeless: Callable[[Any], bool] = lambda part: False
) -> Trained | None:
    """Fit a copy of a regressor to rows of one output; None where it is hopeless."""
    weights = {} if np.ptp(rows.w) == 0.0 else {"sample_weight": rows.w}
    found = Trained(clone(estimator).fit(rows.X, rows.y[:, 0], **weights))
    return None if hopeless(found) else found


def is_fitted(estimator: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def check_member(estimator: Any, name: str = "members") -> Any:
    """Refuse what is no regressor with `fit` and `predict`."""
    methods = hasattr(estimator, "fit") and hasattr(estimator, "predict")
    if isinstance(estimator, type) or not methods:
        raise ValueError(
            f"{name}={estimator!r}: give 'auto', 'trees', None, or a regressor with fit and predict"
        )
    return estimator


def takes_weights(estimator: Any) -> bool:
    return has_fit_parameter(estimator, "sample_weight")


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
