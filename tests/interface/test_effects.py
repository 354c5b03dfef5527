"""Total effects of columns on the function of a model."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

import collegium
from collegium import (
    CommitteeClassifier,
    CommitteeRegressor,
    OnlineGPRegressor,
    SparseGPRegressor,
    Transform,
    kernels,
)
from collegium.interface.words import effects
from collegium.interface.words.effects import columns_together, donors, rows_for, shares
from collegium.tables.encoding import Encoding

KERNEL = kernels.RBF(60.0, [0.8, 0.8, 1.0, 3.0, 5.0, 50.0, 60.0])
#: Total effects of the Friedman function of seven uniform columns, by 4·10⁶ random pairs.
FRIEDMAN = [0.2535, 0.2535, 0.0875, 0.3240, 0.0815, 0.0, 0.0]


def friedman(X):
    f = 10.0 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20.0 * (X[:, 2] - 0.5) ** 2
    return f + 10.0 * X[:, 3] + 5.0 * X[:, 4]


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 7))
    return X, friedman(X) + rng.normal(size=n)


GIVEN = {"kernel": KERNEL, "noise": 1.0, "learn": False, "random_state": 0}
MODELS = {
    "exact": CommitteeRegressor(**GIVEN),
    "nearest": CommitteeRegressor(**GIVEN, chunks=150, anchors=40, n_local=30),
    "anchors": CommitteeRegressor(**GIVEN, chunks=150, anchors=150, n_local=0),
    "fitc": SparseGPRegressor(**GIVEN, anchors=150),
    "pic": SparseGPRegressor(**GIVEN, anchors=100, method="pic", chunks=100),
    "online": OnlineGPRegressor(**GIVEN, budget=120),
}


@pytest.fixture
def few(monkeypatch):
    """Fewer rows, where each takes milliseconds."""
    monkeypatch.setattr(effects, "COSTLY_ROWS", 100)


# --- the estimator of effects ---------------------------------------------------------------------


def slow_shares(f, X):
    """Every row with every other row's value, in a loop."""
    found = []
    for j in range(X.shape[1]):
        total = 0.0
        for value in X[:, j]:
            moved = X.copy()
            moved[:, j] = value
            total += 0.5 * ((f(moved) - f(X)) ** 2).mean()
        found.append(total)
    return np.array(found) / sum(found)


def test_shares_are_those_of_all_pairs_of_rows():
    X, _ = table(1000)

    def f(X):
        return np.column_stack([friedman(X), X[:, 5] * X[:, 6]])

    found = shares(f, X, [[j] for j in range(7)])
    slow = slow_shares(lambda X: friedman(X), X[:200])
    assert found.sum() == pytest.approx(1.0)
    assert_allclose(found[:5], slow[:5], atol=0.03)
    assert_allclose(found[:5], FRIEDMAN[:5], atol=0.02)
    assert 0.0 < found[5] < 0.01


def test_interactions_count_for_every_column_that_they_are_of():
    X = np.random.default_rng(1).choice([-1.0, 1.0], size=(400, 3))
    found = shares(lambda X: X[:, :1] * X[:, 1:2], X, [[0], [1], [2]])
    assert_allclose(found, [0.5, 0.5, 0.0], atol=0.05)


@pytest.mark.parametrize("n", [1, 2, 3, 100, 301, 1000])
def test_donors_are_every_row_once(n):
    x = np.random.default_rng(n).normal(size=n)
    found = donors(x)
    assert_array_equal(np.sort(found), np.arange(n))
    if n > 90:
        assert abs(np.corrcoef(x, x[found])[0, 1]) < 0.1
        assert (found == np.arange(n)).mean() < 0.05


def test_constant_functions_and_columns_have_no_effect():
    X = np.column_stack([np.ones(50), np.arange(50.0)])
    groups = [[0], [1]]
    assert_array_equal(shares(lambda X: X, X, groups), [0.0, 1.0])
    rounding = np.random.default_rng(0)
    flat = shares(lambda X: 3.0 + 1e-16 * rounding.normal(size=(len(X), 1)), X, groups)
    assert_array_equal(flat, [0.0, 0.0])


def test_a_column_and_its_gaps_are_swapped_together():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [1.0, 2.0, 3.0], "c": [np.nan, 1.0, 2.0]})
    encoding = Encoding.learn(frame)
    assert columns_together(5, encoding) == [[0, 3], [1], [2, 4]]
    assert columns_together(2, None) == [[0], [1]]


def test_the_number_of_rows_is_bounded():
    assert rows_for(10, costly=False) == 1000 and rows_for(10, costly=True) == 300
    assert rows_for(40, costly=True) == 150 and rows_for(10_000, costly=True) == 100


# --- estimators -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_columns_of_the_friedman_function_are_in_order(name):
    X, y = table(600)
    model = MODELS[name].fit(X, y)
    found = model.feature_importances_
    assert found.sum() == pytest.approx(1.0)
    assert_allclose(found, FRIEDMAN, atol=0.07)
    if name not in ("anchors", "fitc"):  # which keep no rows where nothing is learnt
        assert found[3] > max(found[[0, 1]])
    assert min(found[[0, 1]]) > max(found[[2, 4]])
    assert (found[5:] <= 0.02).all()
    assert_array_equal(found, model.feature_importances_)


@pytest.mark.parametrize("seed", [0, 1])
def test_noise_has_no_effect_in_few_rows_by_default(few, seed):
    X, y = table(90, seed)
    found = CommitteeRegressor(random_state=0).fit(X, y).feature_importances_
    assert found.sum() == pytest.approx(1.0)
    assert (found[5:] <= 0.02).all()
    assert found.argmax() == 3


def test_effects_follow_the_model_and_are_not_written_to():
    X, y = table(200)
    model = CommitteeRegressor(**GIVEN).fit(X, y)
    before = model.feature_importances_
    model.feature_importances_[:] = 7.0
    assert_array_equal(model.feature_importances_, before)
    model.fit(X[:, [3, 1, 2, 0, 4, 5, 6]], y)
    assert model.feature_importances_.argmax() == 0
    with pytest.raises(NotFittedError):
        _ = CommitteeRegressor().feature_importances_
    assert not hasattr(CommitteeRegressor(), "feature_importances_")


def test_they_are_the_same_after_a_model_file(few, tmp_path):
    X, y = table(300)
    model = MODELS["nearest"].fit(X, y)
    model.save(tmp_path / "one.clg")
    again = collegium.load(tmp_path / "one.clg")
    assert_array_equal(again.feature_importances_, model.feature_importances_)


def test_rows_on_disk_are_sampled(few, tmp_path):
    X, y = table(300)
    model = CommitteeRegressor(**GIVEN, chunks=150, anchors=40, n_local=20)
    found = model.set_params(store=tmp_path / "own.rows").fit(X, y).feature_importances_
    assert_allclose(found, FRIEDMAN, atol=0.09)


def test_sums_products_transforms_and_several_outputs():
    X, y = table(300)
    X = np.column_stack([np.exp(2.0 * X[:, 0]), X[:, 1:]])
    kernel = kernels.Matern52(20.0, columns=[0, 1]) * kernels.Constant(1.0) + kernels.Linear(
        columns=3
    )
    own = {"noise": 1.0, "learn": False, "random_state": 0}
    model = CommitteeRegressor(kernel, **own, transforms=Transform(X="rank")).fit(X, y)
    found = model.feature_importances_
    assert_array_equal(found[[2, 4, 5, 6]], 0.0)
    assert found[[0, 1, 3]].min() > 0.1
    both = CommitteeRegressor(**GIVEN).fit(X, 9.0 * np.column_stack([X[:, 2], X[:, 1]]))
    found = both.feature_importances_
    assert_allclose(found[1:3], 0.5, atol=0.1)
    assert_allclose(found.sum(), 1.0)


def test_counts_and_classes():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(250, 3))
    counts = rng.poisson(np.exp(1.0 + X[:, 0]))
    own = {"kernel": kernels.RBF(1.0, [1.0, 2.0, 2.0]), "random_state": 0}
    model = CommitteeRegressor(**own, likelihood="poisson", learn=False).fit(X, counts)
    assert model.feature_importances_[0] > 0.8
    labels = np.array(["in", "out", "far"])[(np.abs(X[:, 1]) > 0.7) + 1 * (np.abs(X[:, 1]) > 1.4)]
    model = CommitteeClassifier(**own, learn=False).fit(X, labels)
    assert model.feature_importances_[1] > 0.7


def test_levels_dates_and_gaps_have_shares_of_their_own():
    rng = np.random.default_rng(2)
    days = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.uniform(0, 300, 250), unit="D")
    cut, size = rng.choice(["fair", "good", "best"], 250), rng.normal(size=250)
    gone = rng.uniform(size=250) < 0.4
    frame = pd.DataFrame({"cut": cut, "day": days, "size": np.where(gone, np.nan, size), "no": 1.0})
    y = 1.0 * (cut == "best") + np.where(gone, 2.0, 0.3 * size) + rng.normal(size=250) * 0.05
    encoding = Encoding.learn(frame)
    X = encoding.forward(frame)
    kernel = kernels.Matern32(1.0, [0.5, 1e8, 2.0, 1.0, 0.5], categories=[0])
    model = CommitteeRegressor(kernel, noise=0.01, learn=False).fit(X, y)
    model.encoding_, model.n_features_in_ = encoding, 4
    model.feature_names_in_ = np.array(frame.columns, dtype=object)
    found = model.feature_importances_
    assert found.shape == (4,) and found.sum() == pytest.approx(1.0)
    assert found[2] > 0.6 > found[0] > 0.1 and found[1] < 0.02 and found[3] == 0.0
    text = model.summary()
    for words in ("4: cut, day, size, no", "cut (3)", "size is missing", "matters     size"):
        assert words in text
