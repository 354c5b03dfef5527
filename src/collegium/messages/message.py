"""Messages and beliefs: the one idea of this library. Read this file first.

The rows are cut into chunks. Each chunk summarises its rows by a Gaussian factor over a vector u,
the values of the function at some anchors (or the weights of some features),

    m(u) = exp(−½ uᵀΛu + hᵀu + c)        its *message*.

Given u, chunks are treated as independent. So the posterior of u is the prior times the messages
of all chunks, and in natural parameters the product is a sum:

    Λ = Λ₀ + Σᵢ Λᵢ        h = h₀ + Σᵢ hᵢ        c = c₀ + Σᵢ cᵢ

This is a Bayesian committee machine (Tresp 2000). `normalise` turns the sum into a *belief*, the
Gaussian N(Λ⁻¹h, Λ⁻¹) with the log evidence log p(y):

    belief = normalise(prior + message_1 + message_2 + ...)

    add one more message              online learning
    subtract a message                exact unlearning
    multiply the sum by λ < 1         forgetting
    add in any order, anywhere        distributed learning

Where to go from here: `basis.py` defines u, `experts/` computes the message of a chunk,
`total.py` adds messages exactly, `committee.py` keeps the sum and rows, `evidence.py`
differentiates the log evidence. Predictions are in `answers/`, non-Gaussian targets in `laplace/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..numerics import linalg
from ..numerics.linalg import LOG_2PI
from ..numerics.records import record

Array = np.ndarray


@record("messages.message/1")
@dataclass(frozen=True, eq=False)
class Message:
    """exp(−½ uᵀΛu + hᵀu + c): an unnormalised Gaussian factor over u. Λ may be singular.

    p outputs share Λ; each has its own h and c.
    """

    precision: Array  # Λ  (m, m)
    shift: Array  # h  (m, p)
    log_scale: Array  # c  (p,)

    @classmethod
    def zero(cls, m: int, p: int = 1) -> Message:
        """m(u) = 1: no information."""
        return cls(np.zeros((m, m)), np.zeros((m, p)), np.zeros(p))

    @classmethod
    def standard_normal(cls, m: int, p: int = 1) -> Message:
        """m(u) = N(u; 0, I): the prior in whitened coordinates."""
        return cls(np.eye(m), np.zeros((m, p)), np.full(p, -0.5 * m * LOG_2PI))

    def __add__(self, other: Message) -> Message:
        """Multiply two factors."""
        return Message(
            self.precision + other.precision,
            self.shift + other.shift,
            self.log_scale + other.log_scale,
        )

    def __sub__(self, other: Message) -> Message:
        """Divide two factors: `a + b - b` is `a`, up to rounding."""
        return self + (-1.0) * other

    def __mul__(self, power: float) -> Message:
        """Raise the factor to a power: `power` equal chunks, or forgetting (power < 1)."""
        return Message(power * self.precision, power * self.shift, power * self.log_scale)

    __rmul__ = __mul__

    def log_density(self, u: Array) -> Array:
        """log m(u) per output, u (m, p) -> (p,)."""
        return (
            -0.5 * np.einsum("mp,mn,np->p", u, self.precision, u)
            + (self.shift * u).sum(axis=0)
            + self.log_scale
        )


@record("messages.belief/1")
@dataclass(frozen=True, eq=False)
class Belief:
    """N(mean, Λ⁻¹) over u, one mean per output, and log ∫ m(u) du, the log evidence."""

    mean: Array  # Λ⁻¹h  (m, p)
    factor: Array  # L, LLᵀ = Λ  (m, m)
    log_evidence: Array  # c + ½ hᵀΛ⁻¹h − ½ log|Λ| + (m/2) log 2π  (p,)

    @cached_property
    def covariance(self) -> Array:
        """Λ⁻¹  (m, m)."""
        return linalg.mirror(linalg.inverse_posdef(self.factor))

    def spread(self, T: Array) -> Array:
        """L⁻¹T, T (m, n): its Gram matrix is TᵀΛ⁻¹T, its squared column norms var[Tᵀu]."""
        return linalg.solve_lower(self.factor, T)


def normalise(message: Message) -> Belief:
    """Turn a message with positive definite Λ into a Gaussian and its log normaliser.

    This is the only place where a precision is factorised. If rounding or subtraction has left
    Λ indefinite, `linalg.cholesky` adds jitter.
    """
    m = message.precision.shape[0]
    scale = float(np.abs(message.precision.diagonal()).max(initial=0.0)) or 1.0
    L, _ = linalg.cholesky(message.precision, scale)
    a = linalg.solve_lower(L, message.shift)  # L⁻¹h  (m, p)
    log_evidence = (
        message.log_scale + 0.5 * (a * a).sum(axis=0) - 0.5 * linalg.log_det(L) + 0.5 * m * LOG_2PI
    )
    return Belief(linalg.solve_upper(L, a), L, log_evidence)
