"""A source of rows: its columns, its chunks, and the chunks that were skipped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from ..tables.encoding import Encoding
from .pieces import NUMERIC, OTHER, BadValueError, Piece, Table
from .reference import Reference
from .stamps import SourceChangedError, check_unchanged

Array = np.ndarray


@dataclass(frozen=True)
class Skipped:
    """A chunk that was skipped, or a whole file (`id` and `n` are None)."""

    id: int | None
    file: str
    n: int | None
    reason: str


class RowRule(Protocol):
    """Chooses rows; its text, by `str`, tells rules apart."""

    def __call__(self, piece: Piece) -> Array | None:
        """Positions in a piece of the rows that are used, in order; None: all of them."""
        ...


@dataclass(eq=False, repr=False)
class Source:
    """Rows in files or frames. `collegium.open` makes one.

    Chunks are numbered runs of at most `chunk_rows` rows of one row group. Where they are cut
    depends on the files alone, not on how a reader batches them.
    """

    tables: tuple[Table, ...]
    columns: tuple[str, ...]  # inputs, in the order of X
    target: tuple[str, ...]
    weight: str | None
    chunk_rows: int
    on_bad_chunk: str
    skipped: list[Skipped] = field(default_factory=list)
    missing: str = "indicator"  # or "raise": chunks with missing values are bad
    encoding: Encoding | None = None  # turns words, dates and missing values into numbers
    rule: RowRule | None = None  # which rows are used; None: all

    def __repr__(self) -> str:
        files = self.tables[0].file if len(self.tables) == 1 else f"{len(self.tables)} files"
        return f"Source({files}, columns={list(self.columns)}, target={list(self.target)})"

    @property
    def n_rows(self) -> int:
        """Rows of all chunks; those of CSV files are counted on the first call."""
        return sum(chunk.n for chunk in self.chunks)

    @property
    def d(self) -> int:
        """Number of columns of X."""
        return len(self.columns if self.encoding is None else self.encoding.names)

    def learn_encoding(self, categories: Any = "from_dtype") -> Encoding:
        """Learn the encoding; to the last bit the one of the same rows in a single frame.

        Levels are compared by value, whatever their codes in a file. Chunks are read one at a time.
        """
        names = [str(name) for name in self.columns]
        found = Encoding.of_parts(lambda: (X for _, X, _, _ in self.found()), names, categories)
        if not found.columns:
            raise ValueError(f"no chunk of {self!r} can be used: see its `skipped`")
        return found

    def encoded(self, encoding: Encoding) -> Source:
        """Give the source an encoding of words, dates and missing values."""
        found = replace(self, encoding=encoding)
        chunks = [replace(one, encoding=encoding) for one in self.chunks]
        vars(found)["chunks"] = chunks  # rows of a file are counted once
        return found

    def with_roles(
        self, columns: Sequence[str], target: Sequence[str] = (), weight: str | None = None
    ) -> Source:
        """Give columns other roles; rows stay chosen and counted."""
        roles: dict[str, Any] = {"columns": tuple(columns), "target": tuple(target)}
        roles["weight"] = weight
        found = replace(self, **roles)
        vars(found)["chunks"] = [replace(one, **roles) for one in self.chunks]
        return found

    @cached_property
    def chunks(self) -> Sequence[Reference]:
        """References to all rows in order; each can be pickled and loaded anywhere."""
        found = list(self._references())
        if not found:
            names = ", ".join(table.file for table in self.tables)
            kept = "" if self.rule is None else f" that are chosen ({self.rule})"
            raise ValueError(f"there are no rows in {names}{kept}: give a file that has some")
        return found

    def _references(self) -> Iterator[Reference]:
        make = partial(Reference, encoding=self.encoding, missing=self.missing)
        roles = self.columns, self.target, self.weight
        for id, (table, piece) in enumerate(self._pieces()):
            found = make(id, piece, *roles, stamps=table.stamps)
            if self.rule is not None:
                found = self.attempt(found, partial(self._chosen, found))
            if found is not None and found.n:
                yield found

    def _chosen(self, chunk: Reference) -> Reference:
        """Apply the rule; a value that it cannot read makes the chunk bad."""
        assert self.rule is not None
        try:
            return replace(chunk, chosen=self.rule(chunk.piece))
        except BadValueError as error:
            raise chunk.bad(str(error), error) from error

    def _pieces(self) -> Iterator[tuple[Table, Piece]]:
        for table in self.tables:
            try:
                for piece in table.pieces(self.chunk_rows):
                    yield table, piece
            except (ValueError, OSError) as error:
                self._skip(Skipped(None, table.file, None, str(error)), error)

    def rows(self) -> Iterator[tuple[Reference, Array, Array, Array]]:
        """Yield each chunk with its X, y and w, one in memory at a time."""
        self._check_readable()
        yield from self._each(Reference.load, self.chunks)
        self.check_unchanged()

    def check_unchanged(self) -> None:
        """Refuse files that have changed since they were opened."""
        for table in self.tables:
            check_unchanged(table.stamps, there=True)

    def found(self) -> Iterator[tuple[Reference, Any, Array, Array]]:
        """Yield each chunk with the columns of X as they are (words and dates too), y and w."""
        yield from self._each(Reference.found, self.chunks)
        self.check_unchanged()

    def _each(self, load: Any, chunks: Iterable[Reference]) -> Iterator[tuple]:
        for chunk in chunks:
            try:
                rows = load(chunk)
            except (ValueError, OSError) as error:
                self._skip(Skipped(chunk.id, chunk.file, chunk.n, str(error)), error)
                continue
            yield chunk, *rows

    def _check_readable(self) -> None:
        """Refuse columns that are not numbers if there is no encoding."""
        if self.encoding is None:
            for table in self.tables:
                check_numbers(table, self.columns)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Array]:
        """Yield columns of the files, inputs by default, one chunk in memory at a time  (n, k)."""
        names = self.columns if columns is None else tuple(columns)
        for table in self.tables:
            check_numbers(table, names)
        for chunk in self.chunks:
            values = self.read(chunk, names)
            if values is not None:
                yield values
        self.check_unchanged()

    def read(self, chunk: Reference, columns: Sequence[str]) -> Array | None:
        """Read columns of one chunk (n, k); None if it is skipped."""
        return self.attempt(chunk, lambda: chunk.read(columns))

    def attempt(self, chunk: Reference, read: Any) -> Any:
        """Call `read()`; None if the chunk is skipped."""
        try:
            return read()
        except (ValueError, OSError) as error:
            self._skip(Skipped(chunk.id, chunk.file, chunk.n, str(error)), error)
            return None

    def head(self, n: int = 5) -> tuple[Array, Array, Array]:
        """Read X, y and w of the first n rows, and no more chunks than necessary."""
        self._check_readable()
        parts, missing = [], n
        for _, X, y, w in self._each(Reference.load, self._references()):
            parts.append((X[:missing], y[:missing], w[:missing]))
            missing -= len(w)
            if missing <= 0:
                break
        if not parts:
            return np.empty((0, self.d)), np.empty((0, len(self.target))), np.empty(0)
        X, y, w = (np.concatenate(one) for one in zip(*parts))
        return X, y, w

    def _skip(self, left_out: Skipped, error: Exception) -> None:
        """Record what is skipped, or raise the error; a file that changes is never left out."""
        if self.on_bad_chunk == "raise" or isinstance(error, SourceChangedError):
            raise error
        self.leave_out(left_out)

    def leave_out(self, left_out: Skipped) -> None:
        """Record what is skipped, once, with the reason found first."""
        if (left_out.id, left_out.file) not in {(one.id, one.file) for one in self.skipped}:
            self.skipped.append(left_out)


def check_numbers(table: Table, names: Sequence[str], like: Table | None = None) -> None:
    """Refuse columns that are missing in a table, are not numbers or have another type."""
    check_columns(table, names, like)
    for name in names:
        own = table.types[name]
        if own.kind not in NUMERIC:
            raise ValueError(
                f"column {name!r} of {table.file} holds {own.name} ({own.kind}), not numbers: "
                "write it as numbers, or name the columns to use without it: columns=[…]"
            )


def check_columns(table: Table, names: Sequence[str], like: Table | None = None) -> None:
    """Refuse columns that are missing in a table, that no model can use or have another type."""
    for name in names:
        if name not in table.types:
            have = ", ".join(repr(one) for one in table.types)
            other = f", which {like.file} has" if like is not None else ""
            raise ValueError(
                f"{table.file} has no column {name!r}{other}; it has {have}: correct the name, or "
                "leave out the file or the column"
            )
        own = table.types[name]
        if own.kind == OTHER:
            raise ValueError(
                f"column {name!r} of {table.file} holds {own.name}: write numbers, texts or dates, "
                "or name the columns to use without it: columns=[…]"
            )
        if like is not None and not own.agrees(like.types[name]):
            raise ValueError(
                f"column {name!r} is {own.name} in {table.file} and {like.types[name].name} in "
                f"{like.file}: write both with one type, or leave one file out"
            )
