"""Cells by default: chosen without a clock, and only where nearest rows are no better."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import collegium
from collegium import CommitteeRegressor
from collegium.answers.cells.cells import scaled_variance
from collegium.answers.cells.predictor import CellPredictor
from collegium.answers.predictors import LocalPredictor
from collegium.kernels import Matern32
from collegium.pipeline import usual
from collegium.pipeline.tuning import TUNING
from collegium.pipeline.usual import matching_power, usual_cells
from estimator_cases import every_id_given

GIVEN = {
    "kernel": Matern32(1.1, [0.9, 1.3, 1.1, 1.6]), "noise": 0.02, "learn": False,
    "chunks": 300, "anchors": 30, "random_state": 0, "transforms": None, "members": None,
}  # fmt: skip


def table(n=2600, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, -1] + 0.1 * rng.normal(size=n)


@pytest.fixture(scope="module")
def model():
    return CommitteeRegressor(**GIVEN).fit(*table())


@pytest.fixture(scope="module")
def queries():
    return table(60, seed=5)[0]


def of_function(model):
    own = model._predictor()
    while not isinstance(own, (CellPredictor, LocalPredictor)):
        own = own.own
    return own


def test_the_power_that_matches_variances_is_found():
    rng = np.random.default_rng(0)
    given, noise = rng.uniform(0.1, 1.6, 50), rng.uniform(0.01, 0.1, 50)
    target = scaled_variance(given, 1.7, 1.37) + noise
    assert_allclose(matching_power(given, 1.7, noise, target), 1.37, atol=1e-3)


def test_cells_answer_by_default_and_nearest_rows_where_they_are_asked_for(model, queries):
    assert isinstance(of_function(model), CellPredictor)
    rows = CommitteeRegressor(**GIVEN, n_local="nearest").fit(*table())
    assert isinstance(of_function(rows), LocalPredictor) and rows.n_local_ == 300
    right = rows.predict(queries, True)
    for asked in (300, "nearest"):
        assert_array_equal(model.predict(queries, True, n_local=asked), right)
    found = model.predict(queries, True)
    assert not np.array_equal(found[0], right[0])
    assert np.abs(found[0] - right[0]).mean() < 0.2 * right[1].mean()
    assert_allclose(found[1], right[1], rtol=0.3)
    model.set_params(n_local="nearest")
    assert_array_equal(model.predict(queries, True), right)
    model.set_params(n_local="auto")
    assert_array_equal(model.predict(queries, True), found)


def test_the_choice_is_the_same_each_time(model):
    first, again = model.model_.answering.cells, usual_cells(model.model_)[0]
    assert (first.k, first.near, first.own, first.power) == (
        again.k, again.near, again.own, again.power,
    )  # fmt: skip
    assert_array_equal(first.centres, again.centres)


def test_answers_do_not_depend_on_the_batch_the_threads_or_the_file(model, queries, tmp_path):
    right = model.predict(queries, True)
    alone = [model.predict(queries[i : i + 1], True) for i in range(0, 60, 7)]
    assert_array_equal(np.concatenate([one[0] for one in alone]), right[0][::7])
    assert_array_equal(np.concatenate([one[1] for one in alone]), right[1][::7])
    model.save(tmp_path / "model")
    for other in (collegium.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert isinstance(of_function(other), CellPredictor)
        assert_array_equal(other.set_params(n_jobs=2).predict(queries, True), right)


def test_rows_that_come_or_go_are_answered_for_from_nearest_rows(queries):
    X, y = table(2700)
    model = CommitteeRegressor(**GIVEN).fit(X[:2600], y[:2600])
    before = model.predict(queries, True)
    model.partial_fit(X[2600:], y[2600:], chunk_id="later")
    assert isinstance(of_function(model), LocalPredictor)
    assert_array_equal(model.predict(queries), model.predict(queries, n_local="nearest"))
    model.forget("later")
    assert isinstance(of_function(model), CellPredictor)
    assert_array_equal(model.predict(queries, True), before)
    every_id_given(model).forget(model.chunk_ids_[0])
    assert isinstance(of_function(model), LocalPredictor)
    model.relearn()
    assert isinstance(of_function(model), CellPredictor)


def test_nearest_rows_answer_where_cells_would_lose(model, monkeypatch):
    strict = replace(TUNING, usual=replace(TUNING.usual, nats_around=-10.0))
    monkeypatch.setattr(usual, "TUNING", strict)
    assert usual_cells(model.model_)[0] is None


def test_nearest_rows_answer_where_cells_do_not_fit_the_memory(model, monkeypatch):
    small = replace(TUNING, usual=replace(TUNING.usual, memory=1e5))
    monkeypatch.setattr(usual, "TUNING", small)
    assert usual_cells(model.model_)[0] is None


@pytest.mark.parametrize("near", [(400,), (200, 400)], ids=["at once", "after a look"])
def test_cells_fit_the_memory_with_the_rows_that_variances_use(model, monkeypatch, near):
    """Factors of 200 rows would fit, those of 400, which are chosen, do not."""

    def chosen(memory):
        own = replace(TUNING, usual=replace(TUNING.usual, memory=memory, near=near))
        monkeypatch.setattr(usual, "TUNING", own)
        return usual_cells(model.model_)[0]

    assert chosen(1e7) is None
    found = chosen(3e7)
    assert found.near == 400 and found.memory == 3e7


def test_errors_that_are_clearly_larger_by_cells_have_the_last_word(model):
    """Variances promise as much by cells as by nearest rows, and means are wrong."""
    some, own = table(200, seed=3)[0], of_function(model)
    trial = usual.Trial.of(own, own.places.names(some)[0][:32])
    as_good = replace(trial, by_cells=trial.by_rows, given=trial.by_rows.variance[None])
    as_good = replace(as_good, nears=(200,), lacks={0: np.zeros(trial.y.shape[0], dtype=bool)})
    assert list(as_good.ways())
    wrong = as_good.by_rows.mean + 0.3
    means = replace(as_good, by_cells=replace(as_good.by_cells, mean=wrong))
    assert not list(replace(means, y=as_good.by_rows.mean).ways())
    assert list(replace(means, y=wrong).ways())  # better than nearest rows
    few = np.zeros_like(wrong)
    few[0] = 0.3  # larger at one row of many: that may be chance
    one = replace(as_good.by_cells, mean=as_good.by_rows.mean + few)
    assert list(replace(as_good, by_cells=one, y=as_good.by_rows.mean).ways())


def test_few_columns_have_boxes_and_few_rows_no_cells(queries):
    given = {**GIVEN, "kernel": Matern32(1.1, [0.9, 1.3])}
    X, y = table()
    model = CommitteeRegressor(**given).fit(X[:, [0, 3]], y)
    cells = model.model_.answering.cells
    assert cells is not None and not cells.centres.size
    few = CommitteeRegressor(**{**GIVEN, "chunks": 100}).fit(X[:400], y[:400])
    assert few.model_.answering.cells is None


def test_several_outputs_refined_means_and_words_have_cells_too(queries):
    X, y = table()
    two = CommitteeRegressor(**GIVEN).fit(X, np.stack([y, y**2], axis=1))
    refined = CommitteeRegressor(**GIVEN, inference="cg").fit(X, y)
    for model in (two, refined):
        assert isinstance(of_function(model), CellPredictor)
        found, right = model.predict(queries), model.predict(queries, n_local="nearest")
        assert found.shape == right.shape
        assert np.abs(found - right).mean() < 0.1


def test_ways_that_do_not_live_by_more_rows_come_first(model):
    """200 rows give variances that ripple; only what more rows gain on average pays for that."""
    some, own = table(200, seed=3)[0], of_function(model)
    trial = usual.Trial.of(own, own.places.names(some)[0][:32])
    mean, there = trial.by_rows.mean, {0: np.zeros(trial.noise.size, dtype=bool)}
    trial = replace(trial, y=mean, nears=(200, 400), lacks=there)
    wave = np.exp(0.2 * np.sin(np.arange(trial.noise.size)))

    def ways(by_cells, *given):
        """`near` of those that do, for variances as shares of those from nearest rows."""

        def variance(share):
            return share * (trial.by_rows.variance + trial.noise) - trial.noise

        kept = replace(trial.by_cells, mean=mean, variance=variance(by_cells))
        other = replace(trial, by_cells=kept, given=np.stack([variance(one) for one in given]))
        return [one.near for one in other.ways()]

    assert ways(0.9, 0.9 * wave, 0.9) == [400, 200, 400]
    assert ways(1.0, wave, 1.0) == [400, 400]
    assert ways(1.0, 1.0, 1.0) == [200, 400, 200, 400]
    assert ways(1.1, 1.1, 1.1) == []  # what is lost on average is not given back


def test_larger_cells_are_tried_where_factors_of_small_ones_do_not_fit(model, monkeypatch):
    """65 cells have room for factors of 200 rows; variances ask for 400, and 33 cells for these."""
    small = replace(TUNING, usual=replace(TUNING.usual, memory=1.5e7, near=(200, 400)))
    monkeypatch.setattr(usual, "TUNING", small)
    monkeypatch.setattr(usual.Trial, "ways", lambda self: iter([replace(self.cells, near=400)]))
    found, own = usual_cells(model.model_)
    assert (found.near, found.centres.shape[0]) == (400, 33)
    assert own.cells is found


def test_a_way_that_fits_the_memory_is_taken_where_a_better_one_does_not(model, monkeypatch):
    """65 cells have no room for factors of 400 rows, and need not be fewer for those of 200."""
    small = replace(TUNING, usual=replace(TUNING.usual, memory=1.5e7, near=(200, 400)))
    monkeypatch.setattr(usual, "TUNING", small)
    monkeypatch.setattr(
        usual.Trial, "ways", lambda self: (replace(self.cells, near=near) for near in (400, 200))
    )
    found, _ = usual_cells(model.model_)
    assert (found.near, found.centres.shape[0]) == (200, 65)
