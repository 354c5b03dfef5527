"""Scores of predictive distributions, the t about a peer's answers, and second fits of peers.

No peer is needed.
"""

import json
from argparse import Namespace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm, t

from benchmarks import tasks
from benchmarks.harness import driver, worker
from benchmarks.harness.data import random_split
from benchmarks.harness.forecast import Forecast
from benchmarks.harness.task import Method
from benchmarks.tasks.regression import pictures, scores, student

NU = 3.0


class Heavy:
    """A model of ours that predicts t's about zero."""

    def scale(self, X):
        return np.exp(X[:, 0])

    def predict(self, X):
        return 0.1 * X[:, 1]

    def log_density(self, X, y):
        return t.logpdf(y, NU, self.predict(X), self.scale(X))

    def cdf(self, X, y):
        return t.cdf(y, NU, self.predict(X), self.scale(X))

    def quantile(self, X, q):
        return np.column_stack([t.ppf(p, NU, self.predict(X), self.scale(X)) for p in q])


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 2))
    return X, 0.1 * X[:, 1] + np.exp(X[:, 0]) * rng.standard_t(NU, 2_000)


def test_a_forecast_is_scored_by_its_own_density_and_interval(rows):
    X, y = rows
    model = Heavy()
    found = scores.scores(y, Forecast.own(model, X, y))
    mean, scale = model.predict(X), model.scale(X)
    assert_allclose(found["NLPD"], -t.logpdf(y, NU, mean, scale).mean(), rtol=1e-12)
    lower, upper = t.interval(0.95, NU, mean, scale)
    assert found["coverage"] == np.mean((lower <= y) & (y <= upper))
    assert_allclose(found["RMSE"], np.sqrt(np.mean((y - mean) ** 2)))
    assert found["median_z"] == pytest.approx(0.6745, abs=0.05)
    timid = scores.scores(y, Forecast.normal(y, mean, 10.0 * scale))
    assert timid["median_z"] < 0.15 and timid["NLPD"] > found["NLPD"] + 0.5


def test_the_forecast_of_a_mean_and_a_deviation_is_a_normal(rows):
    _, y = rows
    mean, std = np.sin(y), 1.0 + np.cos(y) ** 2
    found = Forecast.normal(y, mean, std)
    assert_allclose(found.log_density, norm.logpdf(y, mean, std))
    assert_allclose(found.probability, norm.cdf(y, mean, std))
    assert_allclose([found.lower, found.upper], norm.interval(0.95, mean, std))


def test_parts_of_the_rows_are_put_together_in_their_order(rows):
    X, y = rows
    order = np.random.default_rng(1).permutation(y.size)
    parts = [Forecast.own(Heavy(), X[part], y[part]) for part in np.array_split(order, 3)]
    whole, joined = Forecast.own(Heavy(), X, y), Forecast.joined(parts, order)
    for name in Forecast.__dataclass_fields__:
        assert_allclose(getattr(joined, name), getattr(whole, name))


def test_coverage_by_width_and_by_mean():
    """The narrowest third misses always, the others never; means run against widths."""
    y, half = np.zeros(30), np.arange(1.0, 31.0)
    mean = np.where(half <= 10, 40.0 - half, -0.5 * half)
    forecast = Forecast(mean, y, y, mean - half, mean + half, y, y)
    found = scores.where(y, forecast)
    assert found["coverage_by_width"] == [0.0, 1.0, 1.0]
    assert found["coverage_by_mean"] == [1.0, 1.0, 0.0]
    assert found["coverage_by_tenths_of_width"] == [0.0] * 3 + [2 / 3] + [1.0] * 6
    same = Forecast(mean, y, y, mean - 0.3, mean + 0.3, y, y)  # one width for all, but for rounding
    assert np.ptp(same.upper - same.lower) > 0
    assert scores.where(y, same)["coverage_by_width"] is None
    assert scores.where(y, same)["coverage_by_tenths_of_width"] is None


@pytest.mark.parametrize(("s", "nu"), [(0.3, 2.0), (1.0, 4.0), (5.0, 15.0)])
def test_the_t_is_found_again(s, nu):
    z = s * np.random.default_rng(1).standard_t(nu, 20_000)
    scale, found = student.fitted(z)
    assert scale == pytest.approx(s, rel=0.03) and found == pytest.approx(nu, rel=0.2)
    best = t.logpdf(z, found, scale=scale).sum()
    for other in (0.97 * scale, 1.03 * scale):
        assert t.logpdf(z, found, scale=other).sum() < best
    assert t.logpdf(z, nu, scale=s).sum() <= best + 1e-3


def test_normal_errors_are_left_normal():
    z = np.random.default_rng(1).normal(size=1_000)
    scale, nu = student.fitted(z)
    assert student.nlpd(z, 0.0, 1.0, scale, nu) == pytest.approx(-norm.logpdf(z).mean(), abs=0.005)


def test_the_t_of_a_peer_is_learnt_from_rows_that_it_was_not_fitted_to(rows):
    X, y = rows
    split = random_split({"X": X, "y": y})
    asked = []

    def again(kept, targets, out):
        asked.append((kept, targets, out))
        return np.zeros(len(out)), np.ones(len(out))

    answer = np.zeros(200), np.ones(200)
    found = student.of_peer(split, answer, None, again)
    (kept, targets, out) = asked.pop()
    assert len(out) == 180 and len(kept) == len(targets) == 1620
    both = np.vstack([kept, out])
    assert_allclose(np.sort(both, axis=0), np.sort(split.X, axis=0))
    assert found["t"]["rows"] == 180 and found["t"]["from"] == "second fit"
    normal = scores.of_answer(split, answer)["NLPD"]
    assert found["NLPD_t"] < normal - 0.1
    held = split.y[:500], np.zeros(500), np.ones(500)
    found = student.of_peer(split, answer, held, again)
    assert not asked and found["t"]["rows"] == 500


class Peer:
    """Predicts the mean; the second that is made fails, if told to."""

    made = 0
    fails = False

    def __init__(self, seed, threads):
        type(self).made += 1

    def fit(self, X, y):
        if self.fails and self.made == 2:
            raise MemoryError("too large")
        self.mean, self.std = y.mean(), y.std()

    def predict(self, Xs):
        return np.full(len(Xs), self.mean), np.full(len(Xs), self.std)


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("group", ["peers", "exact", "ours", "constant"])
def test_peers_are_fitted_twice_and_what_is_known_first_is_kept(
    rows, tmp_path, monkeypatch, group, fails
):
    np.savez(tmp_path / "kin8nm.npz", X=rows[0], y=rows[1])
    model = type("Model", (Peer,), {"fails": fails})
    monkeypatch.setattr(
        worker, "importlib", SimpleNamespace(import_module=lambda _: SimpleNamespace(Model=model))
    )
    options = Namespace(
        task="regression", folder=tmp_path, set="kin8nm", rows=None, budget=None, seed=0, threads=1
    )
    first: list[dict] = []
    row = worker.measure(Method("regression.peer", group=group), options, first.append)
    json.dumps(row)
    assert row["RMSE"] == pytest.approx(1.0, abs=0.5) and row["n_train"] == 1800
    if group in ("ours", "constant"):
        assert model.made == 1 and not first and "t" not in row
        return
    assert model.made == 2 and row == first[0] | {k: row[k] for k in ("NLPD_t", "t") if k in row}
    assert ("NLPD_t" in row) != fails and ("failed" in row["t"]) == fails


def test_a_peer_with_a_distribution_of_its_own_is_scored_by_it_and_its_t_by_its_answer(
    rows, tmp_path, monkeypatch
):
    np.savez(tmp_path / "kin8nm.npz", X=rows[0], y=rows[1])

    class Model(Peer):
        def forecast(self, Xs, y, answer):
            levels = np.array([0.1, 0.5, 0.9])
            Q = answer[0][:, None] + answer[1][:, None] * norm.ppf(levels)
            return Forecast.of_quantiles(y, answer[0], levels, Q)

    monkeypatch.setattr(
        worker, "importlib", SimpleNamespace(import_module=lambda _: SimpleNamespace(Model=Model))
    )
    options = Namespace(
        task="regression", folder=tmp_path, set="kin8nm", rows=None, budget=None, seed=0, threads=1
    )
    row = worker.measure(Method("regression.peer"), options, [].append)
    assert "NLPD" not in row and np.isfinite([row["NLPD_t"], row["CRPS"], row["pinball"]]).all()
    assert "RMSE" in driver.in_a_line(tasks.plan("regression"), row)


@pytest.mark.slow
def test_a_picture_of_coverage_by_width_where_both_ways_are_known(tmp_path):
    cost = {"fit_cpu_s": 1.0, "predict_cpu_s": 1.0, "n_test": 500, "RMSE": 1.0, "NLPD": 1.0}
    old, new = cost, cost | {"coverage_by_tenths_of_width": [0.9 + 0.01 * k for k in range(10)]}
    both = {"collegium": new, "collegium, constant noise": new}
    assert "bench_width.png" in pictures.draw({"protein": both}, tmp_path)
    assert (tmp_path / "bench_width.png").exists()
    one = {"collegium": new, "collegium, constant noise": old}
    assert "bench_width.png" not in pictures.draw({"protein": one, "kin40k": {}}, tmp_path)
