"""A fitted model in words."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

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
from collegium.interface.words.summary import kinds_lines, term_words
from collegium.kernels.wrapped.scored import LevelScores
from collegium.tables.encoding import Encoding

KERNEL = kernels.RBF(60.0, [0.8, 0.8, 1.0, 3.0, 5.0, 50.0, 60.0])
GIVEN = {"kernel": KERNEL, "noise": 1.0, "learn": False, "random_state": 0}


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 7))
    y = 10.0 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20.0 * (X[:, 2] - 0.5) ** 2
    return X, y + 10.0 * X[:, 3] + 5.0 * X[:, 4] + rng.normal(size=n)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Fewer rows, where each takes milliseconds."""
    monkeypatch.setattr(effects, "COSTLY_ROWS", 100)


def test_a_summary_says_what_was_found():
    X, y = table(300)
    X = pd.DataFrame(X, columns=["u", "v", "height", "dose", "age", "dust", "hair"])
    model = CommitteeRegressor(**GIVEN, chunks=100, anchors=30, n_local=40).fit(X, y)
    lines = model.summary().splitlines()
    assert lines[0] == "CommitteeRegressor" and 8 <= len(lines) <= 12
    text = model.summary()
    for words in (
        "300 in 3 chunks that meet at 30 anchors; the 40 nearest rows",
        "7: u, v, height, dose, age, dust and 1 more",
        "a very smooth function (squared exponential), sd 7.75",
        " 0.8, height 1, dose 3, age 5, dust 50 and 1 longer",
        "standard deviation 1\n",
        "of the same size everywhere, normal",
        "log p(y given X) = -",
        "dose 3",
    ):
        assert words in text
    assert lines[-1].split()[1] == "dose" and "hair" not in lines[-1]


def test_a_summary_of_defaults_with_few_rows_and_with_known_noise():
    X, y = table(60)
    model = CommitteeRegressor(random_state=0).fit(X, np.exp(0.1 * y))
    assert "an average over" in model.summary()
    known = CommitteeRegressor(**GIVEN).fit(X, y, noise_variance=0.5)
    assert "beside what is known of rows" in known.summary()
    flat = CommitteeRegressor(**GIVEN).fit(X, np.zeros(60))
    assert "the function is constant" in flat.summary()
    assert_array_equal(flat.feature_importances_, 0.0)


@pytest.mark.parametrize(
    "kernel, words",
    [
        (kernels.Periodic(2.0, 1.0, "1 week", columns="day"), "period day 6.048e+05 (7 days)"),
        (kernels.Season(9.0, period="12 hours", columns="day"), "period 4.32e+04 (12 hours)"),
        (kernels.RBF(1.0, [3.0e8, 90.0]), "size 90, day 3e+08 (9.51 years)"),
        (kernels.RBF(1.0, 100.0, columns="day"), "length scale 100 (100 seconds) of day"),
        (kernels.RBF(1.0, 600.0, columns="day"), "length scale 600 (10 minutes) of day"),
        (kernels.RBF(1.0, 600.0, columns="size"), "length scale 600 of size"),
    ],
)
def test_lengths_of_dates_are_in_days_too(kernel, words):
    names = ["day", "size"]
    said = term_words(kernel.on_columns(names), names, np.ones(2), frozenset({"day"}))
    assert words in said


def test_errors_that_vary_are_told():
    rng = np.random.default_rng(3)
    X = rng.uniform(-2, 2, size=(300, 1))
    y = np.sin(X[:, 0]) + np.exp(X[:, 0]) * 0.3 * rng.standard_t(3, size=300)
    model = CommitteeRegressor(kernels.RBF(), noise="varying", random_state=0).fit(X, y)
    assert "varies from place to place" in model.summary()
    assert "Student's t" in model.summary()


def test_levels_dates_and_gaps_are_told():
    days = pd.to_datetime(["2020-03-01", "2020-03-05", "2021-01-01"])
    frame = pd.DataFrame({"cut": ["a", "b", "a"], "day": days, "size": [1.0, np.nan, 2.0]})
    found = dict(kinds_lines(Encoding.learn(frame)))
    assert found["levels"] == "cut (2)"
    assert found["dates"] == "day, in seconds since 2020-03-01"
    assert found["gaps"] == "in size"
    assert kinds_lines(None) == [] and kinds_lines(Encoding.learn(frame[["size"]].dropna())) == []


@pytest.mark.parametrize(
    "kernel, words",
    [
        (kernels.Periodic(2.0, 1.0, 12.0, columns="month"), "period month 12"),
        (kernels.Group("store", variance=0.25), "an effect of each group, sd 0.5 of store"),
        (kernels.Sphere(kernels.Matern32, columns=("lon", "lat")), "of lon, lat (sphere), sd 1"),
        (kernels.Constant(4.0), "a constant, sd 2"),
        (kernels.Trend(9.0, columns="month"), "a trend, which is a straight line of month"),
        (
            kernels.Matern32(1.0, [3.0, 2.0, 9.0, 1.0], categories=["store"]),
            "length scales store 1 (levels), lat 2, lon 3, month 9",
        ),
        (kernels.RationalQuadratic(1.0, 3.0), "length scale 3 of lon, lat, month, store"),
        (
            kernels.Matern12(columns="lon") * kernels.Matern12(columns="lat"),
            "of lon times a rough function (Matérn 1/2), sd 1; length scale 1 of lat",
        ),
    ],
)
def test_terms_have_names_of_columns(kernel, words):
    names = ["lon", "lat", "month", "store"]
    assert words in term_words(kernel.on_columns(names), names, np.ones(4))


def test_rows_are_told_where_they_are(tmp_path):
    X, y = table(300)
    model = CommitteeRegressor(**GIVEN, chunks=150, anchors=40, n_local=20)
    text = model.set_params(store=tmp_path / "own.rows").fit(X, y).summary()
    assert f"on disk in {tmp_path / 'own.rows'}" in text
    assert "seen through 50 anchors" in SparseGPRegressor(**GIVEN, anchors=50).fit(X, y).summary()
    assert "seen through 30 of their inputs" in OnlineGPRegressor(**GIVEN, budget=30).fit(
        X, y
    ).summary()  # fmt: skip


def test_a_loaded_model_says_the_same(tmp_path):
    X, y = table(200)
    model = CommitteeRegressor(**GIVEN, transforms=Transform(X="rank")).fit(np.exp(3.0 * X), y)
    model.save(tmp_path / "one.clg")
    assert "normal scores of x0, x1" in model.summary()
    assert collegium.load(tmp_path / "one.clg").summary() == model.summary()


def test_counts_and_classes_are_told():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(150, 3))
    own = {"kernel": kernels.RBF(1.0, [1.0, 2.0, 2.0]), "random_state": 0, "learn": False}
    counts = CommitteeRegressor(**own, likelihood="poisson").fit(X, rng.poisson(np.exp(X[:, 0])))
    assert "likelihood" in counts.summary() and "Poisson" in counts.summary()
    robust = CommitteeRegressor(**own, noise=0.1, likelihood="student-t").fit(X, X[:, 0])
    assert "StudentT" in robust.summary() and "normal" not in robust.summary()
    labels = np.array(["in", "out", "far"])[rng.integers(3, size=150)]
    assert "3: far, in, out" in CommitteeClassifier(**own).fit(X, labels).summary()


def test_levels_that_are_alike_are_told():
    X = np.column_stack([np.arange(30) % 3.0, np.linspace(-1, 1, 30)])
    grades = LevelScores(0, codes=np.arange(3.0), values=np.array([-1.0, -0.9, 2.0]))
    kernel = kernels.Scored(kernels.Matern32(1.0, [5.0, 1.0, 0.5], categories=0), [grades])
    model = CommitteeRegressor(kernel, noise=0.1, learn=False).fit(X, X[:, 1])
    assert "x0 as a number 0.5" in model.summary() and "x0 5 (levels)" in model.summary()
    assert model.feature_importances_.shape == (2,)
