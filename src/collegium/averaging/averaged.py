"""Fit the averaged model of few rows, and predict with it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..answers.leave_one_out import LeftOut, left_out
from ..kernels.base import To
from ..numerics.linalg import (
    JITTERS,
    add_diagonal,
    cholesky,
    gram,
    solve_lower,
)
from ..numerics.records import record
from ..numerics.tiles import by_tiles
from ..rows.groups import count_of
from ..rows.order import columns_by_content
from ..rows.rows import Rows
from ..rows.scaling import Scaling, merged
from .maps import modes, normal_at
from .mixture import Mixture
from .model import (
    SHARED,
    Factor,
    SmallTable,
    linear,
    linear_squares,
    noise_variance,
    plus_linear,
    prior_covariance,
    prior_variances,
    smooth,
)
from .stacking import log_scores, model_weights
from .tuning import TUNING

Array = np.ndarray


def points_for(n: int, d: int) -> int:
    """Number of points around each mode for n rows of d columns; 0: too many rows to average.

    16 up to 300 rows, falling to 4 at 600; 4 where there are more than fifty rows per column.
    """
    t = TUNING
    if n > t.most_rows:
        return 0
    if n > t.per_column * d:
        return t.fewest
    share = min(1.0, (t.most_rows - n) / (t.most_rows - t.many))
    return 2 * round((t.fewest + (t.points - t.fewest) * share) / 2)


@record("averaging.averaged/1")
@dataclass(frozen=True, eq=False)
class Averaged:
    """Σₖ πₖ GP(θₖ): hyperparameters, their weights and the rows, all standardised.

    Factors are computed at the first prediction, and are stored in neither file nor pickle.
    """

    rows: Rows  # standardised, equal ones merged, sorted by value
    inputs: Scaling
    targets: Scaling
    theta: Array  # θₖ  (k, 4 + d)
    shares: Array  # πₖ  (k,)
    models: Array  # weights of τ = 0, 1, 2; with one column of τ = 0 alone
    evidences: Array  # their log evidence (Laplace), for standardised y
    levels: tuple[int, ...] = ()  # columns of codes, which are not standardised

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def factors(self) -> list[Factor]:
        table = SmallTable(self.rows.X, self.rows.y[:, 0], self.rows.w, self.levels)
        return [table.factor(theta) for theta in self.theta]

    @cached_property
    def kernels(self) -> list[To]:
        """Kernels to the rows, under each θₖ."""
        return [smooth(theta, self.levels).to(self.rows.X) for theta in self.theta]

    def predict(self, X: Array, *, noise: bool = True) -> Mixture:
        """Predict new observations, or the function without noise, in the units of y."""
        Xs, unit = self._standardised(X), float(self.targets.scale[0])

        def answer(tile: Array) -> tuple[Array, Array]:
            line = linear(tile, self.rows.X, self.levels)
            squares = linear_squares(tile, self.levels)
            found = [self._at(k, tile, line, squares) for k in range(len(self.shares))]
            return np.stack([m for m, _ in found], axis=1), np.stack([v for _, v in found], axis=1)

        m, v = by_tiles(answer, Xs)
        if noise:
            v = v + np.array([noise_variance(theta) for theta in self.theta])
        return Mixture(self.targets.centre[0] + unit * m, unit**2 * v, self.shares)

    def mean(self, X: Array) -> Array:
        """Predict means alone, without triangular solves  (q,)."""
        Xs, unit = self._standardised(X), float(self.targets.scale[0])

        def answer(tile: Array) -> tuple[Array]:
            line = linear(tile, self.rows.X, self.levels)
            each = [
                (plus_linear(theta, own(tile), line) @ factor.alpha[:, None])[:, 0]
                for theta, own, factor in zip(self.theta, self.kernels, self.factors)
            ]
            return (np.stack(each, axis=1),)

        m = self.targets.centre[0] + unit * by_tiles(answer, Xs)[0]
        return Mixture(m, np.zeros_like(m), self.shares).mean()

    def _at(self, k: int, Xs: Array, line: Array, squares: Array) -> tuple[Array, Array]:
        """Mean and variance of f under θₖ, standardised; `line` and `squares`: the linear term of
        queries and rows, and of each query with itself, which all θₖ share."""
        theta, factor = self.theta[k], self.factors[k]
        Ksf = plus_linear(theta, self.kernels[k](Xs), line)
        V = solve_lower(factor.L, Ksf.T)
        prior = prior_variances(theta, squares)
        left = np.maximum(prior - np.einsum("nq,nq->q", V, V), JITTERS[0] * prior)
        return (Ksf @ factor.alpha[:, None])[:, 0], left

    def left_out(self) -> list[LeftOut]:
        """Leave out each row, or group, under each θₖ; standardised."""
        group = self.rows.group
        return [left_out(one.L, one.alpha[:, None], group) for one in self.factors]

    def leave_one_out(self, found: list[LeftOut] | None = None) -> Mixture:
        """Predict an observation of each row given the others; all copies of a row, and all rows of
        a group, are left out. Variances without a row include the noise σ²/w of its y."""
        unit, y, w = float(self.targets.scale[0]), self.rows.y[:, 0], self.rows.w
        means, variances = [], []
        for theta, out in zip(self.theta, found or self.left_out()):
            noise = noise_variance(theta)
            means.append(y - out.off[:, 0])
            variances.append(np.maximum(out.variance - noise / w, 0.0) + noise)
        m, v = np.stack(means, axis=1), np.stack(variances, axis=1)
        return Mixture(self.targets.centre[0] + unit * m, unit**2 * v, self.shares)

    def noise(self) -> float:
        """Σₖ πₖ σₖ², in the units of y squared."""
        each = np.array([noise_variance(theta) for theta in self.theta])
        return float(self.targets.scale[0] ** 2 * (self.shares @ each))

    def sample(
        self, X: Array, count: int, rng: np.random.Generator, *, noise: bool = True
    ) -> Array:
        """Draw at all queries jointly, each time under one θₖ, in the units of y  (q, count)."""
        Xs, unit = self._standardised(X), float(self.targets.scale[0])
        part = rng.choice(self.shares.size, size=count, p=self.shares)
        draws = np.empty((Xs.shape[0], count))
        for k in np.unique(part):
            mean, cov = self._joint(k, Xs)
            squares = linear_squares(Xs, self.levels)
            scale = float(prior_variances(self.theta[k], squares).max(initial=1.0))
            if noise:
                add_diagonal(cov, noise_variance(self.theta[k]))
            L, _ = cholesky(cov, scale, nugget=JITTERS[0], overwrite=True)
            own = np.flatnonzero(part == k)
            draws[:, own] = mean[:, None] + L @ rng.standard_normal((Xs.shape[0], own.size))
        return self.targets.centre[0] + unit * draws

    def covariance(self, X: Array, *, noise: bool = True) -> Array:
        """Σₖ πₖ(Cₖ + (mₖ − m̄)(mₖ − m̄)ᵀ) of all queries, in the units of y  (q, q)."""
        Xs = self._standardised(X)
        found = [self._joint(k, Xs) for k in range(self.shares.size)]
        means = np.stack([mean for mean, _ in found], axis=1)
        total = gram((means - (means @ self.shares)[:, None]) * np.sqrt(self.shares))
        for share, theta, (_, cov) in zip(self.shares, self.theta, found):
            total += share * (add_diagonal(cov, noise_variance(theta)) if noise else cov)
        return float(self.targets.scale[0]) ** 2 * total

    def _joint(self, k: int, Xs: Array) -> tuple[Array, Array]:
        """Mean and covariance of f at all queries under θₖ, standardised."""
        theta, factor = self.theta[k], self.factors[k]
        Ksf = prior_covariance(theta, Xs, self.rows.X, self.levels)
        V = solve_lower(factor.L, Ksf.T)
        prior = prior_covariance(theta, Xs, levels=self.levels)
        return Ksf @ factor.alpha, prior - gram(np.ascontiguousarray(V.T))

    def _standardised(self, X: Array) -> Array:
        return standardised(self.inputs, X, self.levels)


def average_rows(
    rows: Rows, learning: Rows, levels: tuple[int, ...] = (), seed: int = 0
) -> tuple[Averaged, ...]:
    """Fit one model per output to merged and sorted rows; hyperparameters use the weights of
    `learning`, predictions those of `rows`."""
    count = points_for(*rows.X.shape) or TUNING.fewest
    found = [
        average(learning.X, y, learning.w, levels, n_points=count, seed=seed, group=learning.group)
        for y in learning.y.T
    ]
    return tuple(replace(one, rows=replace(one.rows, w=rows.w)) for one in found)


def average(
    X: Array, y: Array, w: Array | None = None, levels: tuple[int, ...] = (), *,
    n_points: int | None = None, seed: int = 0, group: Array | None = None,
) -> Averaged:  # fmt: skip
    """Fit the averaged model to rows X (n, d) and one output y (n,).

    A weight is a repetition: rows of weight 2 and the same rows given twice make the same model to
    the last bit, in any order. `n_points` are the points around each mode, by default
    `points_for(n, d)`; with 0 the modes themselves are stacked. `levels`: columns of codes.
    `group`: codes of groups of rows, which are left out together.
    """
    given = Rows(X, y.reshape(-1, 1), np.ones(X.shape[0]) if w is None else w, group=group)
    rows, _ = merged(given, None, in_order=False)
    # the scale of a constant column is its magnitude
    inputs, targets = Scaling.of(rows.X, rows.w), Scaling.of(rows.y, rows.w)
    X, y = standardised(inputs, rows.X, levels), targets.forward(rows.y)
    rows = replace(rows, X=X, y=y)
    columns = columns_by_content(rows.X)  # draws do not depend on how columns are ordered
    own = np.argsort(columns)
    places = tuple(sorted(int(own[k]) for k in levels))
    table = SmallTable(rows.X[:, columns], rows.y[:, 0], rows.w, places, rows.group)
    count = points_for(*rows.X.shape) if n_points is None else n_points
    normals = [normal_at(table, mode) for mode in modes(table)]
    sets = [
        normal.points(count, np.random.default_rng([seed, i])) for i, normal in enumerate(normals)
    ]
    evidences = np.array([normal.log_evidence for normal in normals])
    pi = model_weights([log_scores(table, points) for points in sets], evidences, counted(rows))
    kept = np.flatnonzero(pi)
    theta = np.concatenate([_with_deltas(sets[i], rows.X.shape[1]) for i in kept])
    theta[:, SHARED:] = theta[:, SHARED:][:, own]
    shares = np.concatenate([np.full(len(sets[i]), pi[i] / len(sets[i])) for i in kept])
    return Averaged(rows, inputs, targets, theta, shares, pi, evidences, levels)


def counted(rows: Rows) -> Array:
    """Weights by which left-out rows count: rows of a group are fewer than they seem  (n,)."""
    if rows.group is None:
        return rows.w
    return rows.w * (count_of(rows.group, rows.w) / rows.w.sum())


def _with_deltas(points: Array, d: int) -> Array:
    """Append δ = 0 to θ without δ  (k, 4 + d)."""
    return np.pad(points, [(0, 0), (0, 4 + d - points.shape[1])])


def standardised(inputs: Scaling, X: Array, levels: tuple[int, ...] = ()) -> Array:
    """Standardise numbers, clipped where every kernel value is zero; codes stay as they are."""
    with np.errstate(over="ignore"):
        found = np.clip((X - inputs.centre) / inputs.scale, -TUNING.farthest, TUNING.farthest)
    found[:, list(levels)] = X[:, list(levels)]
    return found
