"""Nested kriging (NPAE): the best linear combination of experts' means (Rullière et al. 2018).

Expert i predicts Mᵢ = wᵢᵀyᵢ, wᵢ = (K + Ψ)⁻¹k(Xᵢ, x*). Under the prior

    cov(Mᵢ, f*) = wᵢᵀk(Xᵢ, x*)      cov(Mᵢ, Mⱼ) = wᵢᵀ(K(Xᵢ, Xⱼ) + Ψ where rows are the same)wⱼ

so a = cov(M, M)⁻¹cov(M, f*) gives E[f* | M] = aᵀM and var[f* | M] = k** − aᵀcov(M, f*).
All pairs of rows count: O(n²) per query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..messages.basis import NUGGET
from ..numerics import linalg
from ..rows.chunk import Chunk
from .pointwise import LEAST

Array = np.ndarray


def best_linear(cross: Array, joint: Array, prior: Array) -> Array:
    """a = cov(M, M)⁻¹cov(M, f) of each query: cross (M, q), joint (M, M, q), k** (q,) -> (M, q).

    Solved in units of the experts' own deviations; an expert without information gets zero.
    """
    M, q = cross.shape
    a = np.zeros((M, q))
    deviation = np.sqrt(np.maximum(np.einsum("iiq->iq", joint), 0.0))
    known = deviation > np.maximum(LEAST * deviation.max(axis=0), 1e-100 * np.sqrt(prior))
    for j in range(q):
        at = np.flatnonzero(known[:, j])
        d = deviation[at, j]
        C = joint[:, :, j][np.ix_(at, at)] / np.outer(d, d)
        L, _ = linalg.cholesky(C, 1.0, nugget=NUGGET, overwrite=True)
        a[at, j] = linalg.solve_posdef(L, cross[at, j] / d) / d
    return a


def kriging_weights(kernel: Kernel, noise: float, chunk: Chunk, Xs: Array) -> Array:
    """(K + Ψ)⁻¹K(X, X*) of one expert  (n, q)."""
    X, _, w = chunk.load()
    C = kernel.value(X)
    linalg.add_diagonal(C, noise / w)
    L, _ = linalg.cholesky(C, float(kernel.diag(X).max()) or 1.0, overwrite=True)
    return linalg.solve_posdef(L, kernel.value(Xs, X).T)


def covariances(
    kernel: Kernel, chunks: Sequence[Chunk], W: Sequence[Array], Xs: Array, engine: Any
) -> tuple[Array, Array]:
    """cov(Mᵢ, f*)  (M, q)  and  cov(Mᵢ, Mⱼ)  (M, M, q)  for chunks that share no row."""
    M, q = len(chunks), Xs.shape[0]
    cross = np.array(
        [np.einsum("nq,nq->q", Wi, kernel.value(Xs, c.X).T) for c, Wi in zip(chunks, W)]
    )
    joint = np.empty((M, M, q))

    def row(i: int) -> list[Array]:
        return [
            np.einsum("nq,nq->q", W[i], kernel.value(chunks[i].X, chunks[j].X) @ W[j])
            for j in range(i)
        ]

    for i, found in enumerate(engine.map(row, range(M))):
        joint[i, i] = cross[i]  # wᵀ(K + Ψ)w = wᵀk
        for j, value in enumerate(found):
            joint[i, j] = joint[j, i] = value
    return cross, joint


def error_covariance(
    kernel: Kernel, noise: float, chunks: Sequence[Chunk], omega: Sequence[Array], Xs: Array
) -> Array:
    """cov(f* − Σωᵢᵀyᵢ) of predictions linear in y: K** − ωᵀK − Kᵀω + ωᵀ(K + Ψ)ω  (q, q)."""
    total = kernel.value(Xs)
    for i, (own, w_own) in enumerate(zip(chunks, omega)):
        half = w_own.T @ kernel.value(own.X, Xs)
        inner = w_own.T @ (kernel.value(own.X) @ w_own + (noise / own.w)[:, None] * w_own)
        for other, w_other in zip(chunks[:i], omega[:i]):
            pair = w_own.T @ (kernel.value(own.X, other.X) @ w_other)
            inner += pair + pair.T
        total += inner - half - half.T
    return 0.5 * (total + total.T)
