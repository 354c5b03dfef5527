"""The averaged model of few rows: fitted, kept, and asked."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..numerics.linalg import (
    JITTERS,
    add_diagonal,
    cholesky,
    gram,
    inverse_posdef,
    solve_lower,
)
from ..numerics.records import record
from ..numerics.tiles import by_tiles
from ..rows.rows import Rows
from ..rows.scaling import Scaling, merged
from .laplace import laplace
from .maps import modes
from .mixture import Mixture
from .model import Factor, Table, covariance, noise_variance, variances
from .stacking import log_scores, weights

Array = np.ndarray
#: Points about each mode of up to MANY rows, and the fewest of up to MOST rows.
POINTS, FEWEST, MANY, MOST = 16, 4, 300, 600
#: Rows a column beyond which the fewest points do as well.
A_COLUMN = 50
#: Standardised inputs are clipped there: further out every kernel value is zero.
FARTHEST = 1e100


def points_for(n: int, d: int) -> int:
    """Points about each mode that n rows of d columns deserve; 0 beyond MOST rows: do not average.

    16 up to 300 rows, falling to 4 at 600; 4 where there are more than fifty rows a column.
    """
    if n > MOST:
        return 0
    if n > A_COLUMN * d:
        return FEWEST
    share = min(1.0, (MOST - n) / (MOST - MANY))
    return 2 * round((FEWEST + (POINTS - FEWEST) * share) / 2)


@record("averaging.averaged/1")
@dataclass(frozen=True, eq=False)
class Averaged:
    """Σₖ πₖ GP(θₖ): hyperparameters, their weights and the rows, all standardised.

    Factors are made when something is first asked, and are part of neither file nor pickle.
    """

    rows: Rows  # standardised, equal ones merged, sorted by value
    inputs: Scaling
    targets: Scaling
    theta: Array  # θₖ  (k, 4 + d)
    shares: Array  # πₖ  (k,)
    models: Array  # weights of τ = 0, 1, 2; of one column of τ = 0 alone
    evidences: Array  # their log evidence (Laplace), of standardised y
    levels: tuple[int, ...] = ()  # columns of codes, which are not standardised

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def factors(self) -> list[Factor]:
        table = Table(self.rows.X, self.rows.y[:, 0], self.rows.w, self.levels)
        return [table.factor(theta) for theta in self.theta]

    def predict(self, X: Array, *, noise: bool = True) -> Mixture:
        """Of new observations, or of the function without noise, in the units of y."""
        Xs, unit = self._standardised(X), float(self.targets.scale[0])

        def answer(tile: Array) -> tuple[Array, Array]:
            found = [self._at(k, tile) for k in range(len(self.shares))]
            return np.stack([m for m, _ in found], axis=1), np.stack([v for _, v in found], axis=1)

        m, v = by_tiles(answer, Xs)
        if noise:
            v = v + np.array([noise_variance(theta) for theta in self.theta])
        return Mixture(self.targets.centre[0] + unit * m, unit**2 * v, self.shares)

    def _at(self, k: int, Xs: Array) -> tuple[Array, Array]:
        """Mean and variance of f under θₖ, standardised."""
        theta, factor = self.theta[k], self.factors[k]
        Ksf = covariance(theta, Xs, self.rows.X, self.levels)
        V = solve_lower(factor.L, Ksf.T)
        prior = variances(theta, Xs, self.levels)
        left = np.maximum(prior - np.einsum("nq,nq->q", V, V), JITTERS[0] * prior)
        return (Ksf @ factor.alpha[:, None])[:, 0], left

    def leave_one_out(self) -> Mixture:
        """Of an observation of each row, given the others; of copies all are left out.

        Rasmussen & Williams eqs 5.10–5.12: without row i, yᵢ − αᵢ/A⁻¹ᵢᵢ is its mean and 1/A⁻¹ᵢᵢ,
        of which σ²/w is noise, its variance.
        """
        unit, y, w = float(self.targets.scale[0]), self.rows.y[:, 0], self.rows.w
        means, variances = [], []
        for theta, factor in zip(self.theta, self.factors):
            precision, noise = inverse_posdef(factor.L).diagonal(), noise_variance(theta)
            means.append(y - factor.alpha / precision)
            variances.append(np.maximum(1.0 / precision - noise / w, 0.0) + noise)
        m, v = np.stack(means, axis=1), np.stack(variances, axis=1)
        return Mixture(self.targets.centre[0] + unit * m, unit**2 * v, self.shares)

    def noise(self) -> float:
        """Σₖ πₖ σₖ², in the units of y squared."""
        each = np.array([noise_variance(theta) for theta in self.theta])
        return float(self.targets.scale[0] ** 2 * (self.shares @ each))

    def sample(
        self, X: Array, count: int, rng: np.random.Generator, *, noise: bool = True
    ) -> Array:
        """Draws at all queries jointly, each under one θₖ, in the units of y  (q, count)."""
        Xs, unit = self._standardised(X), float(self.targets.scale[0])
        part = rng.choice(self.shares.size, size=count, p=self.shares)
        draws = np.empty((Xs.shape[0], count))
        for k in np.unique(part):
            mean, cov = self._joint(k, Xs)
            scale = float(variances(self.theta[k], Xs, self.levels).max(initial=1.0))
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
        Ksf = covariance(theta, Xs, self.rows.X, self.levels)
        V = solve_lower(factor.L, Ksf.T)
        prior = covariance(theta, Xs, levels=self.levels)
        return Ksf @ factor.alpha, prior - gram(np.ascontiguousarray(V.T))

    def _standardised(self, X: Array) -> Array:
        return standardised(self.inputs, X, self.levels)


def average_rows(
    rows: Rows, learning: Rows, levels: tuple[int, ...] = (), seed: int = 0
) -> tuple[Averaged, ...]:
    """One model an output of rows that are merged and sorted; hyperparameters by the weights of
    the same rows for learning, answers by their own."""
    count = points_for(*rows.X.shape) or FEWEST
    found = [
        average(learning.X, y, learning.w, levels, n_points=count, seed=seed) for y in learning.y.T
    ]
    return tuple(replace(one, rows=replace(one.rows, w=rows.w)) for one in found)


def average(
    X: Array, y: Array, w: Array | None = None, levels: tuple[int, ...] = (), *,
    n_points: int | None = None, seed: int = 0,
) -> Averaged:  # fmt: skip
    """Fit the averaged model to rows X (n, d) and one output y (n,); several: one record each.

    A weight is a repetition: rows of weight 2 and the same rows given twice make the same model to
    the last bit, in any order. `n_points` are the points about each mode, by default
    `points_for(n, d)`; with 0 the modes themselves are stacked. `levels`: columns of codes.
    """
    given = Rows(X, y.reshape(-1, 1), np.ones(X.shape[0]) if w is None else w)
    rows, _ = merged(given, None, in_order=False)
    # of a constant column the scale is its magnitude
    inputs, targets = Scaling.of(rows.X, rows.w), Scaling.of(rows.y, rows.w)
    rows = Rows(standardised(inputs, rows.X, levels), targets.forward(rows.y), rows.w)
    table = Table(rows.X, rows.y[:, 0], rows.w, levels)
    count = points_for(*rows.X.shape) if n_points is None else n_points
    normals = [laplace(table, mode) for mode in modes(table)]
    sets = [
        normal.points(count, np.random.default_rng([seed, i])) for i, normal in enumerate(normals)
    ]
    evidences = np.array([normal.log_evidence for normal in normals])
    pi = weights([log_scores(table, points) for points in sets], evidences, rows.w)
    kept = np.flatnonzero(pi)
    theta = np.concatenate([_with_deltas(sets[i], rows.X.shape[1]) for i in kept])
    shares = np.concatenate([np.full(len(sets[i]), pi[i] / len(sets[i])) for i in kept])
    return Averaged(rows, inputs, targets, theta, shares, pi, evidences, levels)


def _with_deltas(points: Array, d: int) -> Array:
    """θ with δ = 0 where it has none  (k, 4 + d)."""
    return np.pad(points, [(0, 0), (0, 4 + d - points.shape[1])])


def standardised(inputs: Scaling, X: Array, levels: tuple[int, ...] = ()) -> Array:
    """Numbers as they are to their mean and standard deviation; codes as they are."""
    with np.errstate(over="ignore"):
        found = np.clip((X - inputs.centre) / inputs.scale, -FARTHEST, FARTHEST)
    found[:, list(levels)] = X[:, list(levels)]
    return found
