"""Mixtures of Gaussians against integrals and draws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm

from collegium.averaging.mixture import Mixture

MEANS = np.array([[0.3, -1.0, 2.0], [5.0, 5.1, 4.0]])
VARIANCES = np.array([[0.2, 1.5, 0.7], [1e-4, 3.0, 0.5]])
SHARES = np.array([0.5, 0.2, 0.3])
MIXTURE = Mixture(MEANS, VARIANCES, SHARES)


def density(i, y):
    return sum(p * norm.pdf(y, m, np.sqrt(v)) for p, m, v in zip(SHARES, MEANS[i], VARIANCES[i]))


@pytest.mark.parametrize("i", [0, 1])
def test_moments_and_probabilities_are_integrals_of_the_density(i):
    around = {"points": [4.97, 5.03, 0.0], "limit": 400, "epsabs": 1e-10}
    mean = quad(lambda y: y * density(i, y), -20, 25, **around)[0]
    assert_allclose(MIXTURE.mean()[i], mean, rtol=1e-7)
    second = quad(lambda y: (y - mean) ** 2 * density(i, y), -20, 25, **around)[0]
    assert_allclose(MIXTURE.variance()[i], second, rtol=1e-7)
    assert_allclose(MIXTURE.std()[i], np.sqrt(second), rtol=1e-7)
    at = np.array([0.7, 5.01])
    assert_allclose(MIXTURE.log_density(at)[i], np.log(density(i, at[i])), rtol=1e-12)
    below = quad(lambda y: density(i, y), -20, at[i], **around)[0]
    assert_allclose(MIXTURE.cdf(at)[i], below, rtol=1e-7)


@pytest.mark.parametrize("p", [1e-6, 0.025, 0.5, 0.9, 1 - 1e-6])
def test_quantiles_invert_probabilities(p):
    assert_allclose(MIXTURE.cdf(MIXTURE.quantile(p)), p, rtol=1e-9)


def test_densities_far_out_are_finite():
    assert np.isfinite(MIXTURE.log_density(np.array([1e8, -1e8]))).all()


def test_draws_have_the_moments():
    rng = np.random.default_rng(1)
    part = rng.choice(MIXTURE.shares.size, size=40_000, p=MIXTURE.shares)
    draws = rng.normal(MIXTURE.means[:, part], np.sqrt(MIXTURE.variances[:, part]))
    assert_allclose(draws.mean(axis=1), MIXTURE.mean(), atol=0.03)
    assert_allclose(draws.std(axis=1), MIXTURE.std(), rtol=0.02)
    between = np.mean(draws[0] <= 0.7)
    assert_allclose(between, MIXTURE.cdf(np.array([0.7, 5.0]))[0], atol=0.01)
