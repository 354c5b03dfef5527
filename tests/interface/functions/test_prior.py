"""Draws from a prior have its covariance."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process import kernels as sk

from collegium import kernels, sample_prior

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (12, 1))
FILTERED = kernels.Filtered(kernels.LaplaceFilter(0.5), -6.0, 6.0, 256, variance=1.8)
KERNELS = {
    "ours": kernels.Matern12(1.4, 0.7) + kernels.Linear(2.0),
    "with noise": kernels.RBF(0.8, 1.1) + kernels.White(0.3),
    "scikit-learn's": sk.ConstantKernel(2.0) * sk.Matern(0.6, nu=1.5),
    "a filter": FILTERED,
}
DRAWS = 20_000


def z_scores(samples, K):
    """(Ĉ − K) in standard errors: var Ĉᵢⱼ = (KᵢᵢKⱼⱼ + Kᵢⱼ²)/draws for a known mean of zero."""
    C = samples @ samples.T / samples.shape[1]
    d = K.diagonal()
    return (C - K) / np.sqrt((np.outer(d, d) + K**2) / samples.shape[1])


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_the_covariance_of_many_draws_is_the_kernel(kernel):
    K = kernels.as_kernel(kernel).value(X)
    samples = sample_prior(kernel, X, DRAWS, random_state=1)
    assert samples.shape == (12, DRAWS)
    z = z_scores(samples, K)
    assert np.abs(z).max() < 4.5  # 78 entries: beyond it once in two thousand seeds
    assert np.abs(z_scores(samples, 1.1 * K)).max() > 4.5  # and 10 % would have been seen
    mean = samples.mean(axis=1) / np.sqrt(K.diagonal() / DRAWS)
    assert np.abs(mean).max() < 4.5


def test_white_noise_through_the_filter_has_the_distribution_of_the_dense_draws():
    """K⁻¹-norms of draws are χ²(n) by either way: compare their quantiles."""
    dense = sample_prior(FILTERED + kernels.White(1e-12), X, DRAWS, random_state=2)
    light = sample_prior(FILTERED, X, DRAWS, random_state=3)
    norms = [
        np.sort((f * np.linalg.solve(FILTERED.value(X), f)).sum(axis=0)) for f in (dense, light)
    ]
    levels = np.arange(1, DRAWS + 1) / DRAWS
    gap = np.abs(np.searchsorted(norms[1], norms[0]) / DRAWS - levels).max()
    assert gap < 1.95 * np.sqrt(2.0 / DRAWS)  # Kolmogorov–Smirnov, 0.1 %


def test_many_rows_are_no_trouble_for_a_filter_and_refused_otherwise():
    many = np.linspace(-2, 2, 17_000)[:, None]
    assert sample_prior(FILTERED, many, 2).shape == (17_000, 2)
    with pytest.raises(ValueError, match="sample_prior needs a dense"):
        sample_prior(kernels.RBF(), many, 2)


@pytest.mark.parametrize("kernel", [kernels.RBF(1.0, 2.0), FILTERED], ids=["dense", "filter"])
def test_a_seed_gives_the_same_functions_again(kernel):
    first = sample_prior(kernel, X, 3, random_state=5)
    assert_array_equal(first, sample_prior(kernel, X, 3, random_state=5))
    assert np.abs(first - sample_prior(kernel, X, 3, random_state=6)).max() > 0.1
    rng = np.random.default_rng(5)
    assert np.abs(sample_prior(kernel, X, 3, rng) - sample_prior(kernel, X, 3, rng)).max() > 0.1


@pytest.mark.parametrize("kernel", [kernels.RBF(1.0, 2.0), FILTERED], ids=["dense", "filter"])
def test_the_mean_is_added(kernel):
    plain = sample_prior(kernel, X, 3)
    for mean in (np.sin(X[:, 0]).tolist(), lambda X: np.sin(X[:, 0])):
        assert_allclose(sample_prior(kernel, X, 3, mean=mean) - plain, np.sin(X) * np.ones(3))
    assert_allclose(sample_prior(kernel, X, 3, mean=2.5) - plain, 2.5)


@pytest.mark.parametrize(("change", "words"), [
    ({"kernel": "rbf"}, "not a kernel known here"),
    ({"kernel": kernels.RBF(1.0, [1.0, 2.0])}, "length_scale of RBF"),
    ({"X": [[0.0], [np.nan]]}, "X contains NaN"),
    ({"X": [0.0, 1.0]}, "2D"),
    ({"n_samples": 0}, "n_samples=0"),
    ({"n_samples": 1.5}, "n_samples=1.5"),
    ({"mean": np.ones(3)}, "mean="),
    ({"mean": "zero"}, "mean='zero'"),
    ({"mean": lambda X: X}, "mean="),
    ({"random_state": "today"}, "random_state='today'"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        sample_prior(**{"kernel": kernels.RBF(), "X": X, **change})
