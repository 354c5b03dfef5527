"""Probabilities of K classes, f uncertain."""

import mpmath
import numpy as np
import pytest
from likelihood_cases import logistic_mean
from numpy.testing import assert_allclose
from scipy.stats import norm

from collegium.likelihoods import (
    Logit,
    Softmax,
)


@pytest.mark.parametrize("v", [0.0, 1e-3, 0.24, 0.26, 2.0, 40.0, 900.0, 1e5])
def test_softmax_of_two_is_the_logistic_function_of_their_difference(v):
    m = np.array([[0.7, -0.4], [-3.0, 2.0], [40.0, 0.0], [0.0, 700.0]])
    found = Softmax(2).probability(m, np.array([0.3 * v, 0.7 * v]))
    expected = Logit().probability(m[:, 0] - m[:, 1], v)
    assert_allclose(found[:, 0], expected, atol=1e-10)
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)


@pytest.mark.diagonal
@pytest.mark.parametrize("v", [1e-6, 0.2, 0.9, 4.0, 10.0, 100.0, 1e3, 1e4])
@pytest.mark.parametrize("share", [0.5, 0.1, 1.0 - 1e-6])
def test_softmax_probabilities_keep_their_logs(v, share):
    """Of two classes, against the logistic function of their difference; to the least numbers."""
    for m in (-690.0, -120.0, -19.0, -7.0, 0.3, 9.0):
        expected = float(mpmath.log(logistic_mean(m, v))) if v < 100.0 else None
        expected = expected or float(Logit().log_probability(m, v))
        given = np.array([[m, 0.0]]), np.array([[share * v, v - share * v]])
        assert_allclose(np.log(Softmax(2).probability(*given)[0, 0]), expected, atol=1e-9)
        least = np.log(np.finfo(float).tiny)
        found = Softmax(2).log_predictive(np.array([[0.0]]), *given)
        assert_allclose(found, max(expected, least), atol=1e-9)


def test_softmax_tails_of_several_classes():
    """Far below the first, a class has e^(m + v/2) of its chance if the first is sure."""
    m, v = np.array([[0.0, -60.0, -90.0, -400.0]]), np.array([[1e-12, 4.0, 0.1, 30.0]])
    found = np.log(Softmax(4).probability(m, v)[0])
    assert_allclose(found[1:], (m + 0.5 * v)[0, 1:], rtol=1e-9)


def test_softmax_means_may_be_anywhere():
    """Also where differences of means are beyond any lattice, or beyond numbers."""
    m = np.array([[1e20, 0.0, 1e20], [-1e308, 1e308, 0.0], [-1e308, -1e308, -1e308]])
    found = Softmax(3).probability(m, np.array([1.0, 0.01, 1.0]))
    expected = [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0], found[2]]
    assert_allclose(found, expected, atol=1e-12)
    assert_allclose(found[2], Softmax(3).probability(np.zeros((1, 3)), [1.0, 0.01, 1.0])[0])
    wide = Softmax(2).probability(np.array([[3e5, 0.0]]), np.array([[1e9, 1e9]]))
    assert_allclose(wide[0, 1], norm.cdf(-3e5 / np.sqrt(2e9)), rtol=1e-6)
    for m, v in (([[np.nan, 0.0]], 1.0), ([[np.inf, 0.0]], 1.0), ([[1.0, 0.0]], np.nan)):
        with pytest.raises(ValueError, match="finite"):
            Softmax(2).probability(np.array(m), np.full((1, 2), v))


def test_softmax_densities_keep_their_digits():
    f = np.array([[40.0, 1.0, -2.0], [0.3, 0.1, -0.2], [-800.0, 3.0, 2.0], [1e5, 0.0, 30.0]])
    for code in range(3):
        found = Softmax(3).log_density(np.full((4, 1), float(code)), f)
        with mpmath.workdps(60):
            rest = [mpmath.fsum(mpmath.exp(mpmath.mpf(v) - row[code])
                                for j, v in enumerate(row) if j != code) for row in f]  # fmt: skip
            exact = [float(-mpmath.log1p(r)) for r in rest]
        assert_allclose(found, exact, rtol=1e-14)


def test_softmax_probabilities_are_the_integral_over_all_latents():
    m, v = np.array([0.4, -0.9, 1.3]), np.array([0.1, 3.0, 0.9])
    z, weights = np.polynomial.hermite_e.hermegauss(60)
    grid = np.stack(np.meshgrid(*(mi + np.sqrt(vi) * z for mi, vi in zip(m, v)), indexing="ij"), -1)
    w = np.einsum("i,j,k->ijk", weights, weights, weights) / weights.sum() ** 3
    expected = np.einsum("ijk,ijkc->c", w, Softmax(3).inverse_link(grid))
    assert_allclose(Softmax(3).probability(m[None], v[None])[0], expected, atol=1e-8)
