"""Sites against many digits, quadrature and differences; predictions against sums over y."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm, poisson

import reference
from collegium.likelihoods import (
    Exponential,
    Gaussian,
    Poisson,
    Probit,
)
from collegium.likelihoods.integrals.sites import lambert

LIKELIHOODS = [(Gaussian(0.3), 1.7), (Probit(), -1.0), (Poisson(), 3.0)]


def tilted(log_likelihood, m, v):
    """E[p], and mean and variance of f under p(y | f)N(f; m, v), in many digits."""
    with mpmath.workdps(40):
        m, v = mpmath.mpf(m), mpmath.mpf(v)

        def slope(f):
            return mpmath.diff(log_likelihood, f) - (f - m) / v

        low, high = m - 60 * mpmath.sqrt(v) - 40, m + 60 * mpmath.sqrt(v) + 40
        for _ in range(60):  # the mode: log-concave
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) > 0 else (low, middle)
        mode = low
        width = 1 / mpmath.sqrt(1 / v - mpmath.diff(log_likelihood, mode, 2))
        top = log_likelihood(mode) - (mode - m) ** 2 / (2 * v)

        def density(f):
            return mpmath.exp(log_likelihood(f) - (f - m) ** 2 / (2 * v) - top)

        points = [mode + width * t for t in (-90, -50, -25, -12, -6, -3, 0, 3, 6, 12, 25)]
        total = mpmath.quad(density, points)
        mean = mpmath.quad(lambda f: f * density(f), points) / total
        variance = mpmath.quad(lambda f: (f - mean) ** 2 * density(f), points) / total
        log_z = mpmath.log(total) + top - mpmath.log(2 * mpmath.pi * v) / 2
        return float((mean - m) / v), float((variance - v) / v**2), float(log_z)


@pytest.mark.diagonal
@pytest.mark.parametrize(
    "y, m, v",
    [
        (3, 0.5, 0.2), (0, 0.0, 1.0), (0, 0.0, 100.0), (5, -20.0, 9.0), (0, 12.0, 4.0),
        (1_000_000, 0.0, 1.0), (1_000_000, 13.8, 1e-8), (2, 1.0, 1e-10), (7, 60.0, 2.0),
    ],
)  # fmt: skip
def test_poisson_sites_hold_for_large_counts_means_and_variances(y, m, v):
    def log_likelihood(f):
        return y * f - mpmath.exp(f) - mpmath.loggamma(y + 1)

    q, r, log_z = Poisson().site(y, m, v)
    expected = tilted(log_likelihood, m, v)
    assert_allclose([q, r], expected[:2], rtol=1e-9)
    assert_allclose(log_z, expected[2], rtol=1e-9)


@pytest.mark.parametrize("z", [-300.0, -40.0, -6.0, -5.0, -4.999, -1.0, 0.0, 0.7, 6.0, 40.0])
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_probit_sites_hold_far_out(z, y):
    v = 0.8
    m = y * z * np.sqrt(1.0 + v)
    q, r, log_z = Probit().site(y, m, v)
    with mpmath.workdps(60):
        z = y * mpmath.mpf(m) / mpmath.sqrt(1 + mpmath.mpf(v))
        cdf = mpmath.erfc(-z / mpmath.sqrt(2)) / 2
        h = mpmath.npdf(z) / cdf
        expected = y * h / mpmath.sqrt(1 + mpmath.mpf(v)), -h * (z + h) / (1 + mpmath.mpf(v))
        assert_allclose([q, r], [float(e) for e in expected], rtol=2e-12)
        assert_allclose(log_z, float(mpmath.log(cdf)), rtol=2e-13)


@pytest.mark.parametrize("likelihood, y", LIKELIHOODS)
def test_sites_are_derivatives_of_log_z(likelihood, y):
    v = 0.9
    for m in (-1.4, 0.3, 2.2):
        q, r, _ = likelihood.site(y, m, v)

        def log_z(at):
            return likelihood.site(y, at[0], v)[2]

        def slope(at):
            return likelihood.site(y, at[0], v)[0]

        assert_allclose(q, reference.gradient(log_z, np.array([m]))[0], rtol=1e-8)
        assert_allclose(r, reference.gradient(slope, np.array([m]))[0], rtol=1e-8)
        assert -1.0 / v < r < 0.0


@pytest.mark.parametrize("likelihood, y", LIKELIHOODS)
def test_log_z_is_the_integral_of_the_likelihood(likelihood, y):
    densities = {
        Gaussian: lambda f: norm.pdf(y, f, np.sqrt(0.3)),
        Probit: lambda f: norm.cdf(y * f),
        Poisson: lambda f: poisson.pmf(y, np.exp(f)),
    }
    m, v = 0.6, 1.3
    density = densities[type(likelihood)]
    total, _ = quad(lambda f: density(f) * norm.pdf(f, m, np.sqrt(v)), -12, 12, epsabs=1e-13)
    assert_allclose(likelihood.site(y, m, v)[2], np.log(total), rtol=1e-9)


def test_sites_of_arrays_are_sites_of_numbers():
    y, m, v = np.array([[1.0], [-1.0]]), np.array([0.2, -0.7, 3.0]), 1.4
    together = Probit().site(y, m, v)
    for i in range(2):
        for j in range(3):
            assert_allclose([a[i, j] for a in together], Probit().site(y[i, 0], m[j], v), rtol=0)


def test_predictions_are_moments_of_y():
    m, v = np.array([0.7, -0.4]), np.array([0.5, 1.2])
    counts = np.arange(4000.0)[:, None]
    p = np.exp(Poisson().site(counts, m, v)[2])
    mean, variance = Poisson().predict(m, v)
    assert_allclose(p.sum(axis=0), 1.0, rtol=1e-9)
    assert_allclose(mean, (p * counts).sum(axis=0), rtol=1e-7)
    assert_allclose(variance, (p * (counts - mean) ** 2).sum(axis=0), rtol=1e-4)
    p = np.exp([Probit().site(y, m, v)[2] for y in (-1.0, 1.0)])
    mean, variance = Probit().predict(m, v)
    assert_allclose(p[1], Probit().probability(m, v), rtol=1e-12)
    assert_allclose(np.log(p[1]), Probit().log_probability(m, v), rtol=1e-12)
    assert_allclose(mean, p[1] - p[0], rtol=1e-12)
    assert_allclose(variance, 1.0 - mean**2, rtol=1e-12)
    assert_allclose(Gaussian(0.3).predict(m, v), (m, v + 0.3))


def test_lambert_solves_its_equation():
    x = np.array([-29.0, -3.0, 0.0, 0.9, 1.1, 30.0, 1e6])
    w = np.array([lambert(one) for one in x])
    assert_allclose(w + np.log(w), x, rtol=1e-14, atol=1e-14)


def test_a_likelihood_without_a_code_has_no_site():
    with pytest.raises(TypeError, match="Exponential has no branch"):
        Exponential().site(1.0, 0.0, 1.0)
