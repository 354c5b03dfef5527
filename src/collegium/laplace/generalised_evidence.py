"""The gradient of the evidence of a generalised committee at rest, anchors and all chunks.

Of the whole anchored model K̃ = VᵀV + blockdiag(Q), and as for one chunk (`laplace_evidence`)

    K̃̄ = ½ggᵀ − ½Ã + ½(ugᵀ + guᵀ),   Ã = (K̃ + W⁻¹)⁻¹,   u = (I + HK̃)⁻¹s,   H = −∂² log p

in two sums over chunks. With A = (Q + W⁻¹)⁻¹, Λ = I + Σ VAVᵀ and M = I + HQ of each chunk,

    VÃ_i = Λ⁻¹V_iA_i     Vg = E[v]     z = Vu = (I + Σ VM⁻¹HVᵀ)⁻¹ Σ VM⁻¹s
    u_i = M_i⁻¹(s_i − H_iV_iᵀz)        var(f_i) = diag(Q − QAQ + TᵀΛ⁻¹T),  T = V(I − AQ)

so that V̄_i = E[v]g_iᵀ − Λ⁻¹V_iA_i + zg_iᵀ + E[v]u_iᵀ, beside what goes through Q.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..messages.basis import Gradient
from ..numerics import linalg
from .committee import Generalised, Heard
from .covariances import Dense, left_over
from .evidence import likelihood_part
from .mode import Sites

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Pull:
    """What the mode's movement of all chunks adds up from."""

    response: Array  # Σ VM⁻¹s  (m,)
    bend: Array  # Σ VM⁻¹HVᵀ  (m, m)

    def __add__(self, other: Pull) -> Pull:
        return Pull(self.response + other.response, self.bend + other.bend)


@dataclass(frozen=True, eq=False)
class Reply:
    """A chunk's part of the gradient."""

    kernel: Gradient
    likelihood: Array

    def __add__(self, other: Reply) -> Reply:
        return Reply(self.kernel + other.kernel, self.likelihood + other.likelihood)


@dataclass(frozen=True, eq=False)
class _View:
    """A chunk as the whole model sees it."""

    X: Array
    y: Array
    w: Array
    V: Array  # (m, n)
    Q: Array  # (n, n)
    diagonal: bool  # whether Q is
    sites: Sites

    @classmethod
    def of(cls, committee: Generalised, one: Heard) -> _View:
        assert one.sites is not None
        X, y, w = one.chunk.load()
        V = committee.basis.design(X)
        Q = left_over(committee.expert.residual(committee.basis, X, V))
        if isinstance(Q, Dense):
            return cls(X, y, w, V, Q.C, False, one.sites)
        return cls(X, y, w, V, np.diag(Q.d), True, one.sites)

    @property
    def f(self) -> Array:
        return self.sites.f[:, 0]

    def bend(self, committee: Generalised) -> Array:
        """H  (n,)."""
        return -self.w * committee.likelihood.derivatives(self.y, self.f)[1]

    def solve(self, H: Array, B: Array) -> Array:
        """M⁻¹B."""
        return Dense(self.Q).unbend(H, B)

    def variance(self, committee: Generalised, A: Array) -> Array:
        """var(f)  (n,)."""
        AQ = A @ self.Q
        T = committee.beliefs[0].spread(self.V - self.V @ AQ)
        return self.Q.diagonal() - np.einsum("ij,ij->j", self.Q, AQ) + (T * T).sum(axis=0)


def evidence(committee: Generalised, engine: Any) -> tuple[float, Array]:
    """log evidence and its gradient in (θ of the kernel, θ of the likelihood), at rest."""
    if committee.likelihood.latents > 1:
        raise ValueError("the gradient with anchors is that of one latent function")
    basis, value = committee.basis, committee.log_evidence
    nothing = Pull(np.zeros(basis.m), np.eye(basis.m))
    pull = engine.sum(partial(_pull, committee), committee.heard, nothing)
    z = linalg.solve_square(pull.bend, pull.response)
    silent = Reply(basis.no_gradient(), np.zeros(committee.likelihood.theta.size))
    total = engine.sum(partial(_reply, committee, z=z), committee.heard, silent)
    return value, np.append(basis.finish(total.kernel), total.likelihood)


def _slope(committee: Generalised, view: _View, A: Array) -> tuple[Array, Array]:
    """var(f) and s = −½ var(f) ∂W/∂f  (n,)."""
    variance = view.variance(committee, A)
    back = committee.likelihood.curvature_vjp(view.y, view.f, -0.5 * view.w * variance)
    return variance, back


def _pull(committee: Generalised, one: Heard) -> Pull:
    view = _View.of(committee, one)
    H = view.bend(committee)
    _, s = _slope(committee, view, Dense(view.Q).meet(view.sites.W[:, 0]).matrix())
    both = view.solve(H, np.column_stack([s, H[:, None] * view.V.T]))  # M⁻¹[s, HVᵀ]
    found = view.V @ both
    return Pull(found[:, 0], found[:, 1:])


def _reply(committee: Generalised, one: Heard, z: Array) -> Reply:
    view = _View.of(committee, one)
    basis, belief, V = committee.basis, committee.beliefs[0], view.V
    g, H = view.sites.g[:, 0], view.bend(committee)
    A = Dense(view.Q).meet(view.sites.W[:, 0]).matrix()
    variance, s = _slope(committee, view, A)
    u = view.solve(H, s - H * (V.T @ z))
    VA = V @ A
    spread = belief.spread(VA)  # A − Ãᵢᵢ is its Gram matrix
    Q_bar = 0.5 * (np.outer(g, g) + np.outer(u, g) + np.outer(g, u) - A + linalg.gram(spread.T))
    Q_bar = Q_bar.diagonal() if view.diagonal else Q_bar
    theta, V_bar = committee.expert.residual_vjp(basis, view.X, V, Q_bar)
    mean = belief.mean[:, 0]
    V_bar = V_bar + np.outer(mean + z, g) + np.outer(mean, u)
    V_bar -= linalg.solve_upper(belief.factor, spread)
    through_V = basis.design_vjp(view.X, V, V_bar)
    own = Gradient(theta + through_V.theta, 0.0, through_V.factor)
    moved = V.T @ z + view.Q @ u  # K̃u
    rest = likelihood_part(committee.likelihood, view.y, view.w, view.sites, variance, moved)
    return Reply(own, rest)
