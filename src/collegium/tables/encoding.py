"""How the columns of a table become columns of numbers, and stay so for every later table."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numerics.records import record
from .reading import DATE, LEVELS, NUMBER, Found, as_levels, columns_of, keys_of

Array = np.ndarray
#: The code of a level that was not there when the encoding was learnt.
UNKNOWN = -1.0


class NewGapsWarning(UserWarning):
    """A column has gaps, and had none when the model was fitted."""


@record("tables.column/1")
@dataclass(frozen=True)
class Column:
    """One column: what it holds, and what stands for a gap."""

    name: str
    kind: str  # NUMBER, DATE or LEVELS
    origin: float = 0.0  # of dates: the first, in seconds since 1970
    middle: float = 0.0  # the median, which stands for a gap among numbers and dates
    gaps: bool = False  # whether there were some
    levels: tuple[tuple[str, str], ...] = ()  # kind and text of each, sorted

    @classmethod
    def of(cls, found: Found) -> Column:
        if found.kind == LEVELS:
            keys = keys_of(found.values)
            levels = tuple(sorted({key for key in keys if key is not None}))
            return cls(found.name, LEVELS, gaps=any(key is None for key in keys), levels=levels)
        gone = np.isnan(found.values)
        there = found.values[~gone]
        origin = float(there.min()) if found.kind == DATE and there.size else 0.0
        middle = float(np.median(there)) - origin if there.size else 0.0
        return cls(found.name, found.kind, origin, middle, bool(gone.any()))

    def numbers(self, found: Found) -> Array:
        """Numbers as they are, dates in seconds since the first, codes of levels; gaps filled.

        The code of a gap among levels is one above all others, where there were some; else it is
        that of an unknown level.
        """
        if self.kind == LEVELS:
            code = {key: float(k) for k, key in enumerate(self.levels)}
            gap = float(len(self.levels)) if self.gaps else UNKNOWN
            keys = keys_of(as_levels(found).values)
            return np.array([gap if key is None else code.get(key, UNKNOWN) for key in keys], float)
        if found.kind != self.kind and not np.isnan(_numbers_of(found, self)).all():
            raise ValueError(
                f"column {self.name!r} holds {_word(found.kind)} and held {_word(self.kind)} when "
                "the model was fitted: convert it"
            )
        values = _numbers_of(found, self) - self.origin
        if np.isinf(values).any():
            raise ValueError(
                f"column {self.name!r} has infinite values: drop those rows or repair them"
            )
        return np.where(np.isnan(values), self.middle, values)

    def missing(self, found: Found) -> Array:
        """Whether each value is a gap  (n,)."""
        if found.kind == LEVELS:
            return np.array([one is None for one in found.values], dtype=bool)
        return np.isnan(found.values)


def _numbers_of(found: Found, column: Column) -> Array:
    """A column of nothing but gaps may come as one of levels."""
    if found.kind != LEVELS:
        return found.values
    if all(one is None for one in found.values):
        return np.full(len(found.values), np.nan)
    some = next(one for one in found.values if one is not None)
    raise ValueError(
        f"column {column.name!r} holds {some!r} and held {_word(column.kind)} when the model was "
        "fitted: convert it"
    )


def _word(kind: str) -> str:
    return {NUMBER: "numbers", DATE: "dates", LEVELS: "levels"}[kind]


@record("tables.encoding/1")
@dataclass(frozen=True)
class Encoding:
    """The columns of a table, in order; after them one that says where each of some has gaps."""

    columns: tuple[Column, ...]

    @classmethod
    def learn(cls, table: Any, categories: Any = "from_dtype") -> Encoding:
        """From the rows that a model is fitted to.

        `categories`: columns whose values are levels whatever their type, by name, position or as
        a mask; "from_dtype": those of texts and of categorical types.
        """
        found = columns_of(table)
        asked = _asked(categories, [one.name for one in found])
        return cls(tuple(Column.of(as_levels(f) if k in asked else f) for k, f in enumerate(found)))

    @classmethod
    def of_numbers(cls, X: Array, names: Sequence[str] | None = None) -> Encoding:
        """Of columns of numbers without gaps, for tables to come that have some."""
        own = [f"x{k}" for k in range(X.shape[1])] if names is None else map(str, names)
        return cls(tuple(Column(n, NUMBER, middle=float(m)) for n, m in zip(own, np.median(X, 0))))

    @property
    def plain(self) -> bool:
        """Whether all columns are numbers without gaps, which stay as they are."""
        return all(one.kind == NUMBER and not one.gaps for one in self.columns)

    @property
    def filled(self) -> tuple[int, ...]:
        """Positions of numbers and dates that had gaps."""
        return tuple(k for k, c in enumerate(self.columns) if c.gaps and c.kind != LEVELS)

    @property
    def categories(self) -> tuple[int, ...]:
        """Positions of the columns of codes."""
        return tuple(k for k, one in enumerate(self.columns) if one.kind == LEVELS)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns of numbers that a model sees."""
        own = tuple(one.name for one in self.columns)
        return own + tuple(f"{own[k]} is missing" for k in self.filled)

    def forward(self, table: Any) -> Array:
        """The table as a model sees it  (n, d)."""
        found = columns_of(table)
        if len(found) != len(self.columns):
            raise ValueError(f"X has {len(found)} columns, but {len(self.columns)} when fitted")
        own = [column.numbers(one) for column, one in zip(self.columns, found)]
        gone = [column.missing(one) for column, one in zip(self.columns, found)]
        self._warn([k for k, one in enumerate(gone) if one.any() and not self.columns[k].gaps])
        own += [gone[k].astype(np.float64) for k in self.filled]
        return np.stack(own, axis=1) if own else np.empty((0, 0))

    def _warn(self, new: Sequence[int]) -> None:
        if new:
            names = ", ".join(repr(self.columns[k].name) for k in new)
            warnings.warn(
                f"{names}: gaps where there were none when the model was fitted; the median stands "
                "for them (an unknown level among categories), and error bars do not know",
                NewGapsWarning,
                stacklevel=5,
            )


def _position(one: Any, d: int) -> bool:
    number = isinstance(one, (int, np.integer)) and not isinstance(one, bool)
    return number and -d <= one < d


def _asked(categories: Any, names: list[str]) -> set[int]:
    """Positions of the columns that are to be levels."""
    if categories is None or (isinstance(categories, str) and categories == "from_dtype"):
        return set()
    one = isinstance(categories, str) or not isinstance(categories, Iterable)
    several = [categories] if one else list(categories)
    if len(several) == len(names) and all(isinstance(one, (bool, np.bool_)) for one in several):
        return {k for k, one in enumerate(several) if one}
    found = set()
    for one in several:
        if isinstance(one, str) and one in names:
            found.add(names.index(one))
        elif _position(one, len(names)):
            found.add(int(one) % len(names))
        else:
            raise ValueError(
                f"categorical_features: {one!r} is no column; there are {names}: give names, "
                "positions, a mask or 'from_dtype'"
            )
    return found
