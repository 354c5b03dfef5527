"""Linear functions through the origin."""

from dataclasses import dataclass, replace

import numpy as np

from .base import fixed_names, theirs
from .constant import Constant
from .leaf import Leaf

Array = np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Linear(Leaf):
    """Σₖ xₖx′ₖ/ℓₖ²: a slope of prior standard deviation 1/ℓₖ for each column."""

    kinds = {"length_scale": "slope"}
    sklearn_twins = {"DotProduct": {}}

    length_scale: float | Array = 1.0

    @classmethod
    def from_sklearn(cls, kernel):
        if theirs(kernel) != "DotProduct":
            return None
        slope = cls(length_scale=1.0)
        if kernel.sigma_0 == 0.0:
            return slope
        return slope + Constant(kernel.sigma_0**2, fixed=fixed_names(kernel, variance="sigma_0"))

    def value(self, X: Array, Z: Array | None = None) -> Array:
        Xs = X.astype(float) / self.length_scale
        return Xs @ (Xs if Z is None else Z.astype(float) / self.length_scale).T

    def diag(self, X: Array) -> Array:
        return ((X / self.length_scale) ** 2).sum(axis=1)

    def vjp(self, X: Array, Z: Array | None, K_bar: Array) -> Array:
        Xs = X / self.length_scale
        if Z is None:  # lower triangle of a symmetric K_bar
            K_bar = np.tril(K_bar) + np.tril(K_bar, -1).T
        Zs = Xs if Z is None else Z / self.length_scale
        return self.gradient(length_scale=-2.0 * (Xs * (K_bar @ Zs)).sum(axis=0))

    def diag_vjp(self, X: Array, d_bar: Array) -> Array:
        return self.gradient(length_scale=-2.0 * d_bar @ (X / self.length_scale) ** 2)

    def scaled(self, factor: float):
        return replace(self, length_scale=self.length_scale / np.sqrt(factor))
