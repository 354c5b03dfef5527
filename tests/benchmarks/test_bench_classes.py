"""Classes, counts and outliers: scores, sets, budgets, tables. No peer is needed."""

import json

import numpy as np
import pytest
from sklearn.metrics import log_loss, mean_poisson_deviance

from benchmarks import tasks
from benchmarks.harness import driver, render
from benchmarks.tasks.classes import render as class_page
from benchmarks.tasks.classes import sets as class_sets
from benchmarks.tasks.classes.plan import METHODS
from benchmarks.tasks.classes.scores import of_answer, of_classes
from benchmarks.tasks.counts.scores import of_counts
from benchmarks.tasks.outliers import sets as outlier_sets

ROW = {
    "accuracy": 0.9, "log_loss": 0.3, "ece": 0.02, "brier": 0.15, "top": 0.91, "classes": 3,
    "reliability": [{"share": 1.0, "said": 0.91, "right": 0.9}], "fit_cpu_s": 12.0,
    "predict_cpu_s": 0.5, "peak_gb": 0.4, "baseline_gb": 0.2, "n_train": 900, "n_available": 900,
    "n_test": 100, "d": 3, "chunks": 4, "sweeps": 6, "versions": {"numpy": "2.0"},
    "configuration": {"threads": 1},
    "machine": {"cpu": "x", "cores": 2, "memory_gb": 8, "system": "s", "python": "3", "date": "d"},
}  # fmt: skip


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    P = rng.dirichlet([0.5, 1.0, 2.0], size=400)
    return np.array([rng.choice(3, p=p) for p in P]), P


def test_log_loss_and_brier_are_those_of_the_books(table):
    y, P = table
    found = of_classes(y, P)
    assert found["log_loss"] == pytest.approx(log_loss(y, P), rel=1e-9)
    slow = sum((p[k] - (k == label)) ** 2 for p, label in zip(P, y) for k in range(3)) / y.size
    assert found["brier"] == pytest.approx(slow, rel=1e-12)


def test_calibration_error_is_small_for_true_probabilities_and_large_for_timid_ones(table):
    y, P = table
    timid = np.sqrt(P) / np.sqrt(P).sum(axis=1, keepdims=True)
    assert of_classes(y, P)["ece"] < 0.08
    found = of_classes(y, timid)
    assert found["ece"] > 0.1 and found["top"] < found["accuracy"]
    sure = np.eye(3)[y]  # a probability of one falls into the last bin
    assert of_classes(y, sure)["ece"] == 0.0


def test_deviance_of_counts():
    rng = np.random.default_rng(0)
    mean = rng.uniform(0.5, 9.0, size=50)
    y = rng.poisson(mean)
    found = of_counts(y, mean, 0 * mean, mean + 100)
    assert found["deviance"] == pytest.approx(mean_poisson_deviance(y, mean), rel=1e-9)
    assert found["coverage"] == 1.0 and found["width"] == pytest.approx(mean.mean() + 100)


def test_a_tenth_of_the_targets_is_spoilt_and_no_test_row(tmp_path):
    rng = np.random.default_rng(1)
    np.savez(tmp_path / "kin8nm.npz", X=rng.normal(size=(2000, 3)), y=rng.normal(size=2000))
    clean = outlier_sets.split(tmp_path, "kin8nm_clean")
    bad = outlier_sets.split(tmp_path, "kin8nm_outliers")
    error = bad.y - clean.y
    assert np.count_nonzero(error) == 180
    assert 8.0 < error[error != 0].std() < 12.0
    np.testing.assert_array_equal(bad.y_test, clean.y_test)


def test_classes_are_codes_and_inputs_standardised():
    split = class_sets.split("nowhere", "digits", 500)
    assert split.y.size == 500 and set(split.y) == set(range(10))
    np.testing.assert_allclose(split.X.mean(axis=0), 0.0, atol=1e-12)


def test_a_subset_may_lack_a_class():
    split = class_sets.split("nowhere", "digits", 500)
    known = np.arange(9)
    P = np.full((split.y_test.size, 9), 1.0 / 9.0)
    found = of_answer(split, (P, known))
    full = np.hstack([P, np.zeros((len(P), 1))])
    assert found == {"classes": 10, **of_classes(split.y_test, full)}


def test_the_subset_of_a_gp_waits_for_our_time():
    options = driver.parser().parse_args([])
    usual = driver.further_arguments(METHODS["LightGBM"], {}, options)
    assert usual == ["--seed", "0", "--threads", "1"]
    gp = METHODS["scikit-learn GP"]
    assert driver.further_arguments(gp, {}, options) is None
    given = driver.further_arguments(gp, {"collegium": ROW}, options)
    assert given == [*usual, "--budget", "12.0"]
    options.quick = True
    assert driver.further_arguments(METHODS["LightGBM"], {}, options) == [*usual, "--rows", "500"]


def test_what_was_missing_is_tried_again(tmp_path, monkeypatch):
    (tmp_path / "bike_hour.npz").touch()
    first = {"LightGBM Poisson": {"skipped": "lightgbm is not installed", "missing": True}}
    path, methods = tmp_path / "counts" / "bike_hour_counts.json", tasks.plan("counts").methods
    driver.store(path, first, methods)
    monkeypatch.setattr(driver, "run", lambda what, given, o: {"failed": what[-1]})
    driver.main([str(tmp_path), "--sets", "bike_hour_counts", "--out", str(tmp_path)])
    stored = json.loads(path.read_text())
    assert stored["LightGBM Poisson"]["failed"] == "LightGBM Poisson"
    assert list(stored) == list(methods)


def test_the_page_is_sorted_and_says_why_not():
    results = {
        "collegium": ROW,
        "scikit-learn GP": ROW | {"log_loss": 0.25, "n_train": 500},
        "LightGBM": {"failed": "not done within 1,800 s"},
    }
    lines = class_page.table(results).splitlines()[2:]
    assert [line.split(" | ")[0].strip("| ") for line in lines] == [
        "scikit-learn GP", "**collegium**", "LightGBM",
    ]  # fmt: skip
    assert "500 (random subset)" in lines[0] and "not done" in lines[2]
    text = render.document({"classes": {"digits": results}}, ["classes_time.png"])
    assert "pictures/classes_time.png" in text and "one thread" in text
