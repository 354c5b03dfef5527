"""Evidence of a filter as a function of its hyperparameters, from the sums over rows.

    y ~ N(0, FSFᵀ + σ²I),  F = [linear, φ]·[sd·I, E],  S = [I, EᵀCE(θ)]

With M = FᵀF/σ², h = Fᵀy/σ², Σ = (S⁻¹ + M)⁻¹ and ŵ = Σh,

    ∂/∂S = ½(ggᵀ − M + MΣM), g = h − Mŵ        ∂/∂σ² = ½|y − Fŵ|²/σ⁴ − ½(n − tr ΣM)/σ²

σ² is the noise of a row: σ₂², plus the misfit where that counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..kernels import Kernel
from ..learning.optimise import Scales, maximise
from ..numerics import linalg
from ..numerics.linalg import LOG_2PI
from ..numerics.records import record
from ..rows.scaling import Balance
from .model import FilterModel, with_linear
from .sums import Sums

Array = np.ndarray


@record("filter.relearning/1")
@dataclass(frozen=True, eq=False)
class Relearning:
    """Settings by which hyperparameters are relearnt, and when they last were."""

    learns: bool
    keep_noise: bool
    scales: Scales  # of the inputs: priors and bounds of the hyperparameters
    balance: Balance  # the weights to learn by
    learnt_at: int = 0  # rows used when hyperparameters were last learnt


class FilterEvidence:
    """Log evidence and its gradient in θ and log σ², for a basis and its sums."""

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
        S = self.rule.covariance(kernel, self.E)
        value, S_bar, noise_bar = self._gaussian(S, noise)
        theta_bar = self.rule.covariance_vjp(kernel, self.E, S_bar)
        return value, np.append(theta_bar, noise * noise_bar)

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
    model: FilterModel, sums: Sums, scales: Scales, *, noise_fixed: bool = False,
    max_iter: int = 50,
) -> FilterModel:  # fmt: skip
    """Maximise the evidence over the hyperparameters; y is scaled to mean square one."""
    k, sums = model.k, sums.for_learning()
    size = float((sums.triangle[:, k:] ** 2).sum())
    unit = size / max(sums.weight * (sums.triangle.shape[0] - k), 1e-300)
    if not (np.isfinite(unit) and unit > 0.0):
        return model
    triangle = sums.triangle.copy()
    triangle[:, k:] /= np.sqrt(unit)
    kernel = model.kernel.scaled(1.0 / unit)
    found = maximise(
        FilterEvidence(model, replace(sums, triangle=triangle)), kernel, model.row_noise / unit,
        scales.prior(kernel), max(sums.weight, 1.0), noise_fixed=noise_fixed, max_iter=max_iter,
    )  # fmt: skip
    best = found.kernel.scaled(unit)
    if noise_fixed:
        return model.reweighed(best, model.noise)
    return model.with_row_noise(best, found.noise * unit)
