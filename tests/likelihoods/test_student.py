"""Noise with heavy tails."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from likelihood_cases import LEVELS, log_predictive
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm, t

from collegium.likelihoods import (
    Gaussian,
    StudentT,
    student,
)


@pytest.mark.parametrize("dof", [0.4, 1.0, 7.0, 1e5])
def test_student_densities_hold_in_the_tails(dof):
    m, y = np.array([0.3, -1.0, 2.0, 0.0]), np.array([[0.2], [3.0], [-40.0], [1e5]])
    found = StudentT(dof, 0.37).log_predictive(y, m, 1e-13)
    assert_allclose(found, t.logpdf(y[:, 0], dof, m, np.sqrt(0.37)), rtol=1e-10)


@pytest.mark.parametrize("v", [0.5, 40.0, 1e5])
def test_student_densities_hold_at_any_variance(v):
    likelihood = StudentT(2.6, 0.37)
    m, y = np.array([0.3, -1.0, 2.0, 7.0]), np.array([[0.2], [3.0], [-60.0], [900.0]])
    expected = [log_predictive(likelihood, y[i : i + 1], m[i], v) for i in range(2)]
    found = likelihood.log_predictive(y, m, v)
    assert_allclose(found[:2], expected, rtol=1e-9)
    far = [log_predictive(StudentT(2.6, 0.37), y[i : i + 1], m[i], v) for i in (2, 3)]
    if v > 1e3:  # else what matters lies beyond 14 deviations
        assert_allclose(found[2:], far, rtol=1e-9)


@pytest.mark.parametrize("dof", [3.0, 150.0, 250.0, 1e5, 1e12])
def test_student_densities_of_any_degree_in_many_digits(dof):
    y, f, noise = np.array([[0.3], [2.0], [-9.0]]), np.array([0.1, -0.4, 1.0]), 0.37
    with mpmath.workdps(50):
        nu = mpmath.mpf(dof)
        start = mpmath.loggamma((nu + 1) / 2) - mpmath.loggamma(nu / 2)
        start -= mpmath.log(mpmath.pi * nu * noise) / 2
        far = [(mpmath.mpf(a) - mpmath.mpf(b)) ** 2 / (nu * noise) for a, b in zip(y[:, 0], f)]
        exact = [float(start - (nu + 1) / 2 * mpmath.log1p(r)) for r in far]
    assert_allclose(StudentT(dof, noise).log_density(y, f), exact, rtol=1e-12)
    assert_allclose(StudentT(dof, noise).log_predictive(y, f, 1e-15), exact, rtol=1e-8)


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
    monkeypatch.setattr(student, "TUNING", replace(student.TUNING, block=2_000))
    assert_allclose(likelihood.log_predictive(y, m, v), plain[0], rtol=1e-12)
    assert len(sizes) > 1 and max(sizes) < 2_000 * 1.1
    assert_allclose(likelihood.quantile(0.9, m, v), plain[1], rtol=1e-12)
    assert max(sizes) < 2_000 * 1.1
