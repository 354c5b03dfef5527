"""Randomly varying coefficients, slowly: full matrices, one row at a time, nothing reused.

Letters as in spec 5. A prior and a posterior are dicts with mu, S (full), a, b, c, d; q(β_i) is
N(ν_i, G_i) with G_i full (as published), or N(β + k_i(y_i − x_iᵀβ), G_i) given β (local).
"""

import numpy as np
from scipy.special import digamma, gammaln
from scipy.stats import gamma, invgamma, multivariate_normal, norm


def inputs(rows, centre, unit):
    """x = [(row − centre)/u, 1]  (n, D)."""
    return np.array([np.append((row - centre) / unit, 1.0) for row in rows])


def wander(x, p):
    """⟨C⟩ = diag(xᵀx/⟨h_j⟩)  (D, D)."""
    return np.diag((x @ x) * p["b"] / p["a"])


def coefficients(x, y, p):
    """Gain k = ⟨C⟩x/(s + γ) and G = (⟨C⟩⁻¹ + xxᵀ/s)⁻¹ of one row."""
    C, s = wander(x, p), p["d"] / p["c"]
    G = np.linalg.inv(np.linalg.inv(C) + np.outer(x, x) / s)
    return G @ x / s, G


# -- the bound: expected log joint plus entropies ------------------------------------------------


def expected_normal(cov, second):
    """E log N(z | m, V) = −½[log |2πV| + tr V⁻¹ E(z − m)(z − m)ᵀ]; `second` is the last factor."""
    return -0.5 * (np.linalg.slogdet(2 * np.pi * cov)[1] + np.trace(np.linalg.solve(cov, second)))


def of_parameters(p, prior):
    """E log p(β, h, σ²) + their entropies."""
    change = p["mu"] - prior["mu"]
    F = expected_normal(prior["S"], np.outer(change, change) + p["S"])
    F += multivariate_normal(cov=p["S"]).entropy()
    for j in range(p["a"].size):
        a, b, a0, b0 = p["a"][j], p["b"][j], prior["a"][j], prior["b"][j]
        F += a0 * np.log(b0) - gammaln(a0) + (a0 - 1) * (digamma(a) - np.log(b)) - b0 * a / b
        F += gamma(a, scale=1 / b).entropy()
    c, d, c0, d0 = p["c"], p["d"], prior["c"], prior["d"]
    F += c0 * np.log(d0) - gammaln(c0) - (c0 + 1) * (np.log(d) - digamma(c)) - d0 * c / d
    return F + invgamma(c, scale=d).entropy()


def _of_row(x, p, residual2, second, G):
    """E log p(y_i | β_i) p(β_i | β) + entropy of β_i, from E(y − β_iᵀx)², E(β_i − β)(β_i − β)ᵀ."""
    F = -0.5 * (np.log(2 * np.pi) + np.log(p["d"]) - digamma(p["c"]) + residual2 * p["c"] / p["d"])
    F += expected_normal(wander(x, p), second)
    # E log |C⁻¹| has ⟨log h⟩ where log |⟨C⟩⁻¹| has log ⟨h⟩
    F += 0.5 * (digamma(p["a"]) - np.log(p["b"]) - np.log(p["a"] / p["b"])).sum()
    return F + multivariate_normal(cov=G).entropy()


def published_bound(x, y, w, nu, Gs, p, prior):
    F = of_parameters(p, prior)
    for xi, yi, wi, n, G in zip(x, y, w, nu, Gs, strict=True):
        away = n - p["mu"]
        residual2 = (yi - n @ xi) ** 2 + xi @ G @ xi
        F += wi * _of_row(xi, p, residual2, np.outer(away, away) + G + p["S"], G)
    return F


def local_bound(x, y, w, gains, Gs, p, prior):
    """β_i = Aβ + ky + g, A = I − kxᵀ, g ~ N(0, G)."""
    F, S = of_parameters(p, prior), p["S"]
    for xi, yi, wi, k, G in zip(x, y, w, gains, Gs, strict=True):
        A = np.eye(xi.size) - np.outer(k, xi)
        mean, cov = A @ p["mu"] + k * yi, A @ S @ A.T + G
        away = mean - p["mu"]
        second = np.outer(away, away) + cov + S - A @ S - S @ A.T
        F += wi * _of_row(xi, p, (yi - mean @ xi) ** 2 + xi @ cov @ xi, second, G)
    return F


def log_evidence(x, y, w, p, prior):
    """log ∫ Π N(y_i | βᵀx_i, v_i)^κ_i N(β | μ0, S0) dβ."""
    v = np.array([p["d"] / p["c"] + xi @ wander(xi, p) @ xi for xi in x])
    cov = x @ prior["S"] @ x.T + np.diag(v / w)
    F = multivariate_normal(x @ prior["mu"], cov).logpdf(y)
    return F - 0.5 * np.sum((w - 1) * np.log(2 * np.pi * v) + np.log(w))


def published_sweep(x, y, w, p, prior):
    """Eqs 14–21 in this order; return ν, G, p after eqs 16–17, and p after eqs 18–21."""
    pairs = [coefficients(xi, yi, p) for xi, yi in zip(x, y, strict=True)]
    nu = np.array([p["mu"] + k * (yi - xi @ p["mu"]) for xi, yi, (k, _) in zip(x, y, pairs)])
    Gs = np.array([G for _, G in pairs])
    inverse = [wi * np.linalg.inv(wander(xi, p)) for xi, wi in zip(x, w, strict=True)]
    P0 = np.linalg.inv(prior["S"])
    S = np.linalg.inv(sum(inverse) + P0)
    mu = S @ (sum(P @ n for P, n in zip(inverse, nu, strict=True)) + P0 @ prior["mu"])
    lines, b, d = dict(p, mu=mu, S=S), prior["b"], prior["d"]
    for xi, yi, wi, n, G in zip(x, y, w, nu, Gs, strict=True):
        b = b + wi * ((n - mu) ** 2 + np.diag(G) + np.diag(S)) / (2 * xi @ xi)
        d = d + wi * ((yi - n @ xi) ** 2 + xi @ G @ xi) / 2
    a, c = prior["a"] + w.sum() / 2, prior["c"] + w.sum() / 2
    return nu, Gs, lines, dict(lines, a=a, b=b, c=c, d=d)


# -- row by row ----------------------------------------------------------------------------------


def faded(p, prior, keep):
    """All natural parameters towards the prior's."""
    p = dict(p)
    for key in "abcd":
        p[key] = prior[key] + keep * (p[key] - prior[key])
    now, first = np.linalg.inv(p["S"]), np.linalg.inv(prior["S"])
    shift = keep * now @ p["mu"] + (1 - keep) * first @ prior["mu"]
    p["S"] = np.linalg.inv(keep * now + (1 - keep) * first)
    p["mu"] = p["S"] @ shift
    return p


def published_row(x, y, w, p, sweeps):
    """Eqs 14–15, 24–29: p is the prior of all sweeps."""
    prior, rho = p, x @ x
    for _ in range(sweeps):
        k, G = coefficients(x, y, p)
        nu = p["mu"] + k * (y - x @ p["mu"])
        Ci, P0 = np.linalg.inv(wander(x, p)), np.linalg.inv(prior["S"])
        S = np.linalg.inv(w * Ci + P0)
        mu = S @ (w * Ci @ nu + P0 @ prior["mu"])
        b = prior["b"] + w * ((nu - mu) ** 2 + np.diag(G) + np.diag(S)) / (2 * rho)
        d = prior["d"] + w * ((y - nu @ x) ** 2 + x @ G @ x) / 2
        p = dict(mu=mu, S=S, a=prior["a"] + w / 2, b=b, c=prior["c"] + w / 2, d=d)
    return p


def locality(x):
    return np.exp(-0.5 * (x @ x - 1))


def local_row(x, y, w, p, sweeps, prior_of_all=None):
    """Shares φ of v = s + γ + xᵀSx credit the variances; then least squares, noise (s + γ)/K.

    With forgetting (prior_of_all given) the line fades as much as noise at the centre grows.
    """
    prior, share = p, w * locality(x)
    e, q = y - x @ p["mu"], x @ p["S"] @ x
    for _ in range(sweeps):
        s, h1 = p["d"] / p["c"], p["b"] / p["a"]
        v = s + x @ wander(x, p) @ x + q
        z2, phi, phi_h = min(e**2 / v, 100), s / v, (x @ x) * x**2 * h1 / v
        p = dict(
            mu=prior["mu"], S=prior["S"],
            a=prior["a"] + share * phi_h / 2, b=prior["b"] + share * phi_h * h1 * z2 / 2,
            c=prior["c"] + share * phi / 2, d=prior["d"] + share * phi * s * z2 / 2,
        )  # fmt: skip
    if prior_of_all is not None:
        before, now = (q["d"] / q["c"] + q["b"][-1] / q["a"][-1] for q in (prior, p))
        if now > before:
            line = faded(prior, prior_of_all, before / now)
            prior = dict(prior, S=line["S"], mu=line["mu"])
    noise = (p["d"] / p["c"] + x @ wander(x, p) @ x) * max(e**2 / v / 100, 1)
    P0 = np.linalg.inv(prior["S"])
    S = np.linalg.inv(P0 + share * np.outer(x, x) / noise)
    return dict(p, S=S, mu=S @ (P0 @ prior["mu"] + share * x * y / noise))


def local_log_density(x, y, w, p, log_s, log_misfit):
    """w K log N(e | 0, v) of a row with s and 1/⟨h_j⟩ given by their logs."""
    v = np.exp(log_s) + (x @ x) * (x**2 @ np.exp(log_misfit)) + x @ p["S"] @ x
    return w * locality(x) * norm(0, np.sqrt(v)).logpdf(y - x @ p["mu"])


# -- the committee -------------------------------------------------------------------------------


def combined(xs, ps, unit, local):
    """Mean, variance, noise and slopes at one query; xs: the query as each expert sees it."""
    m = np.array([x @ p["mu"] for x, p in zip(xs, ps, strict=True)])
    s = np.array([p["d"] / p["c"] for p in ps])
    v = s + [x @ (p["S"] + wander(x, p)) @ x for x, p in zip(xs, ps, strict=True)]
    alpha = np.array([locality(x) for x in xs]) / v if local else 1 / v
    variance = alpha.sum() / (alpha / v).sum() if local else 1 / alpha.sum()
    slopes = sum(a * p["mu"][:-1] for a, p in zip(alpha, ps, strict=True)) / alpha.sum() / unit
    level = np.array([p["b"][-1] / p["a"][-1] for p in ps]) if local else 0
    noise = variance * (alpha * (s + level) / v).sum() / alpha.sum()
    return alpha @ m / alpha.sum(), variance, noise, slopes


# -- records of the code as records of the reference ---------------------------------------------


def of_prior(prior):
    return dict(mu=prior.mu, S=np.diag(prior.variance), a=prior.a, b=prior.b, c=prior.c, d=prior.d)


def of_posterior(q):
    root = np.diag(q.root) if q.root.ndim == 1 else q.root
    return dict(mu=q.mu, S=root @ root.T, a=q.a, b=q.b, c=q.c, d=q.d)


def of_expert(e, k):
    return dict(mu=e.mu[k], S=e.covariance()[k], a=e.a[k], b=e.b[k], c=e.c[k], d=e.d[k])


def of_coefficients(used, p):
    found = [coefficients(x, y, p) for x, y in zip(used.x, used.y, strict=True)]
    gains, Gs = map(np.array, zip(*found, strict=True))
    return gains, Gs


# -- for tests ----------------------------------------------------------------------------------


def assert_a_maximum(F, blocks, rng, relative=1e-3):
    """F(block arrays) falls both ways along random directions, evenly."""
    top = F(*blocks)
    for _ in range(4):
        move = [relative * np.abs(z).max() * rng.standard_normal(np.shape(z)) for z in blocks]
        move = [m + np.swapaxes(m, -1, -2) if np.ndim(m) >= 2 and _square(m) else m for m in move]
        up, down = (F(*[z + t * m for z, m in zip(blocks, move, strict=True)]) for t in (1, -1))
        assert up + down < 2 * top
        assert abs(up - down) < 0.1 * (2 * top - up - down)


def _square(m):
    return m.shape[-1] == m.shape[-2]


def rows(d, n=11, seed=0):
    rng = np.random.default_rng(seed)
    X = 0.6 * rng.standard_normal((n, d))
    y = np.sin(2 * X.sum(axis=1)) + 0.2 * rng.standard_normal(n)
    return X, y, rng.uniform(0.4, 2.5, n)


def hard_rows(X, y, w):
    """Sixty plain rows made difficult; d = 2."""
    ones = np.ones(60)
    jump = np.where(np.arange(60) < 30, y, y + 1e6)
    yield "constant rows", (0 * X + 0.3, y, w)
    yield "copies", (X[np.arange(60) % 3], y[np.arange(60) % 3], w)
    yield "constant y", (X, 0 * y + 0.7, w)
    yield "zero y", (X, 0 * y, w)
    yield "weights 1e-8", (X, y, 1e-8 * ones)
    yield "weights 1e8", (X, y, 1e8 * ones)
    for size in (0.0, 1e-8, 1e8):
        yield f"weights {size} and others", (X, y, np.where(np.arange(60) % 7 == 3, size, w))
    yield "copied columns", (X[:, [0, 0]], y, 1e8 ** (np.arange(60) % 3 - 1.0))
    yield "one row", (np.tile(X[:1], (10_000, 1)), np.full(10_000, y[0]), np.ones(10_000))
    yield "a jump", (X, jump, w)
    yield "far rows", (np.where(np.arange(60)[:, None] % 5 == 2, 1e6, 1.0) * X, y, w)
