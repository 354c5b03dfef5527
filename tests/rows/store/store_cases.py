"""Rows with many ties, cut into blocks, and the slow search for the nearest of them."""

from dataclasses import replace

import numpy as np

from collegium.rows.store import build, records, segment, store


def tune(monkeypatch, **numbers):
    """Change tuning numbers of the store."""
    for module in (build, records, segment, store):
        monkeypatch.setattr(module, "TUNING", replace(module.TUNING, **numbers))


def rows(n, d, seed=0, step=0.25, dtype=float):
    """Rows on a grid, the second tenth a copy of the first: X, y with two columns, w."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)) / step) * (step if dtype is float else 1)
    X[n // 10 : n // 5] = X[: n // 5 - n // 10]
    return X.astype(dtype), rng.normal(size=(n, 2)), 1.0 + rng.integers(3, size=n)


def blocks(data, count=1, first=0, order=None):
    """The same rows in so many blocks, in this order."""
    X, y, w = data
    parts = np.array_split(np.arange(len(X)), count)
    parts = parts if order is None else [parts[k] for k in order]
    return [(X[own], y[own], w[own], first + int(own[0])) for own in parts if own.size]


def slow_nearest(X, z, k, weights, ids=None):
    """Row numbers and distances by computing and sorting all of them."""
    ids = np.arange(len(X)) if ids is None else ids
    D = np.zeros(len(X))
    for x, value, weight in zip(np.asarray(X, float).T, z, weights, strict=True):
        D += (x - value) ** 2 * weight
    order = np.lexsort((ids, D))[:k]
    return ids[order], D[order]


def assert_nearest(store, X, queries, k, weights, ids=None):
    """Every neighbour, every distance and their order, to the last bit."""
    positions, D = store.nearest(queries, k, weights)
    for z, own, distances in zip(queries, store.ids(positions), D, strict=True):
        expected = slow_nearest(X, z, k, weights, ids)
        np.testing.assert_array_equal(own, expected[0])
        np.testing.assert_array_equal(distances, expected[1])


def contents(path):
    """Every file below a folder and its bytes."""
    files = sorted(one for one in path.rglob("*") if one.is_file())
    return {str(one.relative_to(path)): one.read_bytes() for one in files}
