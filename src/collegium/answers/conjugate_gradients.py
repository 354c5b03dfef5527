"""Refines the means of a committee towards the exact GP, by preconditioned conjugate gradients.

(K + Ψ)w = y is solved with kernel products that are computed in blocks and never stored. The
preconditioner is a committee of groups that also know the rows around them: see
`preconditioner`. The committee predicts from the residual r = y − (K + Ψ)w as it would from y:

    mean(x*) = k(x*, X)w + s(x*)ᵀr,   where s(x*)ᵀy is the committee's mean.

At the start, w = 0, this is the committee's own mean; at the solution w* it is the mean of the
exact GP. In between it differs from the exact mean by the committee's error for the function
Σ k(·, xᵢ)(w* − w)ᵢ, whose norm is at most ‖w* − w‖ in the norm of K + Ψ.

Each step minimises the energy ½wᵀ(K + Ψ)w − wᵀy along a line, so ‖w* − w‖ falls in every step:
the last iterate is the best, whenever the iterations stop (the residual need not fall each
time). Products are in single precision while that is enough. Residual and energy are recomputed in
double precision from time to time; steps since then that did not lower the energy are undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..messages.committee import Committee
from ..messages.expansion import Expansion, RowByRow
from ..numerics import linalg
from ..numerics.threads import single_threaded
from ..rows.chunk import Chunk, rows_of
from ..rows.partition import blocks, evenly_spaced
from ..rows.rows import Prediction
from .preconditioner import Preconditioner, group_size, grouped
from .predictors import Predictor
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class LinearSystem:
    """K + Ψ of all rows."""

    kernel: Kernel
    X: Array  # (n, d)
    psi: Array  # noise variance of each row  (n,)

    @classmethod
    def of(cls, kernel: Kernel, noise: float, chunks: Sequence[Chunk]) -> LinearSystem:
        X = np.concatenate([chunk.X for chunk in chunks])
        return cls(kernel, X, np.concatenate([rows_of(chunk).psi(noise) for chunk in chunks]))

    def take(self, rows: Array) -> LinearSystem:
        return LinearSystem(self.kernel, self.X[rows], self.psi[rows])

    def product(self, w: Array, engine: Any, *, coarse: bool = False) -> Array:
        """(K + Ψ)w  (n, p); every kernel value is computed once and used twice."""
        n, side = self.X.shape[0], TUNING.refining.side
        strips = [Strip(i, a, min(a + side, n)) for i, a in enumerate(range(0, n, side))]
        of_strip = partial(self._strip, w, w.astype(np.float32) if coarse else w)
        return engine.sum(of_strip, strips, zero=self.psi[:, None] * w)

    def _strip(self, w: Array, rounded: Array, strip: Strip) -> Array:
        """Terms of one strip of the lower triangle and of its mirror image."""
        total, own = np.zeros_like(w), slice(strip.start, strip.stop)
        total[own] = self.kernel.value(self.X[own]) @ w[own]
        others = blocks(strip.start, TUNING.refining.side)
        parts = [self.X[other] for other in others]
        values: Iterator[Array]
        if rounded is w:
            values = (self.kernel.value(self.X[own], Z) for Z in parts)
        else:
            values = self.kernel.coarse_parts(self.X[own], parts)
        for other, K in zip(others, values):
            total[own] += K @ rounded[other]
            total[other] += K.T @ rounded[own]
        return total


@dataclass(frozen=True)
class Strip:
    """Rows of K from `start` to `stop`, with the columns up to `stop`."""

    id: int
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class Solution:
    """Weights of all rows, and how well they solve the system."""

    weights: Array  # (n, p)
    rest: Array  # r = y − (K + Ψ)w  (n, p)
    residuals: Array  # ‖r‖/‖y‖ before each iteration and after the last  (k + 1,)
    left_out: Array | None = None  # errors at held-out rows: see `held_out_errors`  (h, p)


@dataclass(frozen=True, eq=False)
class Iterate:
    """w, with its residual and energy computed from it in double precision."""

    w: Array  # (n, p)
    r: Array  # y − (K + Ψ)w  (n, p)
    energy: Array  # ½wᵀ(K + Ψ)w − wᵀy = −½wᵀ(y + r)  (p,)

    @classmethod
    def at(cls, w: Array, y: Array, system: LinearSystem, engine: Any) -> Iterate:
        r = y - system.product(w, engine)
        return cls(w, r, -0.5 * _dot(w, y + r))

    def or_at(self, w: Array, y: Array, system: LinearSystem, engine: Any) -> Iterate:
        """Choose this iterate or the one at w, per output the one of lower energy."""
        other = Iterate.at(w, y, system, engine)
        rounding = TUNING.refining.rounding * np.abs(self.energy)
        better = other.energy <= self.energy + rounding  # false for NaN
        return Iterate(
            np.where(better, other.w, self.w),
            np.where(better, other.r, self.r),
            np.where(better, other.energy, self.energy),
        )


def solve_system(
    system: LinearSystem, y: Array, conditioner: Any, engine: Any, *, tolerance: float,
    max_iter: int, enough: Callable[[], bool] = lambda: False, coarse: bool = True,
    say: Callable[[str], None] = lambda text: None, decide: int | None = None,
    renewed: bool = True, hopeless: float = np.inf,
) -> Solution:  # fmt: skip
    """Solve (K + Ψ)w = y by preconditioned conjugate gradients, each output on its own.

    It starts from w = 0, and stops early once `enough()`, called before each step, is true. It is
    done when the residuals of the first `decide` outputs (by default of all) are small, and gives
    up where two steps leave a residual above `hopeless`. `renewed`: whether the last residual is
    computed again in double precision.
    Directions are made conjugate by Polak and Ribière's rule, which tolerates products and
    residuals of changing precision (Golub & Ye 1999).
    """
    norm, tuning = np.maximum(np.sqrt(_dot(y, y)), 1e-300), TUNING.refining

    def size(r: Array) -> float:
        return float((np.sqrt(_dot(r, r)) / norm)[:decide].max())

    known = Iterate(np.zeros_like(y), y, np.zeros(y.shape[1]))
    w, r, rounded = known.w, known.r, False  # rounded: single precision was used since `known`
    residuals = [size(r)]
    z = direction = conditioner.solve(r, engine)
    for k in range(max_iter):
        say(f"conjugate gradients: residual {residuals[-1]:.1e} after {k} iterations")
        if residuals[-1] <= tolerance or enough() or (k == 2 and residuals[-1] > hopeless):
            break
        Kd = system.product(direction, engine, coarse=coarse)
        positive = _dot(direction, Kd) > 0.0
        if coarse and not positive[direction.any(axis=0)].all():  # rounding: K is indefinite
            known, coarse, rounded = known.or_at(w, y, system, engine), False, False
            w, r = known.w, known.r
            z = direction = conditioner.solve(r, engine)
            Kd = system.product(direction, engine)
        if not (_dot(direction, Kd) > 0.0).any():  # no direction left that lowers the energy
            break
        step = _ratio(_dot(direction, r), _dot(direction, Kd))
        w = w + step * direction
        before, zr, r = r, _dot(z, r), r - step * Kd
        updated, rounded = size(r), rounded or coarse
        due, undone = (k + 1) % (tuning.renew_coarse if coarse else tuning.renew) == 0, False
        if due or (coarse and updated <= max(tolerance, tuning.drop * size(known.r))):
            tried, known, rounded = w, known.or_at(w, y, system, engine), False
            w, r = known.w, known.r
            undone = not np.array_equal(w, tried)
            coarse = coarse and size(r) <= tuning.worse * updated and not undone
        residuals.append(size(r))
        z = conditioner.solve(r, engine)
        beta = _ratio(np.maximum(_dot(z, r - before), 0.0), zr)
        direction = z if undone else z + beta * direction
    if rounded and renewed:
        known = known.or_at(w, y, system, engine)
        w, r, residuals[-1] = known.w, known.r, size(known.r)
    return Solution(w, r, np.array(residuals))


def preconditioner(
    committee: Committee, system: LinearSystem, engine: Any, sizes: tuple[int, int] | None = None
) -> Preconditioner:
    """Build the preconditioner of a system from the committee's anchors, in groups of its own.

    `sizes`: rows of a group, and of those that it is given; None: as many as pay where the system
    is solved to the end.
    """
    if sizes is None:
        size = group_size(system.psi.size)
        sizes = size, TUNING.refining.given * size
    groups = grouped(system.kernel, system.X, *sizes, engine)
    return Preconditioner.of(committee.basis, system.X, system.psi, groups, engine)


def refined(
    committee: Committee, engine: Any, *, tolerance: float, max_iter: int,
    enough: Callable[[], bool] = lambda: False, say: Callable[[str], None] = lambda text: None,
    held: Array | None = None, sizes: tuple[int, int] | None = None,
) -> Solution:  # fmt: skip
    """Solve for the exact GP's weights of the rows that a committee has kept.

    `held`: numbers of rows to hold out, predicted by the exact GP of all others: see
    `held_out_errors`. `sizes`: of the preconditioner.
    """
    system = LinearSystem.of(committee.basis.kernel, committee.noise, committee.chunks())
    y = committee.rows().y
    asked: dict[str, Any] = {"tolerance": tolerance, "max_iter": max_iter, "enough": enough}
    with single_threaded():
        conditioner = preconditioner(committee, system, engine, sizes)
        say(f"preconditioner of {len(conditioner.parts)} groups")
        if held is None:
            return solve_system(system, y, conditioner, engine, **asked, say=say)
        L, p = block_factor(conditioner, held, engine), y.shape[1]
        v = random_probe(L, held, y.shape[0])
        both = solve_system(
            system, np.hstack([y, v]), conditioner, engine, **asked, say=say, decide=p
        )
        # copies: products with strided views round differently from those after `save` or pickle
        w, rest = (np.ascontiguousarray(part[:, :p]) for part in (both.weights, both.rest))
        found = Solution(w, rest, both.residuals)
        x, r = both.weights[:, p:], both.rest[:, p:]
        trace = float(_dot(x, v + r)[0])  # vᵀA⁻¹v ≥ 2xᵀv − xᵀAx for any x, A = K + Ψ
        return replace(found, left_out=held_out_errors(L, found.weights[held], trace))


def refined_without(
    committee: Committee, engine: Any, held: Array, *, steps: int, sizes: tuple[int, int],
    enough: Callable[[], bool] = lambda: False, say: Callable[[str], None] = lambda text: None,
) -> Solution | None:  # fmt: skip
    """Take some steps towards the exact GP of all rows but those held out (their numbers); None
    where the first two leave a residual larger than y, so that few more would not help.

    The mean k(x*, X)w + s(x*)ᵀr holds for any w. With w = 0 at held-out rows, k(x, X)w there is a
    prediction from the others, so that errors are known without a further solve.

    Residuals are those that steps in single precision have left. At some rows they are computed
    again; where the two differ by more than a small share of the noise, at all.
    """
    whole = LinearSystem.of(committee.basis.kernel, committee.noise, committee.chunks())
    y, t = committee.rows().y, TUNING.refining
    others = np.delete(np.arange(len(y)), held)
    system, own = whole.take(others), y[others]
    with single_threaded():
        conditioner = preconditioner(committee, system, engine, sizes)
        found = solve_system(
            system, own, conditioner, engine, tolerance=t.close, max_iter=steps, enough=enough,
            say=say, renewed=False, hopeless=t.hopeless,
        )  # fmt: skip
        if found.residuals[-1] > t.hopeless:
            return None
        w, some = found.weights, evenly_spaced(others.size, t.looked_at)
        expansion = Expansion(system.kernel, system.X, w)
        exact = expansion.mean(system.X[some], engine) + system.psi[some, None] * w[some]
        off, rest = found.rest[some] - (own[some] - exact), found.rest
        if not (np.sqrt((off**2).mean(axis=0)) <= t.rounded * np.sqrt(committee.noise)).all():
            rest = own - system.product(w, engine)
        weights, left = np.zeros_like(y), np.empty_like(y)
        weights[others], left[others] = w, rest
        left[held] = y[held] - expansion.mean(whole.X[held], engine)
        return Solution(weights, left, found.residuals, np.zeros_like(y[held]))


def block_factor(conditioner: Preconditioner, held: Array, engine: Any) -> Array:
    """Factor of (M⁻¹)_HH  (h, h)."""
    block = conditioner.block(held, engine)
    return linalg.cholesky(block, float(block.diagonal().max()), overwrite=True)[0]


def random_probe(L: Array, held: Array, n: int) -> Array:
    """v_H = L⁻ᵀε with random signs ε, LLᵀ = (M⁻¹)_HH, and 0 at other rows  (n, 1).

    The mean of vᵀ(K + Ψ)⁻¹v is tr L⁻¹((K + Ψ)⁻¹)_HH L⁻ᵀ: h where M = K + Ψ.
    """
    v, signs = np.zeros((n, 1)), np.random.default_rng(0).choice([-1.0, 1.0], (held.size, 1))
    v[held] = linalg.solve_upper(L, signs)
    return v


def held_out_errors(L: Array, w: Array, trace: float) -> Array:
    """Errors at held-out rows H of the exact GP of all others, for targets (K + Ψ)w  (h, p):

        (((K + Ψ)⁻¹)_HH)⁻¹ w_H ≈ ((M⁻¹)_HH)⁻¹ w_H h/trace

    (Rasmussen & Williams 2006, eq. 5.12 for one row). M knows fewer rows around H than K + Ψ: its
    precisions are a few percent too small, by nearly the same factor everywhere. Their mean ratio
    is trace/h, with vᵀ(K + Ψ)⁻¹v of one random vector as the trace (Hutchinson 1989;
    `random_probe`).
    """
    factor = trace / L.shape[0] if trace > 0.0 else 1.0
    return linalg.solve_posdef(L, w) / factor


def with_targets(committee: Committee, y: Array, engine: Any) -> Committee:
    """Build the committee of the same kept rows with other targets y."""
    c, ends = committee, np.cumsum(committee.sizes)[:-1]
    chunks = [replace(chunk, y=own) for chunk, own in zip(c.chunks(), np.split(y, ends))]
    empty = Committee.start(c.basis.kernel, c.noise, c.basis.Z, y.shape[1], type(c.expert))
    return empty.add(chunks, engine, keep=True)


@dataclass(frozen=True, eq=False)
class Refined(Predictor):
    """mean(x*) = k(x*, X)w + s(x*)ᵀr, with the committee's own variances."""

    own: Predictor  # s(x*)ᵀr: the committee whose targets are r
    kernel: Kernel
    X: Array  # (n, d)
    weights: Array  # (n, p)

    def mean(self, Xs: Array, engine: Any) -> Array:
        return self._weighed(Xs, engine) + self.own.mean(Xs, engine)

    def predict(self, Xs: Array, engine: Any) -> Prediction:
        found = self.own.predict(Xs, engine)
        return Prediction(self._weighed(Xs, engine) + found.mean, found.variance)

    def joint(self, Xs: Array, engine: Any) -> tuple[Prediction, Array]:
        found, covariance = self.own.joint(Xs, engine)
        return Prediction(self._weighed(Xs, engine) + found.mean, found.variance), covariance

    def _weighed(self, Xs: Array, engine: Any) -> Array:
        """k(x*, X)w  (q, p)."""
        return self._rows.mean(Xs, engine)

    @cached_property
    def _rows(self) -> RowByRow:
        return self.expansion.row_by_row()

    @property
    def expansion(self) -> Expansion:
        """x ↦ k(x, X)w."""
        return Expansion(self.kernel, self.X, self.weights)


def _dot(a: Array, b: Array) -> Array:
    """aᵀb of each column  (p,)."""
    return np.einsum("np,np->p", a, b)


def _ratio(a: Array, b: Array) -> Array:
    """a/b, zero where b is not positive."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0.0)
