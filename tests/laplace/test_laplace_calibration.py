"""Rows held out by their sites, and the scale that minimises their loss."""

import numpy as np
from numpy.testing import assert_allclose

from collegium.engines import engine_for
from collegium.kernels import Matern32
from collegium.laplace.calibration import LatentScale, best_scale, without_own_site
from collegium.laplace.committee import LaplaceCommittee, latent_predictors, settle_together
from collegium.likelihoods import Gaussian, Logit
from collegium.messages.basis import Anchors
from collegium.rows.chunk import Chunk
from collegium.rows.rows import Prediction, SiteRows

ENGINE = engine_for(None)


def rows(n=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    return X, np.sin(2.0 * X[:, :1]) + 0.3 * rng.normal(size=(n, 1))


def test_a_row_without_its_own_site_is_the_gp_of_the_others():
    X, y = rows()
    kernel, noise = Matern32(1.7, np.array([0.8, 1.9])), 0.09
    whole = LaplaceCommittee.of(Anchors.at(kernel, X[:0]), Gaussian(noise))
    whole = whole.join([Chunk(0, X, y, np.ones(25))])
    rules = {"sequential": False, "tolerance": 1e-8, "max_sweeps": 50}
    latent = settle_together([whole], ENGINE, **rules)[0].latent()
    found = without_own_site(latent_predictors([latent], 0)[0].predict(X, ENGINE), latent.rows())
    for i in range(25):
        rest = np.arange(25) != i
        K = kernel.value(X[rest], X[rest]) + noise * np.eye(24)
        k = kernel.value(X[[i]], X[rest])
        assert_allclose(found.mean[i], (k @ np.linalg.solve(K, y[rest]))[0], rtol=1e-6, atol=1e-9)
        assert_allclose(found.variance[i], 1.7 - (k @ np.linalg.solve(K, k.T))[0, 0], rtol=1e-6)


def test_rows_of_no_or_all_information_give_numbers():
    sites = SiteRows(np.zeros((3, 1)), np.zeros((3, 1)), np.ones((3, 1)), np.array([0.0, 1e9, 1.0]))
    found = without_own_site(Prediction(np.ones((3, 1)), np.array([2.0, 1e-9, 0.0])), sites)
    assert np.isfinite(found.mean).all() and (found.variance >= 0.0).all()
    assert_allclose([found.mean[0, 0], found.variance[0]], [1.0 - 2.0, 2.0])  # W = 0: g alone
    assert_allclose([found.mean[2, 0], found.variance[2]], [1.0, 0.0])


def test_the_scale_finds_what_was_spoilt():
    rng = np.random.default_rng(0)
    m, v = 2.0 * rng.normal(size=4_000), np.full(4_000, 0.5)
    f = m + np.sqrt(v) * rng.normal(size=4_000)
    y = np.where(rng.uniform(size=4_000) < 1.0 / (1.0 + np.exp(-f)), 1.0, -1.0)[:, None]

    def loss(found):
        return -Logit().log_predictive(y, found[0].mean[:, 0], found[0].variance).mean()

    timid = [Prediction(0.5 * m[:, None], 10.0 * v)]
    scale = best_scale(loss, timid)
    mended = loss([scale.of(timid[0])])
    right = loss([Prediction(m[:, None], v)])
    assert mended < loss(timid) - 0.01
    assert mended < right + 0.002
    assert best_scale(loss, [Prediction(m[:, None], v)]).mean < 1.3
    constant = best_scale(lambda found: 0.0, timid)
    assert (constant.mean, constant.variance) == (1.0, 1.0)
    assert LatentScale(2.0, 0.25).of(timid[0]).variance[0] == timid[0].variance[0]
