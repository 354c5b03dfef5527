"""The argument `trend=`, or a trend and seasons that were found: columns, and the kernel."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..kernels.base import as_columns, find_columns
from ..kernels.columns import On
from ..kernels.composite import Sum
from ..kernels.season import Season
from ..kernels.trend import has_trend, wide_trend
from ..kernels.tuning import TUNING as KERNELS
from ..rows.metric import column_scales
from .tuning import TUNING

Array = np.ndarray
#: For a trend of another shape, and for words that are no column.
REMEDY = (
    "trend='linear' is a level and slopes of all columns; for a curve, append a column such as the "
    "square of another to X, and name it here"
)


@dataclass(frozen=True)
class Lines:
    """A level and slopes of some columns or of all."""

    columns: tuple[int | str, ...] | None = None  # None: all
    positions: tuple[int, ...] | None = None  # of the columns, once names and levels are known
    degree: int = 1  # 0: no line, seasons alone
    seasons: tuple[tuple[float, int], ...] = ()  # period and harmonics of each

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
        found = self if names is None else replace(self, positions=self._found_in(names))
        wrong = [c for c, k in zip(self.columns, found.positions or ()) if k in levels]
        if wrong:
            raise ValueError(
                f"trend: the column {wrong[0]!r} holds words, which have no slope: name columns of "
                "numbers or dates"
            )
        return found

    def kernel(self, X: Array, size: float = 1.0) -> Kernel:
        """Make the terms for rows X and targets of variance `size`."""
        each = [self._season(period, harmonics, size) for period, harmonics in self.seasons]
        each += [self._line(X, size)] if self.degree else []
        return each[0] if len(each) == 1 else Sum(tuple(each))

    def _season(self, period: float, harmonics: int, size: float) -> Kernel:
        leaf = Season(KERNELS.trend_deviation**2 * size, period, harmonics)
        return leaf if self.columns is None else On(leaf, self.columns, self.positions)

    def _line(self, X: Array, size: float) -> Kernel:
        at = self._at(X.shape[1])
        some = X[:: 1 + X.shape[0] // TUNING.trend_rows][:, at]
        shift = some[0] if some.size else np.zeros(len(at))  # keeps the digits of years and seconds
        centre = shift + (some - shift).mean(axis=0) if some.size else shift
        scale = column_scales(some - centre) if some.size else np.ones(len(at))
        flat = (some == some[:1]).all(axis=0)
        scale = np.where(flat, column_scales(some), scale)
        found = wide_trend(centre, scale, self.columns, size, self.degree)
        return found if self.columns is None else replace(found, positions=tuple(at))

    def beside(self, kernel: Kernel, X: Array, size: float = 1.0) -> Kernel:
        """Add the term to a kernel that has no trend."""
        return kernel if has_trend(kernel) else kernel + self.kernel(X, size)

    def _found_in(self, names: Sequence[str]) -> tuple[int, ...]:
        try:
            return find_columns(self.columns, [str(one) for one in names], "trend")
        except ValueError as error:
            raise ValueError(f"{error}. {REMEDY}") from error

    def _at(self, d: int) -> list[int]:
        if self.columns is None:
            return list(range(d))
        at = self.positions
        if at is None:
            if not all(isinstance(one, int) for one in self.columns):
                raise ValueError(
                    f"trend={list(self.columns)!r}: these are names of columns, and X came without "
                    f"names: give positions, or X as a data frame. {REMEDY}"
                )
            at = tuple(self.columns)  # type: ignore[arg-type]
        if max(at) >= d:
            raise ValueError(
                f"trend={list(self.columns)!r}, but X has {d} columns, which are counted from 0"
            )
        return list(at)
