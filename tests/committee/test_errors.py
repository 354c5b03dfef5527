"""CommitteeRegressor with a scale of the error that varies: what changes, and what does not."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kstest, norm

import collegium
from collegium import CommitteeRegressor, Transform, kernels

PLAIN = {"transforms": None, "random_state": 0}
#: A committee of chunks, and one exact GP.
WAYS = {
    "chunks": {"chunks": 200, "anchors": 25, "n_local": 20},
    "anchors only": {"chunks": 200, "anchors": 25, "n_local": 0},
    "exact": {"learn": True},
}
KERNEL, KERNEL_OF_ONE = kernels.RBF(4.0, [1.5, 3.0]), kernels.RBF(4.0, 1.5)


def noise_sd(X):
    return np.exp(1.2 * X[:, 0]) / 10


def uneven(n=1200, seed=0, p=None):
    """Noise whose standard deviation is e^(1.2 x₁)/10, x₁ between −2 and 2: from .01 to 1.1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    mean = 10.0 + 3.0 * np.sin(X[:, 0] + 0.5 * X[:, 1])
    if p is None:
        return X, mean + noise_sd(X) * rng.normal(size=n)
    even = 0.3 * np.ones(n)
    each = [mean + sd * rng.normal(size=n) for sd in (noise_sd(X), even)]
    return X, np.column_stack(each)


def fitted(way, X, y, w=None, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = {"kernel": KERNEL, **PLAIN, **WAYS[way], **arguments}
        return CommitteeRegressor(**given).fit(X, y, w)


@pytest.fixture(scope="module")
def models():
    X, y = uneven()
    return {
        (way, noise): fitted(way, X, y, noise=noise)
        for way in WAYS
        for noise in ("constant", "auto")
    }


@pytest.mark.parametrize("way", WAYS)
def test_error_bars_are_right_everywhere_and_means_stay(models, way):
    plain, model = models[way, "constant"], models[way, "auto"]
    X, y = uneven(1500, seed=1)
    assert_array_equal(model.predict(X), plain.predict(X))
    for one, other in zip(
        model.predict(X, return_std=True, level="function"),
        plain.predict(X, return_std=True, level="function"),
    ):
        assert_array_equal(one, other)
    assert_array_equal(model.kernel_.theta, plain.kernel_.theta)
    assert model.noise_ == plain.noise_
    assert model.log_density(X, y).mean() > plain.log_density(X, y).mean() + 0.3
    lower, upper = model.predict_interval(X)
    inside = (lower <= y) & (y <= upper)
    for third in np.array_split(np.argsort(X[:, 0]), 3):
        assert 0.87 < inside[third].mean() < 0.995
    assert 0.55 < np.median(np.abs(norm.ppf(model.cdf(X, y)))) < 0.85


@pytest.mark.parametrize("way", WAYS)
def test_draws_covariances_and_densities_agree(models, way):
    model, X = models[way, "auto"], uneven(6, seed=2)[0]
    mean, std = model.predict(X, return_std=True)
    same, C = model.predict(X, return_cov=True)
    assert_allclose(same, mean, rtol=1e-9)
    assert_allclose(np.sqrt(C.diagonal()), std, rtol=1e-9)
    assert np.linalg.eigvalsh(C).min() > 0
    draws = model.sample_y(X, 2000)
    for x, own in zip(X, draws):
        ask = np.repeat(x[None], own.size, axis=0)
        assert kstest(model.cdf(ask, own), "uniform").pvalue > 1e-3
    _, plain = models[way, "constant"].predict(X, return_cov=True)
    sd, own = np.sqrt(plain.diagonal()), np.sqrt(C.diagonal())
    assert_allclose(C / np.outer(own, own), plain / np.outer(sd, sd), atol=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_order_threads_and_files_do_not_matter(models, way, tmp_path):
    model, (X, y) = models[way, "auto"], uneven()
    order = np.random.default_rng(3).permutation(len(y))
    ask = uneven(20, seed=4)[0]
    want = [*model.predict(ask, return_std=True), *model.predict_interval(ask)]
    model.save(tmp_path / "model.clg")
    for other in (
        fitted(way, X[order], y[order]),
        fitted(way, X, y, n_jobs=2),
        pickle.loads(pickle.dumps(model)),
        collegium.load(tmp_path / "model.clg"),
    ):
        found = [*other.predict(ask, return_std=True), *other.predict_interval(ask)]
        assert_array_equal(found, want)


def test_a_weight_of_two_is_the_row_twice():
    X, y = uneven(700)
    w = np.where(np.arange(700) % 3 == 0, 2.0, 1.0)
    again = np.repeat(np.arange(700), w.astype(int))
    one, two = fitted("chunks", X, y, w), fitted("chunks", X[again], y[again])
    assert one.model_.errors is not None
    assert_array_equal(one.quantile(X[:30], 0.9), two.quantile(X[:30], 0.9))


@pytest.mark.parametrize("way", WAYS)
def test_outputs_have_scales_of_their_own(way):
    X, y = uneven(p=2)
    model = fitted(way, X, y)
    ask = np.array([[-1.8, 0.0], [1.8, 0.0]])
    lower, upper = model.predict_interval(ask)
    wide = upper - lower
    assert wide[1, 0] > 10 * wide[0, 0] and 0.5 < wide[1, 1] / wide[0, 1] < 2.0
    assert model.predict(ask, return_cov=True)[1].shape == (2, 2, 2)
    assert model.sample_y(ask, 3).shape == (2, 2, 3)


def test_noise_that_is_given_or_constant_is_constant():
    X, y = uneven(300)
    for arguments in ({"noise": 0.1}, {"noise": "constant"}):
        assert fitted("chunks", X, y, **arguments).model_.errors is None
    given = fitted("chunks", X, y, noise="varying", learn=False, kernel=KERNEL + kernels.White(0.1))
    assert given.model_.errors is not None
    for noise in (None, "none", -1.0):
        with pytest.raises(ValueError, match="noise="):
            fitted("chunks", X, y, noise=noise)
    with pytest.raises(ValueError, match="not for this model"):
        collegium.ExpertsRegressor(noise="auto").fit(X, y)


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_rows_left_out_in_turn_do_not_tell_their_errors(seed):
    """A constant function, where nothing but its own y tells the means of rows apart."""
    rng = np.random.default_rng(1000 + seed)
    X, y = rng.normal(size=(300, 1)), rng.normal(size=300)
    assert CommitteeRegressor(learn=True, **PLAIN).fit(X, y).model_.errors is None
    same = CommitteeRegressor(**PLAIN).fit(np.zeros((200, 2)), y[:200])
    _, std = same.predict(np.zeros((1, 2)), return_std=True)
    assert_allclose(std, y[:200].std(), rtol=0.1)


def test_targets_with_few_values_have_bounded_densities_and_intervals_that_cover():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (1500, 2))
    y = np.round(np.maximum(2 * X[:, 0] - 1 + 0.6 * rng.normal(size=1500), 0.0))  # most are 0
    train, test = slice(0, 1200), slice(1200, None)
    model = fitted("chunks", X[train], y[train])
    assert (y == 0).mean() > 0.6
    lower, upper = model.predict_interval(X[test])
    assert ((lower <= y[test]) & (y[test] <= upper)).mean() > 0.90
    assert model.log_density(X[test], y[test]).max() < np.log(12**0.5)  # Δ/√12, Δ = 1


def test_a_blank_model_answers_without_rows():
    X, y = uneven()
    blank = fitted("chunks", X, y).blank()
    mean, std = blank.predict(X[:5], return_std=True)
    assert np.isfinite(mean).all() and (std > 0).all()
    assert np.isfinite(blank.log_density(X[:5], y[:5])).all()


def test_ranks_hide_heavy_tails_so_errors_have_them():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 1))
    y = X[:, 0] + 0.1 * rng.normal(size=80)
    given = {**PLAIN, "learn": True, "kernel": KERNEL_OF_ONE, "transforms": Transform("rank", None)}
    model = CommitteeRegressor(**given).fit(X, y)
    far = model.log_density(np.zeros((1, 1)), [1e4])
    assert far > -500.0  # a normal score there has −10⁸
    given = {**given, "transforms": None}
    assert CommitteeRegressor(**given).fit(X, y).model_.errors is None
