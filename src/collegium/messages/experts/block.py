"""Full covariance within a chunk: PITC, and the Bayesian committee machine."""

from .base import Expert


class Block(Expert):
    """R = K(X, X) − VᵀV + Ψ."""

    method = "pitc"

    def residual(self, basis, X, V):
        return basis.residual(X, V)

    def residual_vjp(self, basis, X, V, R_bar):
        return basis.residual_vjp(X, V, R_bar)
