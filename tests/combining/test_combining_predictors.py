"""Whole experts combined query by query, as users meet them."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium import Chunks, ExpertsRegressor
from collegium.combining import combine
from estimator_cases import (
    GIVEN,
    KERNEL,
    NOISE,
    SlowGP,
    assert_is_the_gp,
    assert_same_answers,
    queries,
    rmse,
    rows,
    slow_matern32,
    smooth_rows,
    truth,
)

POINTWISE = ["poe", "gpoe", "rbcm", "grbcm", "barycenter"]
ALL = [*POINTWISE, "npae"]


def model(combination, **arguments):
    return ExpertsRegressor(combination=combination, **{**GIVEN, "chunks": 8, **arguments})


@pytest.mark.parametrize("combination", ["poe", "gpoe", "rbcm", "barycenter"])
def test_every_rule_combines_textbook_gps_on_the_given_chunks(combination):
    X, y = rows(40)
    labels = np.arange(40) % 5
    found = model(combination, chunks=labels).fit(X, y)
    answers = []
    for label in range(5):
        part = SlowGP(X[labels == label], y[labels == label])
        part.centred = part.y - y.mean()  # the prior mean is that of all rows
        k = slow_matern32(queries(), part.X)
        cov = slow_matern32(queries(), queries()) - k @ part.inverse @ k.T
        answers.append((k @ part.inverse @ part.centred, np.diag(cov)))
    means, variances = np.array(answers).transpose(1, 0, 2)
    mean, variance = combine(combination, means, variances, np.full(11, KERNEL.variance))
    got, std = found.predict(queries(), return_std=True, level="function")
    assert_allclose(got, y.mean() + mean, rtol=1e-9)
    assert_allclose(std, np.sqrt(variance), rtol=1e-9)
    _, noisy = found.predict(queries(), return_std=True)
    assert_allclose(noisy, np.sqrt(variance + NOISE), rtol=1e-9)


def test_the_communication_set_is_disjoint_and_every_expert_has_it():
    X, y = rows(40)
    found = model("grbcm", communication=6).fit(X, y)
    committee = found.model_.committee
    assert committee.sizes[0] == 6 and sum(committee.sizes) == 40
    assert len(np.unique(committee.rows().X, axis=0)) == 40
    predictor = found.model_.predictor()
    for member in predictor.members:
        assert_array_equal(member.rows.X[:6], committee.chunks()[0].X)
    means, variances = [], []
    for rows_of in [predictor.base.rows, *(member.rows for member in predictor.members)]:
        C = slow_matern32(rows_of.X, rows_of.X) + NOISE * np.eye(len(rows_of.X))
        k = slow_matern32(queries(), rows_of.X)
        target = found.scaling_.scale * rows_of.y[:, 0]
        means.append(k @ np.linalg.solve(C, target))
        variances.append(KERNEL.variance - np.einsum("ij,ji->i", k, np.linalg.solve(C, k.T)))
    mean, variance = combine("grbcm", means, variances, np.full(11, KERNEL.variance))
    got, std = found.predict(queries(), return_std=True, level="function")
    assert_allclose(got, y.mean() + mean, rtol=1e-8)
    assert_allclose(std, np.sqrt(variance), rtol=1e-8)


@pytest.mark.parametrize("combination", ALL)
def test_one_chunk_is_the_exact_gp(combination):
    X, y = rows(40)
    assert_is_the_gp(model(combination, chunks="auto").fit(X, y), SlowGP(X, y), queries())


def test_nested_kriging_with_one_row_chunks_is_the_exact_gp():
    X, y = rows(30)
    found = model("npae", chunks=1).fit(X, y)
    assert found.n_chunks_ == 30
    mean, cov = SlowGP(X, y).predict(queries())
    got, joint = found.predict(queries(), return_cov=True, level="function")
    assert_allclose(got, mean, rtol=1e-7)
    assert_allclose(joint, cov, rtol=0, atol=1e-6 * KERNEL.variance)


@pytest.mark.parametrize("combination", ALL)
def test_a_stream_is_the_batch_on_the_same_chunks(combination):
    X, y = rows(32)
    X, y = np.concatenate([X, X[::-1] + 0.1]), np.concatenate([y, y])  # the mean stays the same
    size = 8 if combination == "grbcm" else "auto"
    stream = model(combination, chunks=Chunks(8, "time"), communication=size)
    stream.partial_fit(X[:32], y[:32]).partial_fit(X[32:48], y[32:48]).partial_fit(X[48:], y[48:])
    assert sum(chunk.n for chunk in stream.model_.committee.chunks()) == 64
    copy = pickle.loads(pickle.dumps(stream))
    assert_same_answers(stream, copy, queries(), rtol=0)
    if combination != "grbcm":  # whose communication set is drawn from the rows seen first
        batch = model(combination, chunks=Chunks(8, "time")).fit(X, y)
        assert batch.n_chunks_ == stream.n_chunks_
        assert_same_answers(stream, batch, queries(), rtol=1e-9)


@pytest.mark.parametrize("combination", ALL)
def test_threads_change_no_bit(combination):
    X, y = rows(60)
    one, two = (model(combination, n_jobs=n).fit(X, y) for n in (1, 2))
    assert_same_answers(one, two, queries(), rtol=0)


@pytest.mark.parametrize("combination", ALL)
def test_a_query_is_answered_alone_as_in_company(combination):
    X, y = rows(60)
    found = model(combination).fit(X, y)
    mean, std = found.predict(queries(), return_std=True)
    for x, m, s in zip(queries(), mean, std):
        alone = found.predict(x[None], return_std=True)
        assert_allclose((alone[0][0], alone[1][0]), (m, s), rtol=1e-9)


@pytest.mark.parametrize("combination", ALL)
def test_a_weight_is_a_repetition_and_outputs_are_independent(combination):
    X, y = rows(40, p=2)
    w = 1 + np.arange(40) % 3
    weighted = model(combination).fit(X, y, sample_weight=w)
    repeated = model(combination).fit(np.repeat(X, w, axis=0), np.repeat(y, w, axis=0))
    assert_same_answers(weighted, repeated, queries(), rtol=0)
    mean, std = weighted.predict(queries(), return_std=True)
    assert mean.shape == std.shape == (11, 2)


@pytest.mark.parametrize("combination", POINTWISE)
def test_no_covariance_is_made_up(combination):
    X, y = rows(40)
    found = model(combination).fit(X, y)
    with pytest.raises(ValueError, match=f"combination='{combination}'.*return_cov.*'npae'"):
        found.predict(queries(), return_cov=True)
    with pytest.raises(ValueError, match="gives no covariance"):
        found.sample_y(queries())


def test_nested_kriging_has_covariances_and_samples():
    X, y = rows(40, p=2)
    found = model("npae").fit(X, y)
    mean, cov = found.predict(queries(), return_cov=True)
    _, std = found.predict(queries(), return_std=True)
    assert cov.shape == (11, 11, 2)
    assert_allclose(np.sqrt(np.einsum("iip->ip", cov)), std, rtol=1e-9)
    assert found.sample_y(queries(), 3).shape == (11, 2, 3)


@pytest.mark.parametrize("combination", [rule for rule in ALL if rule != "poe"])
def test_far_from_the_rows_the_prior_comes_back(combination):
    X, y = rows(40)
    mean, std = model(combination).fit(X, y).predict([[1e6, -1e6]], return_std=True)
    assert_allclose(mean, y.mean(), rtol=1e-9)
    assert_allclose(std, np.sqrt(KERNEL.variance + NOISE), rtol=1e-9)


@pytest.mark.parametrize("chunk_size", [1, 7, 59, 200])
@pytest.mark.parametrize("combination", ALL)
def test_any_chunk_size_is_sound(combination, chunk_size):
    X, y = rows(60)
    found = model(combination, chunks=chunk_size).fit(X, y)
    Xs = np.concatenate([queries(), queries()[:2], X[:2], [[50.0, -80.0]]])
    mean, std = found.predict(Xs, return_std=True, level="function")
    assert np.isfinite(mean).all() and (std >= 0).all() and np.isfinite(found.log_evidence_)
    assert_allclose(mean[:2], mean[11:13], rtol=1e-9)


@pytest.mark.parametrize("combination", ALL)
def test_no_noise_and_no_variation_are_survived(combination):
    X, y = rows(40)
    exact = model(combination, noise=0.0).fit(X, y)
    mean, std = exact.predict(X, return_std=True)
    assert np.isfinite(mean).all() and (std >= 0).all()
    flat = ExpertsRegressor(combination=combination, chunks=8, random_state=0)
    mean, std = flat.fit(X, np.full(40, 3.0)).predict(queries(), return_std=True)
    assert_allclose(mean, 3.0)
    assert np.isfinite(std).all()


@pytest.mark.diagonal
@pytest.mark.parametrize("combination", ALL)
def test_hyperparameters_are_learnt_and_answers_are_useful(combination):
    X, y = smooth_rows(400)
    found = ExpertsRegressor(combination=combination, chunks=80, random_state=0).fit(X, y)
    assert found.n_chunks_ == (6 if combination == "grbcm" else 5)
    Xs = 0.9 * smooth_rows(80, seed=7)[0]
    assert rmse(found.predict(Xs), truth(Xs)) < 0.3
    assert found.model_.anchors.shape == (0, 2)


def test_the_robust_rules_and_nested_kriging_are_better_than_plain_products():
    X, y = smooth_rows(400)
    given = {**GIVEN, "noise": 0.0025, "chunks": Chunks(40, "random")}
    Xs = 0.9 * smooth_rows(200, seed=7)[0]
    error = {
        rule: rmse(ExpertsRegressor(combination=rule, **given).fit(X, y).predict(Xs), truth(Xs))
        for rule in ALL
    }
    assert error["npae"] < error["grbcm"] < error["gpoe"]
    assert error["rbcm"] < error["gpoe"]


def test_relearn_and_evidence_know_the_experts():
    X, y = rows(40)
    found = model("rbcm", chunks=np.arange(40) % 4).fit(X, y)
    parts = []
    for label in range(4):
        part = SlowGP(X[np.arange(40) % 4 == label], y[np.arange(40) % 4 == label])
        part.centred = part.y - y.mean()
        parts.append(part.log_evidence())
    assert_allclose(found.log_evidence_, sum(parts), rtol=1e-9)
    again = found.relearn()
    assert again.n_chunks_ == 4
