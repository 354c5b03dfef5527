"""Tables with words, dates or gaps, as the columns of numbers that a model sees."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_array,
    check_X_y,
    validate_data,
)

from ..sources.frames import library_of
from ..tables.encoding import Encoding
from ..tables.reading import LEVELS

Array = np.ndarray


def validated(estimator: Any, X: Any, *y: Any, reset: bool, **checks: Any) -> Any:
    """X, or X and y, as scikit-learn's `validate_data` gives them; tables as numbers."""
    numbers = encoded(estimator, X, reset=reset)
    if numbers is None:
        return validate_data(estimator, X, *y, reset=reset, **checks)
    if not y:
        return check_array(numbers, input_name="X", **checks)
    return check_X_y(numbers, *y, estimator=estimator, **checks)


def encoded(estimator: Any, X: Any, *, reset: bool) -> Array | None:
    """X as columns of numbers; None where it is numbers already.

    A new estimator learns how, and keeps that as `encoding_`.
    """
    if not getattr(estimator, "takes_tables", False):
        return None
    if reset:
        vars(estimator).pop("encoding_", None)
        encoding = None if _numeric(X) else _learnt(X)
        if encoding is None or encoding.plain:
            return None
        refuse_levels(estimator, encoding)
        _check_feature_names(estimator, X, reset=True)
        _check_n_features(estimator, X, reset=True)
        estimator.encoding_ = encoding
    elif not hasattr(estimator, "encoding_"):
        return None
    else:
        _check_feature_names(estimator, X, reset=False)
    return estimator.encoding_.forward(X)


def refuse_levels(estimator: Any, encoding: Encoding) -> None:
    named = [one.name for one in encoding.columns if one.kind == LEVELS]
    if named:
        raise ValueError(
            f"X has words in the columns {named}: {type(estimator).__name__} takes numbers, dates "
            "and gaps; write levels as numbers (sklearn.preprocessing.OneHotEncoder)"
        )


def _numeric(X: Any) -> bool:
    """Whether all values are numbers and none is a gap; of what is no table, True."""
    if library_of(X) in ("pandas", "polars"):
        return False
    if issparse(X) or not isinstance(X, (np.ndarray, list, tuple)):
        return True
    try:
        values = np.asarray(X)
    except ValueError:
        return True
    if values.ndim != 2 or values.dtype.kind not in "fOUSmM":
        return True
    return values.dtype.kind == "f" and not np.isnan(values).any()


def _learnt(X: Any) -> Encoding | None:
    """None where X is no table of texts, numbers and dates: then scikit-learn says why."""
    try:
        return Encoding.learn(X)
    except (TypeError, ValueError):
        return None
