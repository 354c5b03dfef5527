"""What CommitteeRegressor promises about batches of rows, at parameters that are not defaults."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import kernels as sk
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from collegium import Chunks, CommitteeRegressor, Select, Transductive, kernels
from collegium.learning.anchors import RULES
from estimator_cases import (
    GIVEN,
    INDUCTIVE,
    KERNEL,
    NOISE,
    VARIANTS,
    SlowGP,
    assert_is_the_gp,
    assert_same_answers,
    committee,
    queries,
    rows,
)

# -- the exact Gaussian process ------------------------------------------------------------------

ONE_CHUNK = {
    "default": {},
    "labels": {"chunks": np.full(60, 7), "n_local": 5},
    "given anchors": {"anchors": queries(9, seed=5), "n_local": 13},
    "all rows local": {"anchors": queries(9, seed=5), "n_local": 200, "chunks": 60},
    "transductive": {"inference": "transductive", "anchors": queries(4, seed=5)},
    "scikit-learn kernel": {
        "kernel": sk.ConstantKernel(30.0) * sk.Matern([0.7, 1.9], nu=1.5) + sk.WhiteKernel(NOISE),
        "noise": "auto",
    },
}


@pytest.mark.parametrize("arguments", ONE_CHUNK.values(), ids=ONE_CHUNK)
def test_one_chunk_is_the_exact_gp(arguments):
    X, y = rows()
    model = CommitteeRegressor(**{**GIVEN, **arguments}).fit(X, y)
    assert_is_the_gp(model, SlowGP(X, y), queries())


def test_anchors_at_every_input_make_any_committee_the_exact_gp():
    X, y = rows(30)
    for arguments in ({"n_local": 0}, {"n_local": 3}, {"inference": "transductive"}):
        model = CommitteeRegressor(**GIVEN, chunks=4, anchors=X, **arguments).fit(X, y)
        assert model.n_chunks_ == 8
        assert_is_the_gp(model, SlowGP(X, y), queries(), rtol=1e-5)


def test_fractional_weight_is_noise_divided_by_it():
    X, y = rows(25)
    w = np.random.default_rng(2).uniform(0.3, 2.5, 25)
    model = CommitteeRegressor(**GIVEN).fit(X, y, sample_weight=w)
    C = SlowGP(X, y, noise=0.0).C + np.diag(NOISE / w)
    centre = np.average(y, weights=w)
    expected = centre + KERNEL.value(queries(), X) @ np.linalg.solve(C, y - centre)
    assert_allclose(model.predict(queries()), expected, rtol=1e-9)


# -- units ----------------------------------------------------------------------------------------


@pytest.mark.diagonal
@pytest.mark.parametrize("p", [None, 2])
@pytest.mark.parametrize("variant", VARIANTS)
def test_kernel_and_noise_fed_back_give_the_same_model(variant, p):
    X, y = rows(50, p=p)
    y = y * [1.0, 1e4] if p else y
    model = committee(variant, noise="constant", learn=True).fit(X, y)
    assert np.size(model.noise_) == (p or 1)
    again = committee(
        variant,
        kernel=model.kernel_,
        noise=model.noise_,
        learn=False,
        anchors="auto" if variant == "exact" else model.anchors_,
    ).fit(X, y)
    assert_same_answers(model, again, queries(), rtol=1e-6)
    assert_allclose(again.noise_, model.noise_, rtol=1e-9)
    assert_allclose(again.kernel_.theta, model.kernel_.theta, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_fixed_or_given_stays(variant):
    X, y = rows(50)
    fixed = kernels.Matern32(30.0, [0.7, 1.9], fixed=("variance",))
    model = committee(variant, kernel=fixed).fit(X, y)
    assert_allclose(model.kernel_.variance, 30.0)
    assert (model.kernel_.length_scale != fixed.length_scale).all()
    summed = committee(variant, kernel=fixed + kernels.Linear()).fit(X, y).kernel_
    assert_allclose(summed.parts[0].variance, 30.0)
    assert_allclose(committee(variant, noise=NOISE).fit(X, y).noise_, NOISE)
    white = kernels.RBF() + kernels.White(0.3, fixed=("variance",))
    assert_allclose(committee(variant, kernel=white).fit(X, y).noise_, 0.3)


def test_evidence_changes_with_the_units_of_y_as_a_density_does():
    X, y = rows()
    factor = 1e-3
    a = CommitteeRegressor(**GIVEN, chunks=9, anchors=7).fit(X, y)
    b = clone(a).set_params(kernel=KERNEL.scaled(factor**2), noise=NOISE * factor**2)
    b.fit(X, factor * y)
    assert_allclose(b.log_evidence_, a.log_evidence_ - len(y) * np.log(factor), rtol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
def test_outputs_are_separate_fits_for_a_given_kernel_and_noise(variant):
    X, Y = rows(p=3)
    Y = Y * [1.0, 20.0, 0.1]
    together = committee(variant, **GIVEN).fit(X, Y)
    mean, std = together.predict(queries(), return_std=True)
    _, cov = together.predict(queries(), return_cov=True)
    evidence = 0.0
    for j in range(3):
        alone = committee(variant, **GIVEN).fit(X, Y[:, j])
        found, bars = alone.predict(queries(), return_std=True)
        assert_allclose(mean[:, j], found, rtol=1e-8)
        assert_allclose(std[:, j], bars, rtol=1e-8)
        assert_allclose(cov[..., j], alone.predict(queries(), return_cov=True)[1], atol=1e-8)
        evidence += alone.log_evidence_
    assert_allclose(together.log_evidence_, evidence, rtol=1e-9)


def test_noise_of_each_output_scales_its_kernel():
    X, Y = rows(p=2)
    model = CommitteeRegressor(**{**GIVEN, "noise": [NOISE, 9.0 * NOISE]}).fit(X, Y)
    second = {"kernel": KERNEL.scaled(9.0), "noise": 9.0 * NOISE}
    alone = CommitteeRegressor(**{**GIVEN, **second}).fit(X, Y[:, 1])
    mean, std = model.predict(queries(), return_std=True)
    assert_allclose(mean[:, 1], alone.predict(queries()), rtol=1e-9)
    assert_allclose(std[:, 1], alone.predict(queries(), return_std=True)[1], rtol=1e-9)
    assert_allclose(std[:, 1], 3.0 * std[:, 0], rtol=1e-12)


# -- reproducible ---------------------------------------------------------------------------------


@pytest.mark.diagonal
@pytest.mark.parametrize("variant", VARIANTS)
def test_results_are_the_same_bits_for_any_number_of_jobs(variant):
    X, y = rows(70)
    Xs = queries(600)
    serial = committee(variant, chunks=17).fit(X, y)
    for n_jobs in (2, 3):
        threads = committee(variant, chunks=17, n_jobs=n_jobs).fit(X, y)
        assert_same_answers(serial, threads, Xs, rtol=0)
        assert_array_equal(serial.kernel_.theta, threads.kernel_.theta)


@pytest.mark.parametrize("rule", ["balanced", "kmeans", "random"])
def test_the_order_of_rows_means_nothing(rule):
    X, y = rows()
    order = np.random.default_rng(3).permutation(len(y))
    model = committee("local", chunks=Chunks(8, rule))
    a, b = clone(model).fit(X, y), clone(model).fit(X[order], y[order])
    assert_same_answers(a, b, queries(), rtol=0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_pickle_and_clone_give_the_same_answers(variant):
    X, y = rows(40)
    model = committee(variant).fit(X, y)
    model.predict(queries())
    assert_same_answers(pickle.loads(pickle.dumps(model)), model, queries(), rtol=0)
    copy = clone(model)
    assert not hasattr(copy, "model_")
    assert_same_answers(copy.fit(X, y), model, queries(), rtol=0)


# -- weights --------------------------------------------------------------------------------------


@pytest.mark.diagonal
@pytest.mark.parametrize("variant", VARIANTS)
def test_weight_is_repetition_and_zero_is_absence(variant):
    X, y = rows(40)
    w = np.random.default_rng(4).integers(0, 4, 40)
    weighted = committee(variant).fit(X, y, sample_weight=w)
    repeated = committee(variant).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    absent = committee(variant).fit(X[w > 0], y[w > 0], sample_weight=w[w > 0])
    assert_same_answers(weighted, repeated, queries(), rtol=0)
    assert_same_answers(weighted, absent, queries(), rtol=0)


def test_weights_split_over_labels_stay_apart():
    X, y = rows(20)
    labels = np.arange(40) % 2
    twice = CommitteeRegressor(**GIVEN, chunks=labels, anchors=5)
    twice.fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert twice.n_chunks_ == 2 and twice.model_.committee.sizes == (20, 20)


# -- answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", INDUCTIVE)
def test_a_query_is_answered_alone_as_in_company(variant):
    X, y = rows(80)
    model = committee(variant, anchors=9).fit(X, y)
    Xs = queries(300)
    mean, std = model.predict(Xs, return_std=True)
    alone = [model.predict(x[None], return_std=True) for x in Xs[::5]]
    assert_allclose(mean[::5], np.concatenate([m for m, _ in alone]), rtol=1e-9)
    assert_allclose(std[::5], np.concatenate([s for _, s in alone]), rtol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("p", [None, 2])
def test_means_alone_are_those_with_bars_for_any_number_of_jobs(variant, p):
    X, y = rows(p=p)
    model = committee(variant, **GIVEN).fit(X, y)
    alone = model.predict(queries())
    assert_allclose(alone, model.predict(queries(), return_std=True)[0], rtol=1e-10)
    assert_array_equal(alone, model.set_params(n_jobs=2).predict(queries()))
    if variant in INDUCTIVE:
        assert_allclose(model.predict(queries()[3:4]), alone[3:4], rtol=1e-10)


@pytest.mark.diagonal
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("level", ["function", "observation"])
def test_covariance_is_psd_and_its_diagonal_the_squared_bars(variant, level):
    X, y = rows(70)
    Xs = np.concatenate([queries(20), queries(20)[:3], X[:4]])
    model = committee(variant, anchors=9).fit(X, y)
    mean, cov = model.predict(Xs, return_cov=True, level=level)
    again, std = model.predict(Xs, return_std=True, level=level)
    assert_allclose(mean, again, rtol=1e-9)
    assert_allclose(np.diag(cov), std**2, rtol=1e-7)
    assert_array_equal(cov, cov.T)
    assert np.linalg.eigvalsh(cov).min() > -1e-9 * cov.max()


@pytest.mark.parametrize("variant", INDUCTIVE)
def test_covariance_of_two_queries_does_not_depend_on_a_third(variant):
    X, y = rows(70)
    model = committee(variant, anchors=9).fit(X, y)
    _, all_three = model.predict(queries(3), return_cov=True)
    _, two = model.predict(queries(3)[:2], return_cov=True)
    assert_allclose(two, all_three[:2, :2], rtol=1e-8)


@pytest.mark.parametrize("level", ["function", "observation"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_samples_have_the_moments_of_the_joint_answer(variant, level):
    X, y = rows(60)
    model = committee(variant, **GIVEN).fit(X, y)
    Xs, count = np.concatenate([X[:2] + 0.05, queries(4)]), 20_000
    mean, cov = model.predict(Xs, return_cov=True, level=level)
    samples = model.sample_y(Xs, count, random_state=5, level=level)
    assert samples.shape == (6, count)
    variance = np.diag(cov)
    assert (np.abs(samples.mean(axis=1) - mean) < 5.0 * np.sqrt(variance / count)).all()
    error = np.sqrt((np.outer(variance, variance) + cov**2) / count)
    assert (np.abs(np.cov(samples) - cov) < 5.0 * error).all()


def test_samples_of_several_outputs_are_independent_and_scaled():
    X, Y = rows(30, p=2)
    model = CommitteeRegressor(**{**GIVEN, "noise": [NOISE, 100.0 * NOISE]}).fit(X, Y)
    samples = model.sample_y(queries(3), 4000, random_state=1)
    _, std = model.predict(queries(3), return_std=True)
    assert samples.shape == (3, 2, 4000)
    assert_allclose(samples.std(axis=2), std, rtol=0.07)
    assert abs(np.corrcoef(samples[0])[0, 1]) < 0.07


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_observation_is_the_function_and_its_noise(variant):
    X, y = rows()
    model = committee(variant, noise="constant").fit(X, y)
    _, of_f = model.predict(queries(), return_std=True, level="function")
    _, of_y = model.predict(queries(), return_std=True)
    assert_allclose(of_y**2, of_f**2 + model.noise_, rtol=1e-10)
    _, cov_f = model.predict(queries(), return_cov=True, level="function")
    _, cov_y = model.predict(queries(), return_cov=True)
    assert_allclose(cov_y - cov_f, model.noise_ * np.eye(11), atol=1e-10 * cov_y.max())


@pytest.mark.parametrize("level", ["function", "observation"])
def test_interval_holds_its_share_of_the_predictive_normal(level):
    X, Y = rows(p=2)
    model = committee("local").fit(X, Y)
    lower, upper = model.predict_interval(queries(), coverage=0.8, level=level)
    mean, std = model.predict(queries(), return_std=True, level=level)
    assert lower.shape == upper.shape == mean.shape
    assert_allclose(norm.cdf(upper, mean, std) - norm.cdf(lower, mean, std), 0.8)
    assert_allclose(lower + upper, 2.0 * mean)


# -- what is kept ---------------------------------------------------------------------------------


def test_anchors_only_keep_no_rows_and_do_not_grow():
    def stored(n):
        model = committee("anchors only", chunks=10, **GIVEN).fit(*rows(n))
        assert model.model_.committee.rows().X.shape == (0, 2)
        assert model.n_chunks_ == n // 10
        return len(pickle.dumps(model))

    assert abs(stored(1280) - stored(160)) < 64  # 2ᵏ chunks each: one partial sum


def test_sizes_used_are_told():
    X, y = rows(100)
    model = committee("transductive", chunks=30, inference=Transductive(50)).fit(X, y)
    assert (model.n_chunks_, model.chunk_size_, model.query_size_) == (4, 30, 50)
    assert model.anchors_.shape == (6, 2)
    model = committee("local", chunks="auto").fit(X, y)
    assert (model.n_chunks_, model.anchors_.shape, model.query_size_) == (1, (0, 2), 0)


def test_verbose_says_what_was_chosen_and_silence_is_the_default(capsys):
    X, y = rows(40)
    committee("local").fit(X, y)
    assert capsys.readouterr().out == ""
    committee("local", verbose=1).fit(X, y)
    said = capsys.readouterr().out
    assert "40 rows in 5 chunks" in said and "6 anchors" in said and "noise" in said


# -- scikit-learn ---------------------------------------------------------------------------------


def test_grid_search_and_pipeline():
    X, y = rows(60)
    pipeline = make_pipeline(StandardScaler(), committee("local"))
    grid = {"committeeregressor__kernel": [kernels.RBF(), kernels.Matern12()]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    mean, std = search.best_estimator_.predict(X, return_std=True)
    assert mean.shape == std.shape == (60,)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_feature_names_are_kept_and_checked(frame):
    X, y = rows(40)
    model = committee("local").fit(frame({"a": X[:, 0], "b": X[:, 1]}), y)
    assert_array_equal(model.feature_names_in_, ["a", "b"])
    asked = frame({"a": [0.1], "b": [0.2]})
    assert_array_equal(model.predict(asked), committee("local").fit(X, y).predict([[0.1, 0.2]]))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame({"b": [0.2], "a": [0.1]}))


def test_unfitted_models_say_so():
    for ask in ("predict", "predict_interval", "sample_y"):
        with pytest.raises(NotFittedError):
            getattr(CommitteeRegressor(), ask)([[0.0]])
    with pytest.raises(NotFittedError):
        CommitteeRegressor().relearn()


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "kmeans"])
def test_anchors_may_be_chosen_by_any_rule(rule):
    X, y = rows(80)
    model = committee("anchors only", anchors=Select(rule, 12), **GIVEN).fit(X, y)
    assert model.anchors_.shape == (12, 2)
    assert {tuple(z) for z in model.anchors_} <= {tuple(x) for x in X}
