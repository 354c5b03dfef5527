"""The argument `trend=`: its columns, and the kernel that it becomes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..kernels.base import as_columns, find_columns
from ..kernels.trend import has_trend, wide_trend
from ..rows.metric import column_scales
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True)
class Lines:
    """A level and slopes of some columns or of all."""

    columns: tuple[int | str, ...] | None = None  # None: all
    positions: tuple[int, ...] | None = None  # of the columns, once names and levels are known

    @classmethod
    def asked(cls, value: Any) -> Lines | None:
        """Read the argument: None, "linear", a column or several."""
        if value is None:
            return None
        if isinstance(value, str) and value == "linear":
            return cls()
        chosen = as_columns(value, "trend")
        if not chosen:
            raise ValueError(f"trend={value!r}: give None, 'linear', a column or some of them")
        return cls(chosen)

    def on_columns(self, names: Sequence[str] | None, levels: Collection[int] = ()) -> Lines:
        """Find positions by name; columns of levels have no trend."""
        if self.columns is None:
            if not levels or names is None:
                return self
            rest = tuple(k for k in range(len(names)) if k not in levels)
            if not rest:
                raise ValueError("trend='linear': all columns hold words, which have no slope")
            return Lines(tuple(str(names[k]) for k in rest), rest)
        found = self if names is None else replace(
            self, positions=find_columns(self.columns, [str(one) for one in names], "trend")
        )  # fmt: skip
        wrong = [c for c, k in zip(self.columns, found.positions or ()) if k in levels]
        if wrong:
            raise ValueError(
                f"trend: the column {wrong[0]!r} holds words, which have no slope: name columns of "
                "numbers or dates"
            )
        return found

    def kernel(self, X: Array, size: float = 1.0) -> Kernel:
        """Make the term for rows X and targets of variance `size`."""
        at = self._at(X.shape[1])
        some = X[:: 1 + X.shape[0] // TUNING.trend_rows][:, at]
        shift = some[0] if some.size else np.zeros(len(at))  # keeps the digits of years and seconds
        centre = shift + (some - shift).mean(axis=0) if some.size else shift
        scale = column_scales(some - centre) if some.size else np.ones(len(at))
        flat = (some == some[:1]).all(axis=0)
        scale = np.where(flat, column_scales(some), scale)
        found = wide_trend(centre, scale, self.columns, size)
        return found if self.columns is None else replace(found, positions=tuple(at))

    def beside(self, kernel: Kernel, X: Array, size: float = 1.0) -> Kernel:
        """Add the term to a kernel that has no trend."""
        return kernel if has_trend(kernel) else kernel + self.kernel(X, size)

    def _at(self, d: int) -> list[int]:
        if self.columns is None:
            return list(range(d))
        at = self.positions
        if at is None:
            if not all(isinstance(one, int) for one in self.columns):
                raise ValueError(
                    f"trend={list(self.columns)!r}: give 'linear' or columns; these are names, but "
                    "X came without names of columns: give X as a data frame, or positions"
                )
            at = tuple(self.columns)  # type: ignore[arg-type]
        if max(at) >= d:
            raise ValueError(
                f"trend={list(self.columns)!r}, but X has {d} columns, which are counted from 0"
            )
        return list(at)
