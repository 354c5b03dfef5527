"""The commands write what the library answers, bit for bit."""

import csv
import io
import json
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from running import rows, run, small_model, write_csv

import collegium
from collegium import CommitteeClassifier, CommitteeRegressor
from collegium.cli.data import ChosenRows
from collegium.cli.main import ORDER, Commands
from collegium.cli.where import Condition
from collegium.interface.frames.sources import origin_of
from collegium.kernels import Matern52
from collegium.metrics import coverage

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
FEW = ("--jobs", 1)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def model():
    small_model().save("m.clg")
    return collegium.load("m.clg")


@pytest.fixture
def queries():
    found = rows(40, seed=8)
    write_csv("q.csv", {**found, "id": np.arange(40)})
    return pd.DataFrame({name: found[name] for name in "ab"}), found["y"]


def read(text):
    found = list(csv.DictReader(io.StringIO(text.decode())))
    return {name: np.array([float(one[name]) for one in found]) for name in found[0]}


#: A model that is quick to fit: chunks of 20 rows.
SMALL = ("--set", "chunks=20", "--set", "anchors=6", "--set", "members=None", "--seed", 5)


def small(kind=CommitteeRegressor, **more):
    return kind(chunks=20, anchors=6, members=None, random_state=5, **more)


def test_help_lists_the_commands_in_order():
    found = run("--help")
    assert found.code == 0
    lines = found.out.decode().split("Commands:")[1].split("\n")
    assert [line.split()[0] for line in lines if line.strip()] == list(ORDER)
    for name in ORDER:
        assert run(name, "--help").code == 0


def test_a_command_is_one_file(monkeypatch, tmp_path):
    """A file in the folder of commands is a command."""
    (tmp_path / "play_back.py").write_text(
        "import click\n@click.command('play-back')\ndef play_back_command():\n    print('then')\n"
    )
    from collegium.cli import commands

    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    assert run("play-back").out == b"then\n"
    assert Commands().list_commands(None)[-1] == "play-back"


def test_lines_of_earlier_fits_do_not_reach_the_standard_output():
    small(verbose=1).fit(*np.split(np.column_stack(list(rows().values())), [2], axis=1))
    write_csv("rows.csv", rows())
    found = run("fit", "rows.csv", "-y", "y", "-o", "m.clg", *SMALL, "--json")
    assert found.code == 0 and found.answer


def test_fit_is_the_fit_of_the_library():
    write_csv("rows.csv", {**rows(), "w": np.linspace(0.5, 2, 60)})
    found = run("fit", "rows.csv", "-y", "y", "--weight", "w", "-o", "m.clg", *SMALL, "--json")
    assert found.code == 0, found.err
    ours = collegium.load("m.clg")
    theirs = small().fit(collegium.open("rows.csv", target="y", weight="w"))
    X = pd.DataFrame(theirs.model_.kept.rows.X, columns=["a", "b"])
    for one in (X, X + 0.3):
        assert_array_equal(ours.predict(one, return_std=True), theirs.predict(one, return_std=True))
    assert list(ours.feature_names_in_) == ["a", "b"]
    assert (ours.n_jobs, ours.verbose, ours.engine) == (None, 0, None)
    said = found.answer
    assert said["data"] == {
        "name": "rows.csv", "rows": 60, "dropped": {}, "columns": ["a", "b"], "y": "y",
        "weight": "w", "exposure": None,
    }  # fmt: skip
    assert said["model"]["basis"] == theirs.basis_id_ and said["model"]["rows_inside"] == 60
    assert "60 rows, 2 columns" in found.err and f"basis {theirs.basis_id_[:8]}" in found.err


def test_rows_without_a_target_are_dropped_and_counted():
    found = rows()
    found["y"][[3, 17]] = np.nan
    write_csv("rows.csv", found)
    ran = run("fit", "rows.csv", "-y", "y", "-x", "a", "-o", "m.clg", *SMALL, *FEW, "--json")
    assert ran.answer["data"]["dropped"] == {"y": 2} and ran.answer["data"]["rows"] == 58
    assert "58 rows, 1 column; 2 without y dropped (--missing refuse to stop instead)" in ran.err
    kept = ~np.isnan(found["y"])
    theirs = small().fit(pd.DataFrame({"a": found["a"][kept]}), found["y"][kept])
    X = pd.DataFrame({"a": [0.3, -1.0]})
    assert_array_equal(collegium.load("m.clg").predict(X), theirs.predict(X))


def test_words_dates_and_gaps_are_those_of_a_frame():
    found = rows()
    frame = pd.DataFrame(found)
    frame["kind"] = np.array(["apple", "pear", "plum"])[np.arange(60) % 3]
    frame["when"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(60) * 7.5, unit="h")
    frame.loc[5, "b"] = None
    frame.to_csv("rows.csv", index=False)
    frame.to_parquet("rows.parquet")
    for path in ("rows.csv", "rows.parquet"):
        ran = run("fit", path, "-y", "y", "-o", "m.clg", *SMALL, *FEW)
        assert ran.code == 0 and "4 columns (words in kind)" in ran.err
        theirs = small().fit(frame.drop(columns="y"), found["y"])
        one, other = collegium.load("m.clg"), frame.drop(columns="y")[:9]
        assert_array_equal(one.predict(other), theirs.predict(other))


def test_labels_are_words_and_their_probabilities_those_of_the_library():
    found = rows()
    frame = pd.DataFrame({name: found[name] for name in "ab"})
    labels = np.where(found["y"] > 0.2, "high", "low").astype(object)
    frame.assign(y=labels).to_csv("rows.csv", index=False)
    ran = run("fit", "rows.csv", "-y", "y", "--classes", "-o", "m.clg", *SMALL, *FEW)
    assert ran.code == 0, ran.err
    theirs = small(CommitteeClassifier).fit(frame, labels)
    ran = run("predict", "m.clg", "rows.csv", "-o", "out.parquet", *FEW)
    assert ran.code == 0, ran.err
    out = pd.read_parquet("out.parquet")
    assert_array_equal(out["probability_low"], theirs.predict_proba(frame)[:, 1])
    assert list(out["label"]) == list(theirs.predict(frame))
    score = run("score", "m.clg", "rows.csv", "--json", *FEW).answer["scores"]
    p = theirs.predict_proba(frame)[np.arange(60), (labels == "low").astype(int)]
    assert_allclose(score["log_loss"], -np.log(p).mean(), rtol=1e-12)
    assert_allclose(score["brier"], np.mean(2 * (1 - p) ** 2), rtol=1e-12)
    assert score["accuracy"] == np.mean(p > 0.5) and score["n"] == 60
    refused = run("predict", "m.clg", "rows.csv", "--interval", 0.9)
    assert refused.code == 2 and "--interval: the model predicts labels" in refused.err
    Path("other.csv").write_text("a,b,y\n1,2,middle\n")
    unknown = run("score", "m.clg", "other.csv")
    assert unknown.code == 3 and "the label 'middle' is not one that the model knows" in unknown.err


def test_numbers_as_labels_stay_whole():
    write_csv("rows.csv", {**rows(), "y": np.arange(60) % 2})
    assert run("fit", "rows.csv", "-y", "y", "--classes", "-o", "m.clg", *SMALL).code == 0
    classes = collegium.load("m.clg").classes_
    assert classes.tolist() == [0, 1] and classes.dtype.kind == "i"


def test_counts_with_exposure():
    found = rows()
    hours = np.linspace(0.5, 3, 60)
    counts = np.random.default_rng(2).poisson(hours * np.exp(found["y"]))
    write_csv("rows.csv", {"a": found["a"], "b": found["b"], "n": counts, "hours": hours})
    given = ("-y", "n", "--exposure", "hours", "--likelihood", "poisson")
    assert run("fit", "rows.csv", *given, "-o", "m.clg", *SMALL, *FEW).code == 0
    frame = pd.DataFrame({name: found[name] for name in "ab"})
    theirs = small(likelihood="poisson").fit(frame, counts, exposure=hours)
    ran = run("predict", "m.clg", "rows.csv", "--exposure", "hours", "--interval", 0.8, *FEW)
    out = read(ran.out)
    expected = theirs.predict(frame, return_std=True, interval=0.8, exposure=hours)
    assert_array_equal([*out.values()], expected)
    score = run("score", "m.clg", "rows.csv", "--json", *FEW).answer["scores"]
    density = theirs.log_density(frame, counts, exposure=hours)
    assert_allclose(score["nlpd"], -density.mean(), rtol=1e-12)


@pytest.mark.parametrize("out", ["out.parquet", "out.csv", "out.npy", "out.arrow", "-"])
@pytest.mark.parametrize("level", ["observation", "function"])
def test_predictions_are_those_of_the_library(model, queries, out, level):
    X, _ = queries
    asked = ("--interval", 0.9, "--outside", "--keep", "id", "--level", level)
    found = run("predict", "m.clg", "q.csv", "-o", out, *asked, *FEW)
    assert found.code == 0, found.err
    if out == "-":
        text = found.out.decode().replace("true", "1").replace("false", "0")
        answers = pd.read_csv(io.StringIO(text))
    elif out == "out.csv":
        answers = pd.read_csv(out)
    elif out == "out.npy":
        answers = pd.DataFrame(np.load(out))
    else:
        kind = pd.read_parquet if out.endswith("parquet") else pd.read_feather
        answers = kind(out)
    assert list(answers) == ["id", "mean", "std", "lower", "upper", "outside"]
    expected = model.predict(X, return_std=True, interval=0.9, level=level)
    assert_array_equal(answers[["mean", "std", "lower", "upper"]].T, expected)
    assert_array_equal(answers["outside"].astype(bool), model.outside(X))
    assert_array_equal(answers["id"], np.arange(40))
    assert "note           1 column is not used: y" in found.err


def test_pipes(model, queries):
    X, _ = queries
    found = run("predict", "m.clg", "-", *FEW, stdin=Path("q.csv").read_bytes())
    assert_array_equal(read(found.out)["mean"], model.predict(X))
    assert "standard input  40 rows, 2 columns" in found.err


def test_globs_and_several_files(model, queries):
    X, _ = queries
    Path("q2.csv").write_bytes(Path("q.csv").read_bytes())
    for data in (["q*.csv"], ["q.csv", "q2.csv"]):
        out = read(run("predict", "m.clg", *data, *FEW).out)
        assert_array_equal(out["mean"], np.tile(model.predict(X), 2))


def test_scores_are_those_of_the_library(model, queries):
    X, y = queries
    found = run("score", "m.clg", "q.csv", "-y", "y", "--interval", 0.8, "--json", *FEW)
    score = found.answer["scores"]
    mean, lower, upper = model.predict(X, interval=0.8)
    assert_allclose(score["rmse"], np.sqrt(np.mean((y - mean) ** 2)), rtol=1e-12)
    assert_allclose(score["mae"], np.mean(np.abs(y - mean)), rtol=1e-12)
    assert_allclose(score["r2"], model.score(X, y), rtol=1e-10)
    assert_allclose(score["nlpd"], -model.log_density(X, y).mean(), rtol=1e-12)
    assert_allclose(score["coverage"], coverage(y, lower, upper), rtol=1e-12)
    assert_allclose(score["width"], np.mean(upper - lower), rtol=1e-12)
    words = run("score", "m.clg", "q.csv", "-y", "y", "--interval", 0.8, *FEW).out.decode()
    assert words.startswith("scores ") and f"80% interval covers {score['coverage']:.1%}" in words


def test_models_without_names_take_columns_in_their_order(queries):
    X, y = queries
    model = CommitteeRegressor(Matern52(), noise=0.1, learn=False).fit(X.to_numpy(), y)
    model.save("m.clg")
    np.save("X.npy", X.to_numpy())
    for data in (["q.csv", "-x", "a,b"], ["X.npy"]):
        found = run("predict", "m.clg", *data, *FEW)
        assert_array_equal(read(found.out)["mean"], model.predict(X.to_numpy()))
    refused = run("predict", "m.clg", "q.csv")
    assert refused.code == 3 and "has 4 columns, and the model was fitted to 2" in refused.err
    score = run("score", "m.clg", "q.csv", "-x", "a,b", "-y", "y", "--json").answer["scores"]
    assert_allclose(score["rmse"] ** 2, np.mean((y - model.predict(X.to_numpy())) ** 2))


def test_scores_are_weighted(model, queries):
    X, y = queries
    w = np.linspace(0, 2, 40)
    write_csv("w.csv", {"a": X["a"], "b": X["b"], "y": y, "w": w})
    score = run("score", "m.clg", "w.csv", "-y", "y", "--weight", "w", "--json").answer["scores"]
    assert_allclose(score["rmse"] ** 2, np.average((y - model.predict(X)) ** 2, weights=w))
    assert_allclose(score["r2"], model.score(X, y, sample_weight=w), rtol=1e-10)


def test_held_out_rows_are_scored_and_not_learnt_from():
    write_csv("rows.csv", rows())
    ran = run("fit", "rows.csv", "-y", "y", "-o", "m.clg", *SMALL, "--test", 0.25, "--json")
    score, model = ran.answer["held_out"], collegium.load("m.clg")
    assert score["n"] == 15 and "held-out rows  RMSE" in ran.err
    X, kept = np.column_stack([rows()[name] for name in "ab"]), model.model_.kept.rows.X
    held = ~(X[:, None] == kept).all(axis=2).any(axis=1)
    assert held.sum() == 15
    y, frame = rows()["y"][held], pd.DataFrame(X[held], columns=["a", "b"])
    assert_allclose(score["rmse"], np.sqrt(np.mean((y - model.predict(frame)) ** 2)), rtol=1e-12)


@pytest.mark.parametrize("output", [None, "new.clg"])
def test_update_is_partial_fit(output):
    found, more = rows(), rows(30, seed=9)
    write_csv("rows.csv", found)
    write_csv("more.csv", {"y": more["y"], "extra": more["a"], "b": more["b"], "a": more["a"]})
    run("fit", "rows.csv", "-y", "y", "-o", "m.clg", *SMALL, *FEW)
    before, theirs = Path("m.clg").read_bytes(), collegium.load("m.clg")
    where = () if output is None else ("-o", output)
    ran = run("update", "m.clg", "more.csv", "--id", "second", *where, "--json", *FEW)
    assert ran.code == 0, ran.err
    assert "1 column is not used: extra" in ran.err and ran.answer["data"]["rows"] == 30
    X = pd.DataFrame({name: more[name] for name in "ab"})
    theirs.partial_fit(X, more["y"], chunk_id="second")
    ours = collegium.load(output or "m.clg")
    assert_array_equal(ours.predict(X, return_std=True), theirs.predict(X, return_std=True))
    assert "second" in ours.chunk_ids_
    assert (Path("m.clg").read_bytes() == before) == (output is not None)


CONDITIONS = [
    ("a > 0.5 AND y < 1", lambda f: (f["a"] > 0.5) & (f["y"] < 1)),
    ("kind IN ('apple', 'plum')", lambda f: f["kind"].isin(["apple", "plum"])),
    ('"two words" = 3 OR ripe', lambda f: (f["two words"] == 3) | f["ripe"]),
    ("\"when\" >= '2026-01-05'", lambda f: f["when"] >= pd.Timestamp("2026-01-05")),
    ("b IS NULL", lambda f: f["b"].isna()),
    ("abs(b) < 0.5", lambda f: f["b"].abs() < 0.5),
    ("kind LIKE 'p%' -- a comment", lambda f: f["kind"].str.startswith("p")),
    ("1", lambda f: f["a"] < 9),
]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("condition, same", CONDITIONS, ids=[one for one, _ in CONDITIONS])
def test_conditions_choose_the_rows_that_pandas_chooses(model, kind, condition, same):
    frame = pd.DataFrame(rows(50, seed=4))
    frame["kind"] = np.array(["apple", "pear", "plum"])[np.arange(50) % 3]
    frame["two words"], frame["ripe"] = np.arange(50.0) % 7, np.arange(50) % 2 == 0
    frame["when"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(50) * 5.5, unit="h")
    frame.loc[3:5, "b"], frame.loc[9, "kind"] = None, None
    frame["id"] = np.arange(50)
    frame.to_csv("q.csv", index=False)
    frame.to_parquet("q.parquet")
    found = run("predict", "m.clg", f"q.{kind}", "--where", condition, "--keep", "id", *FEW)
    assert found.code == 0, found.err
    kept = same(frame).fillna(False).astype(bool)
    assert 0 < kept.sum()
    assert read(found.out)["id"].astype(int).tolist() == frame["id"][kept].tolist()


@pytest.mark.parametrize(
    "condition, code, words",
    [
        ("heigth > 2", 3, "has no column 'heigth' (--where)"),
        ('"bb" > 2', 3, "has no column 'bb' (--where): did you mean 'b'?"),
        ("a >", 2, "give a condition of SQL"),
        ("a > 1) OR (1", 0, ""),
        ("a > 99", 3, "there are no rows"),
        ("1; DROP TABLE rows", 2, "give a condition of SQL"),
        ("load_extension('x')", 2, "not authorized"),
    ],
)
def test_conditions_that_mean_nothing_are_refused(model, queries, condition, code, words):
    found = run("predict", "m.clg", "q.csv", "--where", condition)
    assert found.code == code and words in found.err


def test_rows_of_a_query(model, queries):
    X, _ = queries
    with closing(sqlite3.connect("rows.db")) as db:
        db.execute("CREATE TABLE places (a REAL, b REAL, name TEXT, day TEXT, blob BLOB)")
        each = zip(X["a"].tolist(), X["b"].tolist(), ["0012"] * 40, ["2026-01-02"] * 40)
        db.executemany("INSERT INTO places VALUES (?, ?, ?, ?, x'00')", each)
        db.execute("INSERT INTO places VALUES (0.5, 'x', NULL, NULL, NULL)")
        db.commit()
    before = Path("rows.db").read_bytes()
    where = "SELECT b, a FROM places WHERE name = '0012' ORDER BY rowid;"
    found = run("predict", "m.clg", "--sql", where, "--db", "rows.db", *FEW)
    assert found.code == 0, found.err
    assert_array_equal(read(found.out)["mean"], model.predict(X))
    bad = run("predict", "m.clg", "--sql", "SELECT * FROM places", "--db", "rows.db", "-o", "o.csv")
    assert bad.code == 3 and "the query, row 41, column 'b': 'x' is not a number" in bad.err
    cases = {
        "SELECT c FROM places": (2, "no such column: c"),
        "DELETE FROM places": (2, "syntax error"),
        "SELECT a FROM places": (3, "the query has no column 'b'"),
    }
    for query, (code, words) in cases.items():
        found = run("predict", "m.clg", "--sql", query, "--db", "rows.db")
        assert found.code == code and words in found.err
    assert Path("rows.db").read_bytes() == before
    asked = ("predict", "m.clg", "--sql", "SELECT 1", "--db")
    assert run(*asked, "no.db").code == 3 and run(*asked, "q.csv").code == 3


def test_texts_of_a_query_stay_texts():
    """Codes with leading zeros are no numbers, and dates are dates."""
    with closing(sqlite3.connect("rows.db")) as db:
        db.execute("CREATE TABLE t (code TEXT, day TEXT, y REAL)")
        found = [(f"00{k % 3}", f"2026-01-{1 + k % 28:02d}", np.sin(k)) for k in range(60)]
        db.executemany("INSERT INTO t VALUES (?, ?, ?)", found)
        db.commit()
    query = ("--sql", "SELECT * FROM t", "--db", "rows.db")
    ran = run("fit", *query, "-y", "y", "-o", "m.clg", *SMALL, *FEW)
    assert ran.code == 0, ran.err
    kinds = [one.kind for one in collegium.load("m.clg").encoding_.columns]
    assert kinds == ["levels", "date"] and "(words in code)" in ran.err


def test_info_and_diff(model):
    write_csv("rows.csv", {**rows(), "w": np.ones(60)})
    run("fit", "rows.csv", "-y", "y", "-x", "a,b", "-o", "one.clg", *SMALL, *FEW)
    run("update", "one.clg", "rows.csv", "-o", "two.clg", *FEW)
    said = json.loads(run("info", "one.clg", "--json").out)
    one = collegium.load("one.clg")
    assert said["columns"] == ["a", "b"] and said["target"] == "y" and said["rows"] == 60
    assert said["kernel"] == repr(one.kernel_) and said["noise"] == one.noise_
    assert said["basis"] == one.basis_id_ and said["anchors"] == len(one.anchors_)
    assert said["arguments"] == {
        "chunks": "20", "anchors": "6", "members": "None", "random_state": "5",
    }  # fmt: skip
    words = run("info", "one.clg", "--summary").out.decode()
    assert "y from a, b" in words and repr(one.kernel_) in words and "matters" in words
    assert run("diff", "one.clg", "one.clg", "--json").answer == {"same": True, "differences": {}}
    found = run("diff", "one.clg", "two.clg", "--json").answer["differences"]
    assert found == {"rows": [60, 120], "rows inside": [60, 120], "chunks": [3, 6]}
    found = run("diff", "one.clg", "m.clg", "--json").answer["differences"]
    assert {"kernel", "noise", "anchors", "basis", "chunks", "learn", "target"} <= set(found)
    words = run("diff", "one.clg", "m.clg").out.decode()
    assert f"{one.basis_id_[:16]}  ->  " in words


@pytest.mark.parametrize(
    "args, words",
    [
        (["fit", "rows.csv", "-o", "m2.clg"], "Missing option '-y'"),
        (["fit", "-y", "y", "-o", "m2.clg"], "give DATA"),
        (["fit", "rows.csv", "-y", "y", "-o", "no/m.clg"], "there is no folder"),
        (["fit", "rows.csv", "-y", "y", "-o", "m2.clg", "--time", "soon"], "give 90s, 5m or 1h30m"),
        (["fit", "rows.csv", "-y", "y", "-o", "m2.clg", "--memory", "much"], "such as 2GB"),
        (["fit", "rows.csv", "-y", "y", "-o", "m2.clg", "--test", "2"], "between 0 and 1"),
        (["fit", "rows.csv", "-y", "y", "-x", "y", "-o", "m2.clg"], "'y' is named twice by -y"),
        (["fit", "rows.csv", "-y", "y", "-x", "a,b,a", "-o", "m2.clg"], "'a' is named twice"),
        (["fit", "rows.csv", "-y", "y", "-o", "m2.clg", "--set", "n=1"], "has no such argument"),
        (["fit", "rows.csv", "-y", "y", "-o", "m2.clg", "--set", "seed"], "such as n_local=0"),
        (["fit", "rows.csv", "-y", "y", "-o", "m2.clg", "--likelihood", "odd"], "likelihood='odd'"),
        (["fit", "rows.csv", "-y", "y", "-o", "m2.clg", "--engine", "slurm"], "dask://host:port"),
        (["fit", "-", "rows.csv", "-y", "y", "-o", "m2.clg"], "give it alone"),
        (["fit", "--sql", "SELECT 1", "-y", "y", "-o", "m2.clg"], "--sql and --db belong together"),
        (["predict", "m.clg", "rows.csv", "-o", "out.xls"], "ends with .parquet"),
        (["predict", "m.clg", "rows.csv", "--interval", "95"], "a probability such as 0.9"),
        (["predict", "m.clg", "rows.csv", "--json"], "give -o a file"),
        (["predict", "m.clg", "rows.csv", "-x", "a"], "knows the names of its columns"),
        (["score", "m.clg", "rows.csv"], "give it with -y"),
        (["fit", "rows.csv", "-y", "y", "-o", "./rows.csv"], "one of the files that are read"),
        (["fit", "rows.csv", "-y", "y", "-o", "-"], "give the path of a file"),
        (["predict", "m.clg", "rows.csv", "-o", "rows.csv"], "one of the files that are read"),
        (["predict", "m.clg", "rows.csv", "--exposure", "y"], "not one of counts: leave it out"),
        (["score", "m.clg", "rows.csv", "-y", "y", "--exposure", "a"], "not one of counts"),
        (["fit", "rows.csv", "-y", "y", "--exposure", "b", "-o", "m2.clg"], "exposure means"),
        (["score", "two.clg", "rows.csv", "-y", "y"], "several targets"),
        (["fitt"], "No such command 'fitt'"),
    ],
)
def test_wrong_usage_is_code_two(model, args, words):
    write_csv("rows.csv", rows())
    if "two.clg" in args:
        two = np.column_stack([rows()["y"], rows()["a"]])
        CommitteeRegressor(Matern52(), noise=0.1, learn=False).fit(two, two).save("two.clg")
    found = run(*args)
    assert found.code == 2 and words in found.err, found
    assert found.out == b"" or found.error["code"] == 2
    assert not Path("m2.clg").exists()


def test_model_files_that_are_wrong_are_code_four(model):
    write_csv("rows.csv", rows())
    damaged = bytearray(Path("m.clg").read_bytes())
    damaged[-2000] ^= 1
    Path("damaged.clg").write_bytes(damaged)
    Path("cut.clg").write_bytes(damaged[:100])
    Path("empty.clg").write_bytes(b"")
    for path in ("damaged.clg", "cut.clg", "empty.clg", "rows.csv", "nothing.clg", "."):
        for command in (["info", path], ["predict", path, "rows.csv"], ["diff", "m.clg", path]):
            found = run(*command)
            assert found.code == 4 and path in found.err and found.out == b"", (path, found)


def test_limits_are_code_five(model):
    write_csv("rows.csv", rows())
    found = run("fit", "rows.csv", "-y", "y", "-o", "m2.clg", "--memory", "10kB", "--json")
    assert found.code == 5 and found.error["code"] == 5
    assert "--store FOLDER" in found.err and not Path("m2.clg").exists()


@pytest.mark.slow
def test_rows_on_disk_are_those_that_are_chosen():
    found = rows(2400)
    found["y"][7] = np.nan
    write_csv("rows.csv", {**found, "skip": np.arange(2400) % 6})
    given = ("-y", "y", "-x", "a,b", "--where", "skip <> 0", "--set", "members=None", *FEW)
    ran = run("fit", "rows.csv", *given, "-o", "m.clg", "--store", "r.rows", "--json")
    assert ran.code == 0, ran.err
    assert ran.answer["data"]["rows"] == 1999
    kept = (np.arange(2400) % 6 > 0) & ~np.isnan(found["y"])
    write_csv("kept.csv", {name: values[kept] for name, values in found.items()})
    theirs = CommitteeRegressor(members=None, random_state=0, store="other.rows")
    theirs.fit(collegium.open("kept.csv", target="y"))
    X = pd.DataFrame({"a": [0.1, 1.0], "b": [0.0, -1.0]})
    assert_array_equal(collegium.load("m.clg").predict(X), theirs.predict(X))


def test_shell_completion_is_clicks_own(monkeypatch):
    from click.shell_completion import ShellComplete

    from collegium.cli.main import collegium as group

    found = ShellComplete(group, {}, "collegium", "_COLLEGIUM_COMPLETE")
    assert {one.value for one in found.get_completions([], "")} == set(ORDER)
    assert "--interval" in {one.value for one in found.get_completions(["predict"], "--")}


def test_rows_of_duckdb(model, queries):
    duckdb = pytest.importorskip("duckdb")
    X, _ = queries
    with closing(duckdb.connect("rows.duckdb")) as db:
        db.execute("CREATE TABLE places AS SELECT * FROM read_csv('q.csv')")
    query = "SELECT b, a FROM places ORDER BY id"
    found = run("predict", "m.clg", "--sql", query, "--db", "rows.duckdb", *FEW)
    assert_array_equal(read(found.out)["mean"], model.predict(X))
    wrong = run("predict", "m.clg", "--sql", "SELECT c FROM places", "--db", "rows.duckdb")
    assert wrong.code == 2 and len(wrong.err.splitlines()) == 1


def test_duckdb_that_is_not_installed_is_asked_for(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    Path("rows.duckdb").write_bytes(b"")
    found = run("predict", "m.clg", "--sql", "SELECT 1", "--db", "rows.duckdb")
    assert found.code == 2 and "pip install 'collegium[duckdb]'" in found.err


@pytest.mark.slow
def test_a_cluster_gives_the_same_file():
    distributed = pytest.importorskip("distributed")
    write_csv("rows.csv", rows(300))
    given = ("-y", "y", "--set", "chunks=50", "--set", "anchors=9", "--set", "members=None")
    workers = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    place = {"host": "127.0.0.1", "dashboard_address": None, "protocol": "tcp://"}
    with distributed.LocalCluster(**workers, **place) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        found = run("fit", "rows.csv", *given, "-o", "far.clg", "--engine", address)
    assert found.code == 0, found.err
    assert run("fit", "rows.csv", *given, "-o", "near.clg").code == 0
    assert Path("far.clg").read_bytes() == Path("near.clg").read_bytes()
    refused = run("fit", "rows.csv", "-y", "y", "-o", "m.clg", "--engine", "dask://127.0.0.1:1")
    assert refused.code == 2 and "nobody answers there" in refused.err


def test_stores_tell_conditions_apart():
    """A folder of rows is used again only for the same rows."""
    write_csv("rows.csv", rows())
    source = collegium.open("rows.csv", target="y")
    texts = ("a > 0", "a > 1", "a > 0")
    rules = [ChosenRows(Condition.of(text, ["a", "b", "y"], "rows.csv"), ()) for text in texts]
    first, other, again = (origin_of(replace(source, rule=rule)) for rule in rules)
    assert first == again and len({first, other, origin_of(source)}) == 3
    dropping = origin_of(replace(source, rule=ChosenRows(None, ("y",))))
    assert dropping not in (first, other, origin_of(source))
