"""Sparse methods with a scale of the error that varies."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import collegium
from collegium import SparseGPRegressor
from collegium.interface.checks.arguments import NOISES
from collegium.pipeline.checks.bars import HeldOut
from collegium.pipeline.kept.memory import InMemory
from collegium.pipeline.settings import Settings
from collegium.rows.rows import Rows
from collegium.sparse.methods import METHODS

NAMES = sorted(set(METHODS) - {"nystrom"})
Xs = np.linspace(-2.0, 2.0, 9)[:, None]


def noisy(n, seed=0, p=1):
    """Rows whose noise grows with x by a factor of twenty."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 1))
    return X, np.sin(X) * np.arange(1, p + 1) + 0.2 * np.exp(0.75 * X) * rng.normal(size=(n, p))


def sparse(**given):
    return SparseGPRegressor(**{"anchors": 10, "chunks": 60, "random_state": 0, **given})


def test_tenths_are_left_out_in_turn_until_they_are_enough():
    X, y = noisy(205)
    rows, settings = Rows(X, y, np.ones(205)), Settings.of(sparse(), NOISES)
    kept = InMemory(rows, tuple(np.array_split(np.arange(205), 4)))

    def parts(number):
        return HeldOut.tenths(kept, settings, np.random.default_rng(0), number)

    held = np.concatenate([left.held for left in parts(1000)])
    assert len(parts(1000)) == 10 and np.unique(held).size == held.size == 200
    assert [left.held.size for left in parts(50)] == [20, 20, 20]
    assert [left.held.size for left in parts(7)] == [7]
    for left in parts(1000):
        others = np.concatenate(left.others.groups)
        assert_array_equal(np.sort(np.concatenate([others, left.held])), np.arange(205))


@pytest.mark.parametrize("method", NAMES)
def test_error_bars_follow_the_noise_with_every_method(method):
    X, y = noisy(300)
    auto = sparse(method=method).fit(X, y)
    constant = sparse(method=method, noise="constant").fit(X, y)
    assert auto.model_.errors is not None and constant.model_.errors is None
    assert_array_equal(auto.predict(Xs), constant.predict(Xs))
    for one, other in zip(*(m.predict(Xs, True, level="function") for m in (auto, constant))):
        assert_array_equal(one, other)
    assert auto.kernel_.theta.tolist() == constant.kernel_.theta.tolist()
    std = auto.predict(Xs, return_std=True)[1]
    assert std[-2] > 3.0 * std[1]
    Xt, yt = noisy(500, seed=1)
    assert auto.log_density(Xt, yt).mean() > constant.log_density(Xt, yt).mean() + 0.1


def test_few_rows_are_left_out_too_and_the_fewest_are_not():
    assert sparse().fit(*noisy(80)).model_.errors is not None
    assert sparse().fit(*noisy(9)).model_.errors is None


def test_several_outputs_have_a_scale_each_in_any_order_of_the_rows_and_threads():
    X, y = noisy(300, p=2)
    y[:, 1] = np.cos(X[:, 0]) + 0.1 * np.random.default_rng(3).normal(size=300)
    w, order = np.tile([1.0, 2.0, 1.0], 100), np.random.default_rng(2).permutation(300)
    one = sparse().fit(X, y, w)
    two = sparse(n_jobs=2).fit(X[order], y[order], w[order])
    assert len(one.model_.errors.scale.outputs) == 2
    std = one.predict(Xs, return_std=True)[1]
    assert_array_equal(std, two.predict(Xs, return_std=True)[1])
    assert std[-2, 0] > 3.0 * std[1, 0] and std[-2, 1] < 2.0 * std[1, 1]


def test_a_stream_learns_a_scale_and_goes_on_the_same_after_a_file_and_a_pickle(tmp_path):
    X, y = noisy(900)
    model = sparse().partial_fit(X[:15], y[:15])
    assert model.model_.errors is None
    for a in range(15, 415, 100):
        model.partial_fit(X[a : a + 100], y[a : a + 100])
    assert model.model_.errors is not None and model.model_.stream.checked.seen >= 200
    model.save(tmp_path / "stream.clg")
    others = [collegium.load(tmp_path / "stream.clg"), pickle.loads(pickle.dumps(model))]
    for one in (model, *others):
        for a in range(415, 815, 100):
            one.partial_fit(X[a : a + 100], y[a : a + 100])
    for other in others:
        assert_array_equal(other.quantile(Xs, 0.9), model.quantile(Xs, 0.9))
        assert other.model_.stream.checked.seen == model.model_.stream.checked.seen
    std = model.predict(Xs, return_std=True)[1]
    assert std[-2] > 3.0 * std[1]


def test_queries_as_anchors_have_constant_noise():
    X, y = noisy(200)
    auto = sparse(method="dtc", inference="transductive", anchors="auto").fit(X, y)
    auto.partial_fit(*noisy(50, seed=1))
    assert auto.model_.errors is None and auto.model_.stream.checked is None
    with pytest.raises(ValueError, match="varying.*transductive"):
        sparse(method="dtc", inference="transductive", noise="varying").fit(X, y)


def test_the_words_of_the_noise():
    X, y = noisy(120)
    assert SparseGPRegressor().noise == "auto"
    for word in NOISES:
        assert sparse(noise=word).fit(X, y).noise_ > 0.0
    steady = np.sin(X) + 0.1 * np.random.default_rng(5).normal(size=X.shape)
    assert sparse(noise="varying").fit(X, steady).model_.errors is not None
    given = sparse(noise=0.1).fit(X, y)
    assert given.model_.errors is None and given.model_.stream.checked is None
    assert_allclose(given.noise_, 0.1)
