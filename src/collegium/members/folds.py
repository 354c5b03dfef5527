"""Which share of the rows a row belongs to, told by its inputs alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..numerics.fingerprint import splitmix64

Array = np.ndarray
#: Purposes: parts of members that have not seen a row; weights of members; checks of a kernel.
PARTS, WEIGHTS, CHECKS = 0, 1, 2


def folds_by(X: Array, group: Array | None, number: int, purpose: int = 0) -> Array:
    """Deal rows to folds by their groups, where they came in groups, else by their inputs  (n,)."""
    if group is None:
        return folds_of(X, number, purpose)
    return folds_of(np.asarray(group, dtype=float)[:, None], number, purpose)


def folds_of(X: Array, number: int, purpose: int = 0) -> Array:
    """Deal rows to folds by a hash of their inputs  (n,); for another purpose, to other ones.

    Rows with equal inputs are in one fold, so that no copy of a row tells its target; and the fold
    of a row is known later, without a list of rows.
    """
    return (hashes(X, purpose) % np.uint64(number)).astype(np.int64)


def hashes(X: Array, purpose: int = 0) -> Array:
    """Hash the inputs of each row to 64 bits  (n,)."""
    total = np.full(X.shape[0], purpose, np.uint64)
    for column in np.asarray(X, dtype=float).T:
        bits = np.ascontiguousarray(column + 0.0).view(np.uint64)  # −0 is 0
        total = splitmix64(total ^ splitmix64(bits))
    return total


def told_by_others(parts: Sequence[Callable[[Array], Array]], X: Array, fold: Array) -> Array:
    """Ask for each row the part that has not seen its fold  (n,)."""
    found = np.empty(X.shape[0])
    for k, part in enumerate(parts):
        found[fold == k] = part(X[fold == k])
    return found
