"""CommitteeRegressor of few rows: averaged over hyperparameters."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kstest

import collegium
from collegium import CommitteeRegressor, kernels
from collegium.averaging.averaged import average
from collegium.averaging.mixture import as_unseen
from collegium.averaging.predictor import AveragedPredictor

PLAIN = {"transforms": None, "random_state": 0, "noise": "constant"}


def table(n=60, d=2, seed=0, p=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    each = [5.0 + 3.0 * np.sin(X[:, 0] + j) + 0.5 * rng.normal(size=n) for j in range(p or 1)]
    return X, np.column_stack(each) if p else each[0]


def model_of(X, y, w=None, **arguments):
    return CommitteeRegressor(**{**PLAIN, **arguments}).fit(X, y, w)


def test_answers_are_those_of_the_averaged_model():
    (X, y), (ask, seen) = table(), table(seed=1)
    model, own = model_of(X, y), average(X, y)
    mixture = own.predict(ask)
    mean, std = model.predict(ask, return_std=True)
    assert_allclose(mean, mixture.mean(), rtol=1e-7)
    assert_allclose(std, mixture.std(), rtol=1e-7)
    assert_allclose(model.log_density(ask, seen), mixture.log_density(seen), rtol=1e-6)
    assert_allclose(model.cdf(ask, seen), mixture.cdf(seen), atol=1e-8)
    assert_allclose(model.quantile(ask, 0.2), mixture.quantile(0.2), rtol=1e-6)
    f = own.predict(ask, noise=False)
    assert_allclose(model.predict(ask, return_std=True, level="function")[1], f.std(), rtol=1e-6)
    assert_allclose(std**2, f.variance() + model.noise_, rtol=1e-6)


def test_covariances_and_draws_have_these_margins():
    X, y = table()
    model, ask = model_of(X, y), table(5, seed=1)[0]
    for level in ("observation", "function"):
        std = model.predict(ask, return_std=True, level=level)[1]
        C = model.predict(ask, return_cov=True, level=level)[1]
        assert_allclose(C.diagonal(), std**2, rtol=1e-9)
    for x, own in zip(ask, model.sample_y(ask, 2000)):
        assert kstest(model.cdf(np.repeat(x[None], 2000, axis=0), own), "uniform").pvalue > 1e-3


def test_rows_left_out_are_answered_by_the_others_at_the_same_hyperparameters():
    X, y = table(25)
    own = average(X, y)
    found = own.leave_one_out()
    rows = own.rows
    for i in (0, 7):
        rest = np.arange(25) != i
        other = replace(own, rows=rows.take(rest))
        x = own.inputs.mean(rows.X[i : i + 1])
        want = other.predict(x)
        assert_allclose(found.means[i], want.means[0], rtol=1e-7)
        assert_allclose(found.variances[i], want.variances[0], rtol=1e-7)
    moments, moved, density = AveragedPredictor.of((own,)).leave_one_out()
    want = as_unseen(found, own.targets.mean(rows.y)[:, 0])
    assert_allclose(np.stack([moved[:, 0], density[:, 0]]), want, rtol=1e-9)
    assert_allclose(moments.variance[:, 0] + own.noise(), found.variance(), rtol=1e-9)


def test_order_copies_threads_and_files_do_not_matter(tmp_path):
    X, y = table()
    w = 1.0 + (np.arange(60) % 4 == 0)
    again = np.repeat(np.arange(60), w.astype(int))
    order = np.random.default_rng(2).permutation(again.size)
    ask = table(7, seed=1)[0]
    model = model_of(X, y, w)
    model.save(tmp_path / "model.clg")
    want = model.predict_interval(ask)
    for other in (
        model_of(X[again][order], y[again][order]),
        model_of(X, y, w, n_jobs=2),
        pickle.loads(pickle.dumps(model)),
        collegium.load(tmp_path / "model.clg"),
    ):
        assert_array_equal(other.predict_interval(ask), want)


def test_outputs_have_models_of_their_own():
    X, y = table(p=2)
    both = model_of(X, y)
    for j in range(2):
        one = model_of(X, y[:, j])
        assert_allclose(both.predict(X[:5])[:, j], one.predict(X[:5]), rtol=1e-9)


def test_it_is_for_few_rows_without_kernel_or_noise():
    X, y = table(700, d=1)
    assert not model_of(X[:, :1], y).model_.averaged
    X, y = table()
    for arguments in (
        {"learn": True}, {"kernel": kernels.RBF()}, {"noise": 0.2}, {"n_local": 0},
        {"inference": "transductive"}, {"limits": 1e-3}, {"chunks": 20},
    ):  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert not model_of(X, y, **arguments).model_.averaged
    for arguments in ({"kernel": kernels.RBF()}, {"noise": 0.2}, {"n_local": 0}):
        with pytest.raises(ValueError, match="learn='average'"):
            model_of(X, y, learn="average", **arguments)
    with pytest.raises(ValueError, match="learn='average' needs"):
        model_of(X, np.round(np.abs(y)), learn="average", likelihood="poisson")
    with pytest.raises(ValueError, match="learn="):
        model_of(X, y, learn="averaged")
    with pytest.raises(ValueError, match="for rows in one chunk, and these 60 are 3"):
        model_of(X, y, learn="average", chunks=20)
    with pytest.raises(ValueError, match="needs all rows at once"):
        CommitteeRegressor(learn="average").partial_fit(X, y)


def test_a_stream_goes_on_with_one_kernel():
    X, y = table(80)
    model = model_of(X[:60], y[:60])
    kernel = model.kernel_
    model.partial_fit(X[60:], y[60:])
    assert not model.model_.averaged and model.kernel_ != kernel
    assert_array_equal(model.predict(X[:3]), model_of(X, y, learn=True).predict(X[:3]))


def test_heavy_tails_are_seen_with_few_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_cauchy(120)
    fresh = np.sin(X[:, 0]) + 0.2 * rng.standard_cauchy(120)
    model, plain = model_of(X, y, noise="auto"), model_of(X, y)
    assert model.model_.averaged and model.model_.errors.scale.outputs[0].nu < 4
    assert model.log_density(X, fresh).mean() > plain.log_density(X, fresh).mean() + 1.0
    assert_array_equal(model.predict(X), plain.predict(X))
