"""References to chunks: where rows are, and which columns are inputs, targets and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .pieces import BadChunkError, Piece

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Reference:
    """A chunk that is read when it is needed, by any process that has the file.

    It takes the place of a `rows.chunk.Chunk`. Rows are counted from 0 in their row group.
    """

    id: int
    piece: Piece
    columns: tuple[str, ...]
    target: tuple[str, ...]
    weight: str | None

    @property
    def n(self) -> int:
        return self.piece.n

    @property
    def file(self) -> str:
        return self.piece.file

    @property
    def group(self) -> int | None:
        return self.piece.group

    @property
    def offset(self) -> int:
        return self.piece.offset

    @property
    def where(self) -> str:
        """Such as "chunk 77 (part.parquet, row group 27, rows 0–599)"."""
        group = "" if self.group is None else f", row group {self.group}"
        last = self.offset + self.n - 1
        return f"chunk {self.id} ({self.file}{group}, rows {self.offset}–{last})"

    def load(self) -> tuple[Array, Array, Array]:
        """X (n, d), y (n, p) and w (n,) in float64, every value finite; w is 1 without weights."""
        weight = () if self.weight is None else (self.weight,)
        values = self.read((*self.columns, *self.target, *weight))
        d, p = len(self.columns), len(self.target)
        X, y = values[:, :d].copy(), values[:, d : d + p].copy()
        w = values[:, -1].copy() if weight else np.ones(self.n)
        if weight and (w < 0).any():
            self._refuse(weight, np.array([w]).T < 0, values[:, -1:], "a weight of at least 0")
        return X, y, w

    def read(self, names: Sequence[str]) -> Array:
        """These columns in float64, every value finite  (n, k)."""
        try:
            values = self.piece.read(names)
        except OSError as error:
            if error.errno is not None:  # of the system; others say that the contents are bad
                raise OSError(error.errno, f"{self.where}: {error.strerror}", self.file) from error
            raise self.bad(f"{error}: write the file again, or leave it out") from error
        except (ValueError, TypeError, LookupError, NotImplementedError, EOFError) as error:
            raise self.bad(str(error)) from error
        finite = np.isfinite(values)
        if not finite.all():
            self._refuse(names, ~finite, values, "a finite number")
        return values

    def _refuse(self, names: Sequence[str], bad: Array, values: Array, needed: str) -> None:
        """Raise an error that names the first bad value."""
        row, k = (int(i) for i in np.argwhere(bad)[0])
        value: Any = float(values[row, k])
        found = "a gap (null or NaN)" if np.isnan(value) else f"{value!r}"
        raise self.bad(
            f"column {names[k]!r}, row {self.offset + row}: {found} where {needed} is needed; "
            f"fill it in or drop the row{self._column_remedy(names[k])}"
        )

    def _column_remedy(self, name: str) -> str:
        return ", or leave the column out of `columns`" if name in self.columns else ""

    def bad(self, why: str) -> BadChunkError:
        """The error that says that this chunk cannot be used."""
        return BadChunkError(
            f'{self.where}: {why} (on_bad_chunk="skip" goes on without such chunks)'
        )
