"""Messages, and the committee that adds them. Read this file first.

A chunk of data says what it knows about a finite vector u — function values at anchors, or
weights — as an unnormalised Gaussian factor, a *message*. Natural parameters add, so a
committee is a sum:

    Λ = Λ₀ + Σᵢ Λᵢ        h = h₀ + Σᵢ hᵢ        c = c₀ + Σᵢ cᵢ

Add one more message: online learning. Subtract one: exact unlearning. Scale the sum:
forgetting. Sum in any order, on any machine: distributed learning. `normalise` turns the sum
into a belief; it is the only place where a precision is factorised.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..numerics import linalg
from ..numerics.linalg import LOG_2PI

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Message:
    """exp(-½ uᵀΛu + hᵀu + c): an unnormalised Gaussian factor over u. Λ may be singular."""

    precision: Array  # Λ  (m, m)
    shift: Array  # h  (m, p)  one column an output
    log_scale: Array  # c  (p,)

    @classmethod
    def zero(cls, m: int, p: int = 1) -> Message:
        """The message that says nothing: the constant 1."""
        return cls(np.zeros((m, m)), np.zeros((m, p)), np.zeros(p))

    @classmethod
    def standard_normal(cls, m: int, p: int = 1) -> Message:
        """N(0, I): the prior in whitened coordinates."""
        return cls(np.eye(m), np.zeros((m, p)), np.full(p, -0.5 * m * LOG_2PI))

    def __add__(self, other: Message) -> Message:
        return Message(
            self.precision + other.precision,
            self.shift + other.shift,
            self.log_scale + other.log_scale,
        )

    def __sub__(self, other: Message) -> Message:
        return self + (-1.0) * other

    def __mul__(self, power: float) -> Message:
        """The factor raised to a power: forgetting (< 1), or `power` equal chunks."""
        return Message(power * self.precision, power * self.shift, power * self.log_scale)

    __rmul__ = __mul__

    def log_density(self, u: Array) -> Array:
        """log m(u) for each output, u (m, p) -> (p,)."""
        return (
            -0.5 * np.einsum("mp,mn,np->p", u, self.precision, u)
            + (self.shift * u).sum(axis=0)
            + self.log_scale
        )


@dataclass(frozen=True, eq=False)
class Belief:
    """N(mean, Λ⁻¹) over u, one mean an output, and the log evidence of what was added up."""

    mean: Array  # Λ⁻¹h  (m, p)
    factor: Array  # L, LLᵀ = Λ  (m, m)
    log_evidence: Array  # c + ½ hᵀΛ⁻¹h − ½ log|Λ| + (m/2) log 2π  (p,)

    @cached_property
    def covariance(self) -> Array:
        """Λ⁻¹  (m, m)."""
        return linalg.mirror(linalg.inverse_posdef(self.factor))

    def spread(self, T: Array) -> Array:
        """L⁻¹T, T (m, n): its Gram matrix is TᵀΛ⁻¹T, its column norms the variances of Tᵀu."""
        return linalg.solve_lower(self.factor, T)


def normalise(message: Message) -> Belief:
    """The Gaussian that is proportional to the message, and its log normaliser.

    A precision that rounding or subtraction left indefinite is repaired by the jitter policy.
    """
    m = message.precision.shape[0]
    scale = float(np.abs(message.precision.diagonal()).max(initial=0.0)) or 1.0
    L, _ = linalg.cholesky(message.precision, scale)
    a = linalg.solve_lower(L, message.shift)  # L⁻¹h  (m, p)
    log_evidence = (
        message.log_scale + 0.5 * (a * a).sum(axis=0) - 0.5 * linalg.log_det(L) + 0.5 * m * LOG_2PI
    )
    return Belief(linalg.solve_upper(L, a), L, log_evidence)
