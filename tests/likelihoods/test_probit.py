"""Probit probabilities and derivatives."""

import mpmath
import numpy as np
from numpy.testing import assert_allclose
from scipy.stats import norm

from collegium.likelihoods import (
    Probit,
)


def test_probit_probabilities_are_those_of_a_wider_normal():
    m, v = np.array([-3.0, 0.4]), np.array([0.7, 250.0])
    assert_allclose(Probit().probability(m, v), norm.cdf(m / np.sqrt(1 + v)), rtol=1e-12)


def test_third_derivatives_of_probit_hold_in_the_tail():
    for f in (-4.9, -5.1, -8.0, -40.0, -1e3):
        with mpmath.workdps(60):
            z = mpmath.mpf(f)
            h = mpmath.npdf(z) / (mpmath.erfc(-z / mpmath.sqrt(2)) / 2)
            exact = float(h * ((z + h) ** 2 + h * (z + h) - 1))
        for sign in (1.0, -1.0):
            third = Probit().derivatives(np.array([[sign]]), np.array([sign * f]))[2]
            assert_allclose(third, sign * exact, rtol=1e-8, atol=1e-9 / abs(f))
