"""Variational EM over all rows, one expert at a time, with the bound F that it increases.

Local experts: q({β_i}, β) q(h) q(σ²). With β_i integrated out y_i ~ N(βᵀx_i, v_i), v_i = s + γ_i,
and row i counts κ_i = K_i w_i times:

    F = Σκ {E log N(y_i | βᵀx_i, v_i) + ½[log s − ⟨log σ²⟩ + Σ_j ⟨log h_j⟩ − log⟨h_j⟩]}
        − KL(q(β)) − Σ_j KL(q(h_j)) − KL(q(σ²))

As published: q(β_i) and q(β) are separate factors, eqs 9–22, and every row counts in full.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, gammaln

from ..numerics import linalg
from ..numerics.linalg import LOG_2PI
from .experts import Assumptions, Experts, factored
from .loops import FAINT
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class ExpertPosterior:
    """q(β) = N(μ, S), q(h_j) = Gamma(a_j, b_j), q(σ²) = InvGamma(c, d) of one expert."""

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
class ExpertRows:
    """Rows that one expert uses, in its own coordinates."""

    x: Array  # (n, D)
    y: Array  # (n,)
    rho: Array  # (n,)  xᵀx
    weight: Array  # κ  (n,)

    @classmethod
    def of(cls, X: Array, y: Array, w: Array, centre: Array, assumed: Assumptions) -> ExpertRows:
        x = np.column_stack([(X - centre) / assumed.unit, np.ones(y.size)])
        rho = (x * x).sum(axis=1)
        if not assumed.local:
            return cls(x, y, rho, w)
        K = np.exp(-0.5 * (rho - 1.0))
        near = K >= FAINT
        return cls(x[near], y[near], rho[near], (K * w)[near])


@dataclass(frozen=True, eq=False)
class ExpertPrior:
    """N(μ0, diag S0), Gamma(a0, b0), InvGamma(c0, d0)."""

    mu: Array  # (D,)
    variance: Array  # (D,)
    a: Array  # (D,)
    b: Array  # (D,)
    c: float
    d: float

    @classmethod
    def of(cls, assumed: Assumptions, start: Array) -> ExpertPrior:
        D = start.size
        a, b = np.full(D, assumed.a0), np.full(D, assumed.b0)
        return cls(start, assumed.prior_variance(), a, b, assumed.c0, assumed.d0)

    def posterior(self, local: bool) -> ExpertPosterior:
        """q before any row."""
        sd = np.sqrt(self.variance)
        return ExpertPosterior(
            self.mu, np.diag(sd) if local else sd, self.a, self.b, self.c, self.d
        )


# -- local experts ----------------------------------------------------------------------------


def _spread(rows: ExpertRows, q: ExpertPosterior) -> tuple[Array, Array]:
    """γ_i and E(y_i − βᵀx_i)²  (n,)."""
    gamma = rows.rho * (rows.x**2 @ q.misfit)
    left = rows.y - rows.x @ q.mu
    return gamma, left**2 + ((rows.x @ q.root) ** 2).sum(axis=1)


def local_lines(rows: ExpertRows, prior: ExpertPrior, q: ExpertPosterior) -> ExpertPosterior:
    """Update q(β): a weighted linear regression."""
    sd = np.sqrt(prior.variance)
    weight = rows.weight / (q.noise + rows.rho * (rows.x**2 @ q.misfit))
    scaled = rows.x * sd  # β = μ0 + sd·t, t ~ N(0, I)
    left = rows.y - rows.x @ prior.mu
    precision = np.eye(sd.size) + (scaled * weight[:, None]).T @ scaled
    if precision.diagonal().max() < TUNING.squarable:
        L, _ = linalg.cholesky(precision, 1.0)
        t = linalg.solve_posdef(L, (scaled.T @ (weight * left))[:, None])[:, 0]
    else:
        tall = np.column_stack([scaled, left]) * np.sqrt(weight)[:, None]
        R = linalg.triangle(np.concatenate([tall, np.eye(sd.size, sd.size + 1)]))
        L = np.ascontiguousarray(R[: sd.size, : sd.size].T)
        t = linalg.solve_upper(L, R[: sd.size, sd.size])
    root = sd[:, None] * linalg.solve_lower(L, np.eye(sd.size)).T  # diag(sd) L⁻ᵀ
    return replace(q, mu=prior.mu + sd * t, root=root)


def local_variances(rows: ExpertRows, prior: ExpertPrior, q: ExpertPosterior) -> ExpertPosterior:
    """Update q(h) and q(σ²), with the optimal q(β_i | β)."""
    gamma, square = _spread(rows, q)
    s, total, half = q.noise, rows.weight.sum(), 0.5 * rows.weight
    v = s + gamma
    C = rows.rho[:, None] * q.misfit
    pull = C * rows.x / v[:, None]
    wander = pull**2 * square[:, None] + C - pull * C * rows.x
    return replace(
        q, a=prior.a + 0.5 * total, b=prior.b + (half / rows.rho) @ wander,
        c=prior.c + 0.5 * total, d=prior.d + float(half @ ((s / v) ** 2 * square + s * gamma / v)),
    )  # fmt: skip


def local_bound(rows: ExpertRows, prior: ExpertPrior, q: ExpertPosterior) -> float:
    """F of a local expert."""
    gamma, square = _spread(rows, q)
    v = q.noise + gamma
    fit = -0.5 * float(rows.weight @ (LOG_2PI + np.log(v) + square / v))
    open_noise = np.log(q.noise) - (np.log(q.d) - digamma(q.c))
    open_h = (digamma(q.a) - np.log(q.b) + np.log(q.misfit)).sum()
    fit += 0.5 * float(rows.weight.sum()) * (open_noise + open_h)
    change = q.mu - prior.mu
    of_lines = 0.5 * float(
        (((q.root**2).sum(axis=1) + change**2) / prior.variance - 1.0).sum()
        + (np.log(prior.variance) - np.log(np.diag(q.root) ** 2)).sum()
    )
    return fit - of_lines - _divergence(q, prior)


def local_fit(
    rows: ExpertRows, prior: ExpertPrior, q: ExpertPosterior, max_iter: int, tol: float
) -> tuple[ExpertPosterior, list[float]]:
    """Run EM until F gains less than tol per row; return F after every iteration too."""
    q = local_lines(rows, prior, q)
    trace = [local_bound(rows, prior, q)]
    total = max(float(rows.weight.sum()), 1.0)
    for _ in range(max_iter):
        q = local_lines(rows, prior, local_variances(rows, prior, q))
        trace.append(local_bound(rows, prior, q))
        if trace[-1] - trace[-2] <= tol * total:
            break
    return q, trace


def with_observed_counts(
    rows: ExpertRows, prior: ExpertPrior, q: ExpertPosterior
) -> ExpertPosterior:
    """Reduce the counts behind ⟨h⟩ and s: each row counts by its share of v_i.

    EM counts every row in full for each h_j and for σ², as if β_i were observed; with such counts
    later rows of a stream would hardly change them.
    """
    gamma, _ = _spread(rows, q)
    v = q.noise + gamma
    shares = rows.rho[:, None] * rows.x**2 * q.misfit / v[:, None]
    a = prior.a + 0.5 * rows.weight @ shares
    c = prior.c + 0.5 * float(rows.weight @ (q.noise / v))
    return replace(q, a=a, b=a * q.misfit, c=c, d=c * q.noise)


# -- experts as published ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RowCoefficients:
    """q(β_i) = N(ν_i, G_i); only the diagonal of G_i and x_iᵀG_ix_i are needed."""

    nu: Array  # (n, D)
    G: Array  # (n, D)
    spread: Array  # xᵀGx  (n,)


def coefficients(rows: ExpertRows, q: ExpertPosterior) -> RowCoefficients:
    """Update q(β_i): eqs 14–15."""
    C = rows.rho[:, None] * q.misfit
    gamma = (rows.x**2 * C).sum(axis=1)
    v = q.noise + gamma
    pull = C * rows.x / v[:, None]
    left = rows.y - rows.x @ q.mu
    nu = q.mu + pull * left[:, None]
    return RowCoefficients(nu, C - pull * C * rows.x, q.noise * gamma / v)


def published_lines(
    rows: ExpertRows, prior: ExpertPrior, q: ExpertPosterior, z: RowCoefficients
) -> ExpertPosterior:
    """Update q(β): eqs 16–17; all covariances are diagonal."""
    each = rows.weight[:, None] / (rows.rho[:, None] * q.misfit)
    S = 1.0 / (each.sum(axis=0) + 1.0 / prior.variance)
    return replace(
        q, root=np.sqrt(S), mu=S * ((each * z.nu).sum(axis=0) + prior.mu / prior.variance)
    )


def published_variances(
    rows: ExpertRows, prior: ExpertPrior, q: ExpertPosterior, z: RowCoefficients
) -> ExpertPosterior:
    """Update q(h) and q(σ²): eqs 18–21."""
    half, total = 0.5 * rows.weight, rows.weight.sum()
    wander = (z.nu - q.mu) ** 2 + z.G + q.root**2
    left = rows.y - (z.nu * rows.x).sum(axis=1)
    return replace(
        q, a=prior.a + 0.5 * total, b=prior.b + (half / rows.rho) @ wander,
        c=prior.c + 0.5 * total, d=prior.d + float(half @ (left**2 + z.spread)),
    )  # fmt: skip


def published_bound(
    rows: ExpertRows, prior: ExpertPrior, q: ExpertPosterior, z: RowCoefficients
) -> float:
    """F, eq. 9; |G_i| = |⟨C_i⟩| s/v_i, since G_i is ⟨C_i⟩ with a change of rank one."""
    w, x = rows.weight, rows.x
    C = rows.rho[:, None] * q.misfit
    log_h = digamma(q.a) - np.log(q.b)
    log_noise = np.log(q.d) - digamma(q.c)
    left = rows.y - (z.nu * x).sum(axis=1)
    terms = -0.5 * (LOG_2PI + log_noise + (left**2 + z.spread) / q.noise)
    wander = (z.nu - q.mu) ** 2 + z.G + q.root**2
    terms += 0.5 * (log_h - LOG_2PI - np.log(rows.rho)[:, None] - wander / C).sum(axis=1)
    gamma = (x**2 * C).sum(axis=1)
    log_det = np.log(C).sum(axis=1) + np.log(q.noise / (q.noise + gamma))
    terms += 0.5 * (log_det + x.shape[1] * (1.0 + LOG_2PI))
    change = q.mu - prior.mu
    of_lines = 0.5 * float(
        ((q.root**2 + change**2) / prior.variance - 1.0 + np.log(prior.variance / q.root**2)).sum()
    )
    return float(w @ terms) - of_lines - _divergence(q, prior)


def published_fit(
    rows: ExpertRows, prior: ExpertPrior, q: ExpertPosterior, max_iter: int, tol: float
) -> tuple[ExpertPosterior, list[float]]:
    """Sweep over eqs 14–22 until F gains less than tol per row.

    Also returns F after each sweep, before eq. 22.
    """
    trace: list[float] = []
    total = max(float(rows.weight.sum()), 1.0)
    for _ in range(max_iter):
        z = coefficients(rows, q)
        q = published_lines(rows, prior, q, z)
        q = published_variances(rows, prior, q, z)
        trace.append(published_bound(rows, prior, q, coefficients(rows, q)))
        if len(trace) > 1 and trace[-1] - trace[-2] <= tol * total:
            break
        prior = replace(prior, a=q.a, b=q.b)  # eq. 22
    return q, trace


# -- both -------------------------------------------------------------------------------------


def _divergence(q: ExpertPosterior, prior: ExpertPrior) -> float:
    """Σ_j KL(q(h_j)) + KL(q(σ²)); σ⁻² is Gamma(c, d)."""
    of_h = _gamma_divergence(q.a, q.b, prior.a, prior.b).sum()
    return float(of_h + _gamma_divergence(q.c, q.d, prior.c, prior.d))


def _gamma_divergence(a, b, a0, b0):
    """KL(Gamma(a, b) ‖ Gamma(a0, b0)), b a rate."""
    return (
        (a - a0) * digamma(a) - gammaln(a) + gammaln(a0)
        + a0 * (np.log(b) - np.log(b0)) + a * (b0 - b) / b
    )  # fmt: skip


def fit_experts(
    experts: Experts, X: Array, y: Array, w: Array, assumed: Assumptions, max_iter: int, tol: float
) -> tuple[Experts, list[list[float]]]:
    """Fit each expert by itself, starting from its present state; return the bounds too."""
    found, traces = experts.copy(), []
    for k in range(experts.size):
        rows = ExpertRows.of(X, y, w, experts.centres[k], assumed)
        prior = ExpertPrior.of(assumed, experts.start[k])
        q = prior.posterior(assumed.local)
        q = replace(q, a=experts.a[k], b=experts.b[k], c=float(experts.c[k]), d=float(experts.d[k]))
        q, trace = (local_fit if assumed.local else published_fit)(rows, prior, q, max_iter, tol)
        traces.append(trace)
        if assumed.local:
            q = with_observed_counts(rows, prior, q)
        found.mu[k], found.a[k], found.b[k], found.c[k], found.d[k] = q.mu, q.a, q.b, q.c, q.d
        found.factor[k] = factored(q.root) if assumed.local else q.root[None] ** 2
        found.seen[k] = rows.weight.sum()
    return found, traces
