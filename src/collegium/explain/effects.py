"""Effects of columns on answers: partial dependence and accumulated local effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..rows.partition import evenly_spaced
from ..tables.reading import LEVELS
from .asking import AskedModel, decoded, encoded_values
from .tuning import TUNING

Array = np.ndarray
PARTIAL, ACCUMULATED = KINDS = ("partial", "accumulated")


@dataclass(frozen=True, eq=False)
class Effect:
    """Averages of answers over rows, as functions of one column or two."""

    column: str | tuple[str, str]
    kind: str  # "partial" or "accumulated"
    grid: Any  # numbers, dates or levels  (g,); of two columns a pair of these, (g,) and (h,)
    mean: Array  # (g,) or (g, h), in the units of y or of `words`
    sd: Array  # of the posterior of this average, not of single answers; the same shape
    share: Array  # of the rows of X, nearest to each point of the grid; missing values in none
    base: float  # the mean answer at the rows: accumulated effects are differences from it
    rows: int  # rows averaged over
    joint: bool  # whether sd is by covariances; False: the mean of sds, which is not less
    words: str = "prediction"  # what the answers are
    missing: tuple[float, float, float] | None = None  # mean, sd and share of missing values


def effect(
    model: Any,
    X: Any,
    column: Any,
    kind: str = PARTIAL,
    grid: Any = None,
    level: str | None = None,
    random_state: Any = 0,
    *,
    output: Any = None,
    n_rows: int | None = None,
) -> Effect:
    """Average answers over rows as a function of one column, with the posterior sd of the average.

    Partial dependence sets the column to each value of the grid in all rows, and averages.
    Accumulated local effects (Apley & Zhu 2020) move each row only to the ends of the bin it is
    in, average these differences in each bin, add them up over bins and take off their mean over
    the rows: they never ask about rows unlike those of X, which partial dependence does where
    columns go together.

    Memory is bounded by `n_rows`, whatever the size of X.

    Parameters
    ----------
    model : fitted regressor or classifier of collegium
    X : array-like or frame of shape (n, d)
        Rows to average over, as `predict` takes them.
    column : str or int
        Name or position of a column of the user's table. Words, dates and missing values count as
        one column each.
    kind : {"partial", "accumulated"}, default="partial"
    grid : int or array-like, default=None
        Points of the grid, or their number (20). Of numbers and dates these are between the
        quantiles .01 and .99 of X, evenly spaced (partial) or with equal shares of the rows
        (accumulated); a column with no more distinct values has these. Of levels the most frequent
        ones, in the order of the encoding.
    level : str, default=None
        Of regressors "function" (the default) or "observation", whose sd includes the noise; of
        classifiers "probability" (the default) or "log odds".
    random_state : int, RandomState, Generator or None, default=0
        Chooses the rows where X has more than `n_rows`.
    output : default=None
        Of several outputs the position of one; of classes the label of one, by default the second
        of two.
    n_rows : int, default=None
        Rows of X that are averaged over, at most (200; 2,000 of accumulated effects, whose sd is
        that of an average over 200).

    Returns
    -------
    found : Effect
        Curves, and shares of the rows of X near each point of the grid.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import CommitteeRegressor
    >>> from collegium.explain import effect
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(200, 2))
    >>> model = CommitteeRegressor(random_state=0).fit(X, np.sin(X[:, 0]) + 0.5 * X[:, 1])
    >>> found = effect(model, X, 0, grid=[-1.5, 0.0, 1.5])
    >>> bool(abs(found.mean[2] - found.mean[0] - 2 * np.sin(1.5)) < 0.05)
    True
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r}: give 'partial' or 'accumulated'")
    rows, asked = asked_of(model, X, level, output)
    j, usual = asked.position(column), TUNING.rows if kind == PARTIAL else TUNING.rows_accumulated
    own, some = asked.columns[j], sampled(rows, n_rows, usual, random_state)
    x = effect_grid(asked, j, rows, grid, quantiles=kind == ACCUMULATED)
    share = shares_near(x, rows[~asked.missing(j, rows), j], rows.shape[0], own.kind == LEVELS)
    if kind == PARTIAL:
        mean, sd, joint = _partial(asked, some, (j,), x[:, None])
    else:
        x, (mean, sd, joint), share = _accumulated(asked, some, j, x, share)
    return Effect(
        own.name, kind, decoded(own, x), mean, sd, share, float(asked.mean(some).mean()),
        some.shape[0], joint, asked.words, _missing(asked, some, rows, j) if joint else None,
    )  # fmt: skip


def effect2(
    model: Any,
    X: Any,
    columns: Sequence[Any],
    grid: Any = None,
    level: str | None = None,
    random_state: Any = 0,
    *,
    output: Any = None,
    n_rows: int | None = None,
) -> Effect:
    """Average answers over rows as a function of two columns: partial dependence.

    Parameters
    ----------
    model, X, level, random_state, output : as in `effect`
    columns : pair of str or int
    grid : int or pair of array-likes, default=None
        Points of both columns, or the number of points of each (12).
    n_rows : int, default=None
        Rows of X that are averaged over, at most (50).

    Returns
    -------
    found : Effect
        With `mean`, `sd` and `share` of shape (g, h).
    """
    rows, asked = asked_of(model, X, level, output)
    if isinstance(columns, str) or not hasattr(columns, "__len__") or len(columns) != 2:
        raise ValueError(f"columns={columns!r}: give two columns, by name or position")
    at = tuple(asked.position(one) for one in columns)
    if at[0] == at[1]:
        raise ValueError(f"columns={columns!r}: give two different columns")
    some = sampled(rows, n_rows, TUNING.rows_of_two, random_state)
    number = grid is None or isinstance(grid, (int, np.integer))
    grids = (TUNING.points_of_two if grid is None else grid,) * 2 if number else grid
    if isinstance(grids, str) or not hasattr(grids, "__len__") or len(grids) != 2:
        raise ValueError("grid: give a number, or a pair of lists, one for each column")
    xs = [effect_grid(asked, j, rows, one) for j, one in zip(at, grids)]
    points = np.stack(np.meshgrid(*xs, indexing="ij"), axis=-1).reshape(-1, 2)
    shape = (xs[0].size, xs[1].size)
    mean, sd, joint = _partial(asked, some, at, points)
    columns_of = [asked.columns[j] for j in at]
    return Effect(
        (columns_of[0].name, columns_of[1].name), PARTIAL,
        tuple(decoded(own, x) for own, x in zip(columns_of, xs)),
        mean.reshape(shape), sd.reshape(shape), _shares_of_two(asked, at, xs, rows),
        float(asked.mean(some).mean()), some.shape[0], joint, asked.words,
    )  # fmt: skip


# -- rows and grids ---------------------------------------------------------------------------


def asked_of(model: Any, X: Any, level: str | None, output: Any) -> tuple[Array, AskedModel]:
    """Rows as a model sees them (n, d), and what to ask about them."""
    ask = getattr(model, "_asked", None)
    if ask is None:
        raise ValueError(
            f"model is a {type(model).__name__}: give a fitted regressor or classifier of collegium"
        )
    return ask(X, level, output)


def sampled(rows: Array, n: Any, usual: int, random_state: Any) -> Array:
    """Up to n rows without replacement, in their order; all of them where there are no more."""
    n = usual if n is None else n
    if not (isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 1):
        raise ValueError(f"n_rows={n!r}: give a positive whole number")
    if rows.shape[0] <= n:
        return rows
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31 - 1)
    try:
        rng = np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(f"random_state={random_state!r}: {error}") from error
    return rows[np.sort(rng.choice(rows.shape[0], int(n), replace=False))]


def effect_grid(
    asked: AskedModel, j: int, rows: Array, grid: Any, *, quantiles: bool = False
) -> Array:
    """Points of a grid as the model sees them, ascending unless given  (g,)."""
    own = asked.columns[j]
    number = isinstance(grid, (int, np.integer)) and not isinstance(grid, bool)
    if grid is not None and not number:
        x = encoded_values(own, grid)
        if not x.size:
            raise ValueError("grid is empty: give at least one value")
        return x
    n = TUNING.points if grid is None else int(grid)
    if n < 2:
        raise ValueError(f"grid={n}: give at least two points")
    there = rows[~asked.missing(j, rows), j]
    if not there.size:
        raise ValueError(f"X has no value in column {own.name!r}: give rows with some, or a grid")
    distinct, count = np.unique(there, return_counts=True)
    if own.kind == LEVELS:
        return np.sort(distinct[np.argsort(-count, kind="stable")[:n]])
    if distinct.size <= n:
        return distinct
    low, high = (float(np.quantile(there, q)) for q in (TUNING.tail, 1.0 - TUNING.tail))
    if quantiles:
        inner = np.quantile(there, np.linspace(0.0, 1.0, n), method="inverted_cdf")
        return np.unique(np.clip(inner, low, high))
    return np.linspace(low, high, n)


def shares_near(x: Array, there: Array, n: int, levels: bool) -> Array:
    """Shares of n rows, by the point that their value is nearest to (of levels: equal to)  (g,)."""
    at = nearest_points(x, there, levels)
    return np.bincount(at[at >= 0], minlength=x.size) / max(n, 1)


def nearest_points(x: Array, values: Array, levels: bool) -> Array:
    """Position of the nearest (of levels: equal) point of a grid, −1 if there is none  (n,)."""
    order = np.argsort(x, kind="stable")
    ranked = x[order]
    if levels:
        at = np.minimum(np.searchsorted(ranked, values), x.size - 1)
        return np.where(ranked[at] == values, order[at], -1)
    at = np.searchsorted(0.5 * (ranked[:-1] + ranked[1:]), values)
    return np.asarray(order[at])


def _shares_of_two(asked: AskedModel, at: Sequence[int], xs: Sequence[Array], rows: Array) -> Array:
    there = ~(asked.missing(at[0], rows) | asked.missing(at[1], rows))
    own = [
        nearest_points(x, rows[there, j], asked.columns[j].kind == LEVELS) for j, x in zip(at, xs)
    ]
    some = (own[0] >= 0) & (own[1] >= 0)
    cell = own[0][some] * xs[1].size + own[1][some]
    count = np.bincount(cell, minlength=xs[0].size * xs[1].size)
    return count.reshape(xs[0].size, xs[1].size) / max(rows.shape[0], 1)


# -- averages ---------------------------------------------------------------------------------


def moved_rows(
    asked: AskedModel, some: Array, at: Sequence[int], point: Sequence[float] | Array
) -> Array:
    """Rows with columns set to a point, where nothing is missing any more  (n, d)."""
    moved = some.copy()
    for j, value in zip(at, point):
        moved[:, list(asked.groups[j])] = 0.0
        moved[:, j] = value
    return moved


def _partial(
    asked: AskedModel, some: Array, at: Sequence[int], points: Array
) -> tuple[Array, Array, bool]:
    """Mean over rows of f(x with columns set to each point), its sd, and whether by covariances."""
    n = some.shape[0]
    a = np.full((1, n), 1.0 / n)
    each = [averages(asked, moved_rows(asked, some, at, point), a) for point in points]
    means, sds, joint = zip(*each)
    return np.concatenate(means), np.concatenate(sds), all(joint)


def averages(asked: AskedModel, X: Array, A: Array) -> tuple[Array, Array, bool]:
    """Means Am and standard deviations √diag(ACAᵀ) of sums A (k, n) of f at rows X; without C
    the sd is |A|·sd, which is not less."""
    mean, sd = asked.moments(X)
    C = asked.joint(X)
    if C is None:
        return A @ mean, np.abs(A) @ sd, False
    return A @ mean, np.sqrt(np.maximum(np.einsum("kn,kn->k", A @ C, A), 0.0)), True


def _missing(
    asked: AskedModel, some: Array, rows: Array, j: int
) -> tuple[float, float, float] | None:
    """Mean answer with column j missing in all rows, its sd, and the share of rows where it is."""
    gone = asked.missing(j, rows)
    if not gone.any():
        return None
    moved, donor = some.copy(), rows[np.flatnonzero(gone)[0]]
    own = list(asked.groups[j])
    moved[:, own] = donor[own]
    n = moved.shape[0]
    mean, sd, _ = averages(asked, moved, np.full((1, n), 1.0 / n))
    return float(mean[0]), float(sd[0]), float(gone.mean())


def _accumulated(
    asked: AskedModel, some: Array, j: int, x: Array, share: Array
) -> tuple[Array, tuple[Array, Array, bool], Array]:
    """Grid, accumulated local effects with their sd, and shares of rows.

    With the ends z of bins, differences D_b of bin b and shares s of rows near the ends, the
    curve is Σ_{b ≤ k} D_b − Σ_k s_k Σ_{b ≤ k} D_b: a linear function of f at rows moved to the
    ends of their bins.
    """
    order = np.argsort(x, kind="stable")
    z, share = x[order], share[order]
    if z.size < 2:
        raise ValueError(
            f"column {asked.columns[j].name!r} has one value: accumulated effects need two"
        )
    weight = share / share.sum() if share.any() else np.full(z.size, 1.0 / z.size)
    levels, there = asked.columns[j].kind == LEVELS, some[~asked.missing(j, some)]
    X, A = _curve(asked, there, j, z, weight, levels)
    mean = A @ asked.mean(X)
    few = there[evenly_spaced(len(there), TUNING.rows)]
    _, sd, joint = averages(asked, *_curve(asked, few, j, z, weight, levels))
    return z, (mean, sd, joint), share


def _curve(
    asked: AskedModel, rows: Array, j: int, z: Array, weight: Array, levels: bool
) -> tuple[Array, Array]:
    """Rows at the ends of their bins, and the map from f there to the curve  (s, D), (g, s)."""
    members = _rows_of_bins(rows, j, z, levels)
    own = np.repeat(np.arange(z.size - 1), [len(part) for part in members])
    ends = [
        moved_rows(asked, part, (j,), (z[k + up],))
        for up in (0, 1)
        for k, part in enumerate(members)
    ]
    steps = (own == np.arange(z.size - 1)[:, None]) / np.bincount(own)[:, None]  # within bins
    curve = np.vstack([np.zeros((1, own.size)), np.cumsum(steps, axis=0)])
    curve -= weight @ curve
    return np.concatenate(ends), np.hstack([-curve, curve])


def _rows_of_bins(rows: Array, j: int, z: Array, levels: bool) -> list[Array]:
    """Rows whose value is between the ends of each bin (of levels: at one of them); where there
    are none, the row that is nearest to it (of levels: all)."""
    if not rows.shape[0]:
        raise ValueError("no row has a value in this column: give more rows, or a larger n_rows")
    x, found = rows[:, j], []
    at = np.clip(np.searchsorted(z, x) - 1, 0, z.size - 2)
    for k in range(z.size - 1):
        inside = (x == z[k]) | (x == z[k + 1]) if levels else at == k
        if not inside.any():
            nearest = np.abs(x - 0.5 * (z[k] + z[k + 1])).argmin()
            inside = np.ones(x.size, bool) if levels else np.arange(x.size) == nearest
        found.append(rows[inside])
    return found
