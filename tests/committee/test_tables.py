"""Tables as people have them, in estimators: words, dates, gaps, booleans, in any frame."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import collegium
from collegium import (
    CommitteeClassifier,
    CommitteeOf,
    CommitteeRegressor,
    ExpertsRegressor,
    NystromRegressor,
    OnlineGPClassifier,
    OnlineGPRegressor,
    RegressionFilter,
    RVCRegressor,
    SparseGPRegressor,
)
from collegium.kernels import RBF, Group, Linear, Matern32, Periodic, Sphere
from collegium.tables.encoding import NewGapsWarning

KERNEL, LONG = Matern32(1.0, 1.5), Matern32(1.0, [1.5, 0.5, 2e5, 1.5, 1.5, 1.5])
GIVEN = {"kernel": KERNEL, "noise": 0.02, "learn": False, "random_state": 0}
REGRESSORS = {
    "exact": CommitteeRegressor(**GIVEN),
    "local": CommitteeRegressor(**GIVEN, chunks=25, anchors=10),
    "anchors only": CommitteeRegressor(**GIVEN, chunks=25, anchors=10, n_local=0),
    "transductive": CommitteeRegressor(**GIVEN, chunks=25, inference="transductive"),
    "experts": ExpertsRegressor(**GIVEN, chunks=25, combination="rbcm"),
    "sparse": SparseGPRegressor(**GIVEN, anchors=12),
    "online": OnlineGPRegressor(**GIVEN, budget=30),
}
every_regressor = pytest.mark.parametrize("name", REGRESSORS)


def frame(n=80, seed=0):
    """A column of each kind, some with gaps; and y."""
    rng = np.random.default_rng(seed)
    days = pd.to_timedelta(rng.uniform(0.0, 4.0, n), unit="D")
    kind = rng.choice(["apple", "pear", "plum"], n)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "kind": kind,
            "when": pd.Timestamp("1969-12-30") + days,
            "ripe": rng.random(n) < 0.5,
            "colour": pd.Categorical(rng.choice(["red", "green"], n)),
        }
    )
    effect = pd.Series(kind).map({"apple": 0.0, "pear": 1.0, "plum": -1.0})
    y = np.sin(X["size"]) + effect + 0.5 * X["ripe"] + 0.1 * rng.normal(size=n)
    X.loc[rng.random(n) < 0.3, "size"] = np.nan
    X.loc[rng.random(n) < 0.1, "kind"] = None
    return X, y.to_numpy()


def by_hand(X):
    """Codes and numbers, gaps as the median and an indicator, without any of our code."""
    codes = {"apple": 0.0, "pear": 1.0, "plum": 2.0}
    colours = {"green": 0.0, "red": 1.0}
    first = pd.Timestamp("1969-12-30") + pd.to_timedelta(0)
    size, train = X["size"], frame()[0]["size"]
    seconds = (X["when"] - first).dt.total_seconds()
    origin = (frame()[0]["when"] - first).dt.total_seconds().min()
    return np.column_stack(
        [
            size.fillna(train.median()),
            X["kind"].map(codes).fillna(-2.0),
            seconds - origin,
            X["ripe"].astype(float),
            X["colour"].astype(object).map(colours),
            size.isna().astype(float),
        ]
    )


@every_regressor
def test_a_frame_is_its_columns_of_numbers_with_categories(name):
    (X, y), (Xs, _) = frame(), frame(20, 1)
    lengths = [1.5, 1.5, 2e5, 1.5, 1.5, 1.5]
    model = clone(REGRESSORS[name]).set_params(kernel=Matern32(1.0, lengths)).fit(X, y)
    plain = clone(REGRESSORS[name])
    plain.set_params(kernel=Matern32(1.0, lengths, categories=[1, 4])).fit(by_hand(X), y)
    assert_allclose(model.predict(Xs), plain.predict(by_hand(Xs)), rtol=1e-9, atol=1e-9)
    assert model.n_features_in_ == 5 and list(model.feature_names_in_) == list(X.columns)
    assert model.encoding_.names[-1] == "size is missing"


def test_polars_frames_and_arrays_of_objects_are_the_same_table():
    (X, y), (Xs, _) = frame(), frame(20, 1)
    model = CommitteeRegressor(**GIVEN).fit(X, y)
    other = CommitteeRegressor(**GIVEN).fit(pl.from_pandas(X), y)
    assert_array_equal(other.predict(pl.from_pandas(Xs)), model.predict(Xs))
    table = CommitteeRegressor(**GIVEN).fit(pa.Table.from_pandas(X), y)
    assert_array_equal(table.predict(pa.Table.from_pandas(Xs)), model.predict(Xs))
    bare = CommitteeRegressor(**GIVEN).fit(X.to_numpy(dtype=object), y)
    assert_array_equal(bare.predict(Xs.to_numpy(dtype=object)), model.predict(Xs))
    listed = CommitteeRegressor(**GIVEN).fit(X.to_numpy(dtype=object).tolist(), y)
    assert_array_equal(listed.predict(Xs.to_numpy(dtype=object).tolist()), model.predict(Xs))


@pytest.mark.parametrize(
    "rows", [pytest.param(300, marks=pytest.mark.slow), 700], ids=["averaged", "learnt"]
)
def test_defaults_learn_from_a_frame_and_keep_it_in_a_file(rows, tmp_path):
    X, y = frame(rows + 100)
    model = CommitteeRegressor(random_state=0, noise="constant").fit(X[:rows], y[:rows])
    known = X["size"].notna() & X["kind"].notna()
    error = (model.predict(X) - y)[known & (np.arange(len(y)) >= rows)]
    assert np.sqrt(np.mean(error**2)) < 0.2  # of 0.1 noise, and some where gaps leave little
    model.save(tmp_path / "fruit.clg")
    again = collegium.load(tmp_path / "fruit.clg")
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.encoding_.names == model.encoding_.names
    assert model.feature_importances_.shape == (5,)
    assert "kind" in model.summary()


def test_classes_are_learnt_from_a_frame():
    X, y = frame(260)
    labels = np.where(y > 0.3, "large", "small")
    for model in (CommitteeClassifier(random_state=0), OnlineGPClassifier(random_state=0)):
        model.fit(X[:200], labels[:200])
        assert model.score(X[200:], labels[200:]) > 0.75
        probability = model.predict_proba(X[200:])
        assert_allclose(probability.sum(axis=1), 1.0)
        stream = clone(model).progressive(X, labels, ["large", "small"], batch=50)
        assert stream.accuracy > 0.65


@pytest.mark.parametrize("model", [
    RegressionFilter(), RVCRegressor(), NystromRegressor(), CommitteeOf([("a", BayesianRidge())]),
], ids=lambda model: type(model).__name__)  # fmt: skip
def test_others_refuse_words_clearly(model):
    X, y = frame()
    with pytest.raises(ValueError, match=rf"{type(model).__name__} takes numbers alone.*OneHot"):
        model.fit(X[["ripe", "kind"]].dropna(), y[X["kind"].notna()])


# -- streams --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["local", "anchors only", "online"])
def test_a_stream_learns_levels_that_come_later(name):
    X, y = frame(120, 3)
    X = X.assign(kind=np.where(np.arange(120) < 60, "apple", X["kind"].fillna("pear")))
    model = clone(REGRESSORS[name]).set_params(kernel=LONG)
    for part in range(0, 120, 30):
        model.partial_fit(X[part : part + 30], y[part : part + 30])
    late = X[60:][X["kind"][60:] == "plum"].assign(size=0.0, ripe=False)
    assert model.predict(late).mean() < -0.5


def test_models_that_met_other_new_levels_are_put_together():
    X, y = frame(120, 3)
    X = X.assign(kind=np.where(np.arange(120) < 60, "apple", X["kind"].fillna("pear")))
    parts = [X["kind"] == "pear", (X["kind"] == "plum")]
    rest = ~(parts[0] | parts[1])
    model = CommitteeRegressor(**{**GIVEN, "kernel": LONG}, chunks=30, anchors=20)
    model.fit(X[rest], y[rest])
    names = ("pears", "plums")
    others = [model.blank().partial_fit(X[own], y[own], chunk_id=k) for k, own in zip(names, parts)]
    for other in others:
        model.merge(other)
    late = X[parts[1]].assign(size=0.0, ripe=False)
    assert model.predict(late).mean() < -0.5 < 0.5 < model.predict(late.assign(kind="pear")).mean()
    stranger = CommitteeRegressor(**{**GIVEN, "kernel": LONG}, chunks=30, anchors=20)
    stranger.fit(X[rest].assign(kind="fig"), y[rest])
    with pytest.raises(ValueError, match="another .*encoding of words|anchors"):
        model.merge(stranger)


def test_a_stream_scored_as_it_comes():
    X, y = frame(300, 4)
    model = CommitteeRegressor(**{**GIVEN, "kernel": LONG}, chunks=60, anchors=15)
    found = model.progressive(X, y, batch=50)
    assert found.rmse < 0.7
    assert np.isnan(found.mean[:10]).all() and np.isfinite(found.mean[10:]).all()
    assert_allclose(model.predict(X[:5]), model.predict(X)[:5], rtol=1e-9)


# -- tables that are odd --------------------------------------------------------------------------


def test_unknown_levels_are_like_no_other():
    X, y = frame()
    Xs = X[:3].assign(kind=["quince", "quince", "fig"], size=5.0)
    Xs["when"], Xs["ripe"], Xs["colour"] = X["when"][0], True, "red"
    model = CommitteeRegressor(RBF(1.0, [1.0, 0.2, 1e9, 9.0, 9.0, 9.0]), noise=0.1, learn=False)
    model.fit(X, y)
    mean, cov = model.predict(Xs, return_cov=True, level="function")
    assert_allclose(mean, y.mean(), atol=1e-4)
    assert_allclose(cov, cov[0, 0] * np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]]), atol=1e-4)


def test_a_column_of_gaps_alone_says_nothing():
    X, y = frame()
    for empty in (np.nan, None, pd.NaT):
        gone = X.assign(nothing=empty)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = CommitteeRegressor(**GIVEN).fit(gone, y)
            without = CommitteeRegressor(**GIVEN).fit(X, y)
            assert_allclose(model.predict(gone), without.predict(X), rtol=1e-9)
        full = X.assign(nothing=1.5) if empty is np.nan else gone
        assert np.isfinite(model.predict(full)).all()


@pytest.mark.slow
def test_a_level_that_came_once_and_many_levels():
    rng = np.random.default_rng(0)
    n = 1_100
    X = pd.DataFrame({"x": rng.normal(size=n), "id": [f"row {k}" for k in range(n)]})
    y = np.sin(2 * X["x"].to_numpy()) + 0.1 * rng.normal(size=n)
    model = CommitteeRegressor(random_state=0, noise="constant").fit(X[:1000], y[:1000])
    assert np.sqrt(np.mean((model.predict(X[1000:]) - y[1000:]) ** 2)) < 0.15


@pytest.mark.slow
def test_a_hundred_thousand_levels():
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 100_000, 110_000).astype(str)
    X = pd.DataFrame({"x": rng.normal(size=ids.size), "id": ids})
    y = np.sin(2 * X["x"].to_numpy()) + 0.1 * rng.normal(size=ids.size)
    model = CommitteeRegressor(random_state=0, n_local=0, limits=30).fit(X[:-500], y[:-500])
    assert np.sqrt(np.mean((model.predict(X[-500:]) - y[-500:]) ** 2)) < 0.15


def test_mixed_types_are_levels_of_their_own():
    rng = np.random.default_rng(0)
    values = [1, "1", True, None]
    own = rng.integers(0, 4, 60)
    X = pd.DataFrame({"v": pd.Series([values[k] for k in own], dtype=object), "x": 0.0})
    y = np.array([0.0, 1.0, 2.0, 3.0])[own]
    model = CommitteeRegressor(Matern32(4.0, 0.3), noise=1e-4, learn=False).fit(X, y)
    assert_allclose(model.predict(X), y, atol=0.01)


def test_new_gaps_are_warned_of_and_answered():
    X, y = frame()
    full = X.assign(size=X["size"].fillna(0.0))
    model = CommitteeRegressor(**GIVEN).fit(full, y)
    with pytest.warns(NewGapsWarning, match="'size'"):
        found = model.predict(full.assign(size=np.nan))
    middle = full.assign(size=full["size"].median())
    assert_allclose(found, model.predict(middle), rtol=1e-12)
    plain = CommitteeRegressor(**GIVEN).fit(full[["size", "ripe"]].to_numpy(float), y)
    with pytest.warns(NewGapsWarning, match="'x0'"):
        assert np.isfinite(plain.predict([[np.nan, 1.0]])).all()


def test_columns_in_another_order_or_missing_are_refused_by_name():
    X, y = frame()
    model = CommitteeRegressor(**GIVEN).fit(X, y)
    with pytest.raises(ValueError, match="order|same order"):
        model.predict(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="colour"):
        model.predict(X.drop(columns="colour"))
    with pytest.raises(ValueError, match="unseen|extra"):
        model.predict(X.assign(extra=1.0))
    with pytest.raises(ValueError, match="'size' holds 'big' and held numbers"):
        model.predict(X.assign(size="big"))
    before = model.encoding_
    with pytest.raises(ValueError, match="y"):
        model.partial_fit(X.assign(kind="new"), np.full(len(X), np.nan))
    assert model.encoding_ is before


def test_what_no_column_can_hold_is_named():
    X, y = frame()
    model = CommitteeRegressor(**GIVEN)
    with pytest.raises(ValueError, match="'size'.* infinite"):
        model.fit(X.assign(size=np.inf), y)
    with pytest.raises(TypeError, match="type: 'list'.*a string, a number"):
        model.fit(X.assign(size=[[1]] * len(y)), y)
    with pytest.raises(ValueError, match="0 feature"):
        model.fit(np.empty((5, 0)), y[:5])
    assert not hasattr(model, "encoding_")


def test_large_whole_numbers_are_names_of_their_own():
    rng = np.random.default_rng(0)
    own = rng.integers(0, 30, 200)
    y = rng.normal(size=30)[own]
    frames = pd.DataFrame({"id": 2**60 + own}), pl.DataFrame({"id": 2**60 + own})
    for X in (*frames, pa.table({"id": 2**60 + own}), (2**60 + own)[:, None]):
        model = CommitteeRegressor(
            Matern32(1.0, 0.2), noise=1e-4, learn=False, categorical_features=[0]
        ).fit(X, y)
        assert len(model.encoding_.columns[0].levels) == 30
        assert_allclose(model.predict(X), y, atol=0.02)


def test_a_trend_is_one_of_numbers():
    X, y = frame(150, 5)
    y = y + 2.0 * X["size"].fillna(0.0).to_numpy()
    X = X.drop(columns="when")
    model = CommitteeRegressor(KERNEL, noise=0.02, learn=False, trend="linear").fit(X, y)
    far = X[:1].assign(size=[30.0], kind=["apple"])
    assert abs(model.predict(far)[0] - 60.0) < 15.0
    with pytest.raises(ValueError, match="trend: the column 'kind' holds words"):
        CommitteeRegressor(trend=["size", "kind"]).fit(X, y)


def test_time_zones_and_dates_before_1970_are_one_line():
    X, y = frame()
    zoned = X.assign(when=X["when"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))
    model = CommitteeRegressor(**GIVEN).fit(X, y)
    other = CommitteeRegressor(**GIVEN).fit(zoned, y)
    assert_allclose(other.predict(zoned), model.predict(X), rtol=1e-12)
    assert model.encoding_.columns[2].origin < 0.0


# -- kernels of named columns ---------------------------------------------------------------------


def test_kernels_know_named_columns_and_levels():
    X, y = frame()
    kernel = (
        Matern32(columns="size") + Group("kind", variance=0.7) + Linear(columns="ripe")
        + Periodic(columns="when", period="1 day") * Matern32(columns=["colour", "size"])
    )  # fmt: skip
    model = CommitteeRegressor(kernel, noise=0.02, learn=False).fit(X, y)
    assert "columns='when'" in repr(model.kernel_)
    hand = by_hand(X)
    day = np.sin(np.pi * (hand[:, None, 2] - hand[None, :, 2]) / 86_400.0) ** 2
    near = np.abs(hand[:, None, 0] - hand[None, :, 0])
    both = np.sqrt(3.0 * (near**2 + (hand[:, None, 4] != hand[None, :, 4])))
    slow = (1 + np.sqrt(3.0) * near) * np.exp(-np.sqrt(3.0) * near)
    slow += 0.7 * (hand[:, None, 1] == hand[None, :, 1]) + np.outer(hand[:, 3], hand[:, 3])
    slow += np.exp(-2.0 * day) * (1 + both) * np.exp(-both)
    weights = np.linalg.solve(slow + 0.02 * np.eye(len(y)), y - y.mean())
    assert_allclose(model.predict(X), y.mean() + slow @ weights, rtol=1e-6)


@pytest.mark.parametrize("kernel, message", [
    (Linear(), "Linear takes the columns 'kind', 'colour' for numbers"),
    (Matern32(columns="size") + Linear(columns=["size", "kind"]), "Linear takes .*'kind'"),
    (Periodic(columns="colour"), "Periodic takes .*'colour'"),
    (Sphere(Matern32, columns=("size", "kind")), "'kind' holds levels"),
    (Matern32(columns="weight"), "no column 'weight'"),
])  # fmt: skip
def test_kernels_of_numbers_refuse_levels_by_name(kernel, message):
    X, y = frame()
    with pytest.raises(ValueError, match=message):
        CommitteeRegressor(kernel, noise=0.1, learn=False).fit(X, y)


# -- scikit-learn's ways --------------------------------------------------------------------------


def test_categorical_features_by_name_position_mask_and_not():
    X, y = frame()
    numbers = pd.DataFrame({"a": X["size"].fillna(0.0), "b": X["ripe"].astype(int)})
    told = [
        CommitteeRegressor(**GIVEN, categorical_features=asked).fit(numbers, y).predict(numbers)
        for asked in (["b"], [1], [-1], [False, True], np.array([False, True]))
    ]
    for one in told[1:]:
        assert_array_equal(one, told[0])
    kernel = Matern32(1.0, [1.5, 1.5], categories=[1])
    hand = CommitteeRegressor(kernel, noise=0.02, learn=False).fit(numbers.to_numpy(float), y)
    assert_allclose(told[0], hand.predict(numbers.to_numpy(float)), rtol=1e-12)
    with pytest.raises(ValueError, match=r"'kind', 'colour'.*categorical_features=None"):
        CommitteeRegressor(**GIVEN, categorical_features=None).fit(X, y)


def test_pipelines_grids_and_clones_take_frames():
    X, y = frame()
    hot = ColumnTransformer(
        [("hot", OneHotEncoder(sparse_output=False), ["kind", "colour"])],
        remainder="passthrough", sparse_threshold=0.0,
    )  # fmt: skip
    pipe = make_pipeline(hot, CommitteeRegressor(**GIVEN)).fit(X.drop(columns="when"), y)
    assert np.isfinite(pipe.predict(X.drop(columns="when"))).all()
    named = make_pipeline(hot.set_output(transform="pandas"), CommitteeRegressor(**GIVEN))
    named.fit(X.drop(columns="when"), y)
    assert "remainder__size" in named[-1].feature_names_in_
    grid = GridSearchCV(
        CommitteeRegressor(**GIVEN), {"kernel": [Matern32(), RBF()]}, cv=3, error_score="raise"
    ).fit(X, y)
    assert grid.best_estimator_.predict(X).shape == y.shape
