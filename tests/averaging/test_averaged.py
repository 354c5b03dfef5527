"""The averaged model of few rows: fits, predictions, storage."""

import json
import pickle
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import norm

import reference
from collegium.averaging.averaged import Averaged, average, counted
from collegium.modelfile.tree import Reader, Writer
from collegium.numerics import records
from collegium.rows.rows import Rows


def rows(n=30, d=2, seed=0):
    """Rows in the units of the user: neither centred nor scaled."""
    rng = np.random.default_rng(seed)
    X = 50.0 + 7.0 * rng.normal(size=(n, d))
    return X, 300.0 + 20.0 * np.sin((X[:, 0] - 50.0) / 5.0) + 3.0 * rng.normal(size=n)


@pytest.fixture(scope="module")
def model():
    return average(*rows())


QUERIES = rows(9, seed=5)[0]


def parts(model, X):
    """Mean and variance of a new observation under each θ, in the units of y, slowly."""
    Xs, own = (X - model.inputs.centre) / model.inputs.scale, list(model.levels)
    Xs[:, own] = X[:, own]
    y, scale, centre = model.rows.y[:, 0], model.targets.scale[0], model.targets.centre[0]
    found = [reference.few_rows_prediction(t, model.rows.X, y, Xs, own) for t in model.theta]
    means = np.stack([centre + scale * m for m, _ in found], axis=1)
    return means, np.stack([scale**2 * v for _, v in found], axis=1)


def test_predictions_are_mixtures_of_gaussian_processes(model):
    found, (means, variances) = model.predict(QUERIES), parts(model, QUERIES)
    assert model.theta.shape == (48, 6)
    assert_allclose(found.means, means, rtol=1e-8)
    assert_allclose(found.variances, variances, rtol=1e-7)
    y = rows(9, seed=5)[1]
    each = norm.logpdf(y[:, None], means, np.sqrt(variances))
    assert_allclose(found.log_density(y), logsumexp(each, b=model.shares, axis=1), rtol=1e-7)


def test_without_noise_variances_are_those_of_the_function(model):
    noisy, clean = model.predict(QUERIES), model.predict(QUERIES, noise=False)
    noise = np.exp(2.0 * model.theta[:, 2]) * model.targets.scale[0] ** 2
    assert_allclose(noisy.variances - clean.variances, np.tile(noise, (9, 1)), rtol=1e-7)


def test_codes_of_levels_are_equal_or_not():
    rng = np.random.default_rng(2)
    X, y = rows(25)
    X = np.column_stack([X[:, 0], rng.integers(0, 4, 25)])
    Xs = np.column_stack([QUERIES[:, 0], [0, 1, 2, 3, -1, -1, 0, -4e9, 2]])
    found = average(X, y, levels=(1,), n_points=4)
    names = np.array([7.0, -2.0, 1e9, 40.0])
    renamed = average(np.column_stack([X[:, 0], names[X[:, 1].astype(int)]]), y, levels=(1,))
    known = Xs[:, 1] >= 0
    other = np.column_stack([Xs[known, 0], names[Xs[known, 1].astype(int)]])
    assert_allclose(
        average(X, y, levels=(1,)).predict(Xs[known]).mean(), renamed.predict(other).mean(),
        rtol=1e-6,
    )  # fmt: skip
    slow = parts(found, Xs)
    answers = found.predict(Xs)
    assert_allclose(answers.means, slow[0], rtol=1e-8)
    assert_allclose(answers.variances, slow[1], rtol=1e-7)


def test_a_model_learns_the_function():
    X, y = rows(60)
    found = average(X, y).predict(rows(200, seed=8)[0])
    truth = rows(200, seed=8)[1]
    assert np.sqrt(np.mean((found.mean() - truth) ** 2)) < 5.0
    inside = (found.quantile(0.025) <= truth) & (truth <= found.quantile(0.975))
    assert 0.9 <= inside.mean() <= 0.99


def test_joint_draws_and_covariances_agree_with_predictions(model):
    C = model.covariance(QUERIES)
    assert_allclose(np.diag(C), model.predict(QUERIES).variance(), rtol=1e-7)
    draws = model.sample(QUERIES, 20_000, np.random.default_rng(2))
    assert_allclose(draws.mean(axis=1), model.predict(QUERIES).mean(), atol=0.15)
    assert_allclose(np.cov(draws), C, atol=0.06 * C.diagonal().max())
    clean = model.sample(QUERIES, 20_000, np.random.default_rng(2), noise=False)
    assert_allclose(np.cov(clean), model.covariance(QUERIES, noise=False), atol=4.0)


def fields(model):
    return [model.rows.X, model.rows.y, model.rows.w, model.theta, model.shares, model.models]


def test_order_and_repetition_do_not_matter_to_the_last_bit():
    X, y = rows(12)
    w = np.array([1.0, 2.0, 3.0] + [1.0] * 9)
    one = average(X, y, w)
    again = np.random.default_rng(1).permutation(np.repeat(np.arange(12), w.astype(int)))
    for a, b in zip(fields(one), fields(average(X[again], y[again]))):
        assert_array_equal(a, b)
    half = average(np.concatenate([X, X + 1.0]), np.tile(y, 2), np.append(w, np.zeros(12)))
    assert_array_equal(half.theta, one.theta)


def test_the_seed_moves_points_and_nothing_else():
    X, y = rows(12)
    one, other = average(X, y, seed=1), average(X, y, seed=2)
    assert_array_equal(one.theta, average(X, y, seed=1).theta)
    assert np.abs(one.theta - other.theta).max() > 0.1
    assert_array_equal(one.evidences, other.evidences)


def test_units_do_not_matter():
    X, y = rows(20)
    one, other = average(X, y), average(4.0 * X + 1.0, 8.0 * y - 3.0)
    found = other.predict(4.0 * QUERIES + 1.0)
    assert_allclose(found.mean(), 8.0 * one.predict(QUERIES).mean() - 3.0, rtol=1e-6)
    assert_allclose(found.std(), 8.0 * one.predict(QUERIES).std(), rtol=1e-5)


def test_an_answer_does_not_depend_on_the_queries_beside_it(model):
    together = model.predict(rows(50, seed=5)[0])
    assert_array_equal(model.predict(QUERIES[3:4]).means[0], together.means[3])
    assert_array_equal(model.predict(QUERIES[3:4]).variances[0], together.variances[3])
    assert model.predict(QUERIES[:0]).means.shape == (0, 48)


def test_files_and_pickles_hold_no_factors(model):
    model.predict(QUERIES)
    assert len(pickle.dumps(model)) < 10_000
    writer = Writer()
    node = json.loads(json.dumps(writer.node(model, "model"), allow_nan=False))
    writer.finish()
    read = Reader(writer.arrays, records.maker_of, str).value(node, "model")
    assert isinstance(read, Averaged) and sum(a.nbytes for a in writer.arrays) < 10_000
    for again in (read, pickle.loads(pickle.dumps(model))):
        assert_array_equal(again.predict(QUERIES).means, model.predict(QUERIES).means)


def test_without_points_modes_are_stacked():
    model = average(*rows(20), n_points=0)
    assert model.theta.shape == (3, 6) and model.shares.size == 3
    assert_allclose(model.shares, model.models)
    assert_array_equal(model.theta[0, 4:], 0.0)


def constant_column(X, y):
    X[:, 1] = 3.0
    return X, y


def duplicates(X, y):
    return np.repeat(X[:3], 4, axis=0), np.repeat(y[:3], 4) + np.tile([0.0, 0.0, 1.0, 2.0], 3)


HARD = {
    "five rows": lambda: rows(5),
    "one row": lambda: rows(1),
    "fewer rows than columns": lambda: rows(8, 20),
    "a constant column": lambda: constant_column(*rows(12)),
    "constant columns": lambda: (np.ones((12, 2)), rows(12)[1]),
    "constant y": lambda: (rows(12)[0], np.full(12, 7.0)),
    "y of zeros": lambda: (rows(12)[0], np.zeros(12)),
    "duplicates": lambda: duplicates(*rows(12)),
    "equal rows": lambda: (np.ones((6, 2)), np.full(6, 2.0)),
    "one column": lambda: rows(12, 1),
    "an outlier": lambda: (rows(12)[0], np.append(rows(11)[1], 1e12)),
    "huge numbers": lambda: (1e200 * rows(12)[0], 1e100 * rows(12)[1]),
    "tiny numbers": lambda: (1e-200 * rows(12)[0], 1e-100 * rows(12)[1]),
    "no noise": lambda: (rows(20)[0], rows(20)[0][:, 0]),
}


@pytest.mark.parametrize("make", HARD.values(), ids=HARD)
def test_hard_tables_have_finite_answers(make):
    X, y = make()
    model = average(X, y)
    assert_allclose(model.shares.sum(), 1.0)
    for queries in (X, X + 0.3 * np.abs(X), np.full((1, X.shape[1]), -1e250)):
        found = model.predict(queries)
        assert np.isfinite(found.mean()).all() and np.isfinite(found.std()).all()
        assert (found.std() > 0.0).all()
        assert (found.quantile(0.1) < found.quantile(0.9)).all()
        assert np.isfinite(found.log_density(found.mean())).all()


def test_weights_far_apart_have_finite_answers():
    X, y = rows(12)
    model = average(X, y, np.geomspace(1e-9, 1e9, 12))
    assert np.isfinite(model.predict(X).std()).all()


def test_a_constant_column_is_measured_by_its_magnitude():
    X, y = constant_column(*rows(12))
    scale = np.array([1.0, 1024.0])
    one, other = average(X, y), average(X * scale, y)
    found = other.predict(1.1 * X * scale)
    assert_allclose(found.mean(), one.predict(1.1 * X).mean(), rtol=1e-9)
    assert_allclose(found.std(), one.predict(1.1 * X).std(), rtol=1e-9)


def test_rows_of_groups_count_as_so_many_groups():
    """In proportion to their weights; groups of single rows count as rows do."""
    X, y, w = np.zeros((6, 1)), np.zeros((6, 1)), np.array([2.0, 1.0, 1.0, 1.0, 0.5, 0.5])
    alike = counted(Rows(X, y, w, group=np.array([4, 9, 4, 9, 9, 9])))
    assert_allclose(alike, w / w.sum() * 2.0)  # two groups of equal weight
    alone = counted(Rows(X, y, np.full(6, 1.0), group=np.arange(6)))
    assert_allclose(alone, np.ones(6))
    assert_array_equal(counted(Rows(X, y, w)), w)


@pytest.mark.parametrize("levels", [(), (1,)])
def test_hyperparameters_belong_to_their_columns(levels):
    """Columns that matter much, a little and not at all, and codes, in every order."""
    rng = np.random.default_rng(6)
    X = np.column_stack([
        rng.normal(size=40), rng.integers(0, 3, 40), rng.uniform(size=40), rng.gamma(2.0, size=40),
    ])  # fmt: skip
    y = np.sin(3.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * X[:, 2] + 0.05 * rng.normal(size=40)
    Xs = X[:12] + [0.1, 0.0, 0.1, 0.1]
    plain = average(X, y, levels=levels, n_points=0).predict(Xs)
    for order in map(list, list(permutations(range(4)))[1::4]):
        places = tuple(order.index(k) for k in levels)
        found = average(X[:, order], y, levels=places, n_points=0).predict(Xs[:, order])
        assert_allclose(found.mean(), plain.mean(), atol=1e-3)
        assert_allclose(found.variance(), plain.variance(), rtol=1e-2)
