"""Answers for the rows of files, written to another, some rows in memory at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..sources.opening import open as open_source
from ..sources.source import Source, check_numbers
from ..sources.writing import check_writable, columns_to

Array = np.ndarray


def query_source(estimator: Any, data: Any) -> tuple[Source, tuple[str, ...]]:
    """The source of queries, and its columns that the model knows, in the order of X."""
    if hasattr(estimator, "encoding_"):
        raise ValueError(
            "this model was fitted to a frame with dates or gaps, which files have no place for "
            "yet: predict frames, some rows at a time"
        )
    names = getattr(estimator, "feature_names_in_", None)
    named = None if names is None else [str(name) for name in names]
    source = data if isinstance(data, Source) else open_source(data, columns=named)
    columns = source.columns if named is None else tuple(named)
    if len(columns) != estimator.n_features_in_:
        raise ValueError(
            f"X has {len(columns)} columns, {list(columns)}, and the model was fitted to "
            f"{estimator.n_features_in_}: name these with collegium.open(…, columns=[…])"
        )
    return source, columns


def queries(estimator: Any, data: Source) -> Array:
    """X of all rows of a source  (n, d)."""
    source, columns = query_source(estimator, data)
    return np.concatenate(list(source.batches(columns)))


def write_answers(
    estimator: Any, data: Any, path: str | os.PathLike[str], keep: Sequence[str],
    ask: Callable[[Array], Mapping[str, Array]],
) -> int:  # fmt: skip
    """Write `ask(X)` of all rows of `data`, in their order; the number of rows.

    Rows of a chunk that cannot be read, where the source skips such, have NaN.
    """
    path = check_writable(path)
    source, columns = query_source(estimator, data)
    keep = (keep,) if isinstance(keep, str) else tuple(keep)
    for table in source.tables:
        check_numbers(table, [*columns, *keep])
    files = {os.path.abspath(table.file) for table in source.tables}
    if os.path.abspath(path) in files:
        raise ValueError(f"{path} is one of the files that are read: give another path")
    done, d = 0, len(columns)
    count = estimator._say().counting(lambda chunk: None, len(source.chunks))
    missing = list[int]()  # rows before the first that can be read
    with columns_to(path) as write:
        names = list[str]()
        for chunk in source.chunks:
            values = source.read(chunk, (*columns, *keep))
            done += chunk.n
            if values is None and not names:
                missing.append(chunk.n)
                continue
            if values is None:
                write({name: np.full(chunk.n, np.nan) for name in names})
                continue
            kept = {name: np.ascontiguousarray(values[:, d + k]) for k, name in enumerate(keep)}
            found = {**kept, **ask(np.ascontiguousarray(values[:, :d]))}
            names = list(found)
            for n in missing:
                write({name: np.full(n, np.nan) for name in names})
            missing = []
            write(found)
            count(chunk)
    return done


def by_output(name: str, values: Array) -> dict[str, Array]:
    """A column, or one an output: mean_0, mean_1, …"""
    if values.ndim == 1:
        return {name: values}
    return {f"{name}_{j}": np.ascontiguousarray(column) for j, column in enumerate(values.T)}
