"""Project the prior of f onto a basis (Zhu & Rohwer 1995, sec. 2).

    P_M f(x) = φ(x)ᵀw,  w = H⁻¹∫φpf ~ N(0, S₀),  S₀ = H⁻¹CH⁻¹        (eqs 2.6–2.9)

In an orthonormal basis (E, EᵀHE = I) w is z = ∫Eᵀφ p f with covariance EᵀCE = QΛQᵀ, and along
the eigenvectors, divided by their standard deviations, it is v ~ N(0, I):

    P_M f(x) = V(x)ᵀv,   V(x) = Λ^½QᵀEᵀφ(x)
    E[f(x) | v] = a(x)ᵀv,   a(x) = Λ^−½QᵀEᵀc(x),   var[f(x) | v] = V₀(x, x) − a(x)ᵀa(x)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels import Kernel
from ..numerics.records import record
from .bases import FilterBasis
from .densities import Density, Empirical
from .rules import Nodes, Rule, rule_for
from .tuning import TUNING

Array = np.ndarray
ROUNDING = 2.0**-52


@record("filter.projection/1")
@dataclass(frozen=True, eq=False)
class Projection:
    """V(x) = featuresᵀφ(x) and a(x) = crossᵀc(x)."""

    rule: Rule
    kernel: Kernel
    features: Array  # EQΛ^½  (m, r)
    cross: Array  # EQΛ^−½  (m, r)

    @classmethod
    def of(cls, rule: Rule, kernel: Kernel, cut: float) -> Projection:
        E = rule.orthonormal(cut)
        variances, Q = np.linalg.eigh(_symmetric(rule.covariance(kernel, E)))
        largest = max(float(variances[-1:].sum()), 1e-300)
        keep = variances > variances.size * ROUNDING * largest
        root, EQ = np.sqrt(variances[keep]), E @ Q[:, keep]
        sure = variances[keep] > TUNING.least_variance * largest  # a(x) is zero along the others
        return cls(rule, kernel, EQ * root, EQ * np.where(sure, 1.0 / root, 0.0))

    @property
    def r(self) -> int:
        return self.features.shape[1]

    def conditional(self, X: Array) -> Array:
        """a(x)  (n, r)."""
        return self.rule.cross(self.kernel, X) @ self.cross

    def left(self, X: Array, a: Array) -> Array:
        """var[f(x) | v], never negative  (n,)."""
        return np.maximum(self.kernel.diag(X) - (a * a).sum(axis=1), 0.0)


def _symmetric(A: Array) -> Array:
    return 0.5 * (A + A.T)


def projection_error(basis: FilterBasis, density: Density, kernel: Kernel) -> float:
    """Largest difference of C from that of a finer rule, relative to its largest entry.

    Closed forms: 0. Averages over inputs: half the difference between two halves of them.
    """
    rule, whole = rule_for(basis, density, kernel), np.eye(basis.m)
    if isinstance(rule, Nodes) and isinstance(density, Empirical):
        q = density.points.shape[0]
        if q < 2:
            return 1.0
        one, other = (
            Nodes.of(basis, Empirical(density.points[i::2]), q).covariance(kernel, whole)
            for i in range(2)
        )
        return 0.5 * _apart(one, other)
    finer = (
        Nodes.of(basis, density, 2 * rule.weights.size) if isinstance(rule, Nodes) else rule.finer()
    )
    if finer is None:
        return 0.0
    return _apart(rule.covariance(kernel, whole), finer.covariance(kernel, whole))


def _apart(one: Array, other: Array) -> float:
    return float(np.abs(one - other).max() / max(np.abs(other).max(), 1e-300))
