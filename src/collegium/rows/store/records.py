"""Rows with their numbers as packed records, which are sampled, routed and sorted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .tuning import TUNING

Array = np.ndarray
#: (X, y, w, number of the first row); w None: every weight is 1.
Block = tuple[Any, Any, Any, int]
#: Beyond this a squared distance overflows.
LARGEST = 1e150


@dataclass(frozen=True)
class Schema:
    """Numbers and types of columns, the same in all blocks."""

    d: int
    p: int
    X: str  # types by letter and bytes: "f4", "f8", "i8", …
    y: str
    w: str

    @classmethod
    def of(cls, X: Array, y: Array, w: Array) -> Schema:
        return cls(X.shape[1], y.shape[1], *(a.dtype.str[1:] for a in (X, y, w)))

    @property
    def dtype(self) -> np.dtype:
        fields = [("id", "<i8"), ("X", f"<{self.X}", (self.d,))]
        return np.dtype([*fields, ("y", f"<{self.y}", (self.p,)), ("w", f"<{self.w}")])


def pack(schema: Schema, X: Array, y: Array, w: Array, ids: Array) -> Array:
    """Make one record per row."""
    found = np.empty(ids.size, schema.dtype)
    found["id"], found["X"], found["y"], found["w"] = ids, X, y, w
    return found


def pack_blocks(blocks: Iterable[Block], schema: Schema | None = None) -> Iterator[Array]:
    """Yield the records of blocks, checked, in slices."""
    runs: list[tuple[int, int]] = []
    for k, block in enumerate(blocks):
        X, y, w, first = _checked(k, block)
        own = Schema.of(X, y, w)
        schema = schema or own
        if own != schema:
            raise ValueError(
                f"block {k} has columns and types {own}, earlier ones {schema}: convert all "
                "blocks to the same types"
            )
        runs.append((first, first + len(X)))
        step = max(1, TUNING.slice_bytes // schema.dtype.itemsize)
        for a in range(0, len(X), step):
            b = min(a + step, len(X))
            _check_values(X[a:b], first + a)
            yield pack(schema, X[a:b], y[a:b], w[a:b], np.arange(first + a, first + b))
    runs.sort()
    for one, other in zip(runs, runs[1:]):
        if other[0] < one[1]:
            raise ValueError(
                f"row number {other[0]} comes twice: give every block the number of its first row"
            )


def gathered(records: Iterable[Array]) -> Iterator[Array]:
    """Join small arrays of records, so that all but the last are about a slice or more."""
    waiting: list[Array] = []
    size = 0
    for one in records:
        waiting.append(one)
        size += one.nbytes
        if size >= TUNING.slice_bytes:
            yield np.concatenate(waiting)
            waiting, size = [], 0
    if waiting:
        yield np.concatenate(waiting)


def _checked(k: int, block: Block) -> tuple[Array, Array, Array, int]:
    try:
        X, y, w, first = block
    except (TypeError, ValueError):
        raise ValueError(f"block {k} is not (X, y, w, number of its first row)") from None
    X, y = np.asarray(X), np.asarray(y)
    y = y[:, None] if y.ndim == 1 else y
    w = np.ones(len(X)) if w is None else np.asarray(w)
    if X.ndim != 2 or X.shape[1] == 0 or y.ndim != 2 or w.ndim != 1:
        raise ValueError(f"block {k}: X is (n, d), y (n,) or (n, p), w (n,) or None")
    if not len(X) == len(y) == len(w):
        raise ValueError(f"block {k} has {len(X)} rows of X, {len(y)} of y, {len(w)} of w")
    if first < 0:
        raise ValueError(f"block {k}: row numbers begin at 0, this one at {first}")
    return _plain(k, "X", X), _plain(k, "y", y), _plain(k, "w", w), int(first)


def _plain(k: int, name: str, values: Array) -> Array:
    """Keep float32, float64 and integers; widen half precision and booleans."""
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind in "iu" or (kind == "f" and size in (4, 8)):
        return values
    if kind == "b" or (kind == "f" and size == 2):
        return values.astype(np.uint8 if kind == "b" else np.float32)
    raise ValueError(f"{name} of block {k} is {values.dtype}: convert it to float64 or integers")


def _check_values(X: Array, first: int) -> None:
    """Refuse values without a finite squared distance."""
    if X.dtype.kind != "f":
        return
    bad = ~(np.abs(X) <= min(LARGEST, float(np.finfo(X.dtype).max)))
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise ValueError(
            f"row {first + i}, column {j} of X is {X[i, j]}: "
            f"fill or leave out values that are not finite or beyond {LARGEST:g}"
        )
