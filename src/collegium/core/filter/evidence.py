"""The evidence of a filter as a function of its hyperparameters, from sums alone.

    y ~ N(0, FSFᵀ + σ²I),  F = [linear, φ]·[sd·I, E],  S = [I, EᵀCE(θ)]

With M = FᵀF/σ², h = Fᵀy/σ², Σ = (S⁻¹ + M)⁻¹ and ŵ = Σh,

    ∂/∂S = ½(ggᵀ − M + MΣM), g = h − Mŵ        ∂/∂σ² = ½|y − Fŵ|²/σ⁴ − ½(n − tr ΣM)/σ²

σ² = σ₂², plus E_p V₀ − tr EᵀCE where the misfit counts as noise.
"""

from __future__ import annotations

import numpy as np

from .. import linalg
from ..kernels import Kernel
from ..message import LOG_2PI
from ..optimise import Learnt, Prior, maximise
from .model import FilterModel, with_linear
from .rules import NODES
from .sums import Sums

Array = np.ndarray


class Evidence:
    """θ, σ² -> log evidence and its gradient, for a basis and its sums."""

    def __init__(self, model: FilterModel, sums: Sums):
        self.rule, self.misfit = model.projection.rule, model.misfit is not None
        self.points, self.weights = model.density.nodes(NODES)
        self.E = self.rule.orthonormal(model.cut)
        k = model.k
        F = sums.triangle[:k, :k] @ with_linear(model.linear, self.E)
        Z = sums.triangle[:k, k:]
        self.n, self.p = sums.weight, Z.shape[1]
        self.own = model.linear.m if model.linear else 0  # linear columns, prior fixed
        self.FF, self.FZ = F.T @ F, F.T @ Z
        self.YY = float((sums.triangle[:, k:] ** 2).sum())

    def __call__(self, kernel: Kernel, noise: float) -> tuple[float, Array]:
        S = self.rule.covariance(kernel, self.E)
        lost = 0.0
        if self.misfit:
            lost = float(self.weights @ kernel.diag(self.points)) - float(np.trace(S))
        value, S_bar, noise_bar = self._gaussian(S, noise + max(lost, 0.0))
        own = noise * noise_bar
        if lost <= 0.0:
            return value, np.append(self.rule.covariance_vjp(kernel, self.E, S_bar), own)
        S_bar.flat[:: S.shape[0] + 1] -= noise_bar
        theta_bar = self.rule.covariance_vjp(kernel, self.E, S_bar)
        return value, np.append(
            theta_bar + kernel.diag_vjp(self.points, noise_bar * self.weights), own
        )

    def _gaussian(self, S: Array, noise: float) -> tuple[float, Array, float]:
        """log N(y; 0, FSFᵀ + σ²I), and its derivatives with respect to EᵀCE and to σ²."""
        own, r = self.own, self.FF.shape[0]
        variances, Q = np.linalg.eigh(0.5 * (S + S.T))
        T = np.eye(r)
        T[own:, own:] = Q * np.sqrt(np.maximum(variances, 0.0))  # S = TTᵀ
        M, h = self.FF / noise, self.FZ / noise
        L, _ = linalg.cholesky(np.eye(r) + T.T @ M @ T, 1.0)
        b = linalg.solve_lower(L, T.T @ h)
        w = T @ linalg.solve_upper(L, b)  # ŵ  (r, p)
        misfit = self.YY / noise - float((b * b).sum())
        value = -0.5 * (misfit + self.p * (linalg.log_det(L) + self.n * (LOG_2PI + np.log(noise))))
        MT = linalg.solve_lower(L, T.T @ M)  # MΣM = MTᵀMT
        g = h - M @ w
        S_bar = 0.5 * (g @ g.T - self.p * (M - MT.T @ MT))[own:, own:]
        residual = self.YY - 2.0 * float((w * self.FZ).sum()) + float((w * (self.FF @ w)).sum())
        trace = float((linalg.solve_lower(L, T.T) * linalg.solve_lower(L, T.T @ M)).sum())
        noise_bar = 0.5 * residual / noise - 0.5 * self.p * (self.n - trace)
        return value, S_bar, noise_bar / noise


def relearnt(
    model: FilterModel, sums: Sums, prior: Prior, *, noise_fixed: bool = False, max_iter: int = 50
) -> tuple[FilterModel, Learnt]:
    """Hyperparameters that the sums find likely, and the filter with them."""
    found = maximise(
        Evidence(model, sums), model.kernel, model.noise, prior, max(sums.weight, 1.0),
        noise_fixed=noise_fixed, max_iter=max_iter,
    )  # fmt: skip
    return model.reweighed(found.kernel, found.noise), found
