"""Waiting times and exposures."""

import numpy as np
import pytest
from likelihood_cases import expected
from numpy.testing import assert_allclose

from collegium.likelihoods import (
    Exponential,
)


@pytest.mark.diagonal
@pytest.mark.parametrize("level", [1e-5, 0.025, 0.5, 0.975, 1.0 - 1e-5])
@pytest.mark.parametrize("v", [0.0, 1e-6, 0.3, 4.0, 100.0])
def test_quantiles_of_waiting_times_reach_their_level(level, v):
    m = np.array([-3.0, 0.4, 5.0])
    for y, one in zip(Exponential().quantile(level, m, np.full(3, v)), m):
        assert y > 0.0
        beyond = expected(lambda f, y=y: np.exp(-y * np.exp(-f)), one, v)
        assert_allclose(1.0 - beyond, level, rtol=1e-6, atol=1e-12)


def test_exposure_multiplies_the_mean_of_waiting_times():
    y, e, f = np.array([3.0, 0.2]), np.array([0.3, 7.0]), np.array([0.3, -1.0])
    both = np.stack([y, e], axis=1)
    Exponential().check(both)
    for found, plain in zip(
        (Exponential().log_density(both, f), *Exponential().derivatives(both, f)),
        (
            Exponential().log_density(y[:, None], f + np.log(e)),
            *Exponential().derivatives(y[:, None], f + np.log(e)),
        ),
    ):
        assert_allclose(found, plain, rtol=1e-13)
    with pytest.raises(ValueError, match="exposures"):
        Exponential().check(np.array([[1.0, 0.0]]))
