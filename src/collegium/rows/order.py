"""Orders of rows and columns by what they hold."""

import numpy as np

Array = np.ndarray
#: Digits by which columns are told apart; standard deviation, over the largest magnitude, below
#: which a column is constant to rounding.
DIGITS, CONSTANT = 9, 1e-13


def sorted_rows(X: Array, y: Array, *more: Array) -> Array:
    """Sort distinct rows by value, by the same columns first in whatever order they come."""
    columns = columns_by_content(X)
    order = np.argsort(X[:, columns[0]], kind="stable")
    ranked = X[order, columns[0]]
    if (ranked[1:] > ranked[:-1]).all():
        return order
    return np.lexsort([*more, *y.T[::-1], *(X[:, j] for j in columns[::-1])])


def columns_by_content(X: Array) -> Array:
    """Number columns by what they hold, not by where they stand: by E|z|, then by E z³ and the
    median of z, with z the column standardised.

    Neither units of X nor the order of columns or rows change this: rounding does not count.
    Columns of the same distribution stay in their order.
    """
    each = (_standardised(column) for column in X.T)
    keys = np.array([(_mean(np.abs(z)), _mean(z**3), _median(z)) for z in each])
    return np.lexsort(np.round(keys, DIGITS).T[::-1])


def _standardised(x: Array) -> Array:
    """Centre x, and scale it to variance one; zeros where it is constant."""
    size = np.abs(x).max()
    unit = x / (size if size > 0.0 else 1.0)
    away = unit - _mean(unit)
    sd = np.sqrt(_mean(away**2))
    return away / sd if sd > CONSTANT else np.zeros_like(x)


def _mean(x: Array) -> float:
    """Σ x / n, the bits of `x.mean()` without what that does around it."""
    return np.add.reduce(x) / x.size


def _median(x: Array) -> float:
    """The middle of x, the bits of `np.median` for finite numbers."""
    half = x.size // 2
    if x.size % 2:
        return np.partition(x, half)[half]
    middle = np.partition(x, (half - 1, half))
    return (middle[half - 1] + middle[half]) / 2.0


def varying(X: Array) -> Array:
    """Tell which columns have more than one value; all of them where none has  (d,)."""
    found = (X != X[:1]).any(axis=0)
    return found if found.any() else np.ones(X.shape[1], dtype=bool)


def without_constants(X: Array) -> Array:
    """Leave out columns of one value, unless all are."""
    some = varying(X)
    return X if some.all() else np.ascontiguousarray(X[:, some])
