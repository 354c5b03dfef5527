"""Let basis and density follow a stream whose inputs wander.

A new basis is made where the rows are now, and the old sums are carried over to it. They record how
well the old features fit all n rows. With F and Φ the old and the new features of a sample of q
rows, F = USVᵀ, and t the least-squares fit that the old posterior v̂ stands for, the same
information as rows of the new basis is

    UᵀΦ, with targets Uᵀt, n/q times        Uᵀt = SVᵀv̂ + (σ²q/n) S⁻¹Vᵀv̂

so old rows inform the new weights u through their projection onto the old basis, UUᵀΦu. The second
term undoes the shrinkage of v̂, which the new prior will exert again: with the same basis and prior
v̂ is unchanged. The part that the old basis could not show is estimated from the sampled rows, each
counted once; their scatter about the new fit stands for that of all rows. This is an approximation:
the inputs of all rows are taken to be those of the sample. To keep its errors from piling up from
basis to basis, n counts as `most_times` q at most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..kernels import Kernel
from ..numerics.records import record
from ..rows.metric import column_scales
from ..rows.partition import evenly_spaced
from ..rows.reservoir import Reservoir
from ..rows.rows import Rows
from .arguments import Making
from .bases import GaussianBumps, distinct_inputs
from .densities import Density, UniformBox
from .model import FilterModel, LinearPart, Posterior
from .sums import Sums
from .tuning import TUNING

Array = np.ndarray


@record("filter.made/1")
@dataclass(frozen=True, eq=False)
class MadeFrom:
    """Mean and scale of the q inputs that basis and density were made from, after n rows."""

    centre: Array  # (d,)
    scale: Array  # (d,)
    q: int
    n: int

    @classmethod
    def of(cls, X: Array, n: int) -> MadeFrom:
        return cls(X.mean(axis=0), column_scales(X), X.shape[0], n)

    def differs(self, X: Array, n: int) -> bool:
        """Whether the sample after n rows, a fifth of them new, has another mean or scale."""
        if n < TUNING.grown * self.n:
            return False
        chance = 5.0 * np.sqrt(1.0 / max(self.q, 1) + 1.0 / X.shape[0])  # standard errors
        shift = np.abs(X.mean(axis=0) - self.centre) / self.scale
        ratio = np.abs(np.log(column_scales(X) / self.scale))
        return bool(np.maximum(shift, ratio).max() > max(TUNING.moved, chance))


@record("filter.following/1")
@dataclass(frozen=True, eq=False)
class BasisFollowing:
    """Rows and counts by which basis and density follow a stream."""

    making: Making | None  # None: basis and density stay
    sample: Reservoir  # of the rows, y without the prior mean
    held: Rows  # rows outside the density that wait for a new basis
    made: MadeFrom  # the inputs that basis and density were made from
    looked_at: int = 0  # rows when it was last checked whether the basis shows f at them
    n_reprojected: int = 0

    @classmethod
    def start(cls, making: Making | None, size: int, X: Array, p: int) -> BasisFollowing:
        """Start before any row, with a basis made from X and a sample of `size` rows at most."""
        sample = Reservoir.start(size, X.shape[1], p)
        return cls(making, sample, sample.rows, MadeFrom.of(X, 0))

    def sampled(self, rows: Rows) -> BasisFollowing:
        """Offer rows to the sample."""
        return replace(self, sample=self.sample.add(rows))

    def settled(self, n: int) -> BasisFollowing:
        """Note that basis and density were made after n rows."""
        return replace(self, looked_at=n, made=replace(self.made, n=n))

    def remade(self, sample: Reservoir, X: Array, n: int) -> BasisFollowing:
        """Note that basis and density were remade from X after n rows; none waits any more."""
        return replace(
            self, sample=sample, held=self.held.take(slice(0)), made=MadeFrom.of(X, n),
            looked_at=n, n_reprojected=self.n_reprojected + 1,
        )  # fmt: skip

    def since(self, last: int, n: int) -> BasisFollowing:
        """Count the last of n rows alone, and keep their part of the sample."""
        known = self.sample.rows
        late = known.take(slice(known.w.size - known.w.size * last // max(n, 1), None))
        sample = self.sample.emptied().add(late)
        return replace(self, sample=sample, looked_at=last, made=replace(self.made, n=last))

    def without_rows(self) -> BasisFollowing:
        """Drop all rows: basis and density stay from now on."""
        none = self.held.take(slice(0))
        sample = Reservoir.start(0, none.X.shape[1], none.y.shape[1])
        return replace(self, making=None, sample=sample, held=none)


@dataclass(frozen=True, eq=False)
class Inputs:
    """Inputs to make a basis from."""

    known: Array  # a sample of the stream, in order of arrival  (q, d)
    waiting: Array  # inputs of rows that are not in the sums yet
    share: float  # share of the stream that came after the old basis was made

    @property
    def all(self) -> Array:
        return np.concatenate([self.known, self.waiting])

    def take(self, columns: Array) -> Inputs:
        """Keep some columns."""
        known, waiting = (np.ascontiguousarray(X[:, columns]) for X in (self.known, self.waiting))
        return Inputs(known, waiting, self.share)

    @property
    def further(self) -> Array:
        """Inputs that came after the old basis was made."""
        q = self.known.shape[0]
        return np.concatenate([self.known[round((1.0 - self.share) * q) :], self.waiting])


def remade(
    old: FilterModel, making: Making, kernel: Kernel, noise: float, inputs: Inputs,
    rng: np.random.Generator,
) -> FilterModel:  # fmt: skip
    """Make a filter whose basis and density are where the rows are now; `kernel`: of the columns
    of the old one."""
    outside, still = inputs.all[~old.covers(inputs.all)], old.still
    if old.still is not None:
        still = old.still.left(inputs.all)
        if still is not old.still:
            making, whole = making.of_several(), old.still.kernel(kernel)
            kernel = whole if still is None else still.inner(whole)
    if still is not None:
        inputs, outside = inputs.take(still.moving), outside[:, still.moving]
    same = still is old.still
    X = inputs.all
    linear = LinearPart(X.mean(axis=0), column_scales(X)) if old.linear else None
    density = making.density_of(X, rng)
    if same:
        density = _ahead(density, outside, old.density)
    basis = making.basis_of(kernel, X, density, rng)
    if isinstance(basis, GaussianBumps) and isinstance(old.basis, GaussianBumps) and X.shape[1] > 1:
        basis = _kept(old.basis, basis, inputs, rng) if same else basis
    misfit = old.misfit is not None
    return FilterModel.of(
        kernel, noise, basis, density, linear, old.cut, misfit=misfit, still=still
    )


def _kept(
    old: GaussianBumps, new: GaussianBumps, inputs: Inputs, rng: np.random.Generator
) -> GaussianBumps:
    """Replace a share of the old bumps by ones at further inputs; the others are kept as is."""
    places = distinct_inputs(inputs.further)
    n = min(max(1, round(inputs.share * new.m)), places.shape[0], new.m)
    stay = np.sort(rng.permutation(old.m)[: new.m - n])
    centres = np.concatenate([old.centres[stay], places[rng.permutation(places.shape[0])[:n]]])
    alike = np.abs(np.log(old.widths / new.widths)).max() < np.log(TUNING.alike)
    return GaussianBumps(centres, old.widths if alike else new.widths)


def _ahead(density: Density, outside: Array, old: Density) -> Density:
    """Widen a box on the sides where rows came from outside."""
    if not isinstance(density, UniformBox) or not outside.size:
        return density
    low, high = old.box()
    room = TUNING.ahead * (density.high - density.low)
    return UniformBox(
        density.low - room * (outside < low).any(axis=0),
        density.high + room * (outside > high).any(axis=0),
    )


def carried_sums(old: FilterModel, sums: Sums, new: FilterModel, rows: Rows) -> Sums:
    """Carry the sums over rows to the new basis by a sample of these rows (y scaled)."""
    if not rows.w.size:
        return Sums.start(new.k, rows.y.shape[1])
    root = np.sqrt(rows.w)[:, None]
    F, Phi = root * (old.columns(rows.X) @ old.weights), root * new.columns(rows.X)
    total = float(rows.w.sum())
    times = min(max(sums.weight / total, 1.0), TUNING.most_times)  # rows that each one stands for
    U, size, VT = np.linalg.svd(F, full_matrices=False)
    mean = VT @ Posterior.of(old, sums).mean
    told = times * size**2 / old.row_noise  # |v̂|² is about told/(1 + told), or the sample misleads
    sure = size > TUNING.least_direction * size[0]
    sure &= (mean**2).max(axis=1) < TUNING.misled * told
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
    """Share of rows at which P_M f differs from f, estimated from a few of them."""
    few = X[evenly_spaced(X.shape[0], TUNING.asked)]
    points, weights = model.nodes(TUNING.asked)
    usual = float(weights @ _unlike(model, points))
    limit = TUNING.unseen * model.row_noise + TUNING.lost * usual
    return float((_unlike(model, few) > limit).mean())


def _unlike(model: FilterModel, X: Array) -> Array:
    """E(f(x) − P_M f(x))² = var[f | v] + |a(x) − V(x)|²  (n,)."""
    a, left = model.conditional(X)
    return left + ((a - model.columns(X) @ model.weights) ** 2).sum(axis=1)
