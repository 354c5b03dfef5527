"""Local experts: the model of one expert, and the arrays that hold all of them.

Expert k has a centre x_c. For a row, x = [(x_i − x_c)/u, 1] (D = d + 1), u a unit of length:

    y_i = β_iᵀx + ε,   β_i ~ N(β, C_i),   C_i = diag_j(ρ_i/h_j),   ρ_i = xᵀx,   ε ~ N(0, σ²)

so the line misses y by a variance γ_i = xᵀC_ix = ρ_i Σ_j x_j²/h_j, which grows away from the
centre. Priors: β ~ N(μ0, S0), h_j ~ Gamma(a0, b0), σ² ~ InvGamma(c0, d0). The posterior is kept
as μ, S, Gamma(a_j, b_j), InvGamma(c, d); ⟨h_j⟩ = a_j/b_j and s = 1/⟨σ⁻²⟩ = d/c.

Local: a row counts K_i = exp(−(ρ_i − 1)/2) times, S is full, β_i are integrated out.
Published (`local=False`): every expert uses every row in full, S is diagonal, and q(β_i) is a
factor of its own (mean field).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..numerics.records import record

Array = np.ndarray


@record("rvc.assumptions/1")
@dataclass(frozen=True, eq=False)
class Assumptions:
    """Prior of all experts of a committee; X and y are scaled to variance one."""

    unit: float  # u
    local: bool
    slope: Array  # (d,)  prior mean of the slopes of f
    slope_variance: float  # prior variance of each slope
    level_variance: float  # prior variance of f at a centre
    a0: float
    b0: float
    c0: float
    d0: float

    @property
    def d(self) -> int:
        return self.slope.size

    def prior_variance(self) -> Array:
        """Diagonal of S0, in the units of x."""
        slopes = np.full(self.d, self.slope_variance * self.unit**2)
        return np.append(slopes, self.level_variance)


class ExpertArrays(NamedTuple):
    """Arrays of `Experts`, as compiled loops take them."""

    centres: Array
    mu: Array
    start: Array
    factor: Array
    a: Array
    b: Array
    c: Array
    d: Array
    seen: Array
    times: Array


@record("rvc.experts/1")
@dataclass(frozen=True, eq=False)
class Experts:
    """Experts in arrays of M entries: the first `size` are in use, the others are free.

    S_k = U diag(v) Uᵀ, U unit upper triangular: `factor` holds v on its diagonal and U above it.
    As published S_k = diag(v), and `factor` has one row.
    """

    size: int
    centres: Array  # (M, d)
    mu: Array  # (M, D)
    start: Array  # μ0  (M, D)
    factor: Array  # (M, D, D) or (M, 1, D)
    a: Array  # (M, D)
    b: Array  # (M, D)
    c: Array  # (M,)
    d: Array  # (M,)
    seen: Array  # (M,)  rows, each by its weight
    times: Array  # (M, 3)  number of the row that added it; of the last near row; near rows

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong together, as a forged file may have them."""
        (M, d), D = self.centres.shape, self.mu.shape[-1]
        shapes = {
            "mu": (M, D), "start": (M, D), "a": (M, D), "b": (M, D), "c": (M,), "d": (M,),
            "seen": (M,), "times": (M, 3),
        }  # fmt: skip
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} has the shape {getattr(self, name).shape}, not {shape}")
        if self.factor.shape not in ((M, D, D), (M, 1, D)) or D != d + 1 or self.size > M:
            raise ValueError(f"{self.size} experts in arrays of {self.factor.shape}, D = {D}")

    @classmethod
    def none(cls, room: int, assumed: Assumptions) -> Experts:
        """Start without experts, with room for this many."""
        D = assumed.d + 1
        return cls(
            size=0, centres=np.zeros((room, assumed.d)), mu=np.zeros((room, D)),
            start=np.zeros((room, D)), factor=np.zeros((room, D if assumed.local else 1, D)),
            a=np.ones((room, D)), b=np.ones((room, D)), c=np.ones(room), d=np.ones(room),
            seen=np.zeros(room), times=np.zeros((room, 3)),
        )  # fmt: skip

    @classmethod
    def at(cls, centres: Array, assumed: Assumptions, level: float = 0.0) -> Experts:
        """Place experts at the prior, with mean f = level + slopeᵀx."""
        found = cls.none(centres.shape[0], assumed)
        found.centres[:] = centres
        found.start[:, :-1] = assumed.slope * assumed.unit
        found.start[:, -1] = level + centres @ assumed.slope
        found.mu[:] = found.start
        found.factor[:] = _initial(assumed)
        found.a[:], found.b[:] = assumed.a0, assumed.b0
        found.c[:], found.d[:] = assumed.c0, assumed.d0
        return replace(found, size=centres.shape[0])

    def arrays(self) -> ExpertArrays:
        return ExpertArrays(
            self.centres, self.mu, self.start, self.factor, self.a, self.b, self.c, self.d,
            self.seen, self.times,
        )  # fmt: skip

    @staticmethod
    def bytes(room: int, d: int, *, local: bool) -> float:
        """Size of arrays with room for this many experts of d columns."""
        D = d + 1.0
        return 8.0 * room * (5.0 * D + (D * D if local else D) + 6.0)

    def copy(self) -> Experts:
        return Experts(self.size, *(array.copy() for array in self.arrays()))

    def with_room(self, room: int) -> Experts:
        """Copy the experts into arrays of `room` entries."""
        arrays = []
        for array in self.arrays():
            wider = np.ones((room, *array.shape[1:]))
            wider[: self.size] = array[: self.size]
            arrays.append(wider)
        return Experts(self.size, *arrays)

    def covariance(self) -> Array:
        """S  (size, D, D)."""
        factor = self.factor[: self.size]
        if factor.shape[1] == 1:
            return factor[:, 0, :, None] * np.eye(factor.shape[2])
        v = np.einsum("kii->ki", factor)
        U = np.triu(factor, 1) + np.eye(factor.shape[2])
        return np.einsum("kij,kj,klj->kil", U, v, U)

    def spread(self) -> Array:
        """Diagonals of S  (size, D)."""
        factor = self.factor[: self.size]
        if factor.shape[1] == 1:
            return factor[:, 0].copy()
        v = np.einsum("kii->ki", factor)
        return v + (np.triu(factor, 1) ** 2 @ v[:, :, None])[:, :, 0]  # Σ_j U_ij² v_j, U_ii = 1

    def noise(self) -> Array:
        """s  (size,)."""
        return self.d[: self.size] / self.c[: self.size]

    def misfit(self) -> Array:
        """1/⟨h⟩  (size, D)."""
        return self.b[: self.size] / self.a[: self.size]


def _initial(assumed: Assumptions) -> Array:
    """`factor` of the prior: S0."""
    v = assumed.prior_variance()
    return np.diag(v) if assumed.local else v[None]


def factored(root: Array) -> Array:
    """`factor` of S = RRᵀ, R (D, D) upper triangular."""
    scale = np.diag(root)
    found = root / scale
    np.fill_diagonal(found, scale**2)
    return found
