"""Kernels of finitely many features, whose coefficients all chunks may share exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .leaf import Leaf

Array = np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Featured(Leaf, listed=False):
    """variance · h(x)ᵀh(x′): f = hᵀβ, β ~ N(0, variance · I).

    Where nothing of it is learnt, a term of a sum becomes part of the basis (`split_trend`).
    """

    variance: float = 1.0

    def features(self, X: Array) -> Array:
        """h(x)  (n, count)."""
        raise TypeError("abstract kernel")

    def count(self, d: int) -> int:
        """Count the features of rows of d columns."""
        raise TypeError("abstract kernel")
