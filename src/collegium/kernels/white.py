"""White noise: independent from row to row."""

from dataclasses import dataclass

import numpy as np

from .leaf import Leaf

Array = np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class White(Leaf):
    """variance · 1[same row]: zero between different sets of rows."""

    kinds = {"variance": "variance"}
    sees_columns = False
    sklearn_twins = {"WhiteKernel": {"variance": "noise_level"}}

    variance: float = 1.0

    def value(self, X: Array, Z: Array | None = None) -> Array:
        if Z is None:
            return self.variance * np.eye(X.shape[0])
        return np.zeros((X.shape[0], Z.shape[0]))

    def reach(self, gaps: Array) -> Array:
        """Zero: different sets of rows are independent."""
        return np.zeros(gaps.shape[0])

    def vjp(self, X: Array, Z: Array | None, K_bar: Array) -> Array:
        return self.gradient(variance=self.variance * np.trace(K_bar) if Z is None else 0.0)
