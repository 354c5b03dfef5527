"""Joint Gaussian predictions of models with weights: fixed bases, and Jacobians in their place.

A model f(x, w) that is not linear in w is replaced by f(x, ŵ) + J(w − ŵ), J = ∂f/∂w at ŵ
(Tresp 2000, footnote 3).
"""

from __future__ import annotations

import numpy as np

from ..messages.basis import Basis
from ..messages.message import Belief, Message, normalise
from ..numerics import linalg
from .joint import JointGaussian

Array = np.ndarray


def linearised(mean: Array, jacobian: Array, weight_covariance: Array) -> JointGaussian:
    """N(mean, JSJᵀ): prediction at q points of weights with covariance S (k, k), J (q, k)."""
    J, S = np.asarray(jacobian, dtype=float), np.asarray(weight_covariance, dtype=float)
    if J.ndim != 2 or J.shape[0] != np.shape(mean)[0]:
        raise ValueError(f"jacobian has shape {J.shape}, but mean {np.shape(mean)}")
    if S.shape != (J.shape[1], J.shape[1]):
        raise ValueError(f"weight_covariance has shape {S.shape} for {J.shape[1]} weights")
    C = J @ S @ J.T
    return JointGaussian(np.asarray(mean, dtype=float), 0.5 * (C + C.T))


def laplace(
    jacobian: Array,
    noise: float | Array,
    prior_covariance: Array,
    sample_weight: Array | None = None,
) -> Array:
    """(S₀⁻¹ + JᵀΨ⁻¹J)⁻¹: covariance of the weights (k, k), J (n, k) at the training rows.

    Ψ = noise/weight, one variance or one per row. With S₀ = LLᵀ it is LΛ⁻¹Lᵀ, Λ = I + LᵀJᵀΨ⁻¹JL.
    """
    J, S0 = np.asarray(jacobian, dtype=float), np.asarray(prior_covariance, dtype=float)
    if J.ndim != 2 or S0.shape != (J.shape[1], J.shape[1]):
        raise ValueError(f"prior_covariance has shape {S0.shape}, but jacobian {J.shape}")
    weight = np.ones(J.shape[0]) if sample_weight is None else np.asarray(sample_weight, float)
    psi = np.asarray(noise, dtype=float)
    if psi.shape not in ((), J.shape[:1]) or not (np.isfinite(psi).all() and (psi > 0).all()):
        raise ValueError("noise must be positive: one variance, or one per row")
    if weight.shape != J.shape[:1] or not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise ValueError(f"sample_weight must be {J.shape[0]} numbers of at least 0")
    L, _ = linalg.cholesky(S0, float(S0.diagonal().max(initial=0.0)) or 1.0)
    V = (J @ L).T * np.sqrt(weight / psi)  # (k, n)
    message = Message(linalg.gram(V), np.zeros((L.shape[0], 1)), np.zeros(1))
    belief = normalise(Message.standard_normal(L.shape[0]) + message)
    return linalg.gram(belief.spread(np.ascontiguousarray(L.T)).T)


def basis_gaussian(basis: Basis, belief: Belief, X: Array) -> JointGaussian:
    """N(offset + Vᵀμ, residual + VᵀΛ⁻¹V), V = design(X): f at X from a belief about v.

    Features leave no residual. With `normalise(basis.prior(p))` it is the prior of f.
    """
    V = basis.design(X)
    mean = basis.offset(X) + V.T @ belief.mean
    return JointGaussian(
        mean, linalg.mirror(basis.residual(X, V)) + linalg.gram(belief.spread(V).T)
    )
