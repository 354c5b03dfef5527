"""Arrays in `.npy` files, mapped into memory: inputs, targets and optional weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..tables.reading import Found, array_column
from .pieces import NUMPY_KINDS, OTHER, Type, piece_spans, readable
from .stamps import Stamp

Array = np.ndarray
LETTERS = "xyw"


def _open(path: str) -> Array:
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(
            f"{path} is not a complete .npy file of numbers ({error}): write it again with "
            "np.save, or leave it out"
        ) from error
    if found.ndim not in (1, 2):
        raise ValueError(f"{path} has {found.ndim} dimensions: give arrays with one or two")
    return found


def _names(letter: str, found: Array) -> list[str]:
    """Name columns: inputs x0, x1, …; targets y, or y0, y1, …; weights w."""
    if letter != "x" and found.ndim == 1:
        return [letter]
    return [f"{letter}{k}" for k in range(1 if found.ndim == 1 else found.shape[1])]


@dataclass(frozen=True, eq=False)
class NpyPiece:
    """Rows of arrays that belong together."""

    file: str
    group: None
    offset: int
    n: int
    paths: tuple[str, ...]

    def read(self, names: Sequence[str]) -> Array:
        values, parts = np.empty((len(names), self.n)).T, self._parts()
        for k, name in enumerate(names):
            values[:, k] = parts[name]
        return values

    def columns(self, names: Sequence[str]) -> list[Found]:
        parts = self._parts()
        return [array_column(name, parts[name]) for name in names]

    def _parts(self) -> dict[str, Array]:
        """Map all columns, by name."""
        parts: dict[str, Array] = {}
        for letter, path in zip(LETTERS, self.paths):
            found, stop = _open(path), self.offset + self.n
            if found.shape[0] < stop:
                raise ValueError(f"{path} has {found.shape[0]} rows: it has changed, open it again")
            own = found.reshape(len(found), -1)[self.offset : stop]
            parts.update(zip(_names(letter, found), own.T))
        return parts


@dataclass(frozen=True, eq=False)
class NpyTable:
    """(X.npy, y.npy) or (X.npy, y.npy, w.npy): columns x0, x1, …, y (or y0, y1, …) and w."""

    file: str
    types: dict[str, Type]
    target: tuple[str, ...]
    paths: tuple[str, ...]
    rows: int
    stamps: tuple[Stamp, ...]

    @classmethod
    def of(cls, paths: tuple[str, ...]) -> NpyTable:
        if not 1 <= len(paths) <= 3:
            raise ValueError(f"{len(paths)} arrays in {paths}: give (X.npy, y.npy[, w.npy])")
        for path in paths:
            readable(path)
        stamps = tuple(map(Stamp.of, paths))
        arrays = [_open(path) for path in paths]
        for path, found in zip(paths, arrays):
            if found.shape[0] != arrays[0].shape[0]:
                raise ValueError(
                    f"{path} has {found.shape[0]} rows and {paths[0]} {arrays[0].shape[0]}: give "
                    "arrays that belong together"
                )
        if len(paths) == 3 and arrays[2].ndim != 1:
            raise ValueError(f"{paths[2]} has two dimensions: give one weight per row")
        types: dict[str, Type] = {}
        target: tuple[str, ...] = ()
        for letter, found in zip(LETTERS, arrays):
            own = _names(letter, found)
            kind = NUMPY_KINDS.get(found.dtype.kind, OTHER)
            types.update(dict.fromkeys(own, Type(kind, str(found.dtype))))
            target = tuple(own) if letter == "y" else target
        return cls(" and ".join(paths), types, target, paths, arrays[0].shape[0], stamps)

    def pieces(self, most: int) -> Iterator[NpyPiece]:
        for offset, n in piece_spans(self.rows, most):
            yield NpyPiece(self.file, None, offset, n, self.paths)
