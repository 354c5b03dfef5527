"""Bounds as users give them: one entry per column, in order or by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from ..rows.scaling import LARGEST
from ..tables.encoding import Column, Encoding
from ..tables.levels import UNKNOWN
from ..tables.reading import DATE, LEVELS, NUMBER, objects_column
from .space import Axis, Space

Array = np.ndarray
REMEDY = (
    "give (low, high) with finite low < high, a range of whole numbers, or a list of values "
    "([value] holds a column constant)"
)


def space_of_model(model: Any, bounds: Any) -> Space:
    """Read bounds of the columns that a model was fitted to."""
    encoding: Encoding | None = getattr(model, "encoding_", None)
    names = getattr(model, "feature_names_in_", None)
    d = model.n_features_in_
    own = None if names is None else [str(name) for name in names]
    entries, words = _entries(bounds, own, d)
    known = encoding.columns if encoding is not None else (None,) * d
    axes = [_axis(word, name, entry, column)
            for word, (name, entry), column in zip(words, entries, known)]  # fmt: skip
    filled = len(encoding.filled) if encoding is not None else 0
    return Space(tuple(axes), own is not None, filled)


def space_of_bounds(bounds: Any) -> Space:
    """Read bounds alone, where there is no model yet."""
    own = [str(key) for key in bounds] if isinstance(bounds, Mapping) else None
    entries, words = _entries(bounds, own, None)
    axes = [_axis(word, name, entry, None) for word, (name, entry) in zip(words, entries)]
    return Space(tuple(axes), own is not None)


def _entries(
    bounds: Any, names: list[str] | None, d: int | None
) -> tuple[list[tuple[str, Any]], list[str]]:
    """Pair names and entries, in the order of columns, with words for messages."""
    if isinstance(bounds, Mapping):
        return _by_name(bounds, names)
    if isinstance(bounds, (str, bytes)) or not hasattr(bounds, "__len__"):
        raise ValueError(f"bounds={bounds!r}: give a list with one (low, high) per column")
    if not len(bounds) or (d is not None and len(bounds) != d):
        raise ValueError(
            f"bounds has {len(bounds)} entries"
            + ("" if d is None else f", and the model {d} columns")
            + ": give one (low, high) per column"
        )
    own = [f"x{k}" for k in range(len(bounds))] if names is None else names
    return list(zip(own, bounds)), [f"bounds[{k}]" for k in range(len(bounds))]


def _by_name(
    bounds: Mapping[Any, Any], names: list[str] | None
) -> tuple[list[tuple[str, Any]], list[str]]:
    if names is None:
        raise ValueError(
            "bounds has names, and the model was fitted to columns without: give a list with one "
            "(low, high) per column"
        )
    given = {str(key): entry for key, entry in bounds.items()}
    wrong = [f"{name!r} is missing" for name in names if name not in given]
    wrong += [f"{name!r} is no column" for name in given if name not in names]
    if wrong or not given:
        raise ValueError(f"bounds: {', '.join(wrong) or 'empty'}; give one entry each for {names}")
    return [(name, given[name]) for name in names], [f"bounds[{name!r}]" for name in names]


def _axis(word: str, name: str, entry: Any, column: Column | None) -> Axis:
    kind = NUMBER if column is None else column.kind
    if kind == DATE:
        raise ValueError(f"{word}: the column holds dates; give candidates in place of bounds")
    values = _listed(word, entry)
    if isinstance(entry, range):
        return _list_axis(word, name, values, column)
    if kind == NUMBER and len(values) == 2 and all(map(_is_number, values)):
        low, high = map(float, values)
        if not -LARGEST <= low < high <= LARGEST:
            raise ValueError(f"{word}={entry!r}: {REMEDY}")
        return Axis(name, low, high)
    return _list_axis(word, name, values, column)


def _list_axis(word: str, name: str, values: list[Any], column: Column | None) -> Axis:
    """Make the axis of a list of values, each once."""
    values = list(dict.fromkeys(values))
    numbers = all(map(_is_number, values))
    if column is None:
        words = not numbers and all(isinstance(one, str) for one in values)
        codes = np.arange(float(len(values))) if words else _numbers(word, values)
    elif column.kind == LEVELS:
        codes = column.numbers(objects_column(name, np.array([*values, None], object)[:-1]))
        if (codes < UNKNOWN).all():
            some = [text for _, text in column.levels[:5]]
            raise ValueError(f"{word}: {values[:5]} are unknown to the model; give some of {some}")
    else:
        codes = _numbers(word, values)
    ordered = numbers and (column is None or column.kind == NUMBER)
    order = np.argsort(codes, kind="stable") if ordered else np.arange(codes.size)
    return Axis(name, values=[values[i] for i in order], codes=codes[order], ordered=ordered)


def _listed(word: str, entry: Any) -> list[Any]:
    listed = isinstance(entry, (Sequence, np.ndarray)) and not isinstance(entry, (str, bytes))
    values = list(entry.tolist() if isinstance(entry, np.ndarray) else entry) if listed else []
    if not values or any(isinstance(one, (Sequence, Mapping)) and not isinstance(one, str)
                         for one in values):  # fmt: skip
        raise ValueError(f"{word}={entry!r}: {REMEDY}")
    return values


def _numbers(word: str, values: list[Any]) -> Array:
    found = np.array([float(one) if _is_number(one) else np.nan for one in values])
    if not (np.abs(found) <= LARGEST).all():
        raise ValueError(f"{word}={values!r}: {REMEDY}")
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
