"""Variational EM over all rows, one expert at a time, with the bound F that it climbs.

Local experts: q({β_i}, β) q(h) q(σ²). With β_i integrated out rows are y_i ~ N(βᵀx_i, v_i),
v_i = s + γ_i, and count κ_i = K_i w_i times:

    F = Σκ {E log N(y_i | βᵀx_i, v_i) + ½[log s − ⟨log σ²⟩ + Σ_j ⟨log h_j⟩ − log⟨h_j⟩]}
        − KL(q(β)) − Σ_j KL(q(h_j)) − KL(q(σ²))

As published: q(β_i) apart from q(β), eqs 9–22; every row in full.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, gammaln

from ..numerics import linalg
from ..numerics.linalg import LOG_2PI
from .experts import Assumptions, Experts, factored
from .loops import FAINT

Array = np.ndarray
#: Largest eigenvalue, relative to the least, of products that are summed before they are factored.
SQUARABLE = 1e10


@dataclass(frozen=True, eq=False)
class Posterior:
    """Of one expert."""

    mu: Array  # (D,)
    root: Array  # R (D, D), upper, S = RRᵀ; (D,) as published, S = diag R²
    a: Array  # (D,)
    b: Array  # (D,)
    c: float
    d: float

    @property
    def noise(self) -> float:
        """s = 1/⟨σ⁻²⟩."""
        return self.d / self.c

    @property
    def misfit(self) -> Array:
        """1/⟨h⟩."""
        return self.b / self.a


@dataclass(frozen=True, eq=False)
class Heard:
    """The rows of one expert, seen from its centre."""

    x: Array  # (n, D)
    y: Array  # (n,)
    rho: Array  # (n,)  xᵀx
    weight: Array  # κ  (n,)

    @classmethod
    def of(cls, X: Array, y: Array, w: Array, centre: Array, assumed: Assumptions) -> Heard:
        x = np.column_stack([(X - centre) / assumed.unit, np.ones(y.size)])
        rho = (x * x).sum(axis=1)
        if not assumed.local:
            return cls(x, y, rho, w)
        K = np.exp(-0.5 * (rho - 1.0))
        near = K >= FAINT
        return cls(x[near], y[near], rho[near], (K * w)[near])


@dataclass(frozen=True, eq=False)
class Prior:
    """N(μ0, diag S0), Gamma(a0, b0), InvGamma(c0, d0)."""

    mu: Array  # (D,)
    variance: Array  # (D,)
    a: Array  # (D,)
    b: Array  # (D,)
    c: float
    d: float

    @classmethod
    def of(cls, assumed: Assumptions, start: Array) -> Prior:
        D = start.size
        a, b = np.full(D, assumed.a0), np.full(D, assumed.b0)
        return cls(start, assumed.prior_variance(), a, b, assumed.c0, assumed.d0)

    def posterior(self, local: bool) -> Posterior:
        """Before any row."""
        sd = np.sqrt(self.variance)
        return Posterior(self.mu, np.diag(sd) if local else sd, self.a, self.b, self.c, self.d)


# -- local experts ----------------------------------------------------------------------------


def _spread(heard: Heard, q: Posterior) -> tuple[Array, Array]:
    """γ_i and the expected square of y_i − βᵀx_i."""
    gamma = heard.rho * (heard.x**2 @ q.misfit)
    left = heard.y - heard.x @ q.mu
    return gamma, left**2 + ((heard.x @ q.root) ** 2).sum(axis=1)


def lines(heard: Heard, prior: Prior, q: Posterior) -> Posterior:
    """q(β), the others given: a weighted linear regression."""
    sd = np.sqrt(prior.variance)
    weight = heard.weight / (q.noise + heard.rho * (heard.x**2 @ q.misfit))
    scaled = heard.x * sd  # β = μ0 + sd·t, t ~ N(0, I)
    left = heard.y - heard.x @ prior.mu
    precision = np.eye(sd.size) + (scaled * weight[:, None]).T @ scaled
    if precision.diagonal().max() < SQUARABLE:
        L, _ = linalg.cholesky(precision, 1.0)
        t = linalg.solve_posdef(L, (scaled.T @ (weight * left))[:, None])[:, 0]
    else:
        tall = np.column_stack([scaled, left]) * np.sqrt(weight)[:, None]
        R = linalg.triangle(np.concatenate([tall, np.eye(sd.size, sd.size + 1)]))
        L = np.ascontiguousarray(R[: sd.size, : sd.size].T)
        t = linalg.solve_upper(L, R[: sd.size, sd.size])
    root = sd[:, None] * linalg.solve_lower(L, np.eye(sd.size)).T  # diag(sd) L⁻ᵀ
    return replace(q, mu=prior.mu + sd * t, root=root)


def variances(heard: Heard, prior: Prior, q: Posterior) -> Posterior:
    """q(h) and q(σ²), q(β) given; β_i as they follow from both."""
    gamma, square = _spread(heard, q)
    s, total, half = q.noise, heard.weight.sum(), 0.5 * heard.weight
    v = s + gamma
    C = heard.rho[:, None] * q.misfit
    pull = C * heard.x / v[:, None]
    wander = pull**2 * square[:, None] + C - pull * C * heard.x
    return replace(
        q, a=prior.a + 0.5 * total, b=prior.b + (half / heard.rho) @ wander,
        c=prior.c + 0.5 * total, d=prior.d + float(half @ ((s / v) ** 2 * square + s * gamma / v)),
    )  # fmt: skip


def bound(heard: Heard, prior: Prior, q: Posterior) -> float:
    """F of a local expert."""
    gamma, square = _spread(heard, q)
    v = q.noise + gamma
    fit = -0.5 * float(heard.weight @ (LOG_2PI + np.log(v) + square / v))
    open_noise = np.log(q.noise) - (np.log(q.d) - digamma(q.c))
    open_h = (digamma(q.a) - np.log(q.b) + np.log(q.misfit)).sum()
    fit += 0.5 * float(heard.weight.sum()) * (open_noise + open_h)
    change = q.mu - prior.mu
    of_lines = 0.5 * float(
        (((q.root**2).sum(axis=1) + change**2) / prior.variance - 1.0).sum()
        + (np.log(prior.variance) - np.log(np.diag(q.root) ** 2)).sum()
    )
    return fit - of_lines - _divergence(q, prior)


def fitted(
    heard: Heard, prior: Prior, q: Posterior, max_iter: int, tol: float
) -> tuple[Posterior, list[float]]:
    """EM until F gains less than tol a row; the bound after every iteration."""
    q = lines(heard, prior, q)
    trace = [bound(heard, prior, q)]
    rows = max(float(heard.weight.sum()), 1.0)
    for _ in range(max_iter):
        q = lines(heard, prior, variances(heard, prior, q))
        trace.append(bound(heard, prior, q))
        if trace[-1] - trace[-2] <= tol * rows:
            break
    return q, trace


def with_observed_counts(heard: Heard, prior: Prior, q: Posterior) -> Posterior:
    """The same ⟨h⟩ and s, held as firmly as rows can tell: each row by its share of v_i.

    EM counts every row in full for each of h_j and σ², as if β_i were seen; a stream that goes
    on from there would hardly move.
    """
    gamma, _ = _spread(heard, q)
    v = q.noise + gamma
    shares = heard.rho[:, None] * heard.x**2 * q.misfit / v[:, None]
    a = prior.a + 0.5 * heard.weight @ shares
    c = prior.c + 0.5 * float(heard.weight @ (q.noise / v))
    return replace(q, a=a, b=a * q.misfit, c=c, d=c * q.noise)


# -- experts as published ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Coefficients:
    """q(β_i) = N(ν_i, G_i); only the diagonal of G_i and x_iᵀG_ix_i are needed."""

    nu: Array  # (n, D)
    G: Array  # (n, D)
    spread: Array  # xᵀGx  (n,)


def coefficients(heard: Heard, q: Posterior) -> Coefficients:
    """Eqs 14–15."""
    C = heard.rho[:, None] * q.misfit
    gamma = (heard.x**2 * C).sum(axis=1)
    v = q.noise + gamma
    pull = C * heard.x / v[:, None]
    left = heard.y - heard.x @ q.mu
    nu = q.mu + pull * left[:, None]
    return Coefficients(nu, C - pull * C * heard.x, q.noise * gamma / v)


def published_lines(heard: Heard, prior: Prior, q: Posterior, z: Coefficients) -> Posterior:
    """Eqs 16–17; all diagonal."""
    each = heard.weight[:, None] / (heard.rho[:, None] * q.misfit)
    S = 1.0 / (each.sum(axis=0) + 1.0 / prior.variance)
    return replace(
        q, root=np.sqrt(S), mu=S * ((each * z.nu).sum(axis=0) + prior.mu / prior.variance)
    )


def published_variances(heard: Heard, prior: Prior, q: Posterior, z: Coefficients) -> Posterior:
    """Eqs 18–21."""
    half, total = 0.5 * heard.weight, heard.weight.sum()
    wander = (z.nu - q.mu) ** 2 + z.G + q.root**2
    left = heard.y - (z.nu * heard.x).sum(axis=1)
    return replace(
        q, a=prior.a + 0.5 * total, b=prior.b + (half / heard.rho) @ wander,
        c=prior.c + 0.5 * total, d=prior.d + float(half @ (left**2 + z.spread)),
    )  # fmt: skip


def published_bound(heard: Heard, prior: Prior, q: Posterior, z: Coefficients) -> float:
    """Eq. 9; log |G_i| from that of ⟨C_i⟩ and its change of rank one."""
    w, x = heard.weight, heard.x
    C = heard.rho[:, None] * q.misfit
    log_h = digamma(q.a) - np.log(q.b)
    log_noise = np.log(q.d) - digamma(q.c)
    left = heard.y - (z.nu * x).sum(axis=1)
    rows = -0.5 * (LOG_2PI + log_noise + (left**2 + z.spread) / q.noise)
    wander = (z.nu - q.mu) ** 2 + z.G + q.root**2
    rows += 0.5 * (log_h - LOG_2PI - np.log(heard.rho)[:, None] - wander / C).sum(axis=1)
    gamma = (x**2 * C).sum(axis=1)
    log_det = np.log(C).sum(axis=1) + np.log(q.noise / (q.noise + gamma))
    rows += 0.5 * (log_det + x.shape[1] * (1.0 + LOG_2PI))
    change = q.mu - prior.mu
    of_lines = 0.5 * float(
        ((q.root**2 + change**2) / prior.variance - 1.0 + np.log(prior.variance / q.root**2)).sum()
    )
    return float(w @ rows) - of_lines - _divergence(q, prior)


def published_fit(
    heard: Heard, prior: Prior, q: Posterior, max_iter: int, tol: float
) -> tuple[Posterior, list[float]]:
    """Sweeps of eqs 14–22 until F gains less than tol a row; F after each, before eq. 22."""
    trace: list[float] = []
    rows = max(float(heard.weight.sum()), 1.0)
    for _ in range(max_iter):
        z = coefficients(heard, q)
        q = published_lines(heard, prior, q, z)
        q = published_variances(heard, prior, q, z)
        trace.append(published_bound(heard, prior, q, coefficients(heard, q)))
        if len(trace) > 1 and trace[-1] - trace[-2] <= tol * rows:
            break
        prior = replace(prior, a=q.a, b=q.b)  # eq. 22
    return q, trace


# -- both -------------------------------------------------------------------------------------


def _divergence(q: Posterior, prior: Prior) -> float:
    """Σ_j KL(q(h_j)) + KL(q(σ²)); σ⁻² is Gamma(c, d)."""
    of_h = _gamma_divergence(q.a, q.b, prior.a, prior.b).sum()
    return float(of_h + _gamma_divergence(q.c, q.d, prior.c, prior.d))


def _gamma_divergence(a, b, a0, b0):
    """KL of Gamma(a, b) from Gamma(a0, b0), rates b."""
    return (
        (a - a0) * digamma(a) - gammaln(a) + gammaln(a0)
        + a0 * (np.log(b) - np.log(b0)) + a * (b0 - b) / b
    )  # fmt: skip


def fit_experts(
    experts: Experts, X: Array, y: Array, w: Array, assumed: Assumptions, max_iter: int, tol: float
) -> tuple[Experts, list[list[float]]]:
    """All experts, each by itself, from where they are; the bounds they climbed."""
    found, traces = experts.copy(), []
    for k in range(experts.size):
        heard = Heard.of(X, y, w, experts.centres[k], assumed)
        prior = Prior.of(assumed, experts.start[k])
        q = prior.posterior(assumed.local)
        q = replace(q, a=experts.a[k], b=experts.b[k], c=float(experts.c[k]), d=float(experts.d[k]))
        q, trace = (fitted if assumed.local else published_fit)(heard, prior, q, max_iter, tol)
        traces.append(trace)
        if assumed.local:
            q = with_observed_counts(heard, prior, q)
        found.mu[k], found.a[k], found.b[k], found.c[k], found.d[k] = q.mu, q.a, q.b, q.c, q.d
        found.factor[k] = factored(q.root) if assumed.local else q.root[None] ** 2
        found.heard[k] = heard.weight.sum()
    return found, traces
