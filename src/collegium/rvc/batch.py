"""Variational EM over all rows, one expert at a time, with the bound F that it increases.

Local experts: q({β_i}, β) q(h) q(σ²). With β_i integrated out y_i ~ N(βᵀx_i, v_i), v_i = s + γ_i,
and row i counts κ_i = K_i w_i times:

    F = Σκ {E log N(y_i | βᵀx_i, v_i) + ½[log s − ⟨log σ²⟩ + Σ_j ⟨log h_j⟩ − log⟨h_j⟩]}
        − KL(q(β)) − Σ_j KL(q(h_j)) − KL(q(σ²))

As published: q(β_i) and q(β) are separate factors, eqs 9–21, and every row counts in full.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from ..engines.local import Serial
from ..numerics import linalg
from ..numerics.linalg import LOG_2PI
from .experts import Assumptions, Experts, factored
from .loops import FAINT
from .tuning import TUNING

Array = np.ndarray
ONE_THREAD = Serial()


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


class Climb(NamedTuple):
    """Result of EM for one expert."""

    q: ExpertPosterior
    bounds: list[float]  # F after each sweep
    converged: bool


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
) -> Climb:
    """Run EM until F gains less than tol per row; the first bound is that before any sweep."""
    q = local_lines(rows, prior, q)
    trace = [local_bound(rows, prior, q)]
    total = max(float(rows.weight.sum()), 1.0)
    for _ in range(max_iter):
        q = local_lines(rows, prior, local_variances(rows, prior, q))
        trace.append(local_bound(rows, prior, q))
        if trace[-1] - trace[-2] <= tol * total:
            return Climb(q, trace, True)
    return Climb(q, trace, False)


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


def published_sweep(rows: ExpertRows, prior: ExpertPrior, q: ExpertPosterior) -> ExpertPosterior:
    """Update q(β_i), then q(β), then q(h) and q(σ²): eqs 14–21; all covariances are diagonal.

    With t_i = (y_i − x_iᵀμ)/v_i and m = 1/⟨h⟩, eqs 14–15 are ν_i = μ + ρ_i m x_i t_i and
    diag G_i = ρ_i m − ρ_i² m² x_i²/v_i, and y_i − ν_iᵀx_i = s t_i. So the sums over rows need only
    Σwx_it_i and Σwρ_ix_i²(t_i² − 1/v_i), and no ν_i or G_i is formed.
    """
    w, m, s, total = rows.weight, q.misfit, q.noise, float(rows.weight.sum())
    near = float((w / rows.rho).sum())  # Σ w/ρ
    gamma, t = _errors(rows, q)
    v = s + gamma
    pull = (w * t) @ rows.x
    S = 1.0 / (near / m + 1.0 / prior.variance)  # eq. 16
    mu = S * (near * q.mu / m + pull + prior.mu / prior.variance)  # eq. 17
    change = q.mu - mu
    wander = near * (change**2 + S) + 2.0 * change * m * pull + total * m
    wander += m**2 * ((w * rows.rho * (t**2 - 1.0 / v)) @ rows.x**2)
    return ExpertPosterior(
        mu, np.sqrt(S), a=prior.a + 0.5 * total, b=prior.b + 0.5 * wander,
        c=prior.c + 0.5 * total, d=prior.d + 0.5 * float(w @ (s**2 * t**2 + s * gamma / v)),
    )  # fmt: skip


def _errors(rows: ExpertRows, q: ExpertPosterior) -> tuple[Array, Array]:
    """γ_i and t_i = (y_i − x_iᵀμ)/v_i  (n,)."""
    gamma = rows.rho * (rows.x**2 @ q.misfit)
    return gamma, (rows.y - rows.x @ q.mu) / (q.noise + gamma)


def published_bound(rows: ExpertRows, prior: ExpertPrior, q: ExpertPosterior) -> float:
    """F, eq. 9, with the best q(β_i): Σw log N(y_i | x_iᵀμ, v_i), less the cost of each factor."""
    gamma, t = _errors(rows, q)
    v = q.noise + gamma
    fit = -0.5 * float(rows.weight @ (LOG_2PI + np.log(v) + t**2 * v))
    fit -= 0.5 * float((rows.weight / rows.rho).sum() * (q.root**2 / q.misfit).sum())
    open_noise = np.log(q.noise) - (np.log(q.d) - digamma(q.c))
    open_h = (digamma(q.a) - np.log(q.b) + np.log(q.misfit)).sum()
    fit += 0.5 * float(rows.weight.sum()) * (open_noise + open_h)
    change = q.mu - prior.mu
    of_lines = 0.5 * float(
        ((q.root**2 + change**2) / prior.variance - 1.0 + np.log(prior.variance / q.root**2)).sum()
    )
    return fit - of_lines - _divergence(q, prior)


def published_fit(
    rows: ExpertRows, prior: ExpertPrior, q: ExpertPosterior, max_iter: int, tol: float
) -> Climb:
    """Sweep over eqs 14–21 until F gains less than tol per row, an extrapolation included.

    Two sweeps show where the third should start (`_extrapolated`): there, where F is not smaller.
    The prior of h stays as it is: eq. 22 within the sweeps would count every row once per sweep,
    and its limit is the unconstrained likelihood, which prefers lines without a region.
    """
    bounds: list[float] = []
    total = max(float(rows.weight.sum()), 1.0)
    path = [q]
    for _ in range(max_iter):
        tried = len(path) == 3
        if tried:
            far = _extrapolated(*path)
            path = [far if published_bound(rows, prior, far) >= bounds[-1] else path[-1]]
        path.append(published_sweep(rows, prior, path[-1]))
        bounds.append(published_bound(rows, prior, path[-1]))
        if tried and bounds[-1] - bounds[-2] <= tol * total:
            return Climb(path[-1], bounds, True)
        if tried:
            path = path[-1:]
    return Climb(path[-1], bounds, False)


def _extrapolated(
    q: ExpertPosterior, one: ExpertPosterior, two: ExpertPosterior
) -> ExpertPosterior:
    """Follow two steps r and r + u to q + 2cr + c²u, c = |r|/|u| (Varadhan & Roland 2008, S3).

    Scales are extrapolated as logarithms.
    """
    at = [np.concatenate([z.mu, np.log(z.root), np.log(z.b), [np.log(z.d)]]) for z in (q, one, two)]
    r = at[1] - at[0]
    u = at[2] - at[1] - r
    size = np.linalg.norm(u)
    c = max(float(np.linalg.norm(r) / size), 1.0) if size > 0.0 else 1.0
    # a step of the logarithms beyond this would leave the range of floats
    far = np.clip(at[0] + 2.0 * c * r + c**2 * u, at[2] - TUNING.longest, at[2] + TUNING.longest)
    mu, root, b, d = np.split(far, np.cumsum([q.mu.size] * 3))
    return replace(two, mu=mu, root=np.exp(root), b=np.exp(b), d=float(np.exp(d[0])))


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
    experts: Experts, X: Array, y: Array, w: Array, assumed: Assumptions, max_iter: int, tol: float,
    engine: Serial = ONE_THREAD,
) -> tuple[Experts, list[Climb]]:  # fmt: skip
    """Fit each expert by itself, starting from its present state."""

    def climbed(k: int) -> tuple[Climb, float]:
        rows = ExpertRows.of(X, y, w, experts.centres[k], assumed)
        prior = ExpertPrior.of(assumed, experts.start[k])
        q = prior.posterior(assumed.local)
        q = replace(q, a=experts.a[k], b=experts.b[k], c=float(experts.c[k]), d=float(experts.d[k]))
        climb = (local_fit if assumed.local else published_fit)(rows, prior, q, max_iter, tol)
        if assumed.local:
            climb = climb._replace(q=with_observed_counts(rows, prior, climb.q))
        return climb, float(rows.weight.sum())

    found, climbs = experts.copy(), []
    for k, (climb, seen) in enumerate(engine.map(climbed, range(experts.size))):
        q = climb.q
        climbs.append(climb)
        found.mu[k], found.a[k], found.b[k], found.c[k], found.d[k] = q.mu, q.a, q.b, q.c, q.d
        found.factor[k] = factored(q.root) if assumed.local else q.root[None] ** 2
        found.seen[k] = seen
    return found, climbs
