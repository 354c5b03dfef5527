"""Combine Gaussian predictions at common query points, wherever they come from.

Jointly, with full covariances: `bayesian` (Tresp 2000, eqs 3–5), `independent` and
`correlated` (his sec. 6: no prior). Pointwise, from means and variances alone: the later
committees, `poe` to `grbcm`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from . import linalg
from .message import Belief, Message, normalise

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A joint prediction at q points: N(mean, covariance)."""

    mean: Array  # (q,) or (q, p)
    covariance: Array  # (q, q)


def bayesian(
    predictions: Sequence[Gaussian], prior: Array, prior_mean: float | Array = 0.0
) -> Gaussian:
    """Π p(f | Dᵢ) / p(f)^(M−1): posteriors multiplied, the shared prior counted once.

    In coordinates where the prior is N(0, I) a module's covariance S has eigenvalues s in
    (0, 1]; it says s⁻¹ − 1 along each, which is never negative. So eqs 4–5 are summed without
    the subtraction of two large matrices that they are written with.
    """
    L, _ = linalg.cholesky(prior, float(prior.diagonal().max()), nugget=1e-12)
    q = L.shape[0]
    precision, shift = np.eye(q), np.zeros_like(np.asarray(predictions[0].mean, dtype=float))
    for given in predictions:
        S = linalg.solve_lower(L, linalg.solve_lower(L, given.covariance).T)
        s, U = np.linalg.eigh(0.5 * (S + S.T))
        s = np.clip(s, 1e-15, 1.0)
        a = linalg.solve_lower(L, given.mean - prior_mean)
        precision = precision + (U * (1.0 / s - 1.0)) @ U.T
        shift = shift + U @ ((U.T @ a).T / s).T
    belief = _normalised(precision, shift)
    covariance = linalg.gram(belief.spread(np.ascontiguousarray(L.T)).T)  # LΛ⁻¹Lᵀ
    return Gaussian(prior_mean + L @ belief.mean.reshape(shift.shape), covariance)


def independent(predictions: Sequence[Gaussian]) -> Gaussian:
    """(Σ covᵢ⁻¹)⁻¹ Σ covᵢ⁻¹ fᵢ: unbiased, independent estimators; `bayesian` without a prior."""
    precision = np.zeros_like(predictions[0].covariance)
    shift = np.zeros_like(predictions[0].mean)
    for given in predictions:
        L = _factor(given.covariance)
        precision = precision + linalg.mirror(linalg.inverse_posdef(L))
        shift = shift + linalg.solve_posdef(L, given.mean)
    belief = _normalised(precision, shift)
    return Gaussian(belief.mean.reshape(shift.shape), belief.covariance)


def correlated(means: Sequence[Array], covariance: Array) -> Gaussian:
    """Best linear unbiased combination of M estimators with a joint covariance Ω (Mq, Mq).

    A = (IᵀΩ⁻¹I)⁻¹IᵀΩ⁻¹, I the identity of the q points stacked M times.
    """
    q = np.shape(means[0])[0]
    stacked = np.concatenate([np.asarray(mean, dtype=float) for mean in means])
    if covariance.shape != (stacked.shape[0],) * 2:
        raise ValueError(
            f"covariance has shape {covariance.shape}, but {len(means)} estimators at {q} "
            f"points need ({stacked.shape[0]}, {stacked.shape[0]})"
        )
    L = _factor(covariance)
    A = linalg.solve_lower(L, np.tile(np.eye(q), (len(means), 1)))  # Ω^(−½)I
    b = linalg.solve_lower(L, stacked)
    shift = A.T @ b
    belief = _normalised(linalg.gram(A.T), shift)
    return Gaussian(belief.mean.reshape(shift.shape), belief.covariance)


def _normalised(precision: Array, shift: Array) -> Belief:
    """The belief with this precision and shift; its evidence means nothing here."""
    columns = shift.reshape(shift.shape[0], -1)
    return normalise(Message(precision, columns, np.zeros(columns.shape[1])))


def _factor(covariance: Array) -> Array:
    scale = float(np.abs(covariance.diagonal()).max()) or 1.0
    return linalg.cholesky(covariance, scale)[0]


# --- pointwise: means and variances (M, q) of M experts, prior variance (q,) --------------------


def poe(means: Array, variances: Array, prior: Array) -> tuple[Array, Array]:
    """Product of experts: precisions add. Overconfident: the prior counts M times."""
    return _weighed(means, variances, np.ones_like(variances), 0.0)


def gpoe(means: Array, variances: Array, prior: Array) -> tuple[Array, Array]:
    """Generalised product with weights 1/M (Cao & Fleet 2014; Deisenroth & Ng 2015)."""
    return _weighed(means, variances, np.full_like(variances, 1.0 / len(means)), 0.0)


def bcm(means: Array, variances: Array, prior: Array) -> tuple[Array, Array]:
    """The committee machine point by point: Σ 1/s² − (M−1)/s₀² (Tresp 2000, eq. 5, N_Q = 1)."""
    return _weighed(means, variances, np.ones_like(variances), 1.0 / prior)


def rbcm(means: Array, variances: Array, prior: Array) -> tuple[Array, Array]:
    """Weighed by what each expert learnt, β = ½(log s₀² − log s²) (Deisenroth & Ng 2015)."""
    beta = 0.5 * (np.log(prior) - np.log(variances))
    return _weighed(means, variances, beta, 1.0 / prior)


def barycenter(means: Array, variances: Array, prior: Array) -> tuple[Array, Array]:
    """Wasserstein barycentre: means and standard deviations averaged (Cohen et al. 2020)."""
    beta = np.maximum(0.5 * (np.log(prior) - np.log(variances)), 1e-12)
    beta = beta / beta.sum(axis=0)
    return (beta * means).sum(axis=0), (beta * np.sqrt(variances)).sum(axis=0) ** 2


def grbcm(means: Array, variances: Array, prior: Array) -> tuple[Array, Array]:
    """Liu et al. (2018): experts 1… enhanced by the communication set, expert 0 that set alone.

    Precision Σᵢβᵢ/s₊ᵢ² + (1 − Σβᵢ)/s_c², β of the first enhanced expert 1, of the others
    ½(log s_c² − log s₊ᵢ²).
    """
    base_mean, base = means[0], variances[0]
    beta = 0.5 * (np.log(base) - np.log(variances[1:]))
    beta[:1] = 1.0
    left = 1.0 - beta.sum(axis=0)
    precision = (beta / variances[1:]).sum(axis=0) + left / base
    total = (beta * means[1:] / variances[1:]).sum(axis=0) + left * base_mean / base
    return total / precision, 1.0 / precision


def _weighed(means: Array, variances: Array, beta: Array, prior_precision: float | Array):
    """Precision Σβ/s² + (1 − Σβ)/s₀², mean by precision; the prior mean is zero."""
    precision = (beta / variances).sum(axis=0) + (1.0 - beta.sum(axis=0)) * prior_precision
    return (beta * means / variances).sum(axis=0) / precision, 1.0 / precision
