"""Diagonal covariance given the anchors: FITC."""

from .base import Expert


class Diagonal(Expert):
    """R = diag(K(X, X) − VᵀV) + Ψ. A row of weight w is one input with one residual of f."""

    method = "fitc"

    def residual(self, basis, X, V):
        return basis.residual_diag(X, V)

    def residual_vjp(self, basis, X, V, R_bar):
        return basis.residual_diag_vjp(X, V, R_bar)
