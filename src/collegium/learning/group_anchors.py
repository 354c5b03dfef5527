"""Choose anchors beside groups, the random effects of a sum of kernels.

An anchor in a group determines only the sum of the group's effect and the rest. Anchors in a group
without rows determine the rest, up to one shift for all of them: with one anchor in each of 150
groups the error was 1.14 times that of the exact GP, with 40 in a group of their own 1.01. The
effects are determined by the nearest rows; where no rows are kept, as many groups as possible get
an anchor each.
"""

from __future__ import annotations

import numpy as np

from ..kernels import Kernel
from ..kernels.columns import On
from ..kernels.composite import Sum
from ..kernels.group import Group
from ..kernels.trend import split_trend
from ..rows.rows import Rows
from .anchors import RULES, Selection, Stop
from .tuning import TUNING

Array = np.ndarray


def choose_anchors(
    name: str, kernel: Kernel, noise: float, rows: Rows, m: int, rng: np.random.Generator,
    *, near: bool,
) -> Selection:  # fmt: skip
    """Choose m anchors by a rule; with k-means, beside groups that have a kernel of their own.

    `near`: whether raw rows near a query show the effect of its group. A trend has coordinates of
    its own.
    """
    kernel = split_trend(kernel)[0]
    columns = group_columns(kernel, rows.X.shape[1]) if name == "kmeans" else []
    if not columns:
        return RULES[name](kernel, noise, rows, Stop(m), rng)
    X, levels = rows.X.copy(), [np.unique(rows.X[:, k]) for k in columns]
    X[:, columns] = [unseen(own) for own in levels]
    effects = effects_wanted(m, sum(own.size for own in levels), near=near)
    own = Rows(X, rows.y, rows.w)
    found = RULES[name](kernel, noise, own, Stop(max(1, m - effects)), rng)
    Z = np.vstack([found.Z, _effects(rows.X, X, columns, min(effects, m - len(found.Z)))])
    return Selection(Z, found.index, np.zeros(len(Z)), 0.0)


def group_columns(kernel: Kernel, d: int) -> list[int]:
    """Columns that only groups use, in a sum of groups and other kernels."""
    parts = kernel.parts if isinstance(kernel, Sum) else (kernel,)
    groups = [part for part in parts if isinstance(part, On) and isinstance(part.kernel, Group)]
    rest = [part for part in parts if not any(part is one for one in groups)]
    if not (groups and rest):
        return []
    found = {k for part in groups for k in part._at(d)}
    used = {k for part in rest for one in part.embeddings(d) for k in one.columns}
    used |= {int(k) for part in rest for k in np.flatnonzero(part.inverse_squares(d) > 0)}
    return [] if found & used else sorted(found)


def unseen(levels: Array) -> float:
    """Return a number that is none of these: −1, the code of an unknown level, if that is free."""
    if not (levels == -1.0).any():
        return -1.0
    least = float(np.nanmin(levels))
    return least - max(1.0, abs(least))


def effects_wanted(m: int, groups: int, *, near: bool) -> int:
    """Number of m anchors that represent groups."""
    t = TUNING.anchors
    if m >= groups + t.fewest_rest:
        return groups
    return 0 if near else int(max(0, m - max(t.fewest_rest, round(t.rest_share * m))))


def _effects(X: Array, unseen_X: Array, columns: list[int], count: int) -> Array:
    """Take one row of each of the largest groups, unseen in other columns of groups."""
    parts, sizes = [], []
    for k in columns:
        _, first, size = np.unique(X[:, k], return_index=True, return_counts=True)
        Z = unseen_X[first]
        Z[:, k] = X[first, k]
        parts.append(Z)
        sizes.append(size)
    order = np.argsort(-np.concatenate(sizes), kind="stable")[: max(count, 0)]
    return np.vstack(parts)[np.sort(order)]
