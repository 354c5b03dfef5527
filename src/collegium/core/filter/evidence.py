"""The evidence of a filter as a function of its hyperparameters, from sums alone.

    y ~ N(0, FSFᵀ + σ²I),  F = [linear, φ]·[sd·I, E],  S = [I, EᵀCE(θ)]

With M = FᵀF/σ², h = Fᵀy/σ², Σ = (S⁻¹ + M)⁻¹ and ŵ = Σh,

    ∂/∂S = ½(ggᵀ − M + MΣM), g = h − Mŵ        ∂/∂ log σ² = ½|y − Fŵ|²/σ² − ½(n − tr ΣM)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import linalg
from ..kernels import Kernel
from ..message import LOG_2PI
from ..optimise import Learnt, Prior, maximise
from .model import FilterModel, Posterior, with_linear
from .sums import Sums

Array = np.ndarray


class Evidence:
    """θ, σ² -> log evidence and its gradient, for a basis and its sums."""

    def __init__(self, model: FilterModel, sums: Sums):
        self.rule = model.projection.rule
        self.E = self.rule.orthonormal(model.cut)
        k = model.k
        F = sums.triangle[:k, :k] @ with_linear(model.linear, self.E)
        Z = sums.triangle[:k, k:]
        self.n, self.p = sums.weight, Z.shape[1]
        self.own = model.linear.m if model.linear else 0  # linear columns, prior fixed
        self.FF, self.FZ = F.T @ F, F.T @ Z
        self.YY = float((sums.triangle[:, k:] ** 2).sum())

    def __call__(self, kernel: Kernel, noise: float) -> tuple[float, Array]:
        own, r = self.own, self.FF.shape[0]
        S = self.rule.covariance(kernel, self.E)
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
        theta_bar = self.rule.covariance_vjp(kernel, self.E, S_bar)
        return value, np.append(theta_bar, noise_bar)


def relearnt(
    model: FilterModel, sums: Sums, prior: Prior, *, noise_fixed: bool = False, max_iter: int = 50
) -> tuple[FilterModel, Learnt]:
    """Hyperparameters that the sums find likely, and the filter with them."""
    found = maximise(
        Evidence(model, sums), model.kernel, model.noise, prior, max(sums.weight, 1.0),
        noise_fixed=noise_fixed, max_iter=max_iter,
    )  # fmt: skip
    return model.reweighed(found.kernel, found.noise), found


def best_cut(model: FilterModel, sums: Sums, cuts: tuple[float, ...]) -> FilterModel:
    """The cut of the basis that the rows find likeliest."""
    tried = [
        replace(FilterModel.of(
            model.kernel, model.noise, model.basis, model.density, model.linear, cut
        ))
        for cut in cuts
    ]  # fmt: skip
    return max(tried, key=lambda one: float(Posterior.of(one, sums).log_evidence.sum()))
