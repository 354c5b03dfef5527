"""Log evidence and its gradient: a sum of messages, then a sum of replies.

With anchors this is the committee's own evidence (PITC for `Block`). Without anchors the chunks
are independent and it is Σᵢ log p(yᵢ | Xᵢ, θ), computed in one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..kernels.composite import Sum
from ..numerics import linalg
from ..numerics.linalg import LOG_2PI
from ..rows.chunk import Chunk, rows_of
from ..rows.rows import Rows
from .basis import Anchors, Basis
from .experts.base import Expert, log_repeats, noise_share
from .experts.block import Block
from .message import normalise

Array = np.ndarray
#: Relative step of a parameter, in differences of covariances.
STEP = 2.0**-13


def evidence(
    basis: Basis, expert: Expert, chunks: Sequence[Chunk], engine: Any
) -> tuple[float, Array]:
    """log p(y), summed over outputs, and its gradient in (θ, log σ²)."""
    p = chunks[0].load()[1].shape[1]
    send = partial(expert.send, basis)
    belief = normalise(engine.sum(send, chunks, basis.prior(p)))
    reply = partial(expert.reply, basis, belief=belief)
    gradient = engine.sum(reply, chunks, basis.no_gradient())
    return float(belief.log_evidence.sum()), np.append(basis.finish(gradient), gradient.noise)


def anchored(
    kernel: Kernel, noise: float, Z: Array, chunks: Sequence[Chunk], engine: Any,
    expert: type[Expert] = Block,
) -> tuple[float, Array]:  # fmt: skip
    """Log evidence of the committee with anchors Z, and its gradient; PITC for `Block`."""
    return evidence(Anchors.at(kernel, Z), expert(noise), chunks, engine)


def factorised(
    kernel: Kernel, noise: float, chunks: Sequence[Chunk], engine: Any
) -> tuple[float, Array]:
    """Σᵢ log p(yᵢ | Xᵢ, θ) of independent chunks, and its gradient, one factorisation per chunk."""
    nothing = Evidence(0.0, np.zeros(kernel.theta.size + 1))
    total = engine.sum(partial(_chunk_evidence, kernel, noise), chunks, nothing)
    return total.value, total.gradient


def information(
    kernel: Kernel, noise: float, chunks: Sequence[Chunk], engine: Any, most: int
) -> Array:
    """Average of the observed and the expected information about (θ, log σ²), of independent
    chunks, estimated from at most so many of them  (q + 1, q + 1).

    ½ Σ αᵀRᵢR⁻¹Rⱼα with Rᵢ = ∂R/∂θᵢ and α = R⁻¹y, by differences in θ (Gilmour, Thompson &
    Cullis 1995): positive semidefinite, and much cheaper than either.
    """
    some = chunks[:: -(-len(chunks) // most)]
    share = sum(chunk.n for chunk in chunks) / sum(chunk.n for chunk in some)
    q = kernel.theta.size
    work = partial(_chunk_information, kernel, noise)
    return share * engine.sum(work, some, np.zeros((q + 1, q + 1)))


@dataclass(frozen=True, eq=False)
class Evidence:
    """A log evidence with its gradient in (θ, log σ²), as a term of a sum."""

    value: float
    gradient: Array  # (q + 1,)

    def __add__(self, other: Evidence) -> Evidence:
        return Evidence(self.value + other.value, self.gradient + other.gradient)


@dataclass(frozen=True, eq=False)
class _Solved:
    """R = K(X, X) + Ψ = LLᵀ of the rows of a chunk, and α = R⁻¹y."""

    rows: Rows
    L: Array  # (n, n)
    alpha: Array  # (n, p)

    @classmethod
    def of(cls, kernel: Kernel, noise: float, chunk: Chunk) -> _Solved:
        rows = rows_of(chunk)
        scale = float(kernel.diag(rows.X).max(initial=0.0)) or 1.0
        R = linalg.add_diagonal(kernel.value(rows.X), rows.psi(noise))
        L, _ = linalg.cholesky(R, scale, overwrite=True)
        return cls(rows, L, linalg.solve_posdef(L, rows.y))

    def log_density(self, noise: float) -> float:
        """log N(y; 0, R), summed over outputs, with the factor of repeated rows."""
        y, p = self.rows.y, self.rows.y.shape[1]
        own = y.shape[0] * LOG_2PI + linalg.log_det(self.L)
        return float(p * (log_repeats(self.rows, noise) - 0.5 * own) - 0.5 * np.vdot(y, self.alpha))


def _chunk_evidence(kernel: Kernel, noise: float, chunk: Chunk) -> Evidence:
    """log p(y) of one chunk without anchors, and its gradient: R̄ = ½(ααᵀ − pR⁻¹)."""
    given = _Solved.of(kernel, noise, chunk)
    rows, p = given.rows, given.rows.y.shape[1]
    value = given.log_density(noise)
    R_bar = linalg.inverse_posdef(given.L)
    linalg.subtract_gram(R_bar, given.alpha / np.sqrt(p))
    R_bar *= -0.5 * p
    more = 0.5 * p * ((rows.w - 1.0) * noise_share(rows, noise)).sum()
    own = float((R_bar.diagonal() * noise / rows.w).sum() - more)
    return Evidence(value, np.append(kernel.vjp(rows.X, None, R_bar), own))


def _chunk_information(kernel: Kernel, noise: float, chunk: Chunk) -> Array:
    """½ VᵀR⁻¹V summed over outputs, V = [Rᵢα]."""
    given = _Solved.of(kernel, noise, chunk)
    rows, alpha = given.rows, given.alpha
    V = [*_products(kernel, rows.X, alpha), noise / rows.w[:, None] * alpha]
    white = linalg.solve_lower(given.L, np.concatenate(V, axis=1))  # (n, (q + 1)p)
    each = white.reshape(rows.w.size, len(V), -1)
    return 0.5 * np.einsum("nip,njp->ij", each, each)


def _products(kernel: Kernel, X: Array, alpha: Array) -> list[Array]:
    """∂K(X, X)/∂θᵢ α for each i, by differences; of a sum, part by part  (q of shape (n, p))."""
    if isinstance(kernel, Sum):
        return [one for part in kernel.parts for one in _products(part, X, alpha)]
    q, size = kernel.theta.size, np.log1p(STEP)
    if q == 0:
        return []
    before = kernel.value(X) @ alpha
    moved = (kernel.times(np.where(np.arange(q) == i, 1.0 + STEP, 1.0)) for i in range(q))
    return [(other.value(X) @ alpha - before) / size for other in moved]
