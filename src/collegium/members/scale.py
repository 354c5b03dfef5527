"""Trees for the size of errors: log e² of errors that trees themselves make at rows they have not
seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..numerics.records import record
from ..rows.rows import Rows
from .folds import folds_of, folds_of_groups
from .members import Members, OutputMember
from .tuning import TUNING

Array = np.ndarray


@record("members.scale/1")
@dataclass(frozen=True, eq=False)
class ScaleMembers:
    """log e² of each output, the mean of parts; zero for an output without members."""

    outputs: tuple[tuple[Any, ...], ...]  # parts of each: functions of X (n, d) -> (n,)
    folds: int  # part k has not seen fold k

    def __call__(self, X: Array) -> Array:
        return self._each(X, lambda parts: sum(part(X) for part in parts) / len(parts))

    def left_out(self, X: Array) -> Array:
        """log e² by the part that has not seen rows with these inputs  (n, p)."""
        fold = folds_of(X, self.folds)

        def by_others(parts: tuple[Any, ...]) -> Array:
            found = np.empty(X.shape[0])
            for k, part in enumerate(parts):
                found[fold == k] = part(X[fold == k])
            return found

        return self._each(X, by_others)

    def _each(self, X: Array, ask: Callable[[tuple[Any, ...]], Array]) -> Array:
        none = np.zeros(X.shape[0])
        return np.stack([ask(parts) if parts else none for parts in self.outputs], axis=1)


def log_squares(errors: Array) -> Array:
    """log(e² + a share of the median e²)  (n,)."""
    squares = errors**2
    return np.log(squares + max(TUNING.scale_floor * float(np.median(squares)), 1e-12))


def grow_scale(
    members: Members, rows: Rows, grow: Callable[[Rows, int], Any],
    each: Callable[[Callable[[int], Any], range], list[Any]],
) -> ScaleMembers | None:  # fmt: skip
    """Grow trees on errors that the parts of members make at rows that they have not seen.

    `each(f, range)` computes f of some numbers, in parallel. None: members have no folds.
    """
    known = [one for one in members.outputs if one is not None and one.folds]
    if not known:
        return None
    k = known[0].folds
    fold = folds_of(rows.X, k) if rows.group is None else folds_of_groups(rows.group, k)

    def parts(j: int, one: OutputMember | None) -> tuple[Any, ...]:
        if one is None or one.folds != k:
            return ()
        own = replace(rows, y=log_squares(rows.y[:, j] - _unseen(one, rows.X, fold))[:, None])
        return tuple(each(lambda i: grow(own.take(fold != i), i), range(k)))

    return ScaleMembers(tuple(parts(j, one) for j, one in enumerate(members.outputs)), k)


def _unseen(one: OutputMember, X: Array, fold: Array) -> Array:
    """t(x) by the part that has not seen the fold of a row  (n,)."""
    found = np.empty(X.shape[0])
    for i, part in enumerate(one.parts[-one.folds :]):
        found[fold == i] = part(X[fold == i])
    return one.ratio * found + one.shift
