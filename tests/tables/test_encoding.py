"""Words, dates, gaps and numbers of frames and arrays as columns of numbers."""

import datetime

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from collegium.modelfile.tree import Reader, Writer
from collegium.tables import seen
from collegium.tables.encoding import Encoding, NewGapsWarning
from collegium.tables.levels import GAP
from collegium.tables.reading import read_columns

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")


def frame(kind):
    """Five rows of every kind of column, each with a gap but the first."""
    day = datetime.datetime
    columns = {
        "size": [1, 2, 3, 4, 5],
        "height": [1.5, None, 2.5, 4.0, 3.0],
        "cut": ["fair", "good", None, "fair", "ideal"],
        "sold": [day(1969, 12, 31, 12), day(2020, 1, 1), None, day(2020, 1, 2, 6), day(2021, 3, 4)],
        "new": [True, False, None, True, True],
    }
    if kind == "polars":
        return polars.DataFrame(columns)
    table = pandas.DataFrame(columns)
    if kind == "nullable":
        table = table.convert_dtypes()
    if kind == "categorical":
        table["cut"] = table["cut"].astype("category")
    return table


@pytest.mark.parametrize("kind", ["objects", "nullable", "categorical", "polars"])
def test_every_kind_of_column_becomes_numbers(kind):
    encoding = Encoding.learn(frame(kind))
    X = encoding.forward(frame(kind))
    second = datetime.timedelta(seconds=1)
    sold = [
        (d - datetime.datetime(1969, 12, 31, 12)) / second
        for d in (datetime.datetime(1969, 12, 31, 12), datetime.datetime(2020, 1, 1),
                  datetime.datetime(2020, 1, 2, 6), datetime.datetime(2021, 3, 4))
    ]  # fmt: skip
    sold.insert(2, float(np.median(sold)))
    expected = [
        [1, 2, 3, 4, 5],
        [1.5, 2.75, 2.5, 4.0, 3.0],
        [0, 1, GAP, 0, 2],
        sold,
        [1, 0, 1, 1, 1],
        [0, 1, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 1, 0, 0],
    ]
    assert_array_equal(X, np.array(expected).T)
    assert encoding.names == (
        "size", "height", "cut", "sold", "new", "height is missing", "sold is missing",
        "new is missing",
    )  # fmt: skip
    assert encoding.categories == (2,) and not encoding.plain


def test_later_tables_have_unknown_levels_and_new_gaps():
    encoding = Encoding.learn(frame("objects"))
    later = frame("objects").iloc[:3].copy()
    later["cut"] = ["superb", "good", None]
    later["size"] = [1.0, np.nan, 3.0]
    with pytest.warns(NewGapsWarning, match="'size'"):
        X = encoding.forward(later)
    assert_array_equal(X[:, 2], [-2575055391.0, 1, GAP])  # −(10 + crc32("text superb"))
    assert_array_equal(X[:, 0], [1, 3, 3])  # the median


def test_codes_do_not_depend_on_the_order_of_rows_or_categories():
    table = frame("categorical")
    table["cut"] = table["cut"].cat.reorder_categories(["ideal", "fair", "good"])
    first, other = Encoding.learn(table), Encoding.learn(table.iloc[::-1])
    assert first.columns == other.columns
    assert_array_equal(first.forward(table), Encoding.learn(frame("objects")).forward(table))


def test_levels_are_told_apart_by_type():
    table = np.array([["1"], [1], [True], [1.0], ["1"], [None]], dtype=object)
    codes = Encoding.learn(table).forward(table)[:, 0]
    assert len(set(codes)) == 4 and codes[0] == codes[4] and codes[1] == codes[3]
    with pytest.raises(ValueError, match="not a level"):
        Encoding.learn(np.array([["a"], [(1, 2)]], dtype=object))


@pytest.mark.parametrize("asked", [["kind"], [1], [False, True], [-1]])
def test_numbers_may_be_levels(asked):
    table = pandas.DataFrame({"a": [0.5, 1.5, 2.5], "kind": [30, 10, 30]})
    encoding = Encoding.learn(table, asked)
    assert encoding.categories == (1,)
    assert_array_equal(encoding.forward(table)[:, 1], [1, 0, 1])
    later = pandas.DataFrame({"a": [0.5], "kind": [10.0]})
    assert encoding.forward(later)[0, 1] == 0


@pytest.mark.parametrize("asked", ["none", [5], [True], ["a", "b"], [1.5]])
def test_columns_that_are_not_there_are_refused(asked):
    table = pandas.DataFrame({"a": [0.5, 1.5], "kind": [3, 1]})
    with pytest.raises(ValueError, match="categorical_features"):
        Encoding.learn(table, asked)


def test_plain_numbers_stay_as_they_are():
    X = np.random.default_rng(0).normal(size=(7, 3))
    encoding = Encoding.learn(X)
    assert encoding.plain
    assert_array_equal(encoding.forward(X), X)
    X[2, 1] = np.nan
    assert not Encoding.learn(X).plain and Encoding.learn(X).forward(X).shape == (7, 4)


def test_time_zones_are_one_time():
    utc = pandas.to_datetime(["2020-06-01 12:00", "2020-06-02 12:00"]).tz_localize("UTC")
    table = pandas.DataFrame({"t": utc})
    encoding = Encoding.learn(table)
    other = pandas.DataFrame({"t": utc.tz_convert("Asia/Tokyo")})
    assert_array_equal(encoding.forward(other), [[0.0], [86400.0]])
    moved = polars.DataFrame({"t": utc.tz_convert("Asia/Tokyo").to_pydatetime().tolist()})
    assert_array_equal(encoding.forward(moved), [[0.0], [86400.0]])
    days = pandas.DataFrame({"t": [datetime.date(2020, 6, 1), datetime.date(2020, 6, 3)]})
    assert_array_equal(Encoding.learn(days).forward(days), [[0.0], [172800.0]])


def test_spans_of_time_are_seconds():
    spans = [datetime.timedelta(minutes=1), None, datetime.timedelta(days=1)]
    tables = (
        pandas.DataFrame({"t": pandas.to_timedelta(spans)}),
        pandas.DataFrame({"t": np.array(spans, dtype=object)}, dtype=object),
        polars.DataFrame({"t": spans}),
    )
    for table in tables:
        found = read_columns(table)[0]
        assert found.kind == "number"
        assert_array_equal(found.values, [60.0, np.nan, 86400.0])


def test_all_gaps_and_other_kinds_of_values():
    table = pandas.DataFrame({"a": [np.nan, np.nan], "b": [1.0, 2.0]})
    encoding = Encoding.learn(table)
    assert_array_equal(encoding.forward(table), [[0, 1, 1], [0, 2, 1]])
    words = pandas.DataFrame({"a": [1.0, 2.0], "b": ["one", "two"]})
    with pytest.raises(ValueError, match=r"'b' holds 'one' and held numbers"):
        encoding.forward(words)
    dates = pandas.DataFrame({"a": [1.0, 2.0], "b": pandas.to_datetime(["2020", "2021"])})
    with pytest.raises(ValueError, match="'b' holds dates and held numbers"):
        encoding.forward(dates)
    with pytest.raises(ValueError, match="'b' has infinite"):
        encoding.forward(pandas.DataFrame({"a": [1.0], "b": [np.inf]}))
    with pytest.raises(ValueError, match="'b' is missing"):
        encoding.forward(table[["a"]])
    gaps = pandas.DataFrame({"a": [1.0], "b": [None]})
    with pytest.warns(NewGapsWarning):
        assert_array_equal(encoding.forward(gaps), [[1.0, 1.5, 0.0]])


def test_many_levels_and_a_level_that_comes_once():
    words = [f"w{k}" for k in range(100_000)]
    table = pandas.DataFrame({"w": words})
    codes = Encoding.learn(table).forward(table)[:, 0]
    assert np.unique(codes).size == 100_000


def test_an_encoding_is_kept_in_a_model_file():
    encoding = Encoding.learn(frame("objects"))
    writer = Writer()
    node = writer.node(encoding, "")
    classes = {"tables.encoding/1": Encoding, "tables.column/1": type(encoding.columns[0])}
    found = Reader([], classes.get, str).value(node, "")
    assert found == encoding


def test_unknown_levels_match_each_other_and_nothing_else():
    encoding = Encoding.learn(pandas.DataFrame({"w": ["a", "b"]}))
    later = pandas.DataFrame({"w": ["c", "d", "c", "a", None]})
    with pytest.warns(NewGapsWarning, match="'w'"):
        codes = encoding.forward(later)[:, 0]
    assert codes[0] == codes[2] and len(set(codes)) == 4
    assert codes[3] == 0 and codes[4] == GAP and (codes[:3] <= -10).all()


def test_columns_are_known_by_name():
    table = frame("objects")
    encoding = Encoding.learn(table)
    other = table[["new", "cut", "size", "sold", "height"]]
    assert_array_equal(encoding.forward(other), encoding.forward(table))
    with pytest.raises(ValueError, match="'cut' is missing"):
        encoding.forward(table.drop(columns="cut"))
    with pytest.raises(ValueError, match="'more' is new"):
        encoding.forward(table.assign(more=1))


def test_parts_of_a_table_give_the_encoding_of_the_whole(monkeypatch):
    monkeypatch.setattr(seen, "SAMPLE", 7)  # then medians are of a sample
    rng, n = np.random.default_rng(3), 50
    table = pandas.DataFrame({
        "x": np.where(rng.random(n) < 0.4, np.nan, rng.normal(size=n)),
        "w": rng.choice(["a", "b", None], n),
        "t": pandas.to_datetime(rng.integers(-9, 9, n), unit="D"),
    })  # fmt: skip
    whole = Encoding.learn(table)
    for cuts in ([20], [1, 2, 30], [49]):
        parts = np.split(np.arange(n), cuts)
        each = [seen.seen(read_columns(table.iloc[rows]), int(rows[0])) for rows in parts]
        total = each[-1]
        for one in each[:-1]:
            total = tuple(a.plus(b) for a, b in zip(total, one))
        assert Encoding.of(total) == whole
    value = table["x"].to_numpy()
    there = np.flatnonzero(~np.isnan(value))
    chosen = there[np.argsort(seen.splitmix64(there))[:7]]
    assert whole.columns[0].middle == np.median(value[chosen])


@pytest.mark.parametrize("where", ["learn", "forward"])
def test_infinite_values_are_refused_by_name(where):
    good, bad = pandas.DataFrame({"a": [1.0, 2.0]}), pandas.DataFrame({"a": [1.0, -np.inf]})
    with pytest.raises(ValueError, match="'a' has infinite"):
        Encoding.learn(bad if where == "learn" else good).forward(bad)
