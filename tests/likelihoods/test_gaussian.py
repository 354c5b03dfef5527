"""Gaussian noise, and none."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from collegium.likelihoods import (
    Gaussian,
)


def test_without_noise_a_gaussian_answers_with_f_itself():
    m, v, C = np.array([0.4, -1.0]), np.array([0.5, 2.0]), np.array([[0.5, 0.3], [0.3, 2.0]])
    for noise in (0.0, 0.7):
        own = Gaussian(noise)
        assert_array_equal(own.predict(m, v), (m, v + noise))
        assert_array_equal(own.function(m, v), (m, v))
        assert_array_equal(own.covariance(m, v, C), C)
        assert_allclose(own.quantile(0.9, m, v), norm.ppf(0.9, m, np.sqrt(v + noise)), rtol=1e-14)
    assert_array_equal(Gaussian(0.0).draw(m, np.random.RandomState(0)), m)
