"""Means and standard deviations under a transform: by a normal, and by errors as they were."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtri

from collegium import CommitteeRegressor
from collegium.errors.scale import standard_quantiles
from collegium.transforms.moments import warped_moments
from collegium.transforms.targets import TargetTransform

LOG = TargetTransform("log")


def test_moments_by_errors_are_averages_over_them():
    rng = np.random.default_rng(0)
    mean, sd, rest = rng.normal(size=5), rng.uniform(0.1, 0.7, 5), rng.gamma(2.0, size=40) - 2.0
    found = warped_moments(LOG, mean, sd, rest)
    y = np.array([[np.exp(m + s * e) for e in rest] for m, s in zip(mean, sd)])
    assert_allclose(found[0], y.mean(axis=1))
    assert_allclose(found[1], y.std(axis=1))
    for same, plain in zip(
        warped_moments(LOG, mean, sd, np.empty(0)), warped_moments(LOG, mean, sd)
    ):
        assert_array_equal(same, plain)


def test_normal_errors_give_the_moments_of_a_normal():
    rest = standard_quantiles(np.random.default_rng(0).normal(size=4000), np.ones(4000))
    mean, sd = np.array([0.3, 2.0]), np.array([0.2, 0.5])
    by_errors, by_normal = warped_moments(LOG, mean, sd, rest), warped_moments(LOG, mean, sd)
    assert_allclose(by_errors[0], by_normal[0], rtol=0.02)
    assert_allclose(by_errors[1], by_normal[1], rtol=0.06)  # the last half per cent is cut


def test_quantiles_are_those_of_weighted_errors_and_few_rows_have_none():
    rng = np.random.default_rng(1)
    rest, w = rng.normal(size=900), rng.integers(1, 4, 900).astype(float)
    found = standard_quantiles(rest, w)
    p = (np.arange(found.size) + 0.5) / found.size
    copies = np.repeat(rest, w.astype(int))
    assert_allclose(found, np.quantile(copies, p), atol=0.05)
    assert np.abs(found - ndtri(p)).max() < 0.4
    assert standard_quantiles(rest[:200], w[:200]).size == 0


def test_means_under_a_logarithm_have_no_bias_where_errors_are_not_normal():
    """log y has errors like the logarithm of an exponential: E[y] is not that of a lognormal."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-2.0, 2.0, (2900, 1))
    y = np.exp(np.sin(2.0 * X[:, 0])) * rng.gamma(0.6, size=2900) / 0.6
    model = CommitteeRegressor(transforms="log", random_state=0, learn=True).fit(X[:900], y[:900])
    mean, std = model.predict(X[900:], return_std=True)
    truth = np.exp(np.sin(2.0 * X[900:, 0]))
    assert abs(np.mean(mean / truth) - 1.0) < 0.12
    assert model.model_.errors is not None
    inner = model._answers(X[900:], "observation", None, None).inner.moments("observation")
    normal = warped_moments(LOG, inner[0][:, 0], inner[1][:, 0])[0]
    assert np.mean(normal / truth) > 1.3  # what a normal would say
    assert abs(np.mean(std / truth) - np.sqrt(1.0 / 0.6)) < 0.4
