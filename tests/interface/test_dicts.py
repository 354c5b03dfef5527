"""Rows as dicts are the rows of the frame that has the same values."""

import datetime

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from collegium import CommitteeClassifier, CommitteeRegressor, RegressionFilter, SparseGPRegressor
from collegium.kernels import Matern32
from collegium.tables.encoding import NewGapsWarning

GIVEN = {"kernel": Matern32(0.8, 0.7), "noise": 0.05, "learn": False, "random_state": 3}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(4)
    n = 60
    found = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "city": rng.choice(["Rome", "Oslo", "Lima"], n),
            "when": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 90, n), unit="D"),
            "open": rng.random(n) < 0.5,
            "floors": rng.integers(1, 9, n),
        }
    )
    found.loc[rng.random(n) < 0.2, "size"] = None
    return found


@pytest.fixture(scope="module")
def y(frame):
    rng = np.random.default_rng(5)
    return np.sin(frame["size"].fillna(0.0)) + (frame["city"] == "Rome") + 0.1 * rng.normal(size=60)


@pytest.fixture(scope="module")
def model(frame, y):
    return CommitteeRegressor(**GIVEN).fit(frame, y)


def test_a_dict_is_a_row(model, frame):
    mean, std = model.predict(frame, return_std=True)
    rows = frame.to_dict("records")
    for i in (0, 7, int(np.flatnonzero(frame["size"].isna())[0])):
        assert_array_equal(model.predict(rows[i], return_std=True), (mean[[i]], std[[i]]))
        assert_array_equal(model.predict(frame.iloc[i], return_std=True), (mean[[i]], std[[i]]))
    assert_array_equal(model.predict(rows, return_std=True), (mean, std))
    assert_array_equal(model.predict(tuple(rows)), mean)


def test_types_of_python_and_any_order_and_other_keys(model, frame):
    row = frame.iloc[3]
    plain = {
        "comment": ["any", "thing"], "open": bool(row["open"]), "floors": float(row["floors"]),
        "when": datetime.date(row["when"].year, row["when"].month, row["when"].day),
        "city": str(row["city"]), "size": None if pd.isna(row["size"]) else float(row["size"]),
    }  # fmt: skip
    assert_array_equal(model.predict(plain), model.predict(frame.iloc[3:4]))


def test_a_missing_key_is_named_with_its_nearest_spelling(model, frame):
    row = frame.iloc[0].to_dict()
    row["City"] = row.pop("city")
    with pytest.raises(ValueError, match="no 'city' .it has 'City'"):
        model.predict(row)
    row = {key: value for key, value in row.items() if key not in ("City", "when")}
    with pytest.raises(ValueError, match="no 'city'; it needs"):
        model.predict(row)


def test_values_of_another_kind_are_refused(model, frame):
    row = frame.iloc[0].to_dict()
    with pytest.raises(ValueError, match="column 'floors' holds 'three'"):
        model.predict({**row, "floors": "three"})
    with pytest.raises(ValueError, match="a dict is one row"):
        model.predict({**row, "floors": [1, 2]})
    with pytest.raises(ValueError, match="infinite"):
        model.predict({**row, "floors": np.inf})


def test_columns_without_names_take_no_dicts(y):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = CommitteeRegressor(**GIVEN).fit(X, y)
    with pytest.raises(ValueError, match="without names"):
        model.predict({"x0": 1.0, "x1": 2.0})


@pytest.mark.parametrize("kind", [SparseGPRegressor, RegressionFilter])
def test_other_estimators(kind, frame, y):
    numbers = frame[["floors", "open"]].astype(float)
    given = {**GIVEN, "n_basis": 12} if kind is RegressionFilter else {**GIVEN, "anchors": 9}
    model = kind(**given).fit(numbers, y)
    rows = numbers.to_dict("records")
    assert_array_equal(model.predict(rows), model.predict(numbers))
    assert_array_equal(model.predict(rows[5]), model.predict(numbers.iloc[5:6]))
    if kind is RegressionFilter:
        with pytest.raises(ValueError, match="takes numbers alone"):
            model.predict({"floors": "two", "open": 1.0})
        with pytest.raises(ValueError, match="NaN"):
            model.predict({"floors": None, "open": 1.0})


def test_rows_of_dicts_are_learnt_from(frame, y, model):
    rows, expected = frame.to_dict("records"), model.predict(frame)
    again = CommitteeRegressor(**GIVEN).fit(rows, list(y))
    assert list(again.feature_names_in_) == list(frame.columns)
    assert again.encoding_ == model.encoding_
    assert_array_equal(again.predict(frame), expected)
    named = [{**row, "price": value} for row, value in zip(rows, y)]
    assert_array_equal(CommitteeRegressor(**GIVEN).fit(named, y="price").predict(rows), expected)
    other = [*rows[:-1], {**rows[-1], "more": 1.0}]
    with pytest.raises(ValueError, match="'more' is a key of some rows only"):
        CommitteeRegressor(**GIVEN).fit(other, y)
    words = CommitteeRegressor(**GIVEN, categorical_features=None)
    with pytest.raises(ValueError, match="categorical_features=None"):
        words.fit(rows, y)


def test_more_rows_and_labels(frame, y):
    rows = frame.to_dict("records")
    given = {"kernel": Matern32(0.8, 0.7), "learn": False, "random_state": 3}
    labels = CommitteeClassifier(**given).fit(rows, y > 0.5)
    assert_array_equal(labels.predict_proba(rows[4]), labels.predict_proba(frame.iloc[4:5]))
    one, two = (
        CommitteeRegressor(**GIVEN).partial_fit(part[:40], y[:40]) for part in (rows, frame)
    )
    one.partial_fit(rows[40:], y[40:])
    two.partial_fit(frame[40:], y[40:])
    assert_array_equal(one.predict(frame), two.predict(frame))


def test_numbers_in_any_container_have_the_same_answers(y):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    model = CommitteeRegressor(**GIVEN).fit(X, y)
    expected = model.predict(X.astype(np.float64))
    for same in (
        X,
        X.tolist(),
        np.asfortranarray(X),
        np.repeat(X, 2, axis=0)[::2],
        X.astype(object),
    ):
        assert_array_equal(model.predict(same), expected)
    whole = rng.integers(-3, 3, (5, 3))
    for same in (whole, whole.astype(np.int32), whole.tolist(), whole.astype(np.int8)):
        assert_array_equal(model.predict(same), model.predict(whole.astype(float)))
    for wrong in (
        [[1.0, 2.0]],
        [[1.0, 2.0, 3.0], [1.0]],
        [1.0, 2.0, 3.0],
        [[1.0, 2.0, np.inf]],
        [[]],
    ):
        with pytest.raises(ValueError):
            model.predict(wrong)
    with pytest.warns(NewGapsWarning):
        model.predict([[1.0, 2.0, np.nan]])
