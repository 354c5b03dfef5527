"""Slow, obvious code: textbook formulas on dense matrices, loops over rows and plain Python.

Nothing here imports the library; kernels and chunks are read by their attributes alone.
"""

import math

import mpmath
import numpy as np

# --- kernels --------------------------------------------------------------------------------------


def _columns(parameter, d):
    return [float(v) for v in np.broadcast_to(parameter, (d,))]


def _squared_distance(x, z, length_scale):
    lengths = _columns(length_scale, len(x))
    return sum(((a - b) / l) ** 2 for a, b, l in zip(x, z, lengths))


def _constant(k, x, z, same):
    return k.variance


def _white(k, x, z, same):
    return k.variance if same else 0.0


def _linear(k, x, z, same):
    return sum(a * b / l**2 for a, b, l in zip(x, z, _columns(k.length_scale, len(x))))


def _trend(k, x, z, same):
    terms = zip(x, z, _columns(k.centre, len(x)), _columns(k.length_scale, len(x)))
    return k.variance * (1.0 + sum((a - c) * (b - c) / l**2 for a, b, c, l in terms))


def _rbf(k, x, z, same):
    return k.variance * math.exp(-0.5 * _squared_distance(x, z, k.length_scale))


def _matern12(k, x, z, same):
    return k.variance * math.exp(-math.sqrt(_squared_distance(x, z, k.length_scale)))


def _matern32(k, x, z, same):
    r = math.sqrt(3.0 * _squared_distance(x, z, k.length_scale))
    return k.variance * (1.0 + r) * math.exp(-r)


def _matern52(k, x, z, same):
    D = _squared_distance(x, z, k.length_scale)
    r = math.sqrt(5.0 * D)
    return k.variance * (1.0 + r + 5.0 * D / 3.0) * math.exp(-r)


def _rational_quadratic(k, x, z, same):
    D = _squared_distance(x, z, k.length_scale)
    return k.variance * math.exp(-k.alpha * math.log1p(D / (2.0 * k.alpha)))


def _periodic(k, x, z, same):
    d = len(x)
    total = 0.0
    for a, b, l, p in zip(x, z, _columns(k.length_scale, d), _columns(k.period, d)):
        total += (math.sin(math.pi * abs(a - b) / p) / l) ** 2
    return k.variance * math.exp(-2.0 * total)


def _season(k, x, z, same):
    periods = _columns(k.period, len(x))
    turns = [2.0 * math.pi * (a - b) / p for a, b, p in zip(x, z, periods)]
    each = range(1, k.harmonics + 1)
    return k.variance * sum(math.cos(j * turn) for turn in turns for j in each)


def _hat(k, x, z, same):
    product = k.variance
    for a, b, l in zip(x, z, _columns(k.length_scale, len(x))):
        product *= max(0.0, 1.0 - abs(a - b) / l)
    return product


#: k(x, z) by class name; `same` says that x and z are one row, not two equal ones.
def _group(kernel, x, z, same):
    return kernel.variance if x == z else 0.0


KERNELS = {
    "Constant": _constant,
    "White": _white,
    "Linear": _linear,
    "Trend": _trend,
    "RBF": _rbf,
    "Matern12": _matern12,
    "Matern32": _matern32,
    "Matern52": _matern52,
    "RationalQuadratic": _rational_quadratic,
    "Periodic": _periodic,
    "Season": _season,
    "Hat": _hat,
    "Group": _group,
}


def knows(kernel):
    """Whether every part of the kernel has a formula here."""
    if hasattr(kernel, "parts"):
        return all(knows(part) for part in kernel.parts)
    if type(kernel).__name__ == "On":
        return knows(kernel.kernel)
    return type(kernel).__name__ in KERNELS and not getattr(kernel, "categories", ())


def covariance(kernel, X, Z=None):
    """K(X, Z), or K(X, X) of one set of rows with itself, entry by entry."""
    name = type(kernel).__name__
    if name == "Sum":
        return sum(covariance(part, X, Z) for part in kernel.parts)
    if name == "Product":
        return math.prod(covariance(part, X, Z) for part in kernel.parts)
    if name == "On":
        columns = list(kernel.positions)
        return covariance(kernel.kernel, X[:, columns], None if Z is None else Z[:, columns])
    other = X if Z is None else Z
    K = np.empty((X.shape[0], other.shape[0]))
    for i, x in enumerate(X.tolist()):
        for j, z in enumerate(other.tolist()):
            K[i, j] = KERNELS[name](kernel, x, z, Z is None and i == j)
    return K


# --- Gaussians ------------------------------------------------------------------------------------


def log_density(y, C):
    """log N(y; 0, C) of each column of y  (p,)."""
    n = y.shape[0]
    if n == 0:
        return np.zeros(y.shape[1])
    quadratic = (y * np.linalg.solve(C, y)).sum(axis=0)
    return -0.5 * (quadratic + np.linalg.slogdet(C)[1] + n * np.log(2.0 * np.pi))


def condition(Cyy, Csy, Css, y):
    """Mean and covariance of s given y, jointly Gaussian with mean zero."""
    if y.shape[0] == 0:
        return np.zeros((Css.shape[0], y.shape[1])), Css.copy()
    return Csy @ np.linalg.solve(Cyy, y), Css - Csy @ np.linalg.solve(Cyy, Csy.T)


def gp(kernel, noise, X, y, w, Xs):
    """Exact GP: mean and covariance of f(X*), and the log evidence."""
    Cyy = covariance(kernel, X) + np.diag(noise / w)
    mean, cov = condition(Cyy, covariance(kernel, Xs, X), covariance(kernel, Xs), y)
    return mean, cov, log_density(y, Cyy)


def linear_regression(Phi, noise, y, w, w0, S0):
    """Posterior mean and covariance of the weights, and the log evidence of y."""
    Psi = np.diag(noise / w)
    precision = np.linalg.inv(S0) + Phi.T @ np.linalg.solve(Psi, Phi)
    shift = np.linalg.solve(S0, w0) + Phi.T @ np.linalg.solve(Psi, y)
    evidence = log_density(y - Phi @ w0, Phi @ S0 @ Phi.T + Psi)
    return np.linalg.solve(precision, shift), np.linalg.inv(precision), evidence


# --- sparse approximations as joint Gaussians -----------------------------------------------------


def stack(chunks):
    """All rows of all chunks, and the positions of each chunk's rows."""
    X, y, w = (np.concatenate(part) for part in zip(*[(c.X, c.y, c.w) for c in chunks]))
    ends = np.cumsum([c.X.shape[0] for c in chunks])
    return X, y, w, np.split(np.arange(X.shape[0]), ends[:-1])


def between_rows(kind, kernel, chunks, Z):
    """Covariance of f at all rows: K within blocks, Q = K(·, Z) K(Z, Z)⁻¹ K(Z, ·) elsewhere."""
    X, _, _, groups = stack(chunks)
    Kfu = covariance(kernel, X, Z)
    K, C = covariance(kernel, X), Kfu @ np.linalg.solve(covariance(kernel, Z), Kfu.T)
    blocks = {"fitc": [[i] for i in range(X.shape[0])], "dtc": []}.get(kind, groups)
    for rows in blocks:
        for i in rows:
            for j in rows:
                C[i, j] = K[i, j]
    return C


def sparse_gp(kind, kernel, noise, chunks, Z, Xs, own=None):
    """PITC, FITC, DTC or PIC (Quiñonero-Candela & Rasmussen 2005; Snelson & Ghahramani 2007).

    Q = K(·, Z) K(Z, Z)⁻¹ K(Z, ·) replaces K between rows, except: within a chunk (PITC, PIC),
    on the diagonal (FITC), nowhere (DTC). A query shares K with other queries and, in PIC
    alone, with the rows of the chunk `own[i]` it belongs to.
    """
    X, y, w, groups = stack(chunks)
    Kuu = covariance(kernel, Z)

    def Q(A, B):
        return covariance(kernel, A, Z) @ np.linalg.solve(Kuu, covariance(kernel, Z, B))

    Cyy, Csy = between_rows(kind, kernel, chunks, Z), Q(Xs, X)
    if kind == "pic":
        Ksf = covariance(kernel, Xs, X)
        for i, chunk in enumerate(own):
            Csy[i, groups[chunk]] = Ksf[i, groups[chunk]]
    Cyy = Cyy + np.diag(noise / w)
    mean, cov = condition(Cyy, Csy, covariance(kernel, Xs), y)
    return mean, cov, log_density(y, Cyy)


# --- the Bayesian committee machine (Tresp 2000) --------------------------------------------------


def modules(kernel, noise, chunks, Xq):
    """E(f^q | D_i) and cov(f^q | D_i) of each module."""
    return [gp(kernel, noise, c.X, c.y, c.w, Xq)[:2] for c in chunks]


def bcm_moments(kernel, noise, chunks, Xq):
    """Eqs 4-5: combine the modules' predictions, take the prior out M − 1 times."""
    Kqq = covariance(kernel, Xq)
    C = -(len(chunks) - 1) * np.linalg.inv(Kqq)
    b = 0.0
    for mean, cov in modules(kernel, noise, chunks, Xq):
        C = C + np.linalg.inv(cov)
        b = b + np.linalg.solve(cov, mean)
    return np.linalg.solve(C, b), np.linalg.inv(C)


def _measurements(kernel, noise, chunks, Xq):
    """A_i, cov(g_i | f^q) and g_i of App. 10.2."""
    Kqq = covariance(kernel, Xq)
    for c in chunks:
        A = np.linalg.solve(Kqq, covariance(kernel, Xq, c.X)).T
        R = covariance(kernel, c.X) + np.diag(noise / c.w) - A @ covariance(kernel, Xq, c.X)
        yield A, R, c.y


def bcm_measurements(kernel, noise, chunks, Xq):
    """App. 10.2: each module measures f^q."""
    C = np.linalg.inv(covariance(kernel, Xq))
    b = 0.0
    for A, R, g in _measurements(kernel, noise, chunks, Xq):
        C = C + A.T @ np.linalg.solve(R, A)
        b = b + A.T @ np.linalg.solve(R, g)
    return np.linalg.solve(C, b), np.linalg.inv(C)


def bcm_online_moments(kernel, noise, chunks, Xq):
    """Sec. 7.1: the modules' predictions one after the other."""
    Kqq = covariance(kernel, Xq)
    S, A, k = Kqq, 0.0, len(chunks)
    for mean, cov in modules(kernel, noise, chunks, Xq):
        gain = S @ np.linalg.inv(S + cov)
        A = A + gain @ (mean - A)
        S = S - gain @ (S + cov) @ gain.T
    mean = Kqq / k @ np.linalg.solve(Kqq / k - S, A)
    return mean, np.linalg.inv(np.linalg.inv(S) - k * np.linalg.inv(Kqq))


def bcm_online_measurements(kernel, noise, chunks, Xq):
    """App. 10.2, online: a Kalman filter over the modules' measurements."""
    S, E = covariance(kernel, Xq), 0.0
    for A, R, g in _measurements(kernel, noise, chunks, Xq):
        innovation = A @ S @ A.T + R
        gain = S @ A.T @ np.linalg.inv(innovation)
        E = E + gain @ (g - (A @ E if np.ndim(E) else 0.0))
        S = S - gain @ innovation @ gain.T
    return E, S


def bcm_in_many_digits(variance, length_scale, noise, chunks, Xq, nugget=0.0, digits=80):
    """Eqs 4-5 for a squared exponential and one output, inverse by inverse: mean and variances.

    With a nugget the committee is about g = f^q + e, e ~ N(0, nugget), and f^q is predicted
    from g. Without one the queries must be distinct, or Σ^qq has no inverse.
    """
    m, n = mpmath.mp, Xq.shape[0]
    with mpmath.workdps(digits):

        def k(x, z):
            lengths = _columns(length_scale, len(x))
            D = sum(((m.mpf(a) - m.mpf(b)) / m.mpf(l)) ** 2 for a, b, l in zip(x, z, lengths))
            return m.mpf(variance) * m.exp(-D / 2)

        def K(A, B):
            return m.matrix([[k(x, z) for z in B.tolist()] for x in A.tolist()])

        Kqq = K(Xq, Xq)
        spread = m.mpf(nugget) * m.eye(n)
        prior = m.inverse(Kqq + spread)
        C, b = -(len(chunks) - 1) * prior, m.matrix(n, 1)
        for chunk in chunks:
            Kqf = K(Xq, chunk.X)
            noises = [m.mpf(noise) / m.mpf(weight) for weight in chunk.w.tolist()]
            gain = Kqf * m.inverse(K(chunk.X, chunk.X) + m.diag(noises))
            precision = m.inverse(Kqq + spread - gain * Kqf.T)
            C += precision
            b += precision * (gain * m.matrix(chunk.y[:, 0].tolist()))
        cov = m.inverse(C)
        P = Kqq * prior  # E[f^q | g] = P g
        mean, cov = P * (cov * b), Kqq - P * Kqq + P * cov * P.T
        return (
            np.array([float(mean[i]) for i in range(n)]),
            np.array([float(cov[i, i]) for i in range(n)]),
        )


# --- Laplace's approximation ----------------------------------------------------------------------


def laplace(C, likelihood, y, w, start=None):
    """Mode, slopes, curvatures W ≥ 0 and log evidence, f ~ N(0, C): Newton with C⁻¹, halving.

    Steps use W until they are short, then the true second derivative.
    """
    precision, f = np.linalg.inv(C), np.zeros(y.shape[0]) if start is None else start

    def value(f):
        return w @ likelihood.log_density(y, f) - 0.5 * f @ precision @ f

    for _ in range(300):
        first, second, _ = likelihood.derivatives(y, f)
        uphill = w * first - precision @ f
        step = np.linalg.solve(precision + np.diag(w * np.maximum(-second, 0.0)), uphill)
        if np.abs(step).max() < 1e-2:
            step = np.linalg.solve(precision - np.diag(w * second), uphill)
        size = 1.0
        while value(f + size * step) < value(f) - 1e-9 and size > 1e-12:
            size /= 2.0
        f = f + size * step
    first, second, _ = likelihood.derivatives(y, f)
    W = w * np.maximum(-second, 0.0)
    log_det = np.linalg.slogdet(np.eye(len(f)) + C * W)[1]
    return f, w * first, W, value(f) - 0.5 * log_det


def softmax_mode(C, K, y, w):
    """Newton on all latents at once, with the full matrix of second derivatives."""
    n = y.shape[0]
    precision, f = np.kron(np.eye(K), np.linalg.inv(C)), np.zeros(n * K)
    for _ in range(60):
        p = np.exp(f.reshape(K, n))
        p /= p.sum(axis=0)
        heard = np.arange(K)[:, None] == y[:, 0]
        W = np.zeros((n * K, n * K))
        for k in range(K):
            for j in range(K):
                block = w * (p[k] * (k == j) - p[k] * p[j])
                W[k * n : (k + 1) * n, j * n : (j + 1) * n] = np.diag(block)
        uphill = (w * (heard - p)).ravel() - precision @ f
        f = f + np.linalg.solve(precision + W, uphill)
    return f.reshape(K, n).T, p.T


# --- few rows -------------------------------------------------------------------------------------


def few_rows_covariance(theta, X, Z, levels=()):
    """s_f² Matérn 5/2 + s_l² c(x)ᵀc(z)/d + 1, c = x clipped to ±2.5, pair by pair.

    θ = (log ℓ, log s_f, log σ, log s_l, δ of the columns). Codes in `levels` differ by 0 or 1, and
    equal ones add 1 to the inner product.
    """
    d = X.shape[1]
    delta = theta[4:] if theta.size > 4 else np.zeros(d)
    K = np.empty((len(X), len(Z)))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            gap = [float(x[k] != z[k]) if k in levels else x[k] - z[k] for k in range(d)]
            D = sum((gap[k] / math.exp(theta[0] + delta[k])) ** 2 for k in range(d))
            r = math.sqrt(5.0 * D)
            clipped = [
                (float(x[k] == z[k]), 1.0)
                if k in levels
                else (min(max(x[k], -2.5), 2.5), min(max(z[k], -2.5), 2.5))
                for k in range(d)
            ]
            line = sum(a * b for a, b in clipped) / d
            matern = (1.0 + r + r * r / 3.0) * math.exp(-r)
            K[i, j] = math.exp(theta[1]) ** 2 * matern + math.exp(theta[3]) ** 2 * line + 1.0
    return K


def few_rows_evidence(theta, X, y, levels=()):
    noise = math.exp(theta[2]) ** 2
    C = few_rows_covariance(theta, X, X, levels) + noise * np.eye(len(y))
    return log_density(y[:, None], C)


def few_rows_prediction(theta, X, y, Xs, levels=()):
    """Mean and variance of a new observation at each of the queries."""
    noise = math.exp(theta[2]) ** 2
    C = few_rows_covariance(theta, X, X, levels) + noise * np.eye(len(y))
    Cs = few_rows_covariance(theta, Xs, X, levels)
    Css = few_rows_covariance(theta, Xs, Xs, levels)
    mean, cov = condition(C, Cs, Css, y[:, None])
    return mean[:, 0], np.diag(cov) + noise


# --- derivatives ----------------------------------------------------------------------------------


def gradient(f, theta, step=1e-4):
    """∂f/∂θ by the five-point stencil; f is a number or an array, the last axis runs over θ."""
    columns = []
    for i in range(theta.size):
        e = np.zeros(theta.size)
        e[i] = step
        near = np.asarray(f(theta + e)) - np.asarray(f(theta - e))
        far = np.asarray(f(theta + 2 * e)) - np.asarray(f(theta - 2 * e))
        columns.append((8.0 * near - far) / (12.0 * step))
    return np.stack(columns, axis=-1) if columns else np.empty(0)
