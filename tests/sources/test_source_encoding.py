"""Words, dates and gaps in files: the encoding and the model of the same rows in one frame."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import collegium
from collegium import CommitteeClassifier, CommitteeRegressor
from collegium.kernels import Matern32
from collegium.sources.pieces import BadChunkError
from collegium.tables import seen
from collegium.tables.encoding import Encoding, NewGapsWarning
from table_cases import FORMATS, frame, pa, pandas, parquet, table, written

COLUMNS = ["city", "height", "day", "price", "new"]
#: Seven columns: `height` and `day` have gaps.
LENGTHS = [1.0, 0.9, 1e8, 4e4, 1.2, 1.3, 1.4]
FIXED = {"kernel": Matern32(1.0, LENGTHS), "noise": 0.1, "learn": False, "random_state": 0}


def opened(data, **more):
    return collegium.open(data, target="fare", columns=COLUMNS, weight="w", **more)


@pytest.mark.parametrize("chunk_rows", [7, 1000])
@pytest.mark.parametrize("kind", FORMATS)
def test_the_encoding_of_files_is_that_of_the_frame(tmp_path, monkeypatch, kind, chunk_rows):
    monkeypatch.setattr(seen, "SAMPLE", 20)
    own = frame()
    expected = Encoding.learn(own[COLUMNS])
    source = opened(written(tmp_path, kind, own), chunk_rows=chunk_rows)
    found = source.learn_encoding()
    assert found == expected and not found.plain and len(found.filled) == 2
    encoded = source.encoded(found)
    parts = [pickle.loads(pickle.dumps(chunk)).load() for chunk in encoded.chunks]
    X, y, w = (np.concatenate(part) for part in zip(*parts))
    assert_array_equal(X, expected.forward(own[COLUMNS]))
    assert_array_equal(y[:, 0], own["fare"])
    assert_array_equal(w, own["w"])
    assert encoded.d == X.shape[1] == 7
    assert_array_equal(encoded.head(3)[0], X[:3])


@pytest.mark.parametrize("kind", FORMATS)
def test_the_model_of_files_is_that_of_the_frame(tmp_path, kind):
    own, later = frame(), frame(60, 1)
    arrays = CommitteeRegressor(**FIXED).fit(own[COLUMNS], own["fare"], own["w"])
    model = CommitteeRegressor(**FIXED).fit(opened(written(tmp_path, kind, own), chunk_rows=11))
    assert model.encoding_ == arrays.encoding_
    assert_array_equal(model.feature_names_in_, arrays.feature_names_in_)
    assert model.n_features_in_ == arrays.n_features_in_ == 5
    expected = arrays.predict(later[COLUMNS], return_std=True)
    for query in (later[COLUMNS], opened(written(tmp_path, kind, later))):
        assert_array_equal(model.predict(query, return_std=True), expected)
    again = tmp_path / "answers.parquet"
    query = written(tmp_path, "parquet", later)
    assert model.predict_to(query, again, keep=["w"]) == 60
    assert_array_equal(parquet.read_table(again)["mean"].to_numpy(), expected[0])
    assert_array_equal(parquet.read_table(again)["w"].to_numpy(), later["w"])


@pytest.mark.parametrize(
    "make",
    [
        lambda: collegium.ExpertsRegressor(Matern32(1.0, LENGTHS), noise=0.1, learn=False),
        lambda: collegium.SparseGPRegressor(Matern32(1.0, LENGTHS), noise=0.1, learn=False),
        lambda: collegium.OnlineGPRegressor(Matern32(1.0, LENGTHS), noise=0.1),
        lambda: collegium.OnlineGPClassifier(Matern32(1.0, LENGTHS)),
    ],
    ids=["experts", "sparse", "online", "online classes"],
)
def test_every_estimator_of_tables_reads_them_from_files(tmp_path, make):
    own = frame()
    if isinstance(make(), collegium.OnlineGPClassifier):
        own["fare"] = (own["fare"] > 0.3).astype(float)
    arrays = make().set_params(random_state=0).fit(own[COLUMNS], own["fare"], own["w"])
    model = make().set_params(random_state=0).fit(opened(written(tmp_path, "codes", own)))
    assert model.encoding_ == arrays.encoding_ and model.n_features_in_ == 5
    assert_array_equal(model.predict(own[COLUMNS]), arrays.predict(own[COLUMNS]))


def test_a_chunk_that_is_bad_for_two_reasons_is_left_out_once(tmp_path):
    own = frame()[["price", "w", "fare"]].astype(float)
    own.loc[3, "price"], own.loc[2, "fare"] = np.inf, np.nan
    data = written(tmp_path, "parquet", own)
    source = collegium.open(data, target="fare", on_bad_chunk="skip")
    assert source.learn_encoding().plain and len(list(source.rows())) == 5
    assert len(source.skipped) == 1


def test_a_frame_with_the_name_of_its_target_is_the_frame():
    own = frame()[[*COLUMNS, "fare"]]
    arrays = CommitteeRegressor(**FIXED).fit(own[COLUMNS], own["fare"])
    named = CommitteeRegressor(**FIXED).fit(own, y="fare")
    assert named.encoding_ == arrays.encoding_
    assert_array_equal(named.predict(own[COLUMNS]), arrays.predict(own[COLUMNS]))


def test_plain_numbers_have_the_encoding_of_the_frame(tmp_path):
    own = frame()[["price", "w", "fare"]].astype(float)
    plain = {**FIXED, "kernel": Matern32(1.0, [4e4, 1.0])}
    arrays = CommitteeRegressor(**plain).fit(own[["price", "w"]], own["fare"])
    source = collegium.open(written(tmp_path, "parquet", own), target="fare")
    model = CommitteeRegressor(**plain).fit(source)
    assert model.encoding_ == arrays.encoding_ and model.encoding_.plain


def test_numbers_of_files_may_be_asked_for_as_levels(tmp_path):
    own = frame()
    own["day"] = own["day"].dt.year
    asked = {**FIXED, "kernel": Matern32(1.0, LENGTHS[:6]), "categorical_features": ["day"]}
    arrays = CommitteeRegressor(**asked).fit(own[COLUMNS], own["fare"], own["w"])
    model = CommitteeRegressor(**asked).fit(opened(written(tmp_path, "parquet", own)))
    assert model.encoding_ == arrays.encoding_ and model.encoding_.categories == (0, 2)
    with pytest.raises(ValueError, match=r"\['city'\].*categorical_features=None takes none"):
        CommitteeRegressor(categorical_features=None).fit(opened(own))


def test_classes_of_rows_with_words(tmp_path):
    own = frame()
    own["fare"] = (own["fare"] > 0.3).astype(float)
    fixed = {"kernel": Matern32(1.0, LENGTHS), "learn": False, "random_state": 0}
    arrays = CommitteeClassifier(**fixed).fit(own[COLUMNS], own["fare"], own["w"])
    model = CommitteeClassifier(**fixed).fit(opened(written(tmp_path, "codes", own)))
    assert model.encoding_ == arrays.encoding_
    assert_array_equal(model.predict_proba(own[COLUMNS]), arrays.predict_proba(own[COLUMNS]))


def test_objects_that_differ_in_kind_between_chunks_are_levels(tmp_path):
    mixed = [1, 2, True, None, None, None, "a", "b", 2.0]
    own = pandas.DataFrame({"c": pandas.Series(mixed, dtype=object), "y": np.arange(9.0)})
    source = collegium.open(own, target="y", chunk_rows=3)
    found, expected = source.learn_encoding(), Encoding.learn(own[["c"]])
    assert found == expected and len(expected.columns[0].levels) == 5
    X = np.concatenate([chunk.load()[0] for chunk in source.encoded(found).chunks])
    assert_array_equal(X, expected.forward(own[["c"]]))


@pytest.mark.parametrize("skip", [False, True])
def test_gaps_may_be_refused(tmp_path, skip):
    own = frame().drop(columns=["day"])
    own["city"] = own["city"].fillna("Bern")
    data = written(tmp_path, "parquet", own, group=10)
    columns = ["city", "height", "new"]
    source = collegium.open(data, target="fare", columns=columns, missing="raise",
                            on_bad_chunk="skip" if skip else "raise")  # fmt: skip
    if not skip:
        with pytest.raises(BadChunkError, match="row group 5.*'height', row .: a missing value"):
            source.learn_encoding()
        return
    full = own["height"].notna().to_numpy().reshape(9, 10).all(axis=1)
    assert source.learn_encoding() == Encoding.learn(own[np.repeat(full, 10)][columns])
    assert len(source.skipped) == 9 - full.sum()
    with pytest.raises(ValueError, match="missing='fill': give"):
        collegium.open(data, missing="fill")


def test_bad_values_are_named_by_chunk_row_and_column(tmp_path):
    own = frame()
    own.loc[60, "height"] = np.inf
    data = written(tmp_path, "parquet", own, group=40)
    with pytest.raises(BadChunkError, match="row group 1, rows.*'height', row 20: inf"):
        CommitteeRegressor(**FIXED).fit(opened(data))
    skipping = opened(data, on_bad_chunk="skip", chunk_rows=10)
    model = CommitteeRegressor(**FIXED).fit(skipping)
    assert [one.n for one in model.skipped_] == [10]
    assert model.encoding_ == Encoding.learn(own[COLUMNS].drop(index=range(60, 70)))


def test_unknown_levels_and_new_gaps_in_files_of_queries(tmp_path):
    own = frame()[["city", "price", "fare"]]
    own["price"] = own["price"].astype(float)
    fixed = {**FIXED, "kernel": Matern32(1.0, [1.0, 4e4])}
    model = CommitteeRegressor(**fixed).fit(own[["city", "price"]], own["fare"])
    later = own[["city", "price"]].iloc[:5].copy()
    later["city"], later.loc[2, "price"] = ["Rome", "Bern", "Rome", "Kyoto", None], np.nan
    query = written(tmp_path, "csv", later)
    with pytest.warns(NewGapsWarning):
        expected = model.predict(later)
    with pytest.warns(NewGapsWarning):
        assert_array_equal(model.predict(collegium.open(query)), expected)
    words = later.assign(price=later["city"].fillna("none"))
    with pytest.raises(BadChunkError, match="'price', row 0: 'Rome' is not a number, and"):
        model.predict(collegium.open(written(tmp_path, "parquet", words)))


def test_csv_columns_that_begin_with_gaps_and_dates_with_zones(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "w,t,z,y\n,1950-01-02,2020-06-01T00:00:00Z,1\nred,,2020-06-01T02:00:00+01:00,2\n"
    )
    source = collegium.open(path, target="y")
    encoding = source.learn_encoding()
    assert [one.kind for one in encoding.columns] == ["levels", "date", "date"]
    X = source.encoded(encoding).head()[0]
    assert_array_equal(X, [[-2, 0, 0, 0], [0, 0, 3600, 1]])
    assert encoding.columns[1].origin == -631065600.0
    path.write_text("t,y\n2020-01-01,1\nsoon,2\n")
    with pytest.raises(BadChunkError, match="column 't', row 1: 'soon' is not a date"):
        collegium.open(path, target="y").learn_encoding()


def test_types_that_files_do_not_share(tmp_path):
    first = table(frame()[["city", "fare"]])
    parquet.write_table(first, tmp_path / "a.parquet")
    none = first.set_column(0, "city", pa.nulls(len(first)))
    parquet.write_table(none, tmp_path / "b.parquet")
    both = collegium.open(str(tmp_path / "?.parquet"), target="fare")
    one = collegium.open(tmp_path / "a.parquet", target="fare")
    assert both.learn_encoding() == one.learn_encoding()
    number = first.set_column(0, "city", pa.array(np.arange(len(first))))
    parquet.write_table(number, tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="'city' is int64 in .*b.parquet and .*string in"):
        collegium.open(str(tmp_path / "?.parquet"), target="fare")


def test_a_chunk_of_an_arrow_table_is_pickled_alone():
    source = collegium.open(pa.table({"a": np.arange(1e5), "y": np.ones(10**5)}), target="y")
    chunk = collegium.open(source.tables[0].frame, target="y", chunk_rows=100).chunks[7]
    sent = pickle.dumps(chunk)
    assert len(sent) < 10_000
    assert_array_equal(pickle.loads(sent).load()[0][:, 0], np.arange(700.0, 800.0))
