"""Estimators of the user: which are accepted, how they take weights, and copies fitted to rows.

`CommitteeOf` trains its members by these functions, and `members=` a regressor of the user.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

Array = np.ndarray


def is_estimator(given: Any) -> bool:
    """Whether this is an object, not a class, with `fit` and `predict`."""
    return not isinstance(given, type) and hasattr(given, "fit") and hasattr(given, "predict")


def is_kind(estimator: Any, *names: str) -> bool:
    """Whether an estimator is of these scikit-learn classes, without importing them."""
    kinds = [kind for kind in type(estimator).__mro__ if kind.__module__.startswith("sklearn.")]
    return any(kind.__name__ in names for kind in kinds)


def last_step(estimator: Any) -> tuple[str, Any]:
    """Return the estimator at the end of nested pipelines, and the prefix of its arguments."""
    prefix = ""
    while is_kind(estimator, "Pipeline"):
        step, estimator = estimator.steps[-1]
        prefix += f"{step}__"
    return prefix, estimator


def weight_argument(estimator: Any) -> str | None:
    """Name the argument of `fit` that takes weights; None where there is none."""
    prefix, last = last_step(estimator)
    return f"{prefix}sample_weight" if has_fit_parameter(last, "sample_weight") else None


def fitted_copy(estimator: Any, X: Any, y: Array, weight: Array | None = None) -> Any:
    """Fit a copy; `weight` (n,) only for estimators that have a `weight_argument`."""
    name = None if weight is None else weight_argument(estimator)
    return clone(estimator).fit(X, y, **({} if name is None else {name: weight}))
