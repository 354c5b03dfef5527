"""Constant functions."""

from dataclasses import dataclass

import numpy as np

from .leaf import Leaf

Array = np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Leaf):
    """variance: an unknown level. As a factor it scales the other kernel's variance."""

    kinds = {"variance": "variance"}
    sees_columns = False
    sklearn_twins = {"ConstantKernel": {"variance": "constant_value"}}

    variance: float = 1.0

    def value(self, X: Array, Z: Array | None = None) -> Array:
        return np.full((X.shape[0], X.shape[0] if Z is None else Z.shape[0]), self.variance)

    def reach(self, gaps: Array) -> Array:
        return np.full(gaps.shape[0], self.variance)

    def vjp(self, X: Array, Z: Array | None, K_bar: Array) -> Array:
        if Z is None:  # lower triangle of a symmetric K_bar
            total = 2.0 * np.tril(K_bar, -1).sum() + np.trace(K_bar)
        else:
            total = K_bar.sum()
        return self.gradient(variance=self.variance * total)
