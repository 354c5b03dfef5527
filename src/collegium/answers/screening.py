"""Finds chunks that can be skipped for a set of queries, within a stated tolerance.

Skip chunks S of a committee about v (prior N(0, I)) and write Ṽ = V_SΨ^(−½), ỹ = Ψ^(−½)y.
R ⪰ Ψ gives Λ_S ⪯ ṼṼᵀ ⪯ δI with δ = ‖Ṽ‖²_F, and ‖E[v]‖ ≤ ‖ỹ‖, so for any tᵀv

    |change of the mean| ≤ √δ (1 + √δ) ‖ỹ‖ · (posterior standard deviation of tᵀv)
    change of the variance ≤ δ · (posterior variance of tᵀv)

A row x adds ‖L⁻¹k(Z, x)‖² w/σ² ≤ ‖K(Z, Z)⁻¹‖ Σ_z k(z, x)² w/σ² to δ, and k(z, x) is at most
the kernel's reach over the gap between z and the box that holds the chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..messages.basis import Anchors
from ..numerics import linalg
from ..rows.chunk import Chunk

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class ChunkBoxes:
    """Bounding box, weight and sum of squares of each chunk."""

    low: Array  # (M, d)
    high: Array  # (M, d)
    weight: Array  # Σ w  (M,)
    squares: Array  # Σ w y² of the output with the largest total  (M,)

    @classmethod
    def of(cls, chunks: Sequence[Chunk]) -> ChunkBoxes:
        squares = np.array([(chunk.w[:, None] * chunk.y**2).sum(axis=0) for chunk in chunks])
        return cls(
            np.array([chunk.X.min(axis=0) for chunk in chunks]),
            np.array([chunk.X.max(axis=0) for chunk in chunks]),
            np.array([chunk.w.sum() for chunk in chunks]),
            squares[:, squares.sum(axis=0).argmax()],
        )

    def matter(self, basis: Anchors, noise: float, tolerance: float) -> Array:
        """Numbers of the chunks to use. Skipping all others moves no mean by more than
        `tolerance` posterior standard deviations and no variance by more than that share.
        """
        every = np.arange(self.weight.size)
        if tolerance <= 0.0 or noise <= 0.0 or every.size < 2:
            return every
        covariance = np.array([self._squared_reach(basis, i) for i in range(every.size)])
        least = self.weight * covariance / noise
        largest = self._largest(tolerance, noise)
        if not (np.sort(least / max(basis.scale(basis.Z), 1e-300))[0] <= largest):
            return every  # ‖K⁻¹‖ ≥ 1/max k(z, z): none can be skipped
        inverse = float(linalg.inverse_posdef(basis.factor).diagonal().sum())  # ≥ ‖K(Z, Z)⁻¹‖
        delta = inverse * least
        order = np.argsort(delta, kind="stable")
        skipped = np.cumsum(delta[order]) <= largest
        return np.sort(order[~skipped])

    def _largest(self, tolerance: float, noise: float) -> float:
        """Largest δ with √δ(1 + √δ)‖ỹ‖ ≤ tolerance and δ ≤ tolerance."""
        size = np.sqrt(self.squares.sum() / noise)
        root = 0.5 * (np.sqrt(1.0 + 4.0 * tolerance / max(size, 1e-300)) - 1.0)
        return float(min(root**2, tolerance))

    def _squared_reach(self, basis: Anchors, i: int) -> float:
        """Σ_z max_x k(z, x)² over the box of chunk i."""
        gaps = np.maximum(np.maximum(self.low[i] - basis.Z, basis.Z - self.high[i]), 0.0)
        with np.errstate(over="ignore"):
            return float((basis.kernel.reach(gaps) ** 2).sum())
