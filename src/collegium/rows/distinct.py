"""Equal rows of a table."""

import numpy as np

Array = np.ndarray


def first_of_equals(table: Array) -> tuple[Array, Array]:
    """Positions of the first row of each value, sorted by value, and for every row the number of
    its value.

    Equivalent to `np.unique(table, axis=0)`, whose comparison turns an interrupt into a TypeError.
    """
    order = np.lexsort(table.T[::-1])
    ranked = table[order]
    new = np.ones(order.size, dtype=bool)
    new[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    number = np.empty(order.size, dtype=int)
    number[order] = np.cumsum(new) - 1
    return order[new], number
