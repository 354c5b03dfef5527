"""Estimators fitted to files and frames, and answers written to files."""

import os
import subprocess
import sys
import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import collegium
from collegium import CommitteeClassifier, CommitteeRegressor, Limits
from collegium.interface.frames import sources as tables
from collegium.kernels import Matern32
from collegium.sources.pieces import BadChunkError

pa = pytest.importorskip("pyarrow", reason="files need pyarrow: pip install 'collegium[files]'")
from pyarrow import csv, parquet  # noqa: E402

SEED = {"random_state": 0}
FIXED = {"kernel": Matern32(1.0, [1.0, 2.0]), "noise": 0.1, "learn": False, **SEED}


def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n), 1.0 + rng.random(n)


def frame(X, y, w=None, **more):
    own = {"a": X[:, 0], "b": X[:, 1], "fare": y}
    return pa.table({**own, **({} if w is None else {"w": w}), **more})


@pytest.fixture
def written(tmp_path):
    """Two files of rows with weights, small row groups, the columns in another order."""
    X, y, w = rows()
    whole = frame(X, y, w).select(["fare", "b", "w", "a"])
    parquet.write_table(whole.slice(0, 50), tmp_path / "p1.parquet", row_group_size=20)
    parquet.write_table(whole.slice(50), tmp_path / "p2.parquet", row_group_size=33)
    return str(tmp_path / "p*.parquet")


def opened(written, **more):
    return collegium.open(written, target="fare", columns=["a", "b"], weight="w", **more)


@pytest.mark.parametrize("learn", [True, False])
def test_a_source_in_memory_is_fitted_as_its_arrays(written, learn):
    X, y, w = rows()
    arguments = {**FIXED, "learn": learn}
    if learn:
        arguments |= {"noise": "auto", "kernel": None}
    model = CommitteeRegressor(**arguments).fit(opened(written, chunk_rows=7))
    arrays = CommitteeRegressor(**arguments).fit(X, y, w)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # X has no names of columns
        assert_array_equal(model.predict(X), arrays.predict(X))
    assert list(model.feature_names_in_) == ["a", "b"] and model.n_features_in_ == 2
    assert model.skipped_ == []


@pytest.mark.parametrize(
    "make",
    [
        lambda: collegium.SparseGPRegressor(**FIXED),
        lambda: collegium.OnlineGPRegressor(**FIXED),
        lambda: collegium.RegressionFilter(**SEED),
        lambda: collegium.RVCRegressor(**SEED),
        lambda: collegium.ExpertsRegressor(**FIXED),
    ],
)
def test_every_regressor_reads_sources_and_frames(written, make):
    X, y, w = rows()
    table = parquet.read_table(os.path.dirname(written)).to_pandas()
    given = make().fit(X, y, w)
    for model in (make().fit(opened(written)), make().fit(table, "fare", "w")):
        queries = table[list(model.feature_names_in_)]
        assert set(model.feature_names_in_) == {"a", "b"} and model.n_features_in_ == 2
        assert model.predict(queries).shape == y.shape
    source_model = make().fit(opened(written))
    assert_array_equal(source_model.predict(opened(written)), given.predict(X))


def test_classes_come_from_sources_too(tmp_path):
    X, y, _ = rows()
    parquet.write_table(frame(X, (y > 0).astype(float)), tmp_path / "c.parquet")
    source = collegium.open(tmp_path / "c.parquet", target="fare")
    model = CommitteeClassifier(random_state=0).fit(source)
    plain = CommitteeClassifier(random_state=0).fit(X, (y > 0).astype(float))
    assert_array_equal(model.predict_proba(source), plain.predict_proba(X))
    n = model.predict_to(tmp_path / "c.parquet", tmp_path / "out.parquet", keep=["fare"])
    found = parquet.read_table(tmp_path / "out.parquet")
    assert n == 120 and found.column_names == [
        "fare",
        "label",
        "probability_0.0",
        "probability_1.0",
    ]
    assert_array_equal(found["probability_1.0"], plain.predict_proba(X)[:, 1])
    assert_array_equal(found["label"], plain.predict(X))


def read(path):
    kind = os.path.splitext(path)[1]
    if kind == ".csv":
        return csv.read_csv(path)
    if kind == ".parquet":
        return parquet.read_table(path)
    if kind == ".npy":
        found = np.load(path)
        return pa.table({name: found[name] for name in found.dtype.names})
    return pa.ipc.open_file(path).read_all()


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".csv", ".npy"])
@pytest.mark.parametrize("chunk_rows", [7, 10**6])
def test_answers_in_a_file_are_those_of_predict(written, tmp_path, ending, chunk_rows):
    X, y, w = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = CommitteeRegressor(**FIXED).fit(opened(written))
        path = tmp_path / f"out{ending}"
        assert model.predict_to(opened(written, chunk_rows=chunk_rows), path, interval=0.8,
                                keep=["fare"]) == 120  # fmt: skip
    plain = CommitteeRegressor(**FIXED).fit(X, y, w)
    mean, std = plain.predict(X, return_std=True)
    lower, upper = plain.predict_interval(X, 0.8)
    found = read(str(path))
    expected = {"fare": y, "mean": mean, "std": std, "lower": lower, "upper": upper}
    assert found.column_names == list(expected)
    for name, values in expected.items():
        assert_array_equal(found[name].to_numpy(), values)


WITHOUT = """
import sys
class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "pyarrow":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NotInstalled())
import numpy as np
import collegium
X = np.random.default_rng(0).normal(size=(40, 2))
np.save("X.npy", X)
labels = np.array(["no", "perhaps"], dtype=object)[(X[:, 0] > 0.5).astype(int)]
given = {"kernel": collegium.kernels.RBF(), "learn": False, "random_state": 0}
model = collegium.CommitteeRegressor(**given, noise=0.1).fit(X, X[:, 0])
source = collegium.open("X.npy", chunk_rows=7)
print(model.predict_to(source, "answers.npy", interval=0.8, keep=["x1"]))
found = np.load("answers.npy", mmap_mode="r")
expected = X[:, 1], *model.predict(X, return_std=True, interval=0.8)
for name, values in zip(("x1", "mean", "std", "lower", "upper"), expected, strict=True):
    np.testing.assert_array_equal(found[name], values)
classifier = collegium.CommitteeClassifier(**given).fit(X, labels)
classifier.predict_to(source, "labels.npy")
np.testing.assert_array_equal(np.load("labels.npy")["label"], classifier.predict(X))
"""


def test_answers_need_no_pyarrow(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout == "40\n" and not done.returncode, done.stderr


def test_queries_have_their_columns_by_name(written, tmp_path):
    X, y, w = rows()
    model = CommitteeRegressor(**FIXED).fit(opened(written))
    parquet.write_table(frame(X, y).select(["b", "a"]), tmp_path / "other.parquet")
    model.predict_to(tmp_path / "other.parquet", tmp_path / "out.parquet", return_std=False)
    found = parquet.read_table(tmp_path / "out.parquet")
    plain = CommitteeRegressor(**FIXED).fit(X, y, w)
    assert found.column_names == ["mean"]
    assert_array_equal(found["mean"].to_numpy(), plain.predict(X))


def test_rows_that_cannot_be_read_have_no_answer(written, tmp_path):
    X, y, _ = rows(30)
    X[[3, 25], 0] = np.nan
    parquet.write_table(frame(X, y), tmp_path / "q.parquet", row_group_size=10)
    model = CommitteeRegressor(**FIXED).fit(opened(written))
    out = tmp_path / "out.parquet"
    query = partial(collegium.open, tmp_path / "q.parquet", columns=["a", "b"], missing="raise")
    with pytest.raises(BadChunkError, match=r"q\.parquet.*'a', row 3"):
        model.predict_to(query(), out)
    assert not out.exists() and not list(tmp_path.glob(".out.parquet*"))
    source = query(on_bad_chunk="skip")
    assert model.predict_to(source, out) == 30
    found = parquet.read_table(out)["mean"].to_numpy()
    assert_array_equal(np.isnan(found), np.repeat([True, False, True], 10))
    assert len(source.skipped) == 2


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".csv", ".npy"])
def test_a_column_tells_extrapolations(tmp_path, ending):
    """True for rows that cannot be read, too; inputs are transformed as for `outside`."""
    X, y, _ = rows()
    fitted = {**FIXED, "transforms": collegium.Transform(X="rank")}
    model = CommitteeRegressor(**fitted).fit(X, y)
    Q = rows(30, seed=1)[0]
    Q[::3] *= 4.0
    expected = model.outside(Q)
    assert 4 < expected.sum() < 26
    bad = np.arange(30) // 10 == 0
    Q[3, 0] = np.nan
    parquet.write_table(frame(Q, Q[:, 0]), tmp_path / "q.parquet", row_group_size=10)
    query = {"columns": ["a", "b"], "missing": "raise", "on_bad_chunk": "skip"}
    out = str(tmp_path / f"out{ending}")
    model.predict_to(collegium.open(tmp_path / "q.parquet", **query), out, outside=True)
    found = read(out)
    assert found.column_names == ["mean", "std", "outside"]
    assert found["outside"].type == pa.bool_()
    assert_array_equal(found["outside"].to_numpy(), np.where(bad, True, expected))


def test_estimators_that_cannot_tell_extrapolations_say_so(tmp_path):
    X, y, _ = rows()
    np.save(tmp_path / "q.npy", X)
    model = collegium.OnlineGPRegressor(Matern32(), noise=0.1).fit(X, y)
    with pytest.raises(ValueError, match=r"outside=True: OnlineGPRegressor cannot tell"):
        model.predict_to(tmp_path / "q.npy", tmp_path / "out.npy", outside=True)


@pytest.mark.parametrize(
    "path, error, word",
    [("out.txt", ValueError, "ends with"), ("none/out.csv", FileNotFoundError, "folder")],
)
def test_where_answers_cannot_go_is_said_first(written, tmp_path, path, error, word):
    model = CommitteeRegressor(**FIXED).fit(opened(written))
    with pytest.raises(error, match=word):
        model.predict_to(opened(written), tmp_path / path)
    source = str(tmp_path / "p1.parquet")
    with pytest.raises(ValueError, match="one of the files that are read"):
        model.predict_to(source, source)


@pytest.mark.parametrize("store", [False, True])
def test_bad_chunks_are_named_or_left_out(written, tmp_path, store):
    """A gap in y in the second file."""
    X, y, w = rows(2300)
    y[2100] = np.nan
    parquet.write_table(frame(X, y, w), tmp_path / "p3.parquet", row_group_size=100)
    given = {**FIXED, "store": tmp_path / "s.rows"} if store else FIXED
    with pytest.raises(BadChunkError, match=r"p3\.parquet, row group 21.*'fare'"):
        CommitteeRegressor(**given).fit(opened(written))
    assert not (tmp_path / "s.rows").exists()
    model = CommitteeRegressor(**given).fit(opened(written, on_bad_chunk="skip"))
    assert [one.n for one in model.skipped_] == [100]
    ours, stay = rows(), np.arange(2300) // 100 != 21
    whole = [np.concatenate([a, b[stay]]) for a, b in zip(ours, (X, y, w))]
    given = {**FIXED, "store": tmp_path / "t.rows"} if store else FIXED
    arrays = CommitteeRegressor(**given).fit(*whole)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_array_equal(model.predict(X[:20]), arrays.predict(X[:20]))


def test_rows_beyond_memory_ask_for_a_store(written, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"120 rows take.*store='some.rows'"):
        CommitteeRegressor(limits=Limits(memory=20_000), chunks=50).fit(opened(written))
    monkeypatch.setattr(tables, "COPIES", 10**12)
    with pytest.raises(ValueError, match="CommitteeRegressor"):
        collegium.SparseGPRegressor().fit(opened(written))
    model = CommitteeRegressor(**FIXED, store=tmp_path / "m.rows", chunks=50)
    assert model.fit(opened(written)).n_chunks_ > 1 and (tmp_path / "m.rows").is_dir()


def test_what_a_source_has_inside_is_not_given_twice(written):
    with pytest.raises(ValueError, match="leave out y"):
        CommitteeRegressor().fit(opened(written), np.ones(120))
    with pytest.raises(ValueError, match="no target"):
        CommitteeRegressor().fit(collegium.open(written, columns=["a", "b"]))
    with pytest.raises(ValueError, match="name of one for sample_weight"):
        table = parquet.read_table(os.path.dirname(written)).to_pandas()
        CommitteeRegressor().fit(table, "fare", np.ones(120))


def test_a_file_that_was_written_anew_is_another_origin(written, tmp_path):
    first = tables.origin_of(opened(written))
    assert tables.origin_of(opened(written, chunk_rows=3)) == first
    assert tables.origin_of(collegium.open(written, target="fare", columns=["a"])) != first
    X, y, w = rows(60, 3)
    parquet.write_table(frame(X, y, w), tmp_path / "p2.parquet")
    assert tables.origin_of(opened(written)) != first
    table = parquet.read_table(tmp_path / "p2.parquet").to_pandas()
    assert tables.origin_of(collegium.open(table, target="fare")) == ""
