"""Rows as dicts: the values of each by the names of their columns.

A model that was fitted to named columns takes them wherever it takes a frame; a pandas Series is
such a row too. Keys that the model does not know are ignored, as an application's record may have
more; one that it needs must be there (None is a missing value).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from ...tables.encoding import Encoding
from ...tables.reading import Found, objects_column

Array = np.ndarray
Row = Mapping[Any, Any]


def as_dicts(X: Any) -> list[Row] | None:
    """Return the rows of X where these are dicts, or where it is one; None for anything else."""
    if isinstance(X, Mapping):
        return [X]
    if isinstance(X, (list, tuple)) and X and all(isinstance(row, Mapping) for row in X):
        return list(X)
    series = type(X).__name__ == "Series" and type(X).__module__.partition(".")[0] == "pandas"
    return [X.to_dict()] if series else None


def names_in(rows: Sequence[Row]) -> list[str]:
    """Names of the columns of new rows, in the order of the first one."""
    names = [str(key) for key in rows[0]]
    if len(set(names)) < len(rows[0]):
        raise ValueError(f"X: two keys of a row have the same text: {names}")
    for row in rows[1:]:
        other = next((str(key) for key in row if str(key) not in names), None)
        if other is not None:
            raise ValueError(f"X: {other!r} is a key of some rows only: give all rows the same")
    return names


def columns_of_dicts(rows: Sequence[Row], names: Sequence[str]) -> list[Found]:
    """Read the columns of these names."""
    each = [{str(key): value for key, value in row.items()} for row in rows]
    return [objects_column(name, _values(each, name, names)) for name in names]


def _values(rows: Sequence[Row], name: str, names: Sequence[str]) -> Array:
    found = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        if name not in row:
            _refuse_missing(name, row, names)
        value = row[name]
        if isinstance(value, (list, tuple, np.ndarray, Mapping)):
            raise ValueError(
                f"X: {name!r} has {type(value).__name__} for a value: a dict is one row; give a "
                "list of dicts, or a frame, for several"
            )
        found[i] = value
    return found


def _refuse_missing(name: str, row: Row, names: Sequence[str]) -> None:
    others = {key.lower(): key for key in row if key not in names}
    near = get_close_matches(name.lower(), list(others), n=1, cutoff=0.5)
    hint = f" (it has {others[near[0]]!r}: is that meant?)" if near else ""
    raise ValueError(
        f"X: a row has no {name!r}{hint}; it needs {list(names)}, None where a value is missing"
    )


def learn_columns(estimator: Any, rows: Sequence[Row], *, tables: bool) -> list[Found]:
    """Read new rows; the estimator notes their columns, and how these become numbers."""
    names = names_in(rows)
    found = columns_of_dicts(rows, names)
    estimator.n_features_in_ = len(names)
    estimator.feature_names_in_ = np.array(names, dtype=object)
    if tables:
        categories = getattr(estimator, "categorical_features", "from_dtype")
        estimator.encoding_ = Encoding.of_columns(found, categories)
    return found


def known_columns(estimator: Any, rows: Sequence[Row]) -> list[Found]:
    """Read the columns that a model was fitted to, in their order."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            "X has dicts, and the model was fitted to columns without names: give an array, or "
            "fit a frame or a list of dicts"
        )
    return columns_of_dicts(rows, [str(name) for name in names])
