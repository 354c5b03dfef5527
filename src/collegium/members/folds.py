"""Which share of the rows a row belongs to, told by its inputs alone."""

from __future__ import annotations

import numpy as np

from ..numerics.fingerprint import splitmix64

Array = np.ndarray


def folds_of(X: Array, number: int) -> Array:
    """Deal rows to folds by a hash of their inputs  (n,).

    Rows with equal inputs are in one fold, so that no copy of a row tells its target; and the fold
    of a row is known later, without a list of rows.
    """
    total = np.zeros(X.shape[0], np.uint64)
    for column in np.asarray(X, dtype=float).T:
        bits = np.ascontiguousarray(column + 0.0).view(np.uint64)  # −0 is 0
        total = splitmix64(total ^ splitmix64(bits))
    return (total % np.uint64(number)).astype(np.int64)


def folds_of_groups(group: Array, number: int) -> Array:
    """Deal whole groups of rows to folds by a hash of their codes  (n,)."""
    return folds_of(np.asarray(group, dtype=float)[:, None], number)
