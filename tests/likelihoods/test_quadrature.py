"""Expectations over f against closed forms."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium.likelihoods import (
    Exponential,
    Poisson,
    QuadratureWarning,
    Scalar,
)
from collegium.likelihoods.integrals.quadrature import expect


@pytest.mark.parametrize("v", [0.01, 3.0, 250.0, 260.0, 1e6])
@pytest.mark.parametrize("m", [-4000.0, -30.0, 0.0, 2.0])
def test_expectations_of_given_numbers_keep_their_places(v, m):
    m, v = np.array([[m, 1.0, m - 2.0]]), np.array([[v], [0.5]])
    found = expect(lambda f, a: a * f**2, m, v, np.array([1.0, 2.0, -3.0]))
    assert_allclose(found, np.array([1.0, 2.0, -3.0]) * (m**2 + v), rtol=1e-12)


@pytest.mark.parametrize("v", [0.0, 1e-4, 0.7, 30.0, 77.0, 100.0])
@pytest.mark.parametrize("power", [1.0, 2.0, -1.5])
def test_expectations_of_exponentials_hold_at_large_variances(power, v):
    """E[e^(af)] = e^(am + a²v/2), and of the square about the mean."""
    m = np.array([-3.1, 0.4, 2.0])
    found = expect(lambda f: np.exp(power * f), m, np.full(3, v))
    with mpmath.workdps(30):
        exact = [float(mpmath.exp(power * mpmath.mpf(one) + power**2 * v / 2)) for one in m]
    assert_allclose(found, exact, rtol=1e-11)
    if abs(power) == 1.0:
        spread = expect(lambda f, c: (np.exp(f) - c) ** 2, m, v, np.array(exact))
        rounding = (np.spacing(exact).max()) ** 2  # of c, squared: all there is without variance
        assert_allclose(spread, np.expm1(v) * np.array(exact) ** 2, rtol=1e-10, atol=rounding)


@pytest.mark.parametrize("v", [3.0, 400.0, 1e4])
@pytest.mark.parametrize("width", [0.5, 0.05, 0.01])
def test_expectations_of_narrow_bumps_have_steps_that_see_them(v, width):
    m, c = np.array([0.3, -2.0]), np.array([1.1, 4.0])
    found = expect(lambda f, c: np.exp(-0.5 * ((f - c) / width) ** 2), m, v, c)
    exact = np.exp(-0.5 * (m - c) ** 2 / (width**2 + v)) * width / np.sqrt(width**2 + v)
    assert_allclose(found, exact, rtol=1e-8)


def test_expectations_far_from_the_mean_are_found():
    """A bump 25 deviations away; half of an integral 20 away, which no node within nine sees."""
    found = expect(lambda f: np.exp(-0.5 * (f - 25.0) ** 2), np.array([0.0]), np.array([1.0]))
    assert_allclose(found, np.exp(-(25.0**2) / 4.0) / np.sqrt(2.0), rtol=1e-10)
    found = expect(lambda f: 1.0 + np.exp(2.0 * f - 200.0), np.array([0.0]), np.array([100.0]))
    assert_allclose(found, 2.0, rtol=1e-10)


@pytest.mark.parametrize(
    "g, v",
    [
        (lambda f: np.exp(f), 1000.0),  # beyond floats
        (lambda f: np.exp(0.51 * f**2), 1.0),  # no expectation at all
        (lambda f: np.where(f > -0.123, 1.0, 0.0), 2.0),  # a jump
        (lambda f: np.exp(4.0 * f), 100.0),  # 40 deviations away
    ],
)
def test_expectations_in_doubt_are_warned_of(g, v):
    with pytest.warns(QuadratureWarning, match="1 of 2 integrals .* not to be trusted"):
        found = expect(g, np.array([0.0, 0.0]), np.array([1e-4, v]))
    assert_allclose(found[0], g(np.zeros(1))[0], rtol=1e-3)


def test_moments_by_default_hold_where_the_mean_grows_exponentially():
    """At a variance of 30 the second moment lies eleven deviations away."""
    m, v = np.array([-1.2, 0.3, 2.0]), np.array([0.4, 30.0, 100.0])
    for likelihood in (Exponential(), Poisson()):
        assert_allclose(Scalar.predict(likelihood, m, v), likelihood.predict(m, v), rtol=1e-10)
        assert_allclose(Scalar.function(likelihood, m, v), likelihood.function(m, v), rtol=1e-10)
