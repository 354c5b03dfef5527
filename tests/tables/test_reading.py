"""The same values in every type that frames have for them."""

import datetime
from decimal import Decimal

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from collegium.tables.encoding import Encoding
from collegium.tables.levels import GAP
from collegium.tables.reading import read_columns

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

WORDS = ["b", None, "a", "b", "ü"]
DAYS = [datetime.date(1969, 12, 30), None, datetime.date(1815, 6, 18), datetime.date(2020, 2, 29)]
MIDNIGHTS = [day and datetime.datetime(day.year, day.month, day.day) for day in DAYS]
UTC = datetime.UTC
TIMES = [datetime.datetime(1950, 1, 1, 12, 30, 1, 250_001, tzinfo=UTC), None,
         datetime.datetime(2020, 6, 1, tzinfo=UTC)]  # fmt: skip
PRICES = [Decimal("0.07"), None, Decimal("-1234567.89"), Decimal("99.95")]


def series(values, dtype):
    return pandas.DataFrame({"c": pandas.Series(values, dtype=dtype)})


def in_arrow(values, type, chunks=1):
    parts = [pa.array(p, type) for p in (values[:2], values[2:])] if chunks == 2 else None
    return pa.table({"c": pa.chunked_array(parts) if parts else pa.array(values, type)})


def in_polars(values, dtype):
    return polars.DataFrame({"c": polars.Series(values, dtype=dtype)})


def codes_of(type):
    return pa.dictionary(pa.int8(), type)


TEXTS = {
    "objects": lambda: series(WORDS, object),
    "str": lambda: series(WORDS, "str"),
    "string": lambda: series(WORDS, "string[python]"),
    "string of Arrow": lambda: series(WORDS, "string[pyarrow]"),
    "Arrow string": lambda: series(WORDS, pandas.ArrowDtype(pa.string())),
    "Arrow dictionary": lambda: series(WORDS, pandas.ArrowDtype(codes_of(pa.string()))),
    "category": lambda: series(WORDS, pandas.CategoricalDtype(["z", "ü", "a", "b"])),
    "polars": lambda: polars.DataFrame({"c": WORDS}),
    "polars Categorical": lambda: in_polars(WORDS, polars.Categorical),
    "polars Enum": lambda: in_polars(WORDS, polars.Enum(["z", "ü", "b", "a"])),
    "Arrow table": lambda: in_arrow(WORDS, pa.large_string(), 2),
    "Arrow table of codes": lambda: in_arrow(WORDS, codes_of(pa.string()), 2),
    "array": lambda: np.array([WORDS], dtype=object).T,
}  # fmt: skip
if hasattr(pa, "string_view"):  # from pyarrow 16 on
    TEXTS["Arrow view"] = lambda: in_arrow(WORDS, pa.string_view())


@pytest.mark.parametrize("kind", TEXTS)
def test_texts_are_levels(kind):
    encoding = Encoding.learn(TEXTS[kind]())
    assert encoding.columns[0].levels == (("text", "a"), ("text", "b"), ("text", "ü"))
    assert_array_equal(encoding.forward(TEXTS[kind]())[:, 0], [1, GAP, 0, 1, 2])
    assert encoding.columns[0].gaps


DATES = {
    "objects": lambda: series(DAYS, object),
    "pandas": lambda: series(DAYS, "datetime64[s]"),
    "Arrow date": lambda: series(DAYS, pandas.ArrowDtype(pa.date32())),
    "Arrow timestamp": lambda: series(MIDNIGHTS, pandas.ArrowDtype(pa.timestamp("ms"))),
    "polars": lambda: polars.DataFrame({"c": DAYS}),
    "polars time": lambda: polars.DataFrame({"c": polars.Series(DAYS).cast(polars.Datetime("ns"))}),
    "Arrow table": lambda: in_arrow(DAYS, pa.date64(), 2),
    "array": lambda: np.array([DAYS], dtype="M8[D]").T,
    "period": lambda: series(pandas.PeriodIndex(DAYS, freq="D"), None),
}  # fmt: skip


@pytest.mark.parametrize("kind", DATES)
def test_dates_are_seconds_since_the_first(kind):
    encoding = Encoding.learn(DATES[kind]())
    first = datetime.date(1815, 6, 18)
    days = [None if one is None else (one - first).days for one in DAYS]
    middle = float(np.median([d for d in days if d is not None]))
    expected = [86400.0 * (middle if one is None else one) for one in days]
    assert_array_equal(encoding.forward(DATES[kind]()), np.column_stack([expected, [0, 1, 0, 0]]))
    assert encoding.columns[0].origin == (first - datetime.date(1970, 1, 1)).days * 86400.0


ZONES = {
    "objects": lambda: series(TIMES, object),
    "pandas": lambda: series(TIMES, "datetime64[us, Asia/Tokyo]"),
    "Arrow": lambda: series(TIMES, pandas.ArrowDtype(pa.timestamp("us", "Asia/Tokyo"))),
    "polars": lambda: polars.DataFrame({"c": TIMES}).with_columns(
        polars.col("c").dt.convert_time_zone("America/Lima")
    ),
    "Arrow table": lambda: in_arrow(TIMES, pa.timestamp("us", "Europe/Berlin")),
}


@pytest.mark.parametrize("kind", ZONES)
def test_zones_are_one_time_to_the_last_bit(kind):
    found = read_columns(ZONES[kind]())[0]
    assert found.kind == "date"
    micro = [(one - datetime.datetime(1970, 1, 1, tzinfo=UTC)) // datetime.timedelta(microseconds=1)
             for one in TIMES if one]  # fmt: skip
    assert_array_equal(found.values, [micro[0] * 1e-6, np.nan, micro[1] * 1e-6])


NUMBERS = {
    "objects": lambda: series(PRICES, object),
    "Arrow decimal": lambda: series(PRICES, pandas.ArrowDtype(pa.decimal128(12, 2))),
    "polars Decimal": lambda: in_polars(PRICES, polars.Decimal(12, 2)),
    "Arrow table": lambda: in_arrow(PRICES, pa.decimal128(12, 2), 2),
    "array": lambda: np.array([PRICES], dtype=object).T,
}  # fmt: skip


@pytest.mark.parametrize("kind", NUMBERS)
def test_decimals_are_the_nearest_numbers(kind):
    found = read_columns(NUMBERS[kind]())[0]
    assert found.kind == "number"
    assert_array_equal(found.values, [0.07, np.nan, -1234567.89, 99.95])


WHOLE = [3, None, 2**53]
FLAGS = [True, None, False]


@pytest.mark.parametrize(
    "make",
    [
        lambda: series(WHOLE, "Int64"),
        lambda: series(WHOLE, pandas.ArrowDtype(pa.uint64())),
        lambda: polars.DataFrame({"c": WHOLE}),
        lambda: in_arrow(WHOLE, pa.int64()),
        lambda: series(WHOLE, object),
    ],
)
def test_whole_numbers_may_have_gaps(make):
    assert_array_equal(read_columns(make())[0].values, [3.0, np.nan, 2.0**53])


@pytest.mark.parametrize(
    "make",
    [
        lambda: series(FLAGS, "boolean"),
        lambda: series(FLAGS, object),
        lambda: series(FLAGS, pandas.ArrowDtype(pa.bool_())),
        lambda: polars.DataFrame({"c": FLAGS}),
        lambda: in_arrow(FLAGS, pa.bool_()),
        lambda: np.array([FLAGS], dtype=object).T,
    ],
)
def test_booleans_are_numbers_and_may_be_levels(make):
    assert_array_equal(read_columns(make())[0].values, [1.0, np.nan, 0.0])
    levels = Encoding.learn(make(), [0])
    assert levels.columns[0].levels == (("boolean", "False"), ("boolean", "True"))
    assert_array_equal(levels.forward(make())[:, 0], [1, GAP, 0])
    assert_array_equal(levels.forward(np.array([[True], [False]]))[:, 0], [1, 0])


def test_categories_may_be_numbers_dates_and_intervals():
    cut = pandas.cut([0.5, 1.5, 0.7], [0, 1, 2])
    table = pandas.DataFrame({
        "i": cut, "n": pandas.Categorical([3, 10, 3]),
        "d": pandas.Categorical(pandas.to_datetime(["2021", "1960", "2021"])),
    })  # fmt: skip
    encoding = Encoding.learn(table)
    assert encoding.categories == (0, 1, 2)
    assert_array_equal(encoding.forward(table), [[0, 1, 1], [1, 0, 0], [0, 1, 1]])
    plain = table.assign(n=[3, 10, 3], d=pandas.to_datetime(["2021", "1960", "2021"]))
    assert_array_equal(encoding.forward(plain), encoding.forward(table))


def test_times_of_day_are_seconds():
    times = [datetime.time(1, 0, 0, 5), None, datetime.time(23, 59)]
    for table in (series(times, object), polars.DataFrame({"c": times}),
                  in_arrow(times, pa.time64("ns")), in_arrow(times, pa.time64("us"))):  # fmt: skip
        found = read_columns(table)[0]
        assert found.kind == "number"
        assert_array_equal(found.values, [3_600_000_005 * 1e-6, np.nan, 86_340_000_000 * 1e-6])


@pytest.mark.parametrize(
    "table",
    [
        in_arrow([[1], [2]], pa.list_(pa.int64())),
        polars.DataFrame({"c": [[1], [2]]}),
        series([[1], [2]], object),
        series([1 + 2j], complex),
    ],
    ids=["arrow", "polars", "pandas", "complex"],
)
def test_other_types_are_refused(table):
    with pytest.raises(ValueError, match="leave it out|is not a level|levels are"):
        Encoding.learn(table)
