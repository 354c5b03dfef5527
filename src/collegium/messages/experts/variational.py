"""DTC with a lower bound of the evidence: VFE."""

from dataclasses import replace

import numpy as np

from ...numerics import linalg
from ..basis import Gradient
from .base import noise_share
from .projected import Projected


class Variational(Projected):
    """R = Ψ, and c gains −½ Σ (k(x, x) − vᵀv)/ψ: the log evidence is a lower bound of the exact
    one (Titsias 2009).
    """

    method = "vfe"

    def first_noise(self, basis, X, w):
        """σ² + Σ w(k(x, x) − vᵀv)/Σw: with errors of mean square σ² the bound is largest there.

        If σ² is far below the variance given the anchors, the bound is so steep that a first step
        ends in a distant maximum.
        """
        return self.noise + float(w @ basis.residual_diag(X, basis.design(X))) / float(w.sum())

    def condition(self, basis, chunk):
        given = super().condition(basis, chunk)
        residual = basis.residual_diag(given.X, given.V)
        penalty = 0.5 * float((residual / self._psi(basis, given)).sum())
        return replace(given, log_repeats=given.log_repeats - penalty)

    def gradient(self, basis, given, belief):
        d_bar = -0.5 * given.y.shape[1] / self._psi(basis, given)
        theta, V_bar = basis.residual_diag_vjp(given.X, given.V, d_bar)
        if theta.size != basis.no_gradient().theta.size:  # features: cov[f | v] is zero
            return super().gradient(basis, given, belief)
        through_V = basis.design_vjp(given.X, given.V, V_bar)
        residual = basis.residual_diag(given.X, given.V)
        noise = -float((d_bar * noise_share(given.rows, self.noise)) @ residual)
        own = Gradient(theta + through_V.theta, noise, through_V.factor)
        return super().gradient(basis, given, belief) + own

    def _psi(self, basis, given):
        """(σ² + e)/w, at least the jitter of R."""
        least = linalg.JITTERS[0] * (basis.scale(given.X) or 1.0)
        return np.maximum(given.rows.psi(self.noise), least)
