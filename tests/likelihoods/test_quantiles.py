"""Quantiles, draws and functions of a new y, f uncertain, against slow and obvious code."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.special import ndtr, pdtr
from scipy.stats import norm, t

from collegium.likelihoods import (
    Exponential,
    Gaussian,
    Logit,
    Observation,
    Poisson,
    Scalar,
    StudentT,
    student,
)
from collegium.likelihoods.count_quantiles import count_distribution, count_quantile

LEVELS = [0.005, 0.025, 0.5, 0.9, 0.995]
SCALARS = [cls() for cls in Observation.registry if issubclass(cls, Scalar)]
every_scalar = pytest.mark.parametrize("likelihood", SCALARS, ids=lambda one: type(one).__name__)


def brute(k, m, v):
    """P(Y ≤ k): a fine midpoint rule in f."""
    z = np.linspace(-10.0, 10.0, 20_001)
    weights = norm.pdf(z)
    return pdtr(k, np.exp(m + np.sqrt(v) * z)) @ weights / weights.sum()


@pytest.mark.diagonal
@pytest.mark.parametrize("v", [0.0, 1e-6, 1e-3, 0.02, 0.3, 1.0, 4.0, 20.0, 50.0])
def test_the_distribution_of_counts_holds_at_any_variance(v):
    for m in (-20.0, -3.0, 0.0, 2.2, 8.0):
        k = np.array([0.0, 1.0, 5.0, 30.0, 1000.0])
        slow = [brute(one, m, v) for one in k]
        assert_allclose(count_distribution(k, m, v), slow, rtol=0, atol=1e-10)


def test_the_distribution_of_huge_counts_is_that_of_their_rate():
    k, v = np.array([1e9, 1e12]), np.array([1.0, 50.0])
    for away in (-2.0, 0.3, 3.0):
        m = np.log(k) - away * np.sqrt(v)
        assert_allclose(count_distribution(k, m, v), ndtr(away), atol=1e-8)
    assert_allclose(count_distribution(1e9 + 2e4, np.log(1e9), 0.0), pdtr(1e9 + 2e4, 1e9))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("v", [0.0, 1e-8, 0.1, 4.0, 50.0])
def test_quantiles_of_counts_are_the_smallest_that_reach_the_level(level, v):
    m = np.array([-20.0, -1.0, 0.4, 3.0, 9.0])
    found = Poisson().quantile(level, m, np.full(5, v))
    assert_array_equal(found, np.floor(found))
    for k, one in zip(found, m):
        assert count_distribution(k, one, v) >= level
        assert k == 0.0 or count_distribution(k - 1.0, one, v) < level


def test_quantiles_of_counts_that_no_float_could_hold_stay_finite():
    found = count_quantile(0.975, np.array([800.0, 0.0, 20.7]), np.array([1.0, 1e6, 1e-9]))
    assert np.isfinite(found).all()
    assert abs(found[2] - np.exp(20.7)) < 5.0 * np.exp(20.7 / 2.0)


def slow_student(y, m, v, likelihood):
    """P(new ≤ y): the normal integrated adaptively."""
    s, scale = np.sqrt(v), np.sqrt(likelihood.noise)
    ends = m + s * np.array([-12.0, -4.0, -1.0, 0.0, 1.0, 4.0, 12.0])
    return sum(
        quad(
            lambda f: norm.pdf(f, m, s) * t.cdf((y - f) / scale, likelihood.dof), *part,
            epsabs=1e-12, limit=200, points=[y] if part[0] < y < part[1] else None,
        )[0]
        for part in zip(ends, ends[1:])
    )  # fmt: skip


@pytest.mark.diagonal
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dof", [1.3, 4.0, 31.0])
def test_quantiles_of_heavy_tails_are_those_of_the_normal_and_the_t_added_up(level, dof):
    likelihood = StudentT(dof, 0.37)
    m, v = np.array([1.3, -2.0, 0.0]), np.array([0.4, 9.0, 1e-4])
    found = likelihood.quantile(level, m, v)
    for y, mi, vi in zip(found, m, v):
        assert_allclose(slow_student(y, mi, vi, likelihood), level, rtol=1e-7)


def test_quantiles_of_heavy_tails_have_their_limits():
    m, none, level = np.array([1.3]), np.array([0.0]), 0.99
    alone = 1.3 + np.sqrt(0.37) * t.ppf(level, 4.0)
    assert_allclose(StudentT(4.0, 0.37).quantile(level, m, none), alone, rtol=1e-10)
    light, v = StudentT(1e7, 0.37), np.array([0.4])
    assert_allclose(light.quantile(level, m, v), Gaussian(0.37).quantile(level, m, v), rtol=1e-6)


def test_mixtures_of_many_rows_are_held_in_blocks(monkeypatch):
    """Of whole rows, so to one row; which change no answer."""
    likelihood, rng = StudentT(4.0, 0.37), np.random.default_rng(2)
    m, v, y = rng.normal(size=300), rng.uniform(0.1, 2.0, 300), rng.normal(size=(300, 1))
    plain = likelihood.log_predictive(y, m, v), likelihood.quantile(0.9, m, v)
    sizes = []

    def noted(function):
        return lambda x, **given: sizes.append(np.size(x)) or function(x, **given)

    for name in ("logsumexp", "ndtr"):
        monkeypatch.setattr(student, name, noted(getattr(student, name)))
    monkeypatch.setattr(student, "BLOCK", 2_000)
    assert_allclose(likelihood.log_predictive(y, m, v), plain[0], rtol=1e-12)
    assert len(sizes) > 1 and max(sizes) < 2_000 * 1.1
    assert_allclose(likelihood.quantile(0.9, m, v), plain[1], rtol=1e-12)
    assert max(sizes) < 2_000 * 1.1


@pytest.mark.parametrize("level", LEVELS)
def test_quantiles_where_nothing_better_is_known_are_those_of_a_normal(level):
    """With the moments of y; for a Gaussian that is exact."""
    m, v = np.array([1.3, -2.0, 0.0]), np.array([0.4, 9.0, 1e-4])
    expected = norm.ppf(level, m, np.sqrt(v + 0.37))
    assert_allclose(Scalar.quantile(Gaussian(0.37), level, m, v), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "likelihood", [Gaussian(0.4), StudentT(5.0, 0.4), Poisson(), Logit(), Exponential()]
)
def test_draws_have_the_moments_and_the_quantiles_of_a_new_y(likelihood):
    rng, m, v = np.random.RandomState(3), 0.7, 0.3
    y = likelihood.draw(m + np.sqrt(v) * rng.standard_normal(200_000), rng)
    mean, variance = likelihood.predict(np.array([m]), np.array([v]))
    assert_allclose(y.mean(), mean[0], atol=4.0 * np.sqrt(variance[0] / y.size))
    assert_allclose(y.var(), variance[0], rtol=0.03)
    for level in (0.1, 0.6, 0.95):
        q = likelihood.quantile(level, np.array([m]), np.array([v]))[0]
        assert (y <= q).mean() >= level - 0.004
        assert (y < q).mean() <= level + 0.004


@every_scalar
def test_the_function_behind_y_has_the_moments_of_its_mean(likelihood):
    m, v = np.array([0.4, -1.1, 2.0]), np.array([0.5, 0.0, 1.7])
    z = np.linspace(-9.0, 9.0, 20_001)
    weights = norm.pdf(z) / norm.pdf(z).sum()
    values = likelihood.mean(m[:, None] + np.sqrt(v)[:, None] * z)
    mean, variance = likelihood.function(m, v)
    assert_allclose(mean, values @ weights, rtol=1e-8)
    slow = ((values - mean[:, None]) ** 2) @ weights
    assert_allclose(variance, slow, rtol=1e-7, atol=1e-12)
    C = np.sqrt(np.outer(v, v)) * [[1.0, 0.3, -0.6], [0.3, 1.0, 0.1], [-0.6, 0.1, 1.0]]
    C.flat[::4] = v
    covariance = likelihood.covariance(m, v, C)
    assert_allclose(np.diag(covariance), variance, rtol=1e-9, atol=1e-14)
    assert np.linalg.eigvalsh(covariance).min() > -1e-9 * variance.max()
