"""The study of two versions: sets, pairs, standard errors, and runs that are resumed."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import t

from benchmarks.harness.task import Method
from benchmarks.peers.catboost_stopping import table
from benchmarks.studies.never_behind import __main__ as study
from benchmarks.studies.never_behind import compare, measure, sets, synthetic
from benchmarks.tasks.regression import student
from benchmarks.tasks.regression.sets import split
from collegium import kernels


def line(squared, other, *, split=0, name="a", method="m", **more):
    """A result with blocks of squared errors and of log densities."""
    blocks = {"squared": list(squared), "NLPD": list(other)}
    blocks |= {"pinball": list(other), "CRPS": list(other)}
    key = {"set": name, "split": split, "method": method, "rows": None, "random_state": 0}
    costs = {"coverage": 0.95, "fit_cpu_s": 1.0, "ms_per_answer": 0.1, "coverage_by_sd": None}
    return {**key, **costs, "blocks": blocks, **more}


# -- sets -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(synthetic.TABLES))
def test_tables_are_functions_of_their_seed(name):
    if name.startswith("prior"):
        prior = synthetic.PRIORS[int(name.removeprefix("prior_")) - 1]
        make = synthetic.Prior(prior.family, prior.lengths, prior.noise, rows=50).draw
    else:
        make = synthetic.TABLES[name]
    (X, y), (again, z), (_, other) = make(1), make(1), make(2)
    assert pd.DataFrame(X).equals(pd.DataFrame(again)) and np.array_equal(y, z)
    assert len(X) == y.size and np.isfinite(y).all() and not np.array_equal(y, other)


@pytest.mark.parametrize(("family", "ours"), [
    ("exponential", "Matern12"), ("Matérn 3/2", "Matern32"), ("Matérn 5/2", "Matern52"),
    ("RBF", "RBF"),
])  # fmt: skip
def test_priors_have_the_kernels_of_their_names(family, ours):
    X, lengths = np.random.default_rng(0).normal(size=(9, 2)), np.array([0.4, 1.7])
    found = synthetic.FAMILIES[family](synthetic._distances(X / lengths))
    assert_allclose(found, getattr(kernels, ours)(1.0, lengths).value(X, X), atol=1e-7)


def test_the_size_and_shape_of_made_tables():
    X, y = synthetic.survey(0)
    assert X.shape == (23_000, 24) and set(np.unique(y)) == {0.0, 1.0}
    ratings = X.filter(like="rating")
    assert ratings.shape[1] == 20 and set(np.unique(ratings)) == set(range(6))
    assert X["town"].nunique() == 40 and synthetic.null_noise(0)[0].shape == (4_000, 6)
    assert np.unique(synthetic.ties(0)[1]).size == 11
    assert np.unique(synthetic.ids(0)[0][:, 0]).size == 5_000
    X, y = synthetic.leaky_duplicates(0)
    rows, first, number = np.unique(X, axis=0, return_index=True, return_counts=True)
    assert (number > 1).sum() > 500 and np.unique(np.column_stack([X, y]), axis=0).shape[0] == 3_000


def test_the_first_split_is_that_of_the_benchmark_and_others_differ(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {"X": rng.normal(size=(90, 2)), "y": rng.normal(size=90)}
    np.savez(tmp_path / "kin8nm.npz", **arrays)
    first, other = (sets.part(tmp_path, "kin8nm", k, None) for k in (0, 1))
    bench = split(tmp_path, "kin8nm")
    assert_allclose(first.rows.X, bench.X)
    assert_allclose(first.rows.y_test, bench.y_test)
    assert not np.allclose(other.rows.y_test, bench.y_test)
    assert sets.part(tmp_path, "kin8nm", 0, 40).rows.y.size == 40
    assert sets.part(tmp_path, "naval", 0, None) is None
    np.savez(tmp_path / "wine_red.npz", **arrays)
    first, other = (sets.part(tmp_path, "wine_red_distinct", k, 50) for k in (0, 1))
    assert first.rows.y.size == 50 and not np.allclose(first.rows.y_test, other.rows.y_test)
    assert sets.count(999) == 5 and sets.count(1_000) == 1


def test_words_become_codes_that_training_rows_know():
    X = pd.DataFrame({"a": np.arange(100.0), "w": ["x", "y"] * 50})
    order = np.random.default_rng(3).permutation(100)
    X.loc[order[0], "w"], X.loc[order[50], "w"] = "new", None  # in the test, in the training rows
    y = np.arange(100.0)
    found = sets.from_frame(X, y, 3, None)
    assert found.categories == (1,) and found.rows.X.shape == (90, 2)
    assert np.isnan(found.rows.X_test[0, 1]) and np.isnan(found.rows.X[40, 1])
    words = np.array(["x", "y"])[found.rows.X_test[1:, 1].astype(int)]
    assert list(words) == list(found.X_test["w"][1:])
    assert_allclose(found.rows.X[:, 0], found.X["a"])
    assert found.rows.y.mean() == pytest.approx(0.0) and found.rows.y.std() == pytest.approx(1.0)


def test_catboost_is_given_codes_as_words():
    X = np.array([[0.5, 1.0], [0.7, np.nan], [np.nan, 12.0]])
    found = table(X, (1,))
    assert list(found[1]) == ["1", "missing", "12"]
    assert_allclose(found[0], X[:, 0])
    assert table(X, ()) is X


# -- differences ------------------------------------------------------------------------------


def test_a_difference_of_one_split_has_the_error_of_its_blocks():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 50)) + 3.0
    gap, error = compare.difference([line(a, a)], [line(b, b)], "NLPD")
    assert gap == pytest.approx((a - b).mean())
    assert error == pytest.approx((a - b).std(ddof=1) / np.sqrt(50))


def test_several_splits_have_the_larger_of_two_errors():
    rng = np.random.default_rng(1)
    b = rng.normal(size=(5, 50))
    steady = b + 0.1 + 0.5 * rng.normal(size=(5, 50))
    steady += 0.1 - (steady - b).mean(axis=1, keepdims=True)  # every split differs by the same
    moved = b + np.arange(5.0)[:, None]  # within splits there is no difference
    for a in (steady, moved):
        new, old = ([line(x, x, split=k) for k, x in enumerate(one)] for one in (a, b))
        gap, error = compare.difference(new, old, "NLPD")
        each = (a - b).mean(axis=1)
        within = np.sqrt(((a - b).var(axis=1, ddof=1) / 50).sum()) / 5
        assert gap == pytest.approx(each.mean())
        assert error == pytest.approx(max(each.std(ddof=1) / np.sqrt(5), within))


def test_the_error_of_a_ratio_of_rmses_is_that_of_repeated_samples():
    """Against the spread over 2,000 samples of 50 blocks."""
    rng = np.random.default_rng(2)

    def sample():
        common = rng.gamma(4.0, 0.25, 50)
        return 2.25 * common * rng.gamma(50.0, 0.02, 50), common

    found, errors = [], []
    for _ in range(2_000):
        a, b = sample()
        gap, error = compare.difference([line(a, a)], [line(b, b)], "RMSE")
        assert gap == pytest.approx(100.0 * (np.sqrt(a.mean() / b.mean()) - 1.0))
        found.append(gap)
        errors.append(error)
    assert np.mean(found) == pytest.approx(50.0, abs=0.2)
    assert np.mean(errors) == pytest.approx(np.std(found), rel=0.1)


def test_losses_count_beyond_tolerance_and_chance():
    assert compare.verdict("NLPD", 0.02, 0.005) == "NLPD BEHIND"
    assert compare.verdict("NLPD", 0.02, 0.02) == ""
    assert compare.verdict("NLPD", 0.004, 0.0001) == ""
    assert compare.verdict("RMSE", 0.4, 0.01) == ""
    assert compare.verdict("RMSE", -0.7, 0.01) == "RMSE better"


def test_only_splits_that_both_runs_have_are_compared():
    ones = np.ones(50)
    new = [line(ones, ones + 0.1, split=k) for k in range(3)] + [line(ones, ones, name="b")]
    old = [line(ones, ones, split=k, random_state=7) for k in (0, 2, 4)]
    old.append(line(ones, ones, split=1, failed="no"))
    (found,) = compare.compared(new, old)
    assert found["set"] == "a" and found["splits"] == 2
    assert found["ΔNLPD"].startswith("+0.1000") and "NLPD BEHIND" in found[""]
    assert compare.compared(new, [line(ones, ones, rows=500)]) == []


def test_a_score_that_one_run_lacks_is_not_compared():
    ones = np.ones(50)
    other = line(ones, ones)
    del other["blocks"]["NLPD"]
    assert compare.difference([line(ones, ones)], [other], "NLPD") is None
    assert compare.compared([line(ones, ones)], [other])[0]["ΔNLPD"] == "–"


# -- runs -------------------------------------------------------------------------------------


class Peer:
    """Predicts zero; fails where it is told to."""

    fails = False
    fitted = 0

    def __init__(self, seed, threads):
        pass

    def fit(self, X, y):
        type(self).fitted += 1
        if self.fails:
            raise ValueError("no")
        self.held = y[:20], np.zeros(20), np.ones(20)

    def predict(self, Xs):
        return np.zeros(len(Xs)), 0.05 + np.arange(len(Xs)) / len(Xs)


@pytest.fixture
def peer(monkeypatch):
    model = type("Model", (Peer,), {})
    monkeypatch.setattr(study, "METHODS", {"peer": Method("regression.peer")})
    module = type("Module", (), {"Model": model})
    monkeypatch.setattr(measure.importlib, "import_module", lambda _: module)
    return model


def run(tmp_path, *more):
    out = tmp_path / "out.jsonl"
    study.main([str(tmp_path), "--out", str(out), "--methods", "peer", *more])
    return compare.lines(out)


def test_a_run_is_resumed_and_failures_are_tried_again(tmp_path, peer, capsys):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "kin8nm.npz", X=rng.normal(size=(300, 2)), y=rng.normal(size=300))
    peer.fails = True
    found = run(tmp_path, "--sets", "kin8nm")
    assert len(found) == 5 and all(row["failed"] == "ValueError: no" for row in found)
    peer.fails = False
    found = run(tmp_path, "--sets", "kin8nm")
    assert peer.fitted == 10 and [row["split"] for row in found[5:]] == [0, 1, 2, 3, 4]
    with Path(tmp_path / "out.jsonl").open("a") as stream:
        stream.write('{"set": "kin8nm", "spl')  # a run that was stopped
    run(tmp_path, "--sets", "kin8nm")
    assert peer.fitted == 10
    run(tmp_path, "--sets", "kin8nm", "--rows", "100")
    assert peer.fitted == 15
    capsys.readouterr()
    run(tmp_path, "--report", "--against", str(tmp_path / "out.jsonl"))
    text = capsys.readouterr().out
    assert peer.fitted == 15 and "behind on 0 of" in text


def test_what_a_line_says(tmp_path, peer):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "kin8nm.npz", X=rng.normal(size=(300, 2)), y=rng.normal(size=300))
    row = run(tmp_path, "--sets", "kin8nm", "--random-state", "3")[0]
    data = sets.part(tmp_path, "kin8nm", 0, None).rows
    y, std = data.y_test, 0.05 + np.arange(30) / 30
    assert row["random_state"] == 3 and row["n_train"] == 270 and row["n_test"] == 30
    assert row["RMSE"] == pytest.approx(np.sqrt(np.mean(y**2)))
    assert_allclose(row["blocks"]["squared"], y**2, rtol=1e-6)
    s, nu = student.fitted(data.y[:20])
    assert_allclose(row["blocks"]["NLPD_t"], -t.logpdf(y, nu, 0.0, s * std), rtol=1e-6)
    assert np.mean(row["blocks"]["NLPD_t"]) == pytest.approx(row["NLPD_t"])
    inside = np.abs(y) <= 1.96 * std
    assert inside[:10].mean() < inside[20:].mean()
    assert row["coverage_by_sd"] == [inside[k : k + 10].mean() for k in (0, 10, 20)]
    json.dumps(row)
