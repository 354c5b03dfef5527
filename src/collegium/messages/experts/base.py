"""Experts: `send` turns the rows of a chunk into a message, `reply` the belief into a gradient.

Given v, the targets of a chunk are N(Vᵀv, R). Experts differ in R and in nothing else:

    Block      R = K(X, X) − VᵀV + Ψ            the BCM; with shared anchors PITC
    Diagonal   R = diag(K(X, X) − VᵀV) + Ψ      FITC
    Projected  R = Ψ                            subset of regressors, DTC, fixed features

Variational is Projected with a penalty on the variance given the anchors: its evidence is a
lower bound of the exact one.

Ψ = (σ² + e)/w: e is the known noise variance of a row (`extra`), usually zero; a row of weight w
is w equal rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ...numerics import linalg, records
from ...numerics.linalg import LOG_2PI
from ...rows.chunk import Chunk, rows_of
from ...rows.rows import Rows
from ..basis import Basis, Gradient
from ..message import Belief, Message

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Full:
    """R = LLᵀ, a full matrix."""

    L: Array  # (n, n)

    def whiten(self, B: Array) -> Array:
        """L⁻¹B."""
        return linalg.solve_lower(self.L, B)

    def solve(self, B: Array) -> Array:
        """R⁻¹B."""
        return linalg.solve_posdef(self.L, B)

    def log_det(self) -> float:
        return linalg.log_det(self.L)

    def adjoint(self, alpha: Array, G: Array) -> Array:
        """R̄ = ½(ααᵀ + pGGᵀ − pR⁻¹) = −½p(R⁻¹ − AAᵀ), A = [α/√p, G]; symmetric  (n, n)."""
        p = alpha.shape[1]
        A = np.concatenate([alpha / np.sqrt(p), G], axis=1)
        R_bar = linalg.subtract_gram(linalg.inverse_posdef(self.L), A)
        R_bar *= -0.5 * p
        return linalg.mirror(R_bar)


@dataclass(frozen=True, eq=False)
class Diag:
    """R = diag(d); its adjoint is a vector (n,)."""

    d: Array  # (n,)

    def whiten(self, B: Array) -> Array:
        return B / np.sqrt(self.d)[:, None]

    def solve(self, B: Array) -> Array:
        return B / self.d[:, None]

    def log_det(self) -> float:
        return float(np.log(self.d).sum())

    def adjoint(self, alpha: Array, G: Array) -> Array:
        p = alpha.shape[1]
        return 0.5 * ((alpha**2).sum(axis=1) + p * (G**2).sum(axis=1) - p / self.d)


@dataclass(frozen=True, eq=False)
class Conditional:
    """p(y | v) of one chunk: N(y − offset; Vᵀv, R) times the factor of repeated rows."""

    rows: Rows  # targets minus the offset
    V: Array  # (m, n)
    R: Full | Diag
    log_repeats: float  # log of that factor

    @property
    def X(self) -> Array:
        return self.rows.X  # (n, d)

    @property
    def y(self) -> Array:
        return self.rows.y  # (n, p)

    def message(self) -> Message:
        """Λ = VR⁻¹Vᵀ, h = VR⁻¹y, c = log N(y; 0, R) + log_repeats."""
        A = self.R.whiten(self.V.T)  # R^(-½)Vᵀ  (n, m)
        b = self.R.whiten(self.y)
        n = self.y.shape[0]
        log_scale = -0.5 * ((b * b).sum(axis=0) + self.R.log_det() + n * LOG_2PI)
        return Message(linalg.gram(A.T), A.T @ b, log_scale + self.log_repeats)


@dataclass(frozen=True)
class Expert:
    """Send messages and reply with gradients; a subclass defines R.

    `method` is its name in `SparseGPRegressor`, which predicts from the anchors alone; without one
    it is used in code only.
    """

    method: ClassVar[str] = ""
    registry: ClassVar[list[type[Expert]]] = []

    noise: float  # σ²

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        records.register("expert", cls)
        if "method" not in vars(cls):
            cls.method = ""  # a name belongs to one class, not to its subclasses
        Expert.registry.append(cls)

    def residual(self, basis: Basis, X: Array, V: Array) -> Array:
        """R − Ψ, the covariance of f(X) given v for this expert: (n, n), or a diagonal (n,)."""
        raise TypeError("abstract expert")

    def residual_vjp(self, basis: Basis, X: Array, V: Array, R_bar: Array) -> tuple[Array, Array]:
        """θ̄ and V̄ from R̄."""
        raise TypeError("abstract expert")

    def first_noise(self, basis: Basis, X: Array, w: Array) -> float:
        """σ² from which learning by this expert's evidence starts; its own σ² is the exact GP's."""
        return self.noise

    def condition(self, basis: Basis, chunk: Chunk) -> Conditional:
        """p(y | v) for a chunk, with R factorised."""
        rows = rows_of(chunk)
        X = rows.X
        V = basis.design(X)
        covariance = self.residual(basis, X, V)
        scale = basis.scale(X) or 1.0
        psi = rows.psi(self.noise)
        R: Full | Diag
        if covariance.ndim == 2:
            linalg.add_diagonal(covariance, psi)
            R = Full(linalg.cholesky(covariance, scale, overwrite=True)[0])
        else:
            R = Diag(np.maximum(covariance + psi, linalg.JITTERS[0] * scale))
        rows = replace(rows, y=rows.y - basis.offset(X))
        return Conditional(rows, V, R, log_repeats(rows, self.noise))

    def send(self, basis: Basis, chunk: Chunk) -> Message:
        """log m(v) = log N(y; Vᵀv, R): Λ = VR⁻¹Vᵀ, h = VR⁻¹y, c = log N(y; 0, R)."""
        return self.condition(basis, chunk).message()

    def reply(self, basis: Basis, chunk: Chunk, belief: Belief) -> Gradient:
        """E_q[∇ log m(v)], q the belief: this chunk's part of the evidence gradient (Fisher)."""
        return self.gradient(basis, self.condition(basis, chunk), belief)

    def gradient(self, basis: Basis, given: Conditional, belief: Belief) -> Gradient:
        """Compute the reply from the conditional."""
        X, y, V, R = given.X, given.y, given.V, given.R
        p = y.shape[1]
        alpha = R.solve(y - V.T @ belief.mean)  # R⁻¹(y − Vᵀμ)  (n, p)
        T = belief.spread(V)  # VᵀΛ⁻¹V = TᵀT
        G = R.solve(T.T)  # (n, m)
        R_bar = R.adjoint(alpha, G)
        theta_R, V_bar = self.residual_vjp(basis, X, V, R_bar)
        if V.size:  # E_q of −½(y − Vᵀv)ᵀR⁻¹(y − Vᵀv) through V
            V_bar = V_bar + belief.mean @ alpha.T
            V_bar -= p * linalg.solve_upper(belief.factor, G.T)
        through_V = basis.design_vjp(X, V, V_bar)
        diagonal = R_bar.diagonal() if R_bar.ndim == 2 else R_bar
        w, share = given.rows.w, noise_share(given.rows, self.noise)
        noise = float((diagonal * self.noise / w).sum() - 0.5 * p * ((w - 1.0) * share).sum())
        return Gradient(theta_R + through_V.theta, noise, through_V.factor)


def log_repeats(rows: Rows, noise: float) -> float:
    """Σ −½(w−1) log 2π(σ² + e) − ½ log w: log density of w equal rows minus that of one row with
    noise variance (σ² + e)/w."""
    more = rows.take(rows.w != 1.0)
    if more.w.size == 0:
        return 0.0
    each = noise if more.extra is None else noise + more.extra
    log_noise = np.log(np.maximum(each, np.finfo(float).tiny))
    return float(-0.5 * ((more.w - 1.0) * (LOG_2PI + log_noise) + np.log(more.w)).sum())


def noise_share(rows: Rows, noise: float) -> Array | float:
    """σ²/(σ² + e) = ∂ log(σ² + e)/∂ log σ²."""
    if rows.extra is None:
        return 1.0
    return noise / np.maximum(noise + rows.extra, np.finfo(float).tiny)
