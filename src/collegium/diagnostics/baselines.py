"""Errors of plain predictions: the mean, the nearest row, and ridge regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from ..rows.partition import evenly_spaced

Array = np.ndarray
#: Rows that baselines learn from; columns up to which a tree finds nearest rows faster.
MOST_ROWS, TREE_COLUMNS = 20_000, 10
#: Rows that are compared with all others at a time; levels of a column that get one of their own.
ROWS_AT_ONCE, MOST_LEVELS = 500, 50
PENALTIES = 10.0 ** np.arange(-4, 5)


@dataclass(frozen=True)
class BaselineError:
    """Root mean squared and mean absolute error of one way to predict."""

    name: str
    rmse: float
    mae: float


def error_of(name: str, y: Array, predicted: Array) -> BaselineError:
    away = np.asarray(predicted, dtype=float) - y
    return BaselineError(name, float(np.sqrt(np.mean(away**2))), float(np.mean(np.abs(away))))


def baseline_errors(predicted: dict[str, Array], y: Array) -> tuple[BaselineError, ...]:
    """Compare each prediction with y."""
    return tuple(error_of(name, y, one) for name, one in predicted.items())


def baseline_predictions(
    X: Array, y: Array, Xs: Array, levels: Sequence[int] = ()
) -> dict[str, Array]:
    """Predict rows Xs from rows (X, y): by the mean, the nearest row, and ridge regression.

    Columns are centred and scaled, `levels` are columns of codes, of which each frequent one
    becomes a column. The penalty of the ridge is chosen by generalised cross-validation. Of more
    than 20,000 rows as many are taken, evenly spaced.

    Parameters
    ----------
    X, y : arrays of shape (n, d) and (n,) or (n, p)
    Xs : array of shape (m, d)
    levels : sequence of int

    Returns
    -------
    predicted : dict of arrays of shape (m,) or (m, p)
    """
    some = evenly_spaced(len(X), MOST_ROWS)
    A, As = dummied(X[some], Xs, levels)
    y = y[some]
    mean = np.broadcast_to(y.mean(axis=0), (len(Xs), *y.shape[1:]))
    return {
        "mean": np.array(mean), "nearest row": y[nearest_row(A, As)],
        "ridge regression": ridge_predictions(A, y, As),
    }  # fmt: skip


def crossed_baselines(
    X: Array, y: Array, levels: Sequence[int] = (), folds: int = 5, seed: int = 0
) -> dict[str, Array]:
    """Predict each fold of the rows by baselines from the other folds."""
    fold = np.random.default_rng(seed).permutation(len(X)) % folds
    found: dict[str, Array] = {}
    for k in range(folds):
        own = fold == k
        if own.all() or not own.any():
            continue
        for name, one in baseline_predictions(X[~own], y[~own], X[own], levels).items():
            found.setdefault(name, np.zeros(y.shape))[own] = one
    return found


def dummied(X: Array, Xs: Array, levels: Sequence[int]) -> tuple[Array, Array]:
    """Centre and scale columns by X; a column of 0 and 1 for each of the frequent levels."""
    parts, queries = [], []
    for j in range(X.shape[1]):
        if j not in levels:
            parts.append(X[:, [j]])
            queries.append(Xs[:, [j]])
            continue
        names, count = np.unique(X[:, j], return_counts=True)
        some = names[np.argsort(-count, kind="stable")[:MOST_LEVELS]]
        parts.append((X[:, [j]] == some).astype(float))
        queries.append((Xs[:, [j]] == some).astype(float))
    A, As = np.hstack(parts), np.hstack(queries)
    power = np.frexp(np.abs(A).max(axis=0, initial=0.0))[1]
    A, As = np.ldexp(A, -power), np.ldexp(As, -power)  # squares of units leave the range
    centre, sd = A.mean(axis=0), A.std(axis=0)
    sd[sd <= 1e-12] = np.inf
    return (A - centre) / sd, (As - centre) / sd


def nearest_row(X: Array, Xs: Array) -> Array:
    """The row of X nearest to each of Xs  (m,)."""
    if X.shape[1] <= TREE_COLUMNS:
        return cKDTree(X).query(Xs)[1]
    square = (X**2).sum(axis=1)
    found = np.empty(len(Xs), dtype=int)
    for start in range(0, len(Xs), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        found[part] = np.argmin(square - 2.0 * (Xs[part] @ X.T), axis=1)
    return found


def ridge_predictions(X: Array, y: Array, Xs: Array) -> Array:
    """ȳ + Xs (XᵀX + λI)⁻¹ Xᵀ(y − ȳ), λ by generalised cross-validation; columns are centred."""
    n, centre = len(X), y.mean(axis=0)
    Y = (y - centre).reshape(n, -1)
    values, Q = np.linalg.eigh(X.T @ X)
    values = np.maximum(values, 0.0)
    shift = Q.T @ (X.T @ Y)
    best: tuple[float, Array] | None = None
    for penalty in PENALTIES * n:
        w = Q @ (shift / (values + penalty)[:, None])
        dof = 1.0 + float((values / (values + penalty)).sum())
        loss = float(((Y - X @ w) ** 2).sum()) / max(1.0 - dof / n, 1e-9) ** 2
        if best is None or loss < best[0]:
            best = loss, w
    assert best is not None
    return (Xs @ best[1]).reshape(len(Xs), *y.shape[1:]) + centre
