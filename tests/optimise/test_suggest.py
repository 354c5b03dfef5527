"""suggest: the best point of a region or of candidates, whatever the model."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from collegium import (
    CommitteeClassifier,
    CommitteeOf,
    CommitteeRegressor,
    ExpertsRegressor,
    OnlineGPRegressor,
    RegressionFilter,
    SparseGPRegressor,
    kernels,
)
from collegium.optimise import suggest
from collegium.optimise.improvement import log_improvement
from collegium.optimise.incumbent import incumbent
from collegium.optimise.suggesting import HOW
from collegium.optimise.surface import Surface
from surface_cases import LENGTH, VARIANCE, exact, grid, known, wave

BOX = [(-1.0, 1.0), (-0.5, 0.8)]


def expected(model, X, best):
    mean, sd = model.predict(X, return_std=True, level="function")
    return log_improvement(mean, sd, best)


@pytest.mark.parametrize("d, k", [(1, 4001), (2, 201)])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_suggestion_is_the_best_of_a_dense_grid(d, k, seed):
    model, X, y = known(d, 7 * d, seed=seed)
    G = grid(d, k)
    mean, C = zip(*(exact(1e-9, X, y, part) for part in np.array_split(G, 400)))
    sd = np.sqrt(np.maximum(np.concatenate([np.diag(one) for one in C]), 0.0))
    slow = log_improvement(np.concatenate(mean), sd, y.min())
    x = suggest(model, [(-1.0, 1.0)] * d, random_state=seed)
    assert expected(model, x, y.min())[0] > slow.max() - 1e-5
    assert_allclose(x[0], G[slow.argmax()], atol=3.0 / k)


def test_long_lists_of_values_are_searched_closely():
    """No worse than 20,000 random points of four columns."""
    model, X, y = known(4, 14)
    values = np.linspace(-1.0, 1.0, 401)
    x = suggest(model, [values.tolist()] * 4, random_state=0)
    assert set(x[0]) <= set(values)
    others = np.random.default_rng(0).choice(values, size=(20_000, 4))
    assert expected(model, x, y.min())[0] > expected(model, others, y.min()).max()


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("d", [1, 2])
def test_maximising_f_is_minimising_minus_f_to_the_last_bit(how, d):
    up, down = known(d, 12, 0.01)[0], known(d, 12, 0.01, sign=-1.0)[0]
    asked = {"n": 3, "how": how, "random_state": 4}
    assert_array_equal(
        suggest(up, BOX[:d], maximise=True, **asked), suggest(down, BOX[:d], **asked)
    )
    given = grid(d, 12)
    assert_array_equal(
        suggest(up, candidates=given, maximise=True, **asked),
        suggest(down, candidates=given, **asked),
    )
    assert (suggest(up, BOX[:d], **asked) != suggest(down, BOX[:d], **asked)).any()


@pytest.mark.parametrize("how", HOW)
def test_points_of_a_batch_differ_and_begin_with_the_single_one(how):
    model = known(2, 12, 0.01)[0]
    X = suggest(model, BOX, 4, how=how, random_state=2)
    assert X.shape == (4, 2)
    assert_array_equal(X[:1], suggest(model, BOX, how=how, random_state=2))
    assert (np.array(BOX)[:, 0] <= X).all() and (X <= np.array(BOX)[:, 1]).all()
    if how != "thompson":  # of a draw each is one's own best point
        apart = np.linalg.norm(X[:, None] - X, axis=2) + np.eye(4)
        assert apart.min() > 0.05
    assert len(np.unique(X, axis=0)) == 4


@pytest.mark.parametrize("how", HOW)
def test_candidates_come_back_as_they_came(how):
    model = known(2, 12, 0.01)[0]
    G = grid(2, 9)
    asked = {"n": 5, "how": how, "random_state": 0}
    X = suggest(model, candidates=G, **asked)
    at = [int(np.flatnonzero((x == G).all(axis=1))[0]) for x in X]
    assert len(set(at)) == 5
    few = suggest(model, candidates=G[:4], n=4, how=how, random_state=0)
    assert_array_equal(np.unique(few, axis=0), G[:4])
    rows = suggest(model, candidates=G.tolist(), **asked)
    assert rows == X.tolist()
    if how == "ei":
        best = incumbent(Surface(model)).value
        assert at[0] == expected(model, G, best).argmax()


def test_frames_of_candidates_keep_their_index_and_words():
    frame = pd.DataFrame({"x": [0.1, 0.9, 1.7, 2.5, 3.3, 4.0] * 2, "kind": ["a"] * 6 + ["b"] * 6})
    y = np.sin(frame["x"]) + (frame["kind"] == "b")
    kernel = kernels.Matern52(1.0, 0.8, columns="x") + kernels.Matern52(1.0, 0.8, columns="kind")
    model = CommitteeRegressor(kernel, noise=1e-6, learn=False).fit(frame, y)
    others = pd.DataFrame({"x": [4.7, 4.7, 2.0, 2.0], "kind": list("abab")}, index=[7, 5, 3, 1])
    first = suggest(model, candidates=others, random_state=0)
    assert isinstance(first, pd.DataFrame) and first.index.tolist() == [7]
    assert suggest(model, candidates=others, maximise=True, random_state=0).index.tolist() == [1]
    told = suggest(model, candidates=pl.from_pandas(others), random_state=0)
    assert isinstance(told, pl.DataFrame) and told.rows() == [(4.7, "a")]


def mixed():
    rng = np.random.default_rng(0)
    n = 40
    frame = pd.DataFrame({
        "x": rng.uniform(0, 4, n), "kind": rng.choice(["red", "blue", "green"], n),
        "count": rng.integers(1, 9, n),
    })  # fmt: skip
    y = np.sin(frame["x"]) + 0.1 * (frame["count"] - 4) ** 2 + (frame["kind"] == "red")
    kernel = kernels.Matern52(1.0, [0.8, 1.0, 3.0])
    return CommitteeRegressor(kernel, noise=1e-6, learn=False).fit(frame, y), frame, y


@pytest.mark.parametrize("how", HOW)
def test_words_and_whole_numbers_are_searched_too(how):
    model, frame, y = mixed()
    bounds = {"kind": ["red", "blue"], "x": (0.5, 4.0), "count": range(2, 7)}
    rows = suggest(model, bounds, 4, how=how, random_state=0)
    assert all(list(row) == ["x", "kind", "count"] for row in rows)
    assert all(row["kind"] in ("red", "blue") and row["count"] in range(2, 7) for row in rows)
    assert all(0.5 <= row["x"] <= 4.0 and isinstance(row["count"], int) for row in rows)
    assert len({tuple(row.values()) for row in rows}) == 4
    model.predict(rows), model.partial_fit(rows, [0.0] * 4)


@pytest.mark.parametrize("how", ["ei", "ucb"])
def test_a_region_of_few_points_is_searched_in_full(how):
    model, frame, y = mixed()
    bounds = {"x": [0.3, 1.1, 3.3, 3.9], "kind": ["green", "red", "blue"], "count": range(1, 9)}
    all_rows = pd.DataFrame(
        [(x, kind, count) for x in bounds["x"] for kind in bounds["kind"] for count in range(1, 9)],
        columns=["x", "kind", "count"],
    )
    inside = frame["x"].isin(bounds["x"])
    assert not inside.any()  # so that all rows count in both
    row = suggest(model, bounds, how=how, random_state=0)[0]
    assert row == suggest(model, candidates=all_rows, how=how).iloc[0].to_dict()
    small = {"x": [0.3], "kind": ["red", "blue"], "count": range(3, 5)}
    four = suggest(model, small, 4, how=how, random_state=0)
    assert len({tuple(row.values()) for row in four}) == 4
    with pytest.raises(ValueError, match="hold 4 points"):
        suggest(model, small, 5, how=how)


def test_thompson_takes_a_row_as_often_as_it_is_the_lowest():
    """P(f₀ < f₁) = Φ((m₁ − m₀)/√var[f₀ − f₁]), over 600 draws."""
    model, X, y = known(1, 5, 0.05)
    pair = np.array([[-0.55], [-0.3]])
    mean, C = exact(0.05, X, y, pair)
    share = norm.cdf((mean[1] - mean[0]) / np.sqrt(C[0, 0] + C[1, 1] - 2 * C[0, 1]))
    taken = [suggest(model, candidates=pair, how="thompson", random_state=k)[0, 0] for k in
             range(600)]  # fmt: skip
    assert 0.05 < share < 0.95
    assert abs(np.mean(np.array(taken) == pair[0, 0]) - share) < 4 * np.sqrt(share / 600)


def test_the_incumbent_is_the_best_mean_under_noise_and_the_best_y_without():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(40, 1))
    y = wave(X) + 0.5 * rng.normal(size=40)
    kernel = kernels.Matern52(VARIANCE, LENGTH)
    noisy = CommitteeRegressor(kernel, noise=0.25, learn=False).fit(X, y)
    mean = exact(0.25, X, y, X)[0]
    found = incumbent(Surface(noisy))
    assert_allclose([found.value, found.X[0, 0]], [mean.min(), X[mean.argmin(), 0]], rtol=1e-6)
    assert X[y.argmin(), 0] != found.X[0, 0]
    sharp = CommitteeRegressor(kernel, noise=1e-9, learn=False).fit(X, y)
    assert_allclose(incumbent(Surface(sharp)).value, y.min(), rtol=1e-12)
    assert_allclose(incumbent(Surface(sharp, -1.0)).value, -y.max(), rtol=1e-12)
    right = incumbent(Surface(sharp), lambda X: X[:, 0] > 0.0)
    assert_allclose(right.value, y[X[:, 0] > 0.0].min(), rtol=1e-12)


SMOOTH = kernels.RBF(1.0, [0.7, 0.9])
MODELS = {
    "averaged": CommitteeRegressor(random_state=0),
    "experts": ExpertsRegressor(SMOOTH, noise=0.01, learn=False, chunks=2, combination="npae"),
    "online": OnlineGPRegressor(SMOOTH, noise=0.01, learn=False, budget=20),
    "sparse": SparseGPRegressor(SMOOTH, noise=0.01, learn=False, anchors=20),
    "anchors": CommitteeRegressor(SMOOTH, noise=0.01, learn=False, chunks=3, n_local=0),
    "rates": CommitteeRegressor(SMOOTH, likelihood="poisson", learn=False),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_of_all_kinds_suggest(name):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, size=(60, 2))
    f = (X[:, 0] - 0.4) ** 2 + (X[:, 1] - 0.1) ** 2
    y = rng.poisson(20.0 * f) if name == "rates" else f
    model = MODELS[name].fit(X, y)
    hows = ("ei",) if name == "experts" else HOW  # covariances of nested kriging take long
    asked = [suggest(model, BOX, 2, how=how, random_state=0) for how in hows]
    assert np.isfinite(asked).all()
    for points in asked:
        assert (np.array(BOX)[:, 0] <= points).all() and (points <= np.array(BOX)[:, 1]).all()
    if name != "rates":
        assert_allclose(asked[0][0], [0.4, 0.1], atol=0.3)


@pytest.mark.parametrize("model", [
    RegressionFilter(random_state=0), CommitteeOf([("a", OnlineGPRegressor(SMOOTH, noise=0.01))])
], ids=["filter", "committee of"])  # fmt: skip
def test_a_model_without_rows_says_what_to_do(model):
    X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(80, 2))
    model.fit(X, wave(X))
    with pytest.raises(ValueError, match="keeps no rows to improve on; give how='ucb'"):
        suggest(model, BOX)
    assert suggest(model, BOX, how="ucb", random_state=0).shape == (1, 2)


def test_experts_without_covariances_suggest_one_point():
    X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(60, 2))
    model = ExpertsRegressor(SMOOTH, noise=0.01, learn=False, chunks=3, combination="rbcm")
    model.fit(X, wave(X))
    assert suggest(model, BOX, random_state=0).shape == (1, 2)
    with pytest.raises(ValueError, match="no covariance .*: use combination='bcm' or 'npae'"):
        suggest(model, BOX, 2)


def test_nothing_is_warned_of_beyond_the_rows():
    model = known(2, 12, 0.01)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        suggest(model, [(5.0, 9.0), (3.0, 4.0)], random_state=0)


def test_a_constant_function_and_huge_or_tiny_targets_are_answered():
    X = np.linspace(-1.0, 1.0, 9)[:, None]
    for y in (np.full(9, 3.0), 1e140 * X[:, 0], 1e-140 * X[:, 0]):
        model = CommitteeRegressor(learn=True, random_state=0).fit(X, y)
        for how in HOW:
            points = suggest(model, [(-1.0, 1.0)], 2, how=how, random_state=0)
            assert np.isfinite(points).all() and (np.abs(points) <= 1.0).all()


WRONG = {
    "equal": ({"bounds": [(0, 1), (2, 2)]}, r"bounds\[1\]=\(2, 2\): give \(low, high\)"),
    "NaN": ({"bounds": [(0, np.nan), (0, 1)]}, r"bounds\[0\].*finite low < high"),
    "infinite": ({"bounds": [(0, np.inf), (0, 1)]}, r"bounds\[0\].*finite low < high"),
    "reversed": ({"bounds": [(0, 1), (1, 0)]}, r"bounds\[1\]=\(1, 0\).*low < high"),
    "columns": ({"bounds": [(0, 1)]}, "bounds has 1 entries, and the model 2 columns"),
    "number": ({"bounds": 3.0}, "give a list with one"),
    "text": ({"bounds": ["ab", (0, 1)]}, r"bounds\[0\]='ab': give"),
    "words": ({"bounds": [["a", "b"], (0, 1)]}, r"bounds\[0\].*give"),
    "nested": ({"bounds": [((0, 1), 2), (0, 1)]}, r"bounds\[0\].*give"),
    "empty": ({"bounds": [[], (0, 1)]}, r"bounds\[0\]=\[\]: give"),
    "names": ({"bounds": {"a": (0, 1), "b": (0, 1)}}, "columns without: give a list"),
    "none": ({}, "give either bounds or candidates"),
    "both": ({"bounds": BOX, "candidates": grid(2, 3)}, "give either bounds or candidates"),
    "candidates": ({"candidates": grid(1, 3)}, "2 features"),
    "few": ({"candidates": grid(2, 2), "n": 5}, "n=5, and there are 4 candidates"),
    "n": ({"bounds": BOX, "n": 0}, "n=0: give a whole number"),
    "how": ({"bounds": BOX, "how": "best"}, "how='best': give one of"),
    "maximise": ({"bounds": BOX, "maximise": 1}, "maximise=1: give True or False"),
    "seed": ({"bounds": BOX, "random_state": "a"}, "random_state='a'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_hostile_arguments_are_named(name):
    arguments, words = WRONG[name]
    with pytest.raises(ValueError, match=words):
        suggest(known(2, 9)[0], **arguments)


def test_models_that_cannot_be_asked_are_refused():
    X, y = np.random.default_rng(0).uniform(size=(20, 2)), np.arange(20.0)
    with pytest.raises(ValueError, match="not fitted"):
        suggest(CommitteeRegressor(), BOX)
    with pytest.raises(ValueError, match="give a fitted regressor of collegium"):
        suggest(CommitteeClassifier().fit(X, y > 9), BOX)
    both = CommitteeRegressor(SMOOTH, noise=0.1, learn=False).fit(X, np.column_stack([y, -y]))
    with pytest.raises(ValueError, match="2 outputs"):
        suggest(both, BOX)


def test_bounds_by_name_are_checked():
    model = mixed()[0]
    good = {"x": (0.0, 4.0), "kind": ["red"], "count": range(1, 5)}
    wrong = [
        ({**good, "y": (0, 1)}, "'y' is no column"),
        ({"x": (0, 1), "kind": ["red"]}, "'count' is missing"),
        ({**good, "kind": ["pink"]}, r"bounds\['kind'\]: \['pink'\] are unknown.*'blue'"),
        ({**good, "x": ["red"]}, r"bounds\['x'\]"),
        ({**good, "x": "red"}, r"bounds\['x'\]='red': give"),
    ]
    for bounds, words in wrong:
        with pytest.raises(ValueError, match=words):
            suggest(model, bounds)
    dated = pd.DataFrame({"day": pd.date_range("2026-01-01", periods=9), "x": np.arange(9.0)})
    model = CommitteeRegressor(SMOOTH, noise=0.1, learn=False).fit(dated, np.arange(9.0))
    with pytest.raises(ValueError, match=r"bounds\['day'\]: the column holds dates; give cand"):
        suggest(model, {"day": (0, 1), "x": (0, 1)})
