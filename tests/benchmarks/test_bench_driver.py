"""The benchmark's own machinery: names, splits, limits, tables. No peer is needed."""

import json
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.harness import driver, render
from benchmarks.harness.data import random_split, thinned
from benchmarks.harness.task import chosen
from benchmarks.tasks.regression import plan, scores, sets
from benchmarks.tasks.regression.render import table

ROW = {
    "RMSE": 0.5, "NLPD": 0.7, "pinball": 0.1234, "CRPS": 0.25, "coverage": 0.95,
    "interval": 2.0, "median_z": 0.61, "coverage_by_width": [0.93, 0.951, 1.0],
    "coverage_by_mean": None, "fit_cpu_s": 12.0, "predict_cpu_s": 0.5, "fit_wall_s": 13.0,
    "predict_wall_s": 0.6, "peak_gb": 0.4, "baseline_gb": 0.2, "n_train": 900, "n_available": 900,
    "n_test": 100, "d": 3, "split": "a random tenth for testing", "versions": {"numpy": "2.0"},
    "configuration": {"threads": 1},
    "machine": {"cpu": "x", "cores": 2, "memory_gb": 8, "system": "s", "python": "3", "date": "d"},
}  # fmt: skip
#: What results had not, once.
NEW = ("pinball", "CRPS", "median_z", "coverage_by_width", "coverage_by_mean")


def test_names_may_have_hyphens_stars_and_any_case():
    names = tuple(plan.METHODS)
    assert chosen(["collegium-fast"], names) == ["collegium fast"]
    assert chosen(["collegium*"], names) == list(plan.OURS)
    assert chosen(["gpboost", "exact-gp-2500-rows"], names) == [
        "exact GP, 2,500 rows", "GPBoost",
    ]  # fmt: skip
    assert chosen(None, names) == list(names)
    with pytest.raises(SystemExit, match="no such name: nobody"):
        chosen(["nobody"], names)


def test_unit_is_what_the_training_rows_were_divided_by():
    rng = np.random.default_rng(0)
    y = 7.0 + 3.0 * rng.normal(size=200)
    found = random_split({"X": rng.normal(size=(200, 2)), "y": y})
    test = np.random.default_rng(0).permutation(200)[:20]
    gap = np.subtract.outer(y[test], y[test])
    np.testing.assert_allclose(
        np.subtract.outer(found.y_test, found.y_test) * found.unit, gap, atol=1e-12
    )


def test_published_split_and_the_error_in_its_own_units(tmp_path):
    rng = np.random.default_rng(0)
    X, y, test = rng.normal(size=(90, 2)), 7.0 + 3.0 * rng.normal(size=90), np.arange(0, 90, 3)
    np.savez(tmp_path / "heaton_satellite.npz", X=X, y=y, test_index_std=test)
    found = sets.split(tmp_path, "heaton_satellite")
    train = np.setdiff1d(np.arange(90), test)
    assert found.rule == "the published split"
    np.testing.assert_allclose(found.X_test, (X[test] - X[train].mean(0)) / X[train].std(0))
    row = scores.of_answer(found, (np.zeros(30), np.ones(30)))
    expected = np.sqrt(np.mean((y[test] - y[train].mean()) ** 2))
    assert row["RMSE_original"] == pytest.approx(expected, rel=1e-12) and row["unit"] == "°C"
    assert sets.split(tmp_path, "heaton_satellite", 7).y.size == 7


def test_sex_of_abalone_becomes_three_columns():
    X = np.array([[1, 0.3], [2, 0.4], [3, 0.5], [1, 0.6]] * 10, dtype=float)
    found = sets._abalone({"X": X, "y": np.arange(40.0)})
    assert found.X.shape[1] == 4


def test_thinned_keeps_the_test_rows():
    X = np.random.default_rng(0).normal(size=(50, 1))
    split = random_split({"X": X, "y": np.arange(50.0)})
    small = thinned(split, 7)
    assert small.y.size == 7 and np.unique(small.y).size == 7
    assert small.y_test is split.y_test and small.unit == split.unit
    assert thinned(split, 45) is split and thinned(split, None) is split


def test_a_run_that_takes_too_long_or_too_much_is_stopped():
    def start(code):
        return subprocess.Popen([sys.executable, "-c", code], start_new_session=True)

    slow = "import time; time.sleep(60)"
    assert driver.watch(start(slow), 0.3, 100.0) == "not done within 0 s"
    assert "more than 0 GB" in driver.watch(start(slow), 30.0, 1e-6)
    assert driver.watch(start("pass"), 30.0, 100.0) is None


def test_a_missing_file_is_reported(tmp_path, capsys):
    driver.main([str(tmp_path), "--sets", "kin8nm"])
    assert "skipped: no kin8nm.npz" in capsys.readouterr().out


def test_what_is_stored_is_not_run_again(tmp_path, monkeypatch):
    (tmp_path / "kin8nm.npz").touch()
    path = tmp_path / "regression" / "kin8nm.json"
    driver.store(path, {"LightGBM": ROW}, plan.METHODS)
    ran = []
    monkeypatch.setattr(driver, "run", lambda what, given, o: ran.append(what) or ROW)
    given = [str(tmp_path), "--sets", "kin8nm", "--out", str(tmp_path), "--methods", "lightgbm"]
    driver.main([*given, "gpboost"])
    assert ran == [["regression", str(tmp_path), "kin8nm", "GPBoost"]]
    driver.main([*given, "--again"])
    assert [what[-1] for what in ran] == ["GPBoost", "LightGBM"]
    assert set(json.loads(path.read_text())) == {"GPBoost", "LightGBM"}


def test_tables_are_sorted_and_say_why_not():
    results = {
        "collegium": ROW | {"NLPD": 0.6},
        "exact GP, 2,500 rows": ROW | {"NLPD": -0.25},
        "GPBoost": ROW | {"NLPD": 0.9, "NLPD_t": -0.75, "n_train": 500},
        "LightGBM": {k: v for k, v in ROW.items() if k not in NEW} | {"NLPD": 1.0},
        "MuyGPyS": {"failed": "not done within 1,800 s"},
        "exact GP, 5,000 rows": {"skipped": "the set has 900 rows"},
    }
    lines = table(results).splitlines()[2:]
    assert [line.split(" | ")[0].strip("| ") for line in lines] == [
        "exact GP, all rows", "**collegium**", "GPBoost", "LightGBM", "MuyGPyS",
    ]  # fmt: skip
    assert "−0.250" in lines[0] and "500 (random subset)" in lines[2]
    assert "| 0.600 | – | 0.1234 | 0.2500 | 0.61 | 95.0 % | 93 · 95 · 100 | – |" in lines[1]
    assert "| 0.900 | −0.750 | 0.1234 | 0.2500 | 0.61 |" in lines[2]
    assert "| 1.000 | – | – | – | – | 95.0 % | – | – |" in lines[3]  # a result of old
    assert "not done within 1,800 s" in lines[4]
    text = render.document({"regression": {"kin8nm": results}}, ["bench_overview.png"])
    assert "pictures/bench_overview.png" in text and "one thread" in text


@pytest.mark.slow
def test_a_worker_measures_in_a_process_of_its_own(tmp_path):
    given = [str(tmp_path), "--sets", "breast_cancer", "--out", str(tmp_path), "--quick"]
    driver.main([*given, "--methods", "logistic-regression", "lightgbm", "scikit-learn-gp"])
    found = json.loads((tmp_path / "classes" / "breast_cancer.json").read_text())
    row = found["logistic regression"]
    assert row["accuracy"] > 0.9 and row["n_train"] == 500 and row["peak_gb"] > 0.0
    assert row["configuration"]["threads"] == 1 and row["machine"]["cores"] >= 1
    other = found["LightGBM"]
    assert "accuracy" in other or other["missing"]  # where it is not installed
    assert "scikit-learn GP" not in found  # which waits for our time
