"""Expected improvement, against integrals of many digits."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium.optimise.improvement import FAR, log_h, log_improvement


def slow(mean, sd, best):
    """log ∫ (best − f) N(f; mean, sd²) df over f < best, by quadrature of 60 digits."""
    with mpmath.workdps(60):
        z = (mpmath.mpf(best) - mpmath.mpf(mean)) / mpmath.mpf(sd)
        width = 1 / (1 + abs(z))  # the integrand beyond z falls by e about so fast, or faster
        parts = [k * width for k in (0, 1, 3, 7, 15, 30, 50, 80, 120)] + [120 * width + 20]

        def inside(t):
            return t * mpmath.npdf(z - t)

        return float(mpmath.log(mpmath.mpf(sd) * mpmath.quad(inside, parts)))


@pytest.mark.parametrize(
    "z", [3.0, 0.4, 0.0, -0.99, -1.0, -1.01, -7.5, -60.0, FAR + 1e-3, FAR - 1e-3, -900.0]
)
def test_it_is_the_integral(z):
    mean, sd = 4.2, 0.3
    best = mean + z * sd
    found = log_improvement(np.array([mean]), np.array([sd]), best)
    z = (best - mean) / sd  # rounded
    assert_allclose(found[0], slow(0.0, sd, z * sd), rtol=1e-12, atol=1e-10)


def test_digits_do_not_jump_between_the_forms():
    for at in (-1.0, FAR):
        z = at + np.array([-1e-9, 1e-9])
        slope = (log_h(np.array([at + 1e-3])) - log_h(np.array([at - 1e-3])))[0] / 2e-3
        assert_allclose(np.diff(log_h(z))[0], 2e-9 * slope, rtol=0.1, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-140, 1.0, 1e140])
def test_it_is_finite_and_ordered_where_nothing_is_left_to_improve(scale):
    mean = scale * np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 1e3])
    for sd in (0.0, 1e-9 * scale, scale):
        found = log_improvement(mean, np.full(6, sd), 0.0)
        assert np.isfinite(found).all() and (np.diff(found) <= 0).all()
        assert (np.diff(found)[:3] < 0).all()
    sure = log_improvement(mean[:2], np.zeros(2), 0.0)
    assert_allclose(sure, np.log(-mean[:2]), rtol=1e-12, atol=1e-12)
