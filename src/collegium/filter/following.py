"""Basis and density that follow a stream whose inputs wander.

A new basis is made where the rows are now, and what the old sums say is handed to it. They say how
well the old features fit all n rows; with F and Φ the old and the new features of a sample of q
rows, F = USVᵀ, and t the least-squares fit that the old posterior v̂ stands for, they say so again
as rows of the new basis:

    UᵀΦ, with targets Uᵀt, n/q times        Uᵀt = SVᵀv̂ + (σ²q/n) S⁻¹Vᵀv̂

so that old rows tell about the new weights u what their projection onto the old basis does, UUᵀΦu.
The second term undoes the shrinkage of v̂, which the new prior will exert again: with the same
basis and prior, v̂ comes out as it went in. What the old basis could not show is told by the rows
of the sample themselves, each counted once; their scatter about the new fit stands for that of all
rows. It is an approximation: the inputs of all rows are those of the sample. So that its errors do
not pile up from basis to basis, n counts for MOST_TIMES q at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels import Kernel
from ..numerics.records import record
from ..rows.metric import column_scales
from ..rows.partition import evenly_spaced
from ..rows.rows import Rows
from .arguments import Making
from .bases import GaussianBumps
from .densities import Density, UniformBox
from .model import FilterModel, Linear, Posterior
from .sums import Sums

Array = np.ndarray
#: Rows that the basis does not reach wait until they are so many, or this share of a call.
MOST_HELD, LARGE_SHARE = 50, 0.05
#: Basis and density are made anew where rows have grown by the factor GROWN and the mean of a
#: column has moved by MOVED of its scale, or the scale by a factor e^MOVED.
GROWN, MOVED = 1.25, 0.2
#: Widths of bumps that differ by less than this factor stay.
ALIKE = 1.3
#: A box grows by this share of its width on the sides where rows were outside.
AHEAD = 0.25
#: Directions of the old features below this share of the largest are not carried over, nor those
#: where the old posterior mean is by this factor larger than the sample can explain.
LEAST_DIRECTION, MISLED = 1e-7, 25.0
#: Rows of the sample stand for so many at most: errors of old bases must not outweigh rows.
MOST_TIMES = 5.0
#: A row is out of sight where the mean square of f − P_M f exceeds UNSEEN times the noise and LOST
#: times its usual size; at most SEEN rows of a call are asked, and MANY_UNSEEN is a large share.
UNSEEN, LOST, SEEN, MANY_UNSEEN = 3.0, 2.0, 50, 0.3


@record("filter.made/1")
@dataclass(frozen=True, eq=False)
class Made:
    """Mean and scale of the q inputs that basis and density were made from, after n rows."""

    centre: Array  # (d,)
    scale: Array  # (d,)
    q: int
    n: int

    @classmethod
    def of(cls, X: Array, n: int) -> Made:
        return cls(X.mean(axis=0), column_scales(X), X.shape[0], n)

    def differs(self, X: Array, n: int) -> bool:
        """Whether a sample after n rows, of which a fifth are new, has another mean or scale."""
        if n < GROWN * self.n:
            return False
        chance = 5.0 * np.sqrt(1.0 / max(self.q, 1) + 1.0 / X.shape[0])  # standard errors
        shift = np.abs(X.mean(axis=0) - self.centre) / self.scale
        ratio = np.abs(np.log(column_scales(X) / self.scale))
        return bool(np.maximum(shift, ratio).max() > max(MOVED, chance))


@dataclass(frozen=True, eq=False)
class Inputs:
    """Inputs to make a basis from."""

    known: Array  # a sample of the stream, in order of arrival  (q, d)
    waiting: Array  # inputs of rows that are not in the sums yet
    share: float  # of the stream that came after the old basis was made

    @property
    def all(self) -> Array:
        return np.concatenate([self.known, self.waiting])

    @property
    def further(self) -> Array:
        """Those that came after the old basis was made."""
        q = self.known.shape[0]
        return np.concatenate([self.known[round((1.0 - self.share) * q) :], self.waiting])


def made_anew(
    old: FilterModel, making: Making, kernel: Kernel, noise: float, inputs: Inputs,
    rng: np.random.Generator,
) -> FilterModel:  # fmt: skip
    """A filter with basis and density from inputs where the rows are now."""
    X = inputs.all
    linear = Linear(X.mean(axis=0), column_scales(X)) if old.linear else None
    density = _ahead(making.density_of(X, rng), X[~old.density.covers(X)], old.density)
    basis = making.basis_of(kernel, X, density, rng)
    if isinstance(basis, GaussianBumps) and isinstance(old.basis, GaussianBumps) and X.shape[1] > 1:
        basis = _kept(old.basis, basis, inputs, rng)
    misfit = old.misfit is not None
    return FilterModel.of(kernel, noise, basis, density, linear, old.cut, misfit=misfit)


def _kept(
    old: GaussianBumps, new: GaussianBumps, inputs: Inputs, rng: np.random.Generator
) -> GaussianBumps:
    """The old bumps, of which a share gives way to ones at further inputs: what is kept of the
    basis is carried over as it is."""
    places = np.unique(inputs.further, axis=0)
    n = min(max(1, round(inputs.share * new.m)), places.shape[0], new.m)
    stay = np.sort(rng.permutation(old.m)[: new.m - n])
    centres = np.concatenate([old.centres[stay], places[rng.permutation(places.shape[0])[:n]]])
    alike = np.abs(np.log(old.widths / new.widths)).max() < np.log(ALIKE)
    return GaussianBumps(centres, old.widths if alike else new.widths)


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
    if not rows.w.size:
        return Sums.start(new.k, rows.y.shape[1])
    root = np.sqrt(rows.w)[:, None]
    F, Phi = root * (old.columns(rows.X) @ old.weights), root * new.columns(rows.X)
    total = float(rows.w.sum())
    times = min(max(sums.weight / total, 1.0), MOST_TIMES)  # what each row of the sample stands for
    U, size, VT = np.linalg.svd(F, full_matrices=False)
    mean = VT @ Posterior.of(old, sums).mean
    told = times * size**2 / old.row_noise  # |v̂|² is about told/(1 + told), or the sample misleads
    sure = (size > LEAST_DIRECTION * size[0]) & ((mean**2).max(axis=1) < MISLED * told)
    U, size, mean = U[:, sure], size[sure, None], mean[sure]
    target = size * mean + old.row_noise / times * mean / size  # Uᵀt
    rest = root * rows.y - U @ (U.T @ (root * rows.y))
    moved = Sums.start(new.k, mean.shape[1]).add(Phi, U @ target + rest)
    moved = moved.add(U.T @ Phi, target, np.full(target.shape[0], times - 1.0))
    fit = Phi @ (new.weights @ Posterior.of(new, moved).mean)
    scatter = root * rows.y - fit
    moved = moved.add(np.zeros_like(Phi), scatter, np.full(rows.w.size, times - 1.0))
    share = min(times * total / sums.weight, 1.0)
    return Sums(moved.triangle, share * sums.weight, share * sums.count)


def out_of_sight(model: FilterModel, X: Array) -> float:
    """Share of rows at which P_M f is not f, by a few of them."""
    few = X[evenly_spaced(X.shape[0], SEEN)]
    points, weights = model.density.nodes(SEEN)
    usual = float(weights @ _unlike(model, points))
    return float((_unlike(model, few) > UNSEEN * model.row_noise + LOST * usual).mean())


def _unlike(model: FilterModel, X: Array) -> Array:
    """E(f(x) − P_M f(x))² = var[f | v] + |a(x) − V(x)|²  (n,)."""
    a, left = model.conditional(X)
    return left + ((a - model.columns(X) @ model.weights) ** 2).sum(axis=1)
