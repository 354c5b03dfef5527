"""Small problems with non-Gaussian targets: weights, exposures, unequal chunks, ARD."""

import numpy as np

from collegium.engines import Serial
from collegium.kernels import Matern12
from collegium.laplace.committee import (
    LaplaceCommittee,
    latent_predictors,
    settle_together,
    sweep_together,
)
from collegium.likelihoods import Gaussian, Logit, Poisson, Probit, StudentT
from collegium.messages.basis import Anchors
from collegium.messages.experts import Block
from collegium.rows.chunk import Chunk

KERNEL = Matern12(2.3, [1.1, 1.9])
LIKELIHOODS = {
    "logit": Logit(),
    "probit": Probit(),
    "poisson": Poisson(),
    "student": StudentT(3.7, 0.08),
    "gaussian": Gaussian(0.21),
}


def targets(likelihood, f, rng):
    """y (n, c) drawn given f; three outliers where y is a number."""
    n = f.shape[0]
    if likelihood.support.name == "signs":
        return np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * f)), 1.0, -1.0)[:, None]
    if likelihood.support.name == "classes":
        return rng.integers(0, likelihood.latents, n)[:, None].astype(float)
    if likelihood.support.name == "counts":
        exposure = rng.uniform(0.3, 4.0, n)
        return np.stack([rng.poisson(exposure * np.exp(f)).astype(float), exposure], axis=1)
    y = f + 0.3 * rng.normal(size=n)
    y[:3] += [4.0, -5.0, 3.0]
    return y[:, None]


def draw(likelihood, sizes=(13, 1, 18, 9), *, seed=5, m=7, q=6, weighted=True, kernel=KERNEL):
    """Chunks, anchors and queries."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    X = rng.uniform(-2, 2, (n, 2))
    f = np.linalg.cholesky(kernel.value(X) + 1e-9 * np.eye(n)) @ rng.normal(size=n)
    y = targets(likelihood, f, rng)
    w = rng.uniform(0.5, 2.5, n) if weighted else np.ones(n)
    groups = np.split(np.arange(n), np.cumsum(sizes)[:-1])
    chunks = [Chunk(i, X[g], y[g], w[g]) for i, g in enumerate(groups)]
    return chunks, rng.uniform(-2, 2, (m, 2)), rng.uniform(-2, 2, (q, 2))


def start(likelihood, Z, *, kernel=KERNEL, expert=Block):
    """A committee with anchors Z, before any chunk."""
    return LaplaceCommittee.of(Anchors.at(kernel, Z), likelihood, expert)


def swept(committee, *, sequential=False, step=1.0):
    """After one sweep."""
    return sweep_together([committee], [step], Serial(), sequential=sequential)[0]


def converged(committee, engine=None, *, sequential=False, tolerance=1e-8, max_sweeps=50):
    """After sweeps until messages stop changing."""
    rules = {"sequential": sequential, "tolerance": tolerance, "max_sweeps": max_sweeps}
    return settle_together([committee], engine or Serial(), **rules)[0]


def predictors(committee, n_local):
    """One predictor per latent function."""
    latents = [committee.latent(k) for k in range(committee.likelihood.latents)]
    return latent_predictors(latents, n_local)
