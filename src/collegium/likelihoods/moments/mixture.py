"""Mixtures over nodes of f ~ N(m, v), and the search for their quantiles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .tuning import TUNING

Array = np.ndarray
#: Deviations of f, and the share of each.
NODES = np.linspace(-TUNING.deviations, TUNING.deviations, TUNING.nodes)
SHARES = np.exp(-0.5 * NODES**2) / np.exp(-0.5 * NODES**2).sum()


def nodes(m: Array, v: Array) -> Array:
    """f at the nodes of each row  (n, nodes)."""
    return m[:, None] + np.sqrt(np.maximum(v, 0.0))[:, None] * NODES


def in_blocks(search: Callable[[Array], Array], m: Array, v: Array) -> Array:
    """Search with the nodes of f of a block of rows at a time; shaped like m."""
    m, v = np.broadcast_arrays(np.asarray(m, dtype=float), np.asarray(v, dtype=float))
    out, flat, spread = np.empty(m.size), m.ravel(), v.ravel()
    for part in np.array_split(np.arange(m.size), 1 + m.size * NODES.size // TUNING.block):
        out[part] = search(nodes(flat[part], spread[part]))
    return out.reshape(m.shape)


def halving(reached: Callable[[Array, Array], Array], start: Array) -> Array:
    """The least t at which `reached(t, rows)`, from a bracket about `start` that doubles  (n,)."""
    rows = np.arange(start.size)
    low, high, width = start - 1.0, start + 1.0, 1.0
    below, above = rows[reached(low, rows)], rows[~reached(high, rows)]
    while (below.size or above.size) and width < 2000.0:  # low < t ≤ high
        width *= 2.0
        high[below], low[above] = low[below], high[above]
        low[below], high[above] = start[below] - width, start[above] + width
        below, above = below[reached(low[below], below)], above[~reached(high[above], above)]
    while (rows := np.flatnonzero(high - low > TUNING.close)).size:
        centre = 0.5 * (low[rows] + high[rows])
        enough = reached(centre, rows)
        high[rows[enough]], low[rows[~enough]] = centre[enough], centre[~enough]
    return high
