"""A sum of regression trees as plain arrays, evaluated by a compiled loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numerics.compiling import compiled
from ..numerics.records import record

Array = np.ndarray
#: Rows that walk through a tree together: its nodes stay in the fastest cache.
TOGETHER = 256
#: Words of 32 bits in a set of levels.
WORDS = 8
_loop: Any = compiled(error_model="numpy")


@record("members.forest/1")
@dataclass(frozen=True, eq=False)
class Forest:
    """base + Σ leaf values. Node i sends a row to left[i], or to right[i].

    A number goes left where it is at most the threshold; a level where its bit of the set is one.
    NaN, which is a missing value or an unknown level, goes left where missing[i] is true. Leaves
    have feature −1.
    """

    base: float
    start: Array  # first node of each tree  (T,)
    feature: Array  # (N,)  int32
    threshold: Array  # (N,)
    left: Array  # (N,)  int32
    right: Array  # (N,)  int32
    missing: Array  # (N,)  bool
    levels: Array  # number of the set of levels, −1: a number decides  (N,)  int32
    sets: Array  # (k, 8)  uint32
    value: Array  # of leaves  (N,)

    @property
    def trees(self) -> int:
        return self.start.size

    def __call__(self, X: Array) -> Array:
        """Evaluate at X (n, d), whose levels are whole numbers from 0 to 255, or NaN  (n,)."""
        total = np.full(X.shape[0], self.base)
        walk(
            np.ascontiguousarray(X, dtype=float), self.start, self.feature, self.threshold,
            (self.left, self.right), self.missing, (self.levels, self.sets), self.value, total,
        )  # fmt: skip
        return total

    @classmethod
    def joined(cls, base: float, trees: Sequence[Any]) -> Forest:
        """Put trees together: each a `GrownTree`."""
        counts = np.cumsum([0, *(tree.feature.size for tree in trees)])
        sets = np.cumsum([0, *(tree.sets.shape[0] for tree in trees)])

        def every(name: str, shift: Array | None, dtype: Any) -> Array:
            parts = [getattr(tree, name) for tree in trees]
            if shift is not None:
                parts = [np.where(part < 0, -1, part + by) for part, by in zip(parts, shift)]
            return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype)

        return cls(
            base, counts[:-1].astype(np.int64), every("feature", None, np.int32),
            every("threshold", None, np.float64), every("left", counts, np.int32),
            every("right", counts, np.int32), every("missing", None, np.bool_),
            every("levels", sets, np.int32),
            np.concatenate([np.empty((0, WORDS), np.uint32), *(tree.sets for tree in trees)]),
            every("value", None, np.float64),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class GrownTree:
    """One tree, its nodes and sets of levels numbered from 0; fields as in `Forest`."""

    feature: Array
    threshold: Array
    left: Array
    right: Array
    missing: Array
    levels: Array
    sets: Array
    value: Array


@_loop
def walk(X, start, feature, threshold, children, missing, levels, value, total):
    """Add to `total` the leaf that each row reaches in each tree, in the order of the trees."""
    left, right = children
    number, sets = levels
    n = X.shape[0]
    at = np.empty(TOGETHER, np.int32)
    for first in range(0, n, TOGETHER):
        m = min(TOGETHER, n - first)
        for tree in range(start.size):
            root = start[tree]
            for i in range(m):
                node = root
                while feature[node] >= 0:
                    x = X[first + i, feature[node]]
                    if x != x:
                        low = missing[node]
                    elif number[node] < 0:
                        low = x <= threshold[node]
                    else:
                        code = np.int64(x)
                        low = (sets[number[node], code >> 5] >> np.uint32(code & 31)) & 1 == 1
                    node = left[node] if low else right[node]
                at[i] = node
            for i in range(m):
                total[first + i] += value[at[i]]
