"""The exact GP at a committee's price: conjugate gradients with a committee as preconditioner.

(K + Ψ)w = y is solved with kernel products computed in blocks and never stored. A committee of
the same chunks is the same system with K replaced by VᵀV between chunks, and it has a
factorisation: with Rᵢ = LᵢLᵢᵀ of each chunk,

    M = VᵀV + blockdiag(R) = L(I + AAᵀ)Lᵀ,   A = L⁻¹Vᵀ,
    M⁻¹ = L⁻ᵀ(I − AΛ⁻¹Aᵀ)L⁻¹,                Λ = I + AᵀA    (Woodbury),

so that steps by M⁻¹ have little left to find. More anchors than a committee that answers would
have pay for themselves here.

What the weights w leave, r = y − (K + Ψ)w, the committee is asked about as it would be about y:

    mean(x*) = k(x*, X)w + s(x*)ᵀr,   s(x*)ᵀy the mean of the committee.

With w = 0, where the iterations start, this is the committee's own answer; with the solution w*
it is that of the exact GP. On the way it differs from that by the committee's error about the
function Σ k(·, xᵢ)(w* − w)ᵢ, whose size is at most ‖w* − w‖ in the norm of K + Ψ.

Each step minimises the energy ½wᵀ(K + Ψ)w − wᵀy along a line, so that this norm falls from step
to step: the last iterate is the best, whenever the iterations are stopped (the residual need not
fall each time). Products are in single precision as long as that helps; residual and energy are
computed anew in double precision before they are believed, and a step that was none is undone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from . import linalg
from .basis import Anchors
from .chunk import Chunk
from .committee import Committee, Predictor
from .expansion import Expansion
from .experts import Block, Full
from .kernels import Kernel
from .local import Prediction
from .selection import Stop, centres
from .threads import single_threaded

Array = np.ndarray
#: Rows in a block of kernel values: 8 MB, so that what is computed is still near when it is used.
SIDE = 1000
#: The residual is computed anew after so many steps, and where single precision claims to have
#: brought it down by so much; it is of no more use where that is less than half the truth.
RENEW, DROP = 50, 0.01
#: Numbers in the A of a preconditioner.
LARGEST_A = 2**28


@dataclass(frozen=True, eq=False)
class System:
    """K + Ψ of all rows."""

    kernel: Kernel
    X: Array  # (n, d)
    psi: Array  # noise variance of each row  (n,)

    @classmethod
    def of(cls, kernel: Kernel, noise: float, chunks: Sequence[Chunk]) -> System:
        X = np.concatenate([chunk.X for chunk in chunks])
        return cls(kernel, X, noise / np.concatenate([chunk.w for chunk in chunks]))

    def product(self, w: Array, engine: Any, *, coarse: bool = False) -> Array:
        """(K + Ψ)w  (n, p); every kernel value is computed once and used twice."""
        n = self.X.shape[0]
        strips = [Strip(i, a, min(a + SIDE, n)) for i, a in enumerate(range(0, n, SIDE))]
        add_up = partial(self._strip, w, w.astype(np.float32) if coarse else w)
        return engine.sum(add_up, strips, zero=self.psi[:, None] * w)

    def _strip(self, w: Array, rounded: Array, strip: Strip) -> Array:
        """What the blocks of one strip of the lower triangle give."""
        total, own = np.zeros_like(w), slice(strip.start, strip.stop)
        total[own] = self.kernel.value(self.X[own]) @ w[own]
        value = self.kernel.value if rounded is w else self.kernel.coarse
        for start in range(0, strip.start, SIDE):
            other = slice(start, start + SIDE)
            K = value(self.X[own], self.X[other])
            total[own] += K @ rounded[other]
            total[other] += K.T @ rounded[own]
        return total


@dataclass(frozen=True)
class Strip:
    """Some rows against themselves and all before them."""

    id: int
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class Part:
    """One chunk of a preconditioner: R = LLᵀ and A = L⁻¹Vᵀ, of which single precision is enough:
    I + AAᵀ is positive definite whatever A is."""

    id: int
    L: Array  # (n, n)
    A: Array  # (n, m)  single precision

    @classmethod
    def of(cls, basis: Anchors, noise: float, chunk: Chunk) -> Part:
        given = Block(noise).condition(basis, chunk)
        assert isinstance(given.R, Full)
        A = linalg.solve_lower(given.R.L, given.V.T, overwrite=True)
        return cls(chunk.id, given.R.L, A.astype(np.float32))

    def precision(self) -> Array:
        """AᵀA  (m, m)."""
        return linalg.gram(self.A.T.astype(float))


@dataclass(frozen=True, eq=False)
class Preconditioner:
    """M⁻¹ of a committee."""

    parts: Sequence[Part]
    factor: Array  # of Λ  (m, m)

    @classmethod
    def of(
        cls, basis: Anchors, noise: float, chunks: Sequence[Chunk], engine: Any
    ) -> Preconditioner:
        parts = engine.map(partial(Part.of, basis, noise), chunks)
        precision = engine.sum(Part.precision, parts, zero=np.eye(basis.m))
        scale = float(precision.diagonal().max(initial=0.0))
        return cls(parts, linalg.cholesky(precision, scale, overwrite=True)[0])

    def solve(self, r: Array, engine: Any) -> Array:
        """M⁻¹r  (n, p)."""
        ends = np.cumsum([part.L.shape[0] for part in self.parts])[:-1]

        def first(part: Part, r: Array) -> tuple[Array, Array]:
            white = linalg.solve_lower(part.L, r)
            return white, part.A.T @ white

        found = engine.map(lambda pair: first(*pair), list(zip(self.parts, np.split(r, ends))))
        shared = linalg.solve_posdef(self.factor, np.sum([h for _, h in found], axis=0))

        def second(part: Part, white: Array) -> Array:
            return linalg.solve_upper(part.L, white - part.A @ shared, overwrite=True)

        pairs = [(part, white) for part, (white, _) in zip(self.parts, found)]
        return np.concatenate(engine.map(lambda pair: second(*pair), pairs))


@dataclass(frozen=True, eq=False)
class Solution:
    """Weights of all rows, and how well they solve the system."""

    weights: Array  # (n, p)
    rest: Array  # r = y − (K + Ψ)w  (n, p)
    residuals: Array  # ‖r‖/‖y‖ before each iteration and after the last  (k + 1,)


@dataclass(frozen=True, eq=False)
class Iterate:
    """w, and the residual that belongs to it as computed anew."""

    w: Array  # (n, p)
    r: Array  # y − (K + Ψ)w  (n, p)
    energy: Array  # ½wᵀ(K + Ψ)w − wᵀy = −½wᵀ(y + r)  (p,)

    @classmethod
    def at(cls, w: Array, y: Array, system: System, engine: Any) -> Iterate:
        r = y - system.product(w, engine)
        return cls(w, r, -0.5 * _dot(w, y + r))

    def or_at(self, w: Array, y: Array, system: System, engine: Any) -> Iterate:
        """Of each output this iterate, or the one at w where its energy is lower."""
        other = Iterate.at(w, y, system, engine)
        rounding = 1e-10 * np.abs(self.energy)
        better = other.energy <= self.energy + rounding  # not so where it is not a number
        return Iterate(
            np.where(better, other.w, self.w),
            np.where(better, other.r, self.r),
            np.where(better, other.energy, self.energy),
        )


def solve(
    system: System, y: Array, conditioner: Any, engine: Any, *, tolerance: float, max_iter: int,
    enough: Callable[[], bool] = lambda: False, coarse: bool = True,
    say: Callable[[str], None] = lambda text: None,
) -> Solution:  # fmt: skip
    """Preconditioned conjugate gradients for (K + Ψ)w = y, each output a system of its own.

    Starts from w = 0; `enough()`, asked before each step, ends it early. Directions are made
    conjugate by Polak and Ribière's rule, which forgives a product or a residual that changes
    its precision on the way (Golub & Ye 1999).
    """
    norm = np.maximum(np.sqrt(_dot(y, y)), 1e-300)

    def size(r: Array) -> float:
        return float((np.sqrt(_dot(r, r)) / norm).max())

    known = Iterate(np.zeros_like(y), y, np.zeros(y.shape[1]))
    w, r, rounded = known.w, known.r, False  # by steps in single precision since then
    residuals = [size(r)]
    z = direction = conditioner.solve(r, engine)
    for k in range(max_iter):
        say(f"conjugate gradients: residual {residuals[-1]:.1e} after {k} iterations")
        if residuals[-1] <= tolerance or enough():
            break
        Kd = system.product(direction, engine, coarse=coarse)
        positive = _dot(direction, Kd) > 0.0
        if coarse and not positive[direction.any(axis=0)].all():  # rounding: K is indefinite
            known, coarse, rounded = known.or_at(w, y, system, engine), False, False
            w, r = known.w, known.r
            z = direction = conditioner.solve(r, engine)
            Kd = system.product(direction, engine)
        if not (_dot(direction, Kd) > 0.0).any():  # nothing is left that a step could do
            break
        step = _ratio(_dot(direction, r), _dot(direction, Kd))
        w = w + step * direction
        before, zr, r = r, _dot(z, r), r - step * Kd
        told, rounded = size(r), rounded or coarse
        if (k + 1) % RENEW == 0 or (coarse and told <= max(tolerance, DROP * size(known.r))):
            known, rounded = known.or_at(w, y, system, engine), False
            w, r = known.w, known.r
            coarse = coarse and size(r) <= 2.0 * told
        residuals.append(size(r))
        z = conditioner.solve(r, engine)
        direction = z + _ratio(np.maximum(_dot(z, r - before), 0.0), zr) * direction
    if rounded:
        known = known.or_at(w, y, system, engine)
        w, r, residuals[-1] = known.w, known.r, size(known.r)
    return Solution(w, r, np.array(residuals))


def anchor_count(n: int) -> int:
    """Anchors of a preconditioner: their n m² operations cost about what the n² kernel values of
    the iterations cost that they save; not more than fit LARGEST_A, or than half the rows."""
    return max(1, min(int(7.0 * np.sqrt(n)), LARGEST_A // n, n // 2))


def preconditioner(committee: Committee, engine: Any, n_anchors: int | None = None):
    """A committee of the same chunks, with k-means centres where it has fewer anchors."""
    rows, basis = committee.rows(), committee.basis
    number = anchor_count(rows.X.shape[0]) if n_anchors is None else n_anchors
    if number > basis.m:
        rng = np.random.default_rng(0)
        Z = centres(basis.kernel, committee.noise, rows, Stop(number), rng).Z
        basis = Anchors.at(basis.kernel, Z)
    return Preconditioner.of(basis, committee.noise, committee.chunks(), engine)


def refined(
    committee: Committee, engine: Any, *, tolerance: float, max_iter: int,
    enough: Callable[[], bool] = lambda: False, say: Callable[[str], None] = lambda text: None,
) -> Solution:  # fmt: skip
    """The exact GP's weights for the rows that a committee has kept."""
    system = System.of(committee.basis.kernel, committee.noise, committee.chunks())
    with single_threaded():
        conditioner = preconditioner(committee, engine)
        say(f"preconditioner with {conditioner.factor.shape[0]} anchors")
        return solve(
            system, committee.rows().y, conditioner, engine, tolerance=tolerance,
            max_iter=max_iter, enough=enough, say=say,
        )  # fmt: skip


def about(committee: Committee, y: Array, engine: Any) -> Committee:
    """The same committee with other targets for the rows that it has kept."""
    c, ends = committee, np.cumsum(committee.sizes)[:-1]
    chunks = [replace(chunk, y=own) for chunk, own in zip(c.chunks(), np.split(y, ends))]
    empty = Committee.start(c.basis.kernel, c.noise, c.basis.Z, y.shape[1], type(c.expert))
    return empty.add(chunks, engine, keep=True)


@dataclass(frozen=True, eq=False)
class Refined(Predictor):
    """Means by the refined weights and the committee's answer about the rest; its variances."""

    own: Predictor  # of a committee whose targets are the rest
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
        """k(x*, X)w  (n, p)."""
        return Expansion(self.kernel, self.X, self.weights).mean(Xs, engine)


def _dot(a: Array, b: Array) -> Array:
    """aᵀb of each column  (p,)."""
    return np.einsum("np,np->p", a, b)


def _ratio(a: Array, b: Array) -> Array:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0.0)
