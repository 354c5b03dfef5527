"""Logistic probabilities, f uncertain."""

import mpmath
import pytest
from likelihood_cases import logistic_mean
from numpy.testing import assert_allclose

from collegium.likelihoods import (
    Logit,
)


@pytest.mark.diagonal
@pytest.mark.parametrize("v", [1e-9, 0.2, 1.0, 30.0, 200.0, 256.0, 257.0, 3e3, 1e7])
def test_logistic_probabilities_hold_at_any_variance(v):
    for m in (-600.0, -45.0, -3.0, 0.0, 0.8, 21.0):
        expected = logistic_mean(m, v)
        assert_allclose(Logit().log_probability(m, v), float(mpmath.log(expected)), rtol=1e-10)
        assert_allclose(Logit().probability(m, v), float(expected), rtol=3e-9)
