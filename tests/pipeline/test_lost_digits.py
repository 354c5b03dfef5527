"""Noise that double precision cannot tell from none."""

import warnings

import numpy as np
import pytest

from collegium import CommitteeRegressor


@pytest.mark.parametrize("outlier, lost", [(1e8, True), (1e4, False), (0.0, False)])
def test_noise_too_small_for_double_precision_is_said_to_be_so(outlier, lost):
    """Where K + noise·I is singular to rounding, learning cannot tell kernels apart."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (60, 2))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=60)
    y[7] += outlier
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        CommitteeRegressor(noise=0.1, learn=True, transforms=None, random_state=0).fit(X, y)
    assert any("too little for double precision" in str(one.message) for one in said) == lost
