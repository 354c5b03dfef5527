"""The exact GP at a committee's price: conjugate gradients with the committee as preconditioner.

(K + Ψ)w = y is solved with kernel products computed in blocks and never stored. The committee
of chunks with anchors is the same system with K replaced by VᵀV between chunks,

    M = VᵀV + blockdiag(Rᵢ),   M⁻¹ = R⁻¹ − R⁻¹Vᵀ Λ⁻¹ V R⁻¹,   Λ = I + VR⁻¹Vᵀ (Woodbury),

so what it knows already is what the iterations start from, and they have to find the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from .message import Belief

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Preconditioner:
    """M⁻¹ of a committee: the factor of each chunk's R, its design, and the belief."""

    designs: Sequence[Array]  # V_i  (m, n_i)
    factors: Sequence[Array]  # of R_i  (n_i, n_i)
    belief: Belief

    @classmethod
    def of(
        cls, basis: Anchors, noise: float, chunks: Sequence[Chunk], belief: Belief, engine: Any
    ) -> Preconditioner:
        def factorise(chunk: Chunk) -> tuple[Array, Array]:
            given = Block(noise).condition(basis, chunk)
            assert isinstance(given.R, Full)
            return given.V, given.R.L

        designs, factors = zip(*engine.map(factorise, chunks))
        return cls(designs, factors, belief)

    def solve(self, parts: Sequence[Array], engine: Any) -> list[Array]:
        """M⁻¹r, r in the chunks' parts  (n_i, p) each."""

        def first(i: int) -> tuple[Array, Array]:
            inner = linalg.solve_posdef(self.factors[i], parts[i])
            return inner, self.designs[i] @ inner

        found = engine.map(first, range(len(parts)))
        total = linalg.solve_posdef(self.belief.factor, np.sum([g for _, g in found], axis=0))

        def second(i: int) -> Array:
            return found[i][0] - linalg.solve_posdef(self.factors[i], self.designs[i].T @ total)

        return engine.map(second, range(len(parts)))


def product(
    kernel: Kernel, noise: float, chunks: Sequence[Chunk], parts: Sequence[Array], engine: Any
) -> list[Array]:
    """(K + Ψ)w in the chunks' parts; every kernel value is computed once and used twice."""

    def row(i: int) -> tuple[Array, list[Array]]:
        own = chunks[i]
        total = kernel.value(own.X) @ parts[i] + (noise / own.w)[:, None] * parts[i]
        across = []
        for j in range(i):
            K = kernel.value(own.X, chunks[j].X)
            total += K @ parts[j]
            across.append(K.T @ parts[i])
        return total, across

    found = engine.map(row, range(len(chunks)))
    totals = [total for total, _ in found]
    for _, across in found:
        for j, part in enumerate(across):
            totals[j] = totals[j] + part
    return totals


@dataclass(frozen=True, eq=False)
class Solution:
    """Weights of all rows, and how well they solve the system."""

    weights: list[Array]  # (n_i, p) each
    residuals: Array  # ‖y − (K + Ψ)w‖/‖y‖ before each iteration and after the last  (k + 1,)


def solve(
    kernel: Kernel, noise: float, chunks: Sequence[Chunk], conditioner: Preconditioner,
    engine: Any, *, tolerance: float, max_iter: int, say: Callable[[str], None] = lambda text: None,
) -> Solution:  # fmt: skip
    """Preconditioned conjugate gradients for (K + Ψ)w = y, each output a system of its own.

    Starts from M⁻¹y, the committee's own weights.
    """
    y = [chunk.y for chunk in chunks]
    size = np.maximum(np.sqrt(_dot(y, y)), 1e-300)
    w = conditioner.solve(y, engine)
    r = [a - b for a, b in zip(y, product(kernel, noise, chunks, w, engine))]
    residuals = [float((np.sqrt(_dot(r, r)) / size).max())]
    z = conditioner.solve(r, engine)
    direction, rz = z, _dot(r, z)
    for k in range(max_iter):
        say(f"conjugate gradients: residual {residuals[-1]:.1e} after {k} iterations")
        if residuals[-1] <= tolerance:
            break
        Kd = product(kernel, noise, chunks, direction, engine)
        step = _ratio(rz, _dot(direction, Kd))
        w = [a + step * d for a, d in zip(w, direction)]
        r = [a - step * d for a, d in zip(r, Kd)]
        residuals.append(float((np.sqrt(_dot(r, r)) / size).max()))
        z = conditioner.solve(r, engine)
        before, rz = rz, _dot(r, z)
        direction = [a + _ratio(rz, before) * d for a, d in zip(z, direction)]
    return Solution(w, np.array(residuals))


def refined(
    committee: Committee, engine: Any, *, tolerance: float, max_iter: int,
    say: Callable[[str], None] = lambda text: None,
) -> Solution:  # fmt: skip
    """The exact GP's weights for the rows that a committee has kept."""
    c, chunks = committee, committee.chunks()
    conditioner = Preconditioner.of(c.basis, c.noise, chunks, c.belief, engine)
    return solve(
        c.basis.kernel, c.noise, chunks, conditioner, engine, tolerance=tolerance,
        max_iter=max_iter, say=say,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Refined(Predictor):
    """Means by the refined weights, k(x*, X)w; variances by the committee's own predictor."""

    own: Predictor
    kernel: Kernel
    X: Array  # (n, d)
    weights: Array  # (n, p)

    def mean(self, Xs: Array, engine: Any) -> Array:
        return Expansion(self.kernel, self.X, self.weights).mean(Xs, engine)

    def predict(self, Xs: Array, engine: Any) -> Prediction:
        return Prediction(self.mean(Xs, engine), self.own.predict(Xs, engine).variance)

    def joint(self, Xs: Array, engine: Any) -> tuple[Prediction, Array]:
        found, covariance = self.own.joint(Xs, engine)
        return Prediction(self.mean(Xs, engine), found.variance), covariance


def _dot(a: Sequence[Array], b: Sequence[Array]) -> Array:
    """Σ aᵢbᵢ of each column  (p,)."""
    return np.sum([np.einsum("np,np->p", x, y) for x, y in zip(a, b)], axis=0)


def _ratio(a: Array, b: Array) -> Array:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0.0)
