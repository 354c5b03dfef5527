"""Moments of rates e^f."""

import numpy as np
from numpy.testing import assert_allclose

from collegium.likelihoods import (
    Exponential,
    Poisson,
)


def test_the_covariance_of_rates_is_that_of_a_log_normal():
    m, C = np.array([0.3, -0.2]), np.array([[0.5, 0.2], [0.2, 0.4]])
    rng = np.random.default_rng(0)
    rates = np.exp(rng.multivariate_normal(m, C, size=2_000_000))
    for likelihood in (Poisson(), Exponential()):
        covariance = likelihood.covariance(m, np.diag(C), C)
        assert_allclose(covariance, np.cov(rates.T), rtol=0.02)
        assert_allclose(np.diag(covariance), likelihood.function(m, np.diag(C))[1])


def test_rates_beyond_floats_stay_finite():
    m, v = np.array([800.0, -800.0, 0.0]), np.array([1.0, 1.0, 2000.0])
    for values in (*Poisson().predict(m, v), *Poisson().site(3.0, m, v)):
        assert np.isfinite(values).all()
