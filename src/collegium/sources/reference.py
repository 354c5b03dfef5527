"""References to chunks: where rows are, and which columns are inputs, targets and weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..tables.encoding import Encoding
from ..tables.reading import LEVELS, NUMBER, Found
from .pieces import BadChunkError, BadValueError, Piece
from .stamps import Stamp, check_unchanged

Array = np.ndarray
HELD_NUMBERS = ", and the column held numbers when the model was fitted: convert it"


@dataclass(frozen=True, eq=False)
class Reference:
    """A chunk that is read when it is needed, by any process that has the file.

    It replaces a `rows.chunk.Chunk`. Rows are counted from 0 in their row group.
    """

    #: Turns words, dates and missing values into numbers; None: all columns of X are numbers.
    encoding: Encoding | None = field(default=None, kw_only=True)
    #: "raise": a missing value makes a chunk bad, whatever the encoding.
    missing: str = field(default="indicator", kw_only=True)
    #: Of the files that it is read from.
    stamps: tuple[Stamp, ...] = field(default=(), kw_only=True)
    #: Positions in the piece of the rows that are used; None: all are.
    chosen: Array | None = field(default=None, kw_only=True)

    id: int
    piece: Piece
    columns: tuple[str, ...]
    target: tuple[str, ...]
    weight: str | None

    @property
    def n(self) -> int:
        return self.piece.n if self.chosen is None else self.chosen.size

    @property
    def file(self) -> str:
        return self.piece.file

    @property
    def row_group(self) -> int | None:
        return self.piece.group

    @property
    def offset(self) -> int:
        return self.piece.offset

    @property
    def where(self) -> str:
        """Describe the chunk: "chunk 77 (part.parquet, row group 27, rows 0–599)"."""
        group = "" if self.row_group is None else f", row group {self.row_group}"
        last = self.offset + self.piece.n - 1
        return f"chunk {self.id} ({self.file}{group}, rows {self.offset}–{last})"

    def load(self) -> tuple[Array, Array, Array]:
        """Read X (n, d), y (n, p) and w (n,) in float64, all finite; w is 1 without weights."""
        if self.encoding is not None:
            X, y, w = self.found()
            return self._encoded(X), y, w
        values, d = self.read(self._names()), len(self.columns)
        return values[:, :d].copy(), *self._targets(values[:, d:])

    def found(self) -> tuple[list[Found], Array, Array]:
        """Read the columns of X as they are (with missing values if these are allowed), y and w."""
        found = self._columns(self._names())
        X, others = found[: len(self.columns)], found[len(self.columns) :]
        for one in X:
            self._check(one, gaps=self.missing == "raise")
        for one in others:
            self._check(one, gaps=True)
            if one.kind != NUMBER:
                raise self.bad(f"column {one.name!r} does not hold numbers: write it as numbers")
        values = [one.values for one in others]
        return X, *self._targets(np.stack(values, axis=1) if values else np.empty((self.n, 0)))

    def inputs(self, names: Sequence[str], encoding: Encoding) -> Array:
        """Read columns of X by an encoding, and further columns of numbers  (n, d + k)."""
        found = self._columns(names)
        d = len(encoding.columns)
        for k, one in enumerate(found):
            self._check(one, gaps=k >= d or self.missing == "raise")
        X = self._encoded(found[:d], encoding)
        return np.column_stack([X, *(one.values for one in found[d:])])

    def _encoded(self, X: list[Found], encoding: Encoding | None = None) -> Array:
        own = self.encoding if encoding is None else encoding
        assert own is not None
        try:
            return own.encoded(X)
        except ValueError as error:
            for one, known in zip(X, own.columns):
                if known.kind == NUMBER and one.kind != NUMBER:
                    raise self.not_number(one, HELD_NUMBERS) from error
            raise self.bad(str(error)) from error

    def not_number(self, found: Found, remedy: str) -> BadChunkError:
        """Make the error that a column holds something else than numbers."""
        there = np.flatnonzero(~found.gone)
        k = int(there[0]) if there.size else 0
        value = found.keys[int(found.values[k])][1] if found.kind == LEVELS else None
        shown = "a date" if value is None else repr(value)
        at = BadValueError(
            self.row_number(k), found.name, value, f"{shown} is not a number{remedy}"
        )
        return self.bad(str(at), at)

    def row_number(self, k: int) -> int:
        """Number in its file or row group, from 0, of row k of the chunk."""
        return self.offset + (k if self.chosen is None else int(self.chosen[k]))

    def _names(self) -> tuple[str, ...]:
        return (*self.columns, *self.target, *(() if self.weight is None else (self.weight,)))

    def _targets(self, values: Array) -> tuple[Array, Array]:
        p = len(self.target)
        y, w = values[:, :p].copy(), np.ones(self.n)
        if self.weight is not None:
            w = values[:, -1].copy()
            if (w < 0).any():
                own = (self.weight,)
                self._refuse(own, np.array([w]).T < 0, values[:, -1:], "a weight of at least 0")
        return y, w

    def _check(self, one: Found, *, gaps: bool) -> None:
        """Refuse infinite values, and missing ones if `gaps`."""
        bad = one.gone if gaps else np.zeros(self.n, np.bool_)
        values = np.where(one.gone, np.nan, 0.0) if one.kind == LEVELS else one.values
        bad = bad | np.isinf(values)
        if bad.any():
            self._refuse((one.name,), bad[:, None], values[:, None], "a finite number")

    def read(self, names: Sequence[str]) -> Array:
        """Read columns in float64, all values finite  (n, k)."""
        values = self._read(self.piece.read, names)
        values = values if self.chosen is None else values[self.chosen]
        finite = np.isfinite(values)
        if not finite.all():
            self._refuse(names, ~finite, values, "a finite number")
        return values

    def _columns(self, names: Sequence[str]) -> list[Found]:
        found = self._read(self.piece.columns, names)
        return found if self.chosen is None else [one.take(self.chosen) for one in found]

    def _read(self, read: Callable[[Sequence[str]], Any], names: Sequence[str]) -> Any:
        """Read from the piece; errors say where. Files that have changed are refused."""
        check_unchanged(self.stamps)
        try:
            found = read(names)
        except OSError as error:
            check_unchanged(self.stamps)
            if error.errno is not None:  # from the system; other errors mean bad contents
                raise OSError(error.errno, f"{self.where}: {error.strerror}", self.file) from error
            raise self.bad(f"{error}: write the file again, or leave it out") from error
        except (ValueError, TypeError, LookupError, NotImplementedError, EOFError) as error:
            check_unchanged(self.stamps)
            at = error if isinstance(error, BadValueError) else None
            raise self.bad(str(error), at) from error
        check_unchanged(self.stamps)
        return found

    def _refuse(self, names: Sequence[str], bad: Array, values: Array, needed: str) -> None:
        """Raise an error that names the first bad value."""
        row, k = (int(i) for i in np.argwhere(bad)[0])
        value: Any = float(values[row, k])
        found = "a missing value (null or NaN)" if np.isnan(value) else f"{value!r}"
        why = (
            f"{found} where {needed} is needed; fill it in or drop the row"
            f"{self._column_remedy(names[k])}"
        )
        at = BadValueError(
            self.row_number(row), names[k], None if np.isnan(value) else repr(value), why
        )
        raise self.bad(str(at), at)

    def _column_remedy(self, name: str) -> str:
        return ", or leave the column out of `columns`" if name in self.columns else ""

    def bad(self, why: str, at: BadValueError | None = None) -> BadChunkError:
        """Make the error that this chunk cannot be used."""
        found = BadChunkError(
            f'{self.where}: {why} (on_bad_chunk="skip" goes on without such chunks)'
        )
        found.file, found.group, found.why, found.at = self.file, self.row_group, why, at
        return found
