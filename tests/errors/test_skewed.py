"""Two-piece Student's t: a density with mean zero, its distribution, quantiles and draws; when
held-out rows take it."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats
from scipy.special import ndtr

from collegium.errors.features import ScaleInputs
from collegium.errors.margins import Margins
from collegium.errors.scale import ErrorScale
from collegium.errors.skewed import (
    log_skewed_between,
    log_skewed_density,
    mode,
    skewed_quantile,
    tails,
)

SHAPES = [(2.3, 0.4), (5.0, -0.7), (40.0, 0.2), (np.inf, -0.5)]


def integral(f, low, high, at):
    """∫ f between two ends, split at a point within."""
    parts = [(low, min(max(at, low), high)), (min(max(at, low), high), high)]
    return sum(integrate.quad(f, *part, limit=200)[0] for part in parts if part[0] < part[1])


@pytest.mark.parametrize("nu, skew", SHAPES)
def test_density_integrates_to_one_and_has_mean_zero(nu, skew):
    def f(x):
        return float(np.exp(log_skewed_density(np.array([x]), nu, skew))[0])

    at = mode(nu, skew)
    assert_allclose(integral(f, -np.inf, np.inf, at), 1.0, rtol=1e-7)
    mean = integral(lambda x: x * f(x), -np.inf, np.inf, at)
    assert_allclose(mean, 0.0, atol=1e-6)
    left, right = f(at - 1e-9), f(at + 1e-9)
    assert_allclose(left, right, rtol=1e-7)  # continuous


@pytest.mark.parametrize("nu, skew", SHAPES)
def test_distribution_is_the_integral_of_the_density(nu, skew):
    def f(x):
        return float(np.exp(log_skewed_density(np.array([x]), nu, skew))[0])

    for x in (-2.5, -0.1, 0.6, 3.0):
        below, above = (float(p[0]) for p in tails(np.array([x]), nu, skew))
        assert_allclose(below, integral(f, -np.inf, x, mode(nu, skew)), rtol=1e-6)
        assert_allclose(below + above, 1.0, rtol=1e-12)
    low, high = np.array([-3.0, -0.2, 1.0, 60.0]), np.array([-2.0, 1.5, 1.2, 61.0])
    p = np.exp(log_skewed_between(low, high, nu, skew))
    slow = [integral(f, a, b, mode(nu, skew)) for a, b in zip(low[:3], high[:3])]
    assert_allclose(p[:3], slow, rtol=1e-7)
    assert 0.0 < p[3] or np.isinf(nu)
    assert np.isfinite(log_skewed_between(low, high, nu, skew)).all()


@pytest.mark.parametrize("nu, skew", SHAPES)
def test_quantile_inverts_the_distribution_in_both_tails(nu, skew):
    u = np.linspace(-6.0, 6.0, 25)
    below, above = tails(skewed_quantile(u, nu, skew), nu, skew)
    assert_allclose(below[u < 0.0], ndtr(u[u < 0.0]), rtol=1e-6)
    assert_allclose(above[u > 0.0], ndtr(-u[u > 0.0]), rtol=1e-6)


def margins(skew):
    rng = np.random.default_rng(0)
    nu = np.array([2.3, np.inf, 6.0])
    return Margins(rng.normal(size=(5, 3)), np.exp(rng.normal(size=(5, 3))), nu, skew)


def test_no_skewness_is_students_t_to_the_last_bit():
    one, two = margins(None), margins(np.zeros(3))
    y = one.location + np.linspace(-3.0, 5.0, 5)[:, None] * one.scale
    for ask in (
        lambda m: m.log_density(y),
        lambda m: m.cdf(y),
        lambda m: m.quantile(0.03),
        lambda m: m.normal_scores(y),
        lambda m: m.draw(4, np.random.default_rng(1)),
    ):
        assert_array_equal(ask(one), ask(two))


def test_each_output_has_its_own_skewness():
    skew = np.array([0.5, -0.3, 0.0])
    one, plain = margins(skew), margins(None)
    y = one.quantile(0.07)
    assert_allclose(one.cdf(y), 0.07, rtol=1e-9)
    assert_allclose(ndtr(one.normal_scores(y)), 0.07, rtol=1e-9)
    assert_array_equal(y[:, 2], plain.quantile(0.07)[:, 2])
    x = (y - one.location) / one.scale
    for k in (0, 1):
        expected = log_skewed_density(x[:, k], one.nu[k], skew[k]) - np.log(one.scale[:, k])
        assert_allclose(one.log_density(y)[:, k], expected)
    drawn = Margins(np.zeros((1, 1)), np.ones((1, 1)), np.array([8.0]), np.array([0.6])).draw(
        100_000, np.random.default_rng(3)
    )[:, 0, 0]
    assert abs(drawn.mean()) < 0.02
    assert stats.skew(drawn) > 0.7


# --- learnt ---------------------------------------------------------------------------------------


def held_out(noise, seed, strength=0.0):
    """Rows whose errors have the given noise, with log squared scale strength · sin 3x₁."""
    rng, n = np.random.default_rng(seed), noise.size
    place = rng.uniform(-1.0, 1.0, (n, 2))
    log_sd, mean = rng.normal(-1.0, 0.3, (n, 1)), rng.normal(size=(n, 1))
    y = mean + np.exp(log_sd + 0.5 * strength * np.sin(3.0 * place[:, :1])) * noise[:, None]
    return ScaleInputs(log_sd, mean, place, None), y


def skewed_noise(n, nu, skew, seed):
    u = np.random.default_rng(seed).standard_normal(n)
    return skewed_quantile(u, nu, skew)


@pytest.mark.parametrize("strength", [0.0, 1.5])
def test_skewness_is_recovered_and_both_tails_are_covered(strength):
    at, y = held_out(skewed_noise(1000, 6.0, 0.5, 0), 1, strength)
    fresh, new = held_out(skewed_noise(8000, 6.0, 0.5, 2), 3, strength)
    scale = ErrorScale.learn(at, y)
    (one,) = scale.outputs
    assert one.function is not None or strength == 0.0
    assert 0.35 < one.skew < 0.65 and 3.5 < one.nu < 15.0
    found = scale.predictive(fresh)
    for p in (0.025, 0.1, 0.9, 0.975):
        assert abs((new <= found.quantile(p)).mean() - p) < 0.016
    flat = ErrorScale((replace(one, skew=0.0),)).predictive(fresh)
    assert found.log_density(new).mean() > flat.log_density(new).mean() + 0.03


def test_normal_errors_are_not_skewed():
    for seed in range(12):
        noise = np.random.default_rng(seed).normal(size=(150, 400, 1000)[seed % 3])
        at, y = held_out(noise, seed + 50)
        for always in (False, True):
            assert ErrorScale.learn(at, y, always=always).outputs[0].skew == 0.0


def test_heavy_symmetric_errors_are_not_skewed():
    taken = [
        ErrorScale.learn(*held_out(np.random.default_rng(s).standard_t(3.0, 600), s)).outputs[0]
        for s in range(8)
    ]
    assert all(one.skew == 0.0 for one in taken)
    assert any(not one.normal for one in taken)
