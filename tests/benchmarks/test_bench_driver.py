"""The benchmark's own machinery: names, splits, limits, tables. No peer is needed."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bench
import plan
import render
import sets

ROW = {
    "RMSE": 0.5, "NLPD": 0.7, "coverage": 0.95, "interval": 2.0, "fit_cpu_s": 12.0,
    "predict_cpu_s": 0.5, "fit_wall_s": 13.0, "predict_wall_s": 0.6, "peak_gb": 0.4,
    "baseline_gb": 0.2, "n_train": 900, "n_available": 900, "n_test": 100, "d": 3,
    "split": "a random tenth for testing", "versions": {"numpy": "2.0"},
    "configuration": {"threads": 1},
    "machine": {"cpu": "x", "cores": 2, "memory_gb": 8, "system": "s", "python": "3", "date": "d"},
}  # fmt: skip


def test_names_may_have_hyphens_stars_and_any_case():
    names = tuple(plan.METHODS)
    assert plan.chosen(["collegium-fast"], names) == ["collegium fast"]
    assert plan.chosen(["collegium*"], names) == list(plan.OURS)
    assert plan.chosen(["gpboost", "exact-gp-2500-rows"], names) == [
        "exact GP, 2,500 rows", "GPBoost",
    ]  # fmt: skip
    assert plan.chosen(None, names) == list(names)
    with pytest.raises(SystemExit, match="no such name: nobody"):
        plan.chosen(["nobody"], names)


def test_every_method_has_its_file():
    for method in plan.METHODS.values():
        assert (Path(render.HERE) / "peers" / f"{method.module}.py").exists()
        assert render.about(method.module)


def test_unit_is_what_the_training_rows_were_divided_by():
    rng = np.random.default_rng(0)
    y = 7.0 + 3.0 * rng.normal(size=200)
    found = sets._tenth({"X": rng.normal(size=(200, 2)), "y": y})
    test = np.random.default_rng(0).permutation(200)[:20]
    gap = np.subtract.outer(y[test], y[test])
    np.testing.assert_allclose(
        np.subtract.outer(found.split.y_test, found.split.y_test) * found.unit, gap, atol=1e-12
    )


def test_sex_of_abalone_becomes_three_columns():
    X = np.array([[1, 0.3], [2, 0.4], [3, 0.5], [1, 0.6]] * 10, dtype=float)
    found = sets._abalone({"X": X, "y": np.arange(40.0)})
    assert found.split.X.shape[1] == 4


def test_thinned_keeps_the_test_rows():
    split = sets._tenth({"X": np.random.default_rng(0).normal(size=(50, 1)), "y": np.arange(50.0)})
    small = sets.thinned(split.split, 7)
    assert small.y.size == 7 and np.unique(small.y).size == 7
    assert small.y_test is split.split.y_test


def test_a_run_that_takes_too_long_or_too_much_is_stopped():
    def start(code):
        return subprocess.Popen([sys.executable, "-c", code], start_new_session=True)

    slow = "import time; time.sleep(60)"
    assert bench.watch(start(slow), 0.3, 100.0) == "not done within 0 s"
    assert "more than 0 GB" in bench.watch(start(slow), 30.0, 1e-6)
    assert bench.watch(start("pass"), 30.0, 100.0) is None


def test_a_missing_folder_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench.py", str(tmp_path), "--sets", "kin8nm"])
    bench.main()
    assert "skipped: no kin8nm.npz" in capsys.readouterr().out


def test_what_is_stored_is_not_run_again(tmp_path, monkeypatch):
    (tmp_path / "kin8nm.npz").touch()
    bench.store(tmp_path / "kin8nm.json", {"LightGBM": ROW})
    ran = []
    monkeypatch.setattr(bench, "run", lambda f, s, method, o: ran.append(method) or ROW)
    given = ["bench.py", str(tmp_path), "--sets", "kin8nm", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*given, "--methods", "lightgbm", "gpboost"])
    bench.main()
    assert ran == ["GPBoost"]
    monkeypatch.setattr(sys, "argv", [*given, "--methods", "lightgbm", "--again"])
    bench.main()
    assert ran == ["GPBoost", "LightGBM"]
    assert set(json.loads((tmp_path / "kin8nm.json").read_text())) == {"GPBoost", "LightGBM"}


def test_tables_are_sorted_and_say_why_not():
    results = {
        "collegium": ROW | {"NLPD": 0.6},
        "exact GP, 2,500 rows": ROW | {"NLPD": -0.25},
        "GPBoost": ROW | {"NLPD": 0.9, "n_train": 500},
        "MuyGPyS": {"failed": "not done within 1,800 s"},
        "exact GP, 5,000 rows": {"skipped": "the set has 900 rows"},
    }
    lines = render.table(results).splitlines()[2:]
    assert [line.split(" | ")[0].strip("| ") for line in lines] == [
        "exact GP, all rows", "**collegium**", "GPBoost", "MuyGPyS",
    ]  # fmt: skip
    assert "−0.250" in lines[0] and "500 (random subset)" in lines[2]
    assert "not done within 1,800 s" in lines[3]
    text = render.document({"kin8nm": results}, ["bench_overview.png"])
    assert "pictures/bench_overview.png" in text and "one thread" in text
