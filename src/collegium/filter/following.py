"""Basis and density that follow a stream whose inputs wander.

A new basis is made where the rows are now, and what the old sums say is handed to it through a
sample x₁ … x_q of the rows (F their old features, W their weights, scaled to those of all rows):

    rows (xᵢ, tᵢ) of weight Wᵢ,   t = F(v̂ + δ),   FᵀWFδ = σ²v̂,   and the scatter of y about t

So the sample stands for the inputs of all rows, and the old posterior for their targets; δ undoes
the shrinkage of v̂, which the new prior will exert again. With the same basis and prior, v̂ comes
out as it went in: (I + FᵀWF/σ²)v = FᵀWt/σ² = (I + FᵀWF/σ²)v̂. All else is an approximation.
"""

from __future__ import annotations

import numpy as np

from ..kernels import Kernel
from ..rows.metric import column_scales
from ..rows.rows import Rows
from .arguments import Making
from .densities import Density, UniformBox
from .model import FilterModel, Linear, Posterior
from .sums import Sums

Array = np.ndarray
#: Rows that the basis does not reach wait until they are so many, or this share of a call.
MOST_HELD, LARGE_SHARE = 50, 0.05
#: A box grows by this share of its width on the sides where rows were outside.
AHEAD = 0.25
#: Squared features below this share of the largest have no part in δ.
LEAST_DIRECTION = 1e-13
#: A row is out of sight where the mean square of f − P_M f exceeds UNSEEN times the noise and LOST
#: times its usual size; at most SEEN rows of a call are asked, and MANY_UNSEEN is a large share.
UNSEEN, LOST, SEEN, MANY_UNSEEN = 3.0, 2.0, 100, 0.1


def made_anew(
    old: FilterModel, making: Making, kernel: Kernel, noise: float, X: Array,
    rng: np.random.Generator,
) -> FilterModel:  # fmt: skip
    """A filter with basis and density from inputs X."""
    outside = X[~old.density.covers(X)]
    linear = Linear(X.mean(axis=0), column_scales(X)) if old.linear else None
    density = _ahead(making.density_of(X, rng), outside, old.density)
    basis = making.basis_of(kernel, X, density, rng)
    misfit = old.misfit is not None
    return FilterModel.of(kernel, noise, basis, density, linear, old.cut, misfit=misfit)


def _ahead(density: Density, outside: Array, old: Density) -> Density:
    """A box with room on the sides where rows came from outside."""
    if not isinstance(density, UniformBox) or not outside.size:
        return density
    low, high = old.box()
    room = AHEAD * (density.high - density.low)
    return UniformBox(
        density.low - room * (outside < low).any(axis=0),
        density.high + room * (outside > high).any(axis=0),
    )


def carried(old: FilterModel, sums: Sums, new: FilterModel, rows: Rows) -> Sums:
    """The sums over rows in the new basis, by a sample of these rows (y scaled)."""
    mean = Posterior.of(old, sums).mean
    F = old.columns(rows.X) @ old.weights
    w = rows.w * (sums.weight / rows.w.sum())
    variances, Q = np.linalg.eigh((F * w[:, None]).T @ F)
    sure = variances > LEAST_DIRECTION * variances[-1:].sum()
    Q = Q[:, sure]
    target = F @ (mean + old.row_noise * (Q @ (Q.T @ mean / variances[sure, None])))
    Phi = new.columns(rows.X)
    moved = Sums.start(new.k, mean.shape[1]).add(Phi, target, w)
    moved = moved.add(np.zeros_like(Phi), rows.y - target, w)
    return Sums(moved.triangle, sums.weight, sums.count)


def out_of_sight(model: FilterModel, X: Array) -> float:
    """Share of rows at which P_M f is not f, by a few of them."""
    few = X[np.linspace(0, X.shape[0] - 1, min(X.shape[0], SEEN)).astype(int)]
    points, weights = model.density.nodes(SEEN)
    usual = float(weights @ _unlike(model, points))
    return float((_unlike(model, few) > UNSEEN * model.row_noise + LOST * usual).mean())


def _unlike(model: FilterModel, X: Array) -> Array:
    """E(f(x) − P_M f(x))² = var[f | v] + |a(x) − V(x)|²  (n,)."""
    a, left = model.conditional(X)
    return left + ((a - model.columns(X) @ model.weights) ** 2).sum(axis=1)
