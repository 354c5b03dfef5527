"""A fitted model as explanations ask it, and the columns of its table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..tables.encoding import Column
from ..tables.levels import GAP
from ..tables.reading import DATE, LEVELS, array_column, as_levels

Array = np.ndarray
#: What stands for levels that the model has not learnt from.
UNKNOWN_LEVEL = "(unknown)"


@dataclass(frozen=True, eq=False)
class AskedModel:
    """A function of rows, one number each, and what is known of it.

    Rows are those that the model sees: columns of numbers, codes of levels, seconds of dates, and
    after them whether values are missing.
    """

    columns: tuple[Column, ...]  # of the user's table
    groups: tuple[tuple[int, ...], ...]  # for each, positions of the columns that the model sees
    moments: Callable[[Array], tuple[Array, Array]]  # X -> means and standard deviations  (n,)
    joint: Callable[[Array], Array | None]  # X -> covariance (n, n); None: there is none
    mean: Callable[[Array], Array]  # X -> means  (n,)
    words: str = "prediction"  # what the number is

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.columns)

    def position(self, column: Any) -> int:
        """Find a column by its name, or by its position (from the end, if negative)."""
        names, d = self.names, len(self.columns)
        if isinstance(column, str) and column in names:
            return names.index(column)
        whole = isinstance(column, (int, np.integer)) and not isinstance(column, bool)
        if whole and -d <= column < d:
            return int(column) % d
        raise ValueError(f"column={column!r}: give one of {shortened(names)}, or its position")

    def values(self, j: int, X: Array) -> Array:
        """The values of column j in the user's terms: numbers, dates or levels  (n,)."""
        found = decoded(self.columns[j], X[:, j])
        gone = self.missing(j, X)
        if not gone.any() or self.columns[j].kind == LEVELS:
            return found
        found = found.astype(object)
        found[gone] = None
        return found

    def missing(self, j: int, X: Array) -> Array:
        """Whether column j is missing  (n,)."""
        if self.columns[j].kind == LEVELS:
            return np.asarray(X[:, j] == GAP)
        own = self.groups[j][1:]
        return np.asarray(X[:, own[0]] > 0.5) if own else np.zeros(X.shape[0], dtype=bool)


def shortened(names: Sequence[str], most: int = 12) -> str:
    """A list of names for a message, cut where it is long."""
    text = ", ".join(map(repr, names[:most]))
    return text + (f" and {len(names) - most} more" if len(names) > most else "")


def encoded_values(column: Column, values: Any) -> Array:
    """Encode values of one column as the numbers that the model sees  (n,)."""
    found = array_column(column.name, np.asarray(values))
    if found.values.ndim != 1:
        raise ValueError(f"grid has shape {found.values.shape}: give a list of values")
    if column.kind != LEVELS and found.gone.any():
        raise ValueError("grid has missing values: leave them out")
    return column.numbers(as_levels(found) if column.kind == LEVELS else found)


def decoded(column: Column, x: Array) -> Array:
    """Turn numbers that the model sees into values: numbers, dates, or levels with None for
    missing ones  (n,)."""
    if column.kind == DATE:
        micro = np.rint((x + column.origin) * 1e6)
        return micro.astype(np.int64).astype("M8[us]")
    if column.kind != LEVELS:
        return x
    found = np.empty(x.size, dtype=object)
    found[:] = [_level(column, float(code)) for code in x]
    return found


def _level(column: Column, code: float) -> Any:
    """The level of a code, as Python has it."""
    if code < 0:
        return None if code == GAP else UNKNOWN_LEVEL
    kind, text = column.levels[int(code)]
    if kind == "number":
        value = float(text)
        return int(value) if value.is_integer() else value
    if kind == "boolean":
        return text == "True"
    if kind == "date":
        return np.datetime64(round(float(text) * 1e6), "us")
    return text


def plain_values(values: Array) -> list[Any]:
    """List values with numbers as Python's own; dates stay NumPy's."""
    return [float(one) if isinstance(one, np.floating) else one for one in values]
