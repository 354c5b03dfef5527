"""The encoding of a table's columns as columns of numbers, kept for every later table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..numerics.records import record
from .levels import GAP, Key, unknown_code
from .reading import DATE, LEVELS, NUMBER, Found, as_levels, names_of, read_columns
from .seen import MOST, Seen, refuse_infinite, seen
from .texts import warn_of_texts

Array = np.ndarray


class NewGapsWarning(UserWarning):
    """A column has missing values, and had none when the model was fitted."""


@record("tables.column/1")
@dataclass(frozen=True)
class Column:
    """One column: its kind, and the value that replaces a missing one."""

    name: str
    kind: str  # NUMBER, DATE or LEVELS
    origin: float = 0.0  # of dates: the first, in seconds since 1970
    middle: float = 0.0  # the median, which replaces missing numbers and dates
    gaps: bool = False  # whether values were missing
    levels: tuple[tuple[str, str], ...] = ()  # kind and text of each, by code

    @classmethod
    def of(cls, found: Seen) -> Column:
        if found.kind == LEVELS:
            levels = tuple(sorted(found.levels))
            return cls(found.name, LEVELS, gaps=found.gaps, levels=levels)
        kind = found.kind or NUMBER
        origin = found.first if kind == DATE and found.values.size else 0.0
        middle = float(np.median(found.values)) - origin if found.values.size else 0.0
        return cls(found.name, kind, origin, middle, found.gaps)

    @cached_property
    def _codes(self) -> dict[Key, float]:
        return {key: float(k) for k, key in enumerate(self.levels)}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_codes"}

    def numbers(self, found: Found) -> Array:
        """Keep numbers, count dates in seconds from the first, code levels; fill missing values.

        A missing level has the code GAP. An unknown level has a negative code of its own, the same
        everywhere: a stream learns about it under that code, in any place and order.
        """
        if self.kind == LEVELS:
            own = as_levels(found)
            each = [self._codes.get(key) for key in own.keys]
            codes = [unknown_code(k) if c is None else c for k, c in zip(own.keys, each)]
            return np.array([*codes, GAP])[own.values]
        if found.kind != self.kind and not found.gone.all():
            raise ValueError(
                f"column {self.name!r} holds {_held(found)} and held {WORDS[self.kind]} when "
                f"the model was fitted: convert it{REMEDIES[self.kind]}"
            )
        refuse_infinite(found)
        if found.kind == LEVELS:  # all values are missing
            return np.full(found.values.size, self.middle)
        return np.where(found.gone, self.middle, found.values - self.origin)


WORDS = {NUMBER: "numbers", DATE: "dates", LEVELS: "levels"}
#: How a column becomes one of another kind.
REMEDIES = {
    NUMBER: ", as pd.to_numeric does",
    DATE: ", as pd.to_datetime or pd.Timestamp does",
}


def _held(found: Found) -> str:
    if found.kind != LEVELS:
        return WORDS[found.kind]
    kind, text = found.keys[found.values[~found.gone][0]]
    return repr(text) if kind == "text" else text


@record("tables.encoding/1")
@dataclass(frozen=True)
class Encoding:
    """The columns of a table, then an indicator of missing values for each that has some."""

    columns: tuple[Column, ...]

    @classmethod
    def learn(cls, table: Any, categories: Any = "from_dtype") -> Encoding:
        """Learn the encoding from the rows that a model is fitted to.

        `categories`: columns to treat as levels whatever their type, by name, position or as a
        mask; "from_dtype": columns of texts and of categorical types.
        """
        return cls.of_columns(read_columns(table), categories)

    @classmethod
    def of_columns(cls, found: Sequence[Found], categories: Any = "from_dtype") -> Encoding:
        """Learn the encoding of columns that were read, with a warning of dates as text."""
        levels = asked(categories, [one.name for one in found])
        if categories is not None:  # None refuses words
            warn_of_texts(found, levels)
        return cls.of(seen(levelled(found, levels)))

    @classmethod
    def of_parts(
        cls, read: Callable[[], Iterable[Sequence[Found]]], names: list[str],
        categories: Any = "from_dtype",
    ) -> Encoding:  # fmt: skip
        """Learn the encoding of a table that comes in parts, in the order of its rows.

        `read` is called again if a column turns out to hold values of several kinds: it then
        holds levels.
        """
        levels = asked(categories, names)
        while True:
            total: tuple[Seen, ...] = ()
            first = 0
            for columns in read():
                limit = max((one.limit for one in total), default=MOST)
                own = seen(levelled(columns, levels), first, limit)
                first += columns[0].values.size if columns else 0
                total = tuple(a.plus(b) for a, b in zip(total, own)) if total else own
            mixed = {k for k, one in enumerate(total) if one.mixed}
            if not mixed:
                return cls.of(total)
            levels |= mixed

    @classmethod
    def of(cls, found: Iterable[Seen]) -> Encoding:
        return cls(tuple(Column.of(one) for one in found))

    @classmethod
    def of_numbers(cls, X: Array, names: Sequence[str] | None = None) -> Encoding:
        """Encode complete columns of numbers, for later tables that may have missing values."""
        own = [f"x{k}" for k in range(X.shape[1])] if names is None else map(str, names)
        return cls.of(seen([Found(name, NUMBER, x) for name, x in zip(own, X.T)]))

    @property
    def plain(self) -> bool:
        """Whether all columns are complete numbers, which stay as they are."""
        return all(one.kind == NUMBER and not one.gaps for one in self.columns)

    @property
    def filled(self) -> tuple[int, ...]:
        """Positions of numbers and dates that had missing values."""
        return tuple(k for k, c in enumerate(self.columns) if c.gaps and c.kind != LEVELS)

    @property
    def categories(self) -> tuple[int, ...]:
        """Positions of the columns of codes."""
        return tuple(k for k, one in enumerate(self.columns) if one.kind == LEVELS)

    @property
    def own_names(self) -> tuple[str, ...]:
        """Names of the columns of the table."""
        return tuple(one.name for one in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of numbers that a model sees."""
        own = self.own_names
        return own + tuple(f"{own[k]} is missing" for k in self.filled)

    def forward(self, table: Any) -> Array:
        """Encode a table, whose columns are taken by name if they have names  (n, d)."""
        return self.encoded(self._in_order(table))

    def encoded(self, found: Sequence[Found]) -> Array:
        """Encode columns that are in the order of the encoding  (n, d)."""
        own = [column.numbers(one) for column, one in zip(self.columns, found)]
        gone = [one.gone for one in found]
        self._warn([k for k, one in enumerate(gone) if one.any() and not self.columns[k].gaps])
        own += [gone[k].astype(np.float64) for k in self.filled]
        return np.stack(own, axis=1) if own else np.empty((0, 0))

    def _in_order(self, table: Any) -> list[Found]:
        """Read the columns of a table in the order of the encoding."""
        found, names = read_columns(table), names_of(table)
        own = list(self.own_names)
        if names is None or names == own or own == [f"x{k}" for k in range(len(own))]:
            if len(found) != len(own):
                raise ValueError(f"X has {len(found)} columns, but had {len(own)} in `fit`")
            return found
        wrong = [f"{name!r} is missing" for name in own if name not in names]
        wrong += [f"{name!r} is new" for name in names if name not in own]
        if wrong or len(found) != len(own):
            raise ValueError(
                f"X does not have the columns that the model was fitted to ({', '.join(wrong)}): "
                f"give {own}, in any order"
            )
        return [found[names.index(name)] for name in own]

    def _warn(self, new: Sequence[int]) -> None:
        if new:
            names = ", ".join(repr(self.columns[k].name) for k in new)
            warnings.warn(
                f"{names}: values are missing, and none was when the model was fitted; they are "
                "replaced by the median (an unknown level among categories), and the error bars do "
                "not account for it",
                NewGapsWarning,
                stacklevel=5,
            )


def levelled(found: Sequence[Found], positions: set[int]) -> list[Found]:
    """Turn the columns at some positions into levels."""
    return [as_levels(one) if k in positions else one for k, one in enumerate(found)]


def _position(one: Any, d: int) -> bool:
    number = isinstance(one, (int, np.integer)) and not isinstance(one, bool)
    return number and -d <= one < d


def asked(categories: Any, names: list[str]) -> set[int]:
    """Positions of the columns to treat as levels."""
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
                f"categorical_features: there is no column {one!r}, but {names}: give names, "
                "positions, a mask or 'from_dtype'"
            )
    return found
