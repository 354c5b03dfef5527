"""Answers for the rows of files, written to another, some rows in memory at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from ...sources.opening import open as open_source
from ...sources.reference import Reference
from ...sources.source import Source, check_columns, check_numbers
from ...sources.writing import check_writable, columns_to
from ...tables.encoding import Encoding

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Queries:
    """The source of queries, and its columns that the model knows, in the order of X."""

    source: Source
    columns: tuple[str, ...]
    encoding: Encoding | None  # None: all of them are numbers

    @classmethod
    def of(cls, estimator: Any, data: Any) -> Queries:
        names = getattr(estimator, "feature_names_in_", None)
        named = None if names is None else [str(name) for name in names]
        source = data if isinstance(data, Source) else open_source(data, columns=named)
        columns = source.columns if named is None else tuple(named)
        if len(columns) != estimator.n_features_in_:
            raise ValueError(
                f"X has {len(columns)} columns, {list(columns)}, and the model was fitted to "
                f"{estimator.n_features_in_}: name these with collegium.open(…, columns=[…])"
            )
        return cls(source, columns, getattr(estimator, "encoding_", None))

    @property
    def d(self) -> int:
        """Columns of numbers that the model sees."""
        return len(self.columns if self.encoding is None else self.encoding.names)

    def check(self, keep: Sequence[str] = ()) -> None:
        """Refuse columns that are not there, or hold what they should not."""
        for table in self.source.tables:
            (check_columns if self.encoding is not None else check_numbers)(table, self.columns)
            check_numbers(table, keep)

    def read(self, chunk: Reference, keep: Sequence[str] = ()) -> Array | None:
        """X of a chunk, and columns that are kept (n, d + k); None where it is left out."""
        names, own = (*self.columns, *keep), self.encoding
        if own is None:
            return self.source.read(chunk, names)
        return self.source.attempt(chunk, lambda: chunk.inputs(names, own))


def queries(estimator: Any, data: Source) -> Array:
    """X of all rows of a source  (n, d)."""
    asked = Queries.of(estimator, data)
    asked.check()
    parts = [asked.read(chunk) for chunk in asked.source.chunks]
    return np.concatenate([one for one in parts if one is not None])


def write_answers(
    estimator: Any, data: Any, path: str | os.PathLike[str] | BinaryIO, keep: Sequence[str],
    ask: Callable[..., Mapping[str, Array]], beside: Sequence[str] = (),
) -> int:  # fmt: skip
    """Write `ask(X)` of all rows of `data`, in their order; the number of rows.

    `beside`: columns of numbers that `ask` takes after X.

    Rows of a chunk that cannot be read, where the source skips such, have NaN, and are true in
    columns of booleans.
    """
    path = check_writable(path)
    asked = Queries.of(estimator, data)
    source, d = asked.source, asked.d
    keep = (keep,) if isinstance(keep, str) else tuple(keep)
    asked.check((*keep, *beside))
    files = {os.path.abspath(table.file) for table in source.tables}
    if isinstance(path, str) and os.path.abspath(path) in files:
        raise ValueError(f"{path} is one of the files that are read: give another path")
    done = 0
    count = estimator._say().counting(lambda chunk: None, len(source.chunks))
    missing = list[int]()  # rows before the first that can be read
    with columns_to(path) as write:
        kinds = dict[str, np.dtype]()
        for chunk in source.chunks:
            values = asked.read(chunk, (*keep, *beside))
            done += chunk.n
            if values is None and not kinds:
                missing.append(chunk.n)
                continue
            if values is None:
                write(unknown(chunk.n, kinds))
                continue
            kept = {name: np.ascontiguousarray(values[:, d + k]) for k, name in enumerate(keep)}
            others = (np.ascontiguousarray(one) for one in values[:, d + len(keep) :].T)
            found = {**kept, **ask(np.ascontiguousarray(values[:, :d]), *others)}
            kinds = {name: column.dtype for name, column in found.items()}
            for n in missing:
                write(unknown(n, kinds))
            missing = []
            write(found)
            count(chunk)
    return done


def unknown(n: int, kinds: Mapping[str, np.dtype]) -> dict[str, Array]:
    """Make columns for n rows that have no answers."""
    return {name: np.full(n, True if kind == np.bool_ else np.nan) for name, kind in kinds.items()}


def by_output(name: str, values: Array) -> dict[str, Array]:
    """A column, or one per output: mean_0, mean_1, …"""
    if values.ndim == 1:
        return {name: values}
    return {f"{name}_{j}": np.ascontiguousarray(column) for j, column in enumerate(values.T)}
