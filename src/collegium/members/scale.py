"""Trees for the size of errors: log e² of errors that trees themselves make at rows they have not
seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..numerics.records import record
from ..rows.rows import Rows
from .folds import folds_by, told_by_others
from .tuning import TUNING

Array = np.ndarray


@record("members.scale/1")
@dataclass(frozen=True, eq=False)
class ScaleMembers:
    """log e² of each output, the mean of parts; zero for an output without members."""

    outputs: tuple[tuple[Any, ...], ...]  # parts of each: functions of X (n, d) -> (n,), of which
    # part k has not seen fold k

    def __call__(self, X: Array) -> Array:
        return self._each(X, lambda parts: sum(part(X) for part in parts) / len(parts))

    def left_out(self, X: Array, group: Array | None = None) -> Array:
        """log e² by the part that has not seen rows with these inputs, or of these groups
        (n, p)."""
        return self._each(X, lambda parts: told_by_others(parts, X, folds_by(X, group, len(parts))))

    def _each(self, X: Array, ask: Callable[[tuple[Any, ...]], Array]) -> Array:
        none = np.zeros(X.shape[0])
        return np.stack([ask(parts) if parts else none for parts in self.outputs], axis=1)


def log_squares(errors: Array) -> Array:
    """log(e² + a share of the median e²)  (n,)."""
    squares = errors**2
    return np.log(squares + max(TUNING.scale_floor * float(np.median(squares)), 1e-12))


def grow_scale(
    parts: tuple[Any, ...], rows: Rows, fold: Array, grow: Callable[[Rows, int], Any],
    each: Callable[[Callable[[int], Any], range], list[Any]],
) -> tuple[Any, ...]:  # fmt: skip
    """Grow trees on errors that parts make at rows of one output that they have not seen: part k
    those of fold k. `each(f, range)` computes f of some numbers, in parallel."""
    errors = rows.y[:, 0] - told_by_others(parts, rows.X, fold)
    own = replace(rows, y=log_squares(errors)[:, None])
    return tuple(each(lambda k: grow(own.take(fold != k), k), range(len(parts))))
