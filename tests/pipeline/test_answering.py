"""Answers from other numbers of nearest rows, and within a time."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import collegium
from collegium import (
    AnswerTime,
    CommitteeRegressor,
    OnlineGPRegressor,
    RegressionFilter,
    RVCRegressor,
    SparseGPRegressor,
)
from collegium.answers.cells.predictor import CellPredictor
from collegium.answers.predictors import LocalPredictor
from collegium.engines import Serial
from collegium.errors.errors import ErrorPredictor
from collegium.kernels import Matern32, Matern52
from collegium.pipeline import answering
from collegium.pipeline.answering import AnswerTimeWarning, power_of_variances
from collegium.pipeline.layers import Fast, RefinedErrors
from estimator_cases import every_id_given

#: Anything is quick enough; nothing is.
ANY, NONE = 1e9, 1e-9
GIVEN = {
    "kernel": Matern52(1.1, [0.9, 1.3, 1.1, 1.6]), "noise": 0.01, "learn": False,
    "chunks": 60, "anchors": 15, "random_state": 0,
}  # fmt: skip


def table(n=900, d=4, p=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, d))
    y = np.stack([np.sin(2 * X[:, 0]) + X[:, d // 2], X[:, -1] ** 2], axis=1)[:, :p]
    y = y + 0.1 * rng.normal(size=y.shape)
    return X, y if p > 1 else y[:, 0]


@pytest.fixture(scope="module")
def rows():
    return table()


@pytest.fixture(scope="module")
def plain(rows):
    """Constant noise, so that answers are the GP's."""
    return CommitteeRegressor(**GIVEN, n_local=40).fit(*rows)


@pytest.fixture(scope="module")
def uneven():
    """With a scale of errors of its own, learnt."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, (2600, 2))
    y = np.sin(3 * X[:, 0]) + np.exp(X[:, 1] - 1.0) * rng.standard_t(5, size=2600) * 0.3
    model = CommitteeRegressor(noise="varying", n_local=60, anchors=20, random_state=0)
    return model.fit(X[:2300], y[:2300]), X, y


# other numbers of rows ----------------------------------------------------------------------


@pytest.mark.parametrize("k", [7, 25, 100])
def test_answers_from_other_rows_are_those_of_a_model_fitted_so(rows, plain, k):
    X = table(30, seed=5)[0]
    other = CommitteeRegressor(**GIVEN, n_local=k).fit(*rows)
    for found, right in zip(plain.predict(X, True, n_local=k), other.predict(X, True)):
        assert_array_equal(found, right)
    assert_array_equal(plain.quantile(X, 0.3, n_local=k), other.quantile(X, 0.3))
    assert_array_equal(plain.predict_interval(X, n_local=k), other.predict_interval(X))
    y = np.zeros(30)
    assert_array_equal(plain.log_density(X, y, n_local=k), other.log_density(X, y))
    assert_array_equal(plain.cdf(X, y, n_local=k), other.cdf(X, y))
    assert not np.array_equal(plain.predict(X), other.predict(X))


def test_no_nearest_rows_are_the_anchors_alone(rows, plain):
    X = table(30, seed=5)[0]
    other = CommitteeRegressor(**GIVEN, n_local=0).fit(*rows)
    assert_allclose(plain.predict(X, n_local=0), other.predict(X), rtol=1e-9)


def test_n_local_acts_after_fit(rows):
    X, model = table(30, seed=5)[0], CommitteeRegressor(**GIVEN, n_local=40).fit(*rows)
    before = model.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(n_local=9)
    assert_array_equal(model.predict(X), model.predict(X, n_local=9))
    assert_array_equal(model.predict(X, n_local=40), before)
    assert_array_equal(model.set_params(n_local=40).predict(X), before)
    usual = CommitteeRegressor(**GIVEN).fit(*rows)
    assert_array_equal(model.set_params(n_local="auto").predict(X), usual.predict(X))
    assert usual.n_local_ == 300


def test_n_local_of_a_call_says_what_is_wrong(rows, plain):
    X, bare = rows[0][:3], CommitteeRegressor(**GIVEN, n_local=0).fit(*rows)
    for wrong in (-1, 2.5, "many", True):
        with pytest.raises(ValueError, match="n_local="):
            plain.predict(X, n_local=wrong)
    with pytest.raises(ValueError, match="n_local=5: this model keeps no rows"):
        bare.predict(X, n_local=5)
    assert_array_equal(plain.predict(X, n_local=10**7), plain.predict(X, n_local=900))
    for other in (RVCRegressor, RegressionFilter, OnlineGPRegressor, SparseGPRegressor):
        model = other(random_state=0).fit(X=table(80, 1)[0], y=table(80, 1)[1])
        with pytest.raises(ValueError, match="does not answer from nearest rows"):
            model.predict(np.zeros((2, 1)), n_local=5)


def test_an_exact_gp_answers_from_all_rows(rows):
    X, y = rows[0][:80], rows[1][:80]
    model = CommitteeRegressor(GIVEN["kernel"], noise=0.01, learn=False).fit(X, y)
    assert_array_equal(model.predict(X[:9], n_local=5), model.predict(X[:9]))


def test_counts_are_answered_from_other_rows(rows):
    X, y = rows[0], np.random.default_rng(0).poisson(np.exp(rows[1] / 2))
    given = {**GIVEN, "noise": "auto", "likelihood": "poisson"}
    model = CommitteeRegressor(**given, n_local=30).fit(X, y)
    other = CommitteeRegressor(**given, n_local=8).fit(X, y)
    for found, right in zip(model.predict(X[:20], True, n_local=8), other.predict(X[:20], True)):
        assert_allclose(found, right, rtol=1e-6)
    with pytest.raises(ValueError, match="AnswerTime.* is for .*likelihood='gaussian'"):
        model.set_params(n_local=AnswerTime(1.0)).predict(X[:2])


def test_errors_of_fewer_rows_are_learnt_anew(uneven):
    """Few rows make larger errors where the function moves: error bars say so."""
    model, X, y = uneven
    X, y = X[2300:], y[2300:]
    own = model._predictor(5)
    assert isinstance(own, ErrorPredictor) and own.errors is not model.model_.errors
    assert_array_equal(own.errors.metric.weights, model.model_.errors.metric.weights)
    for k in (60, 12, 5):
        lower, upper = model.predict_interval(X, n_local=k)
        assert 0.9 < np.mean((lower <= y) & (y <= upper)) < 0.99


def test_nearest_rows_left_out_leave_out_the_row(plain):
    own, found = answering.nearest_held_out(answering.with_nearest(plain.model_, 12))
    committee = plain.model_.committee
    local, rows = LocalPredictor.of(committee, 13), committee.rows()
    for i in (0, 100, 899):
        row = own[i]
        near = local.near.nearest(rows.X[row : row + 1], 13)
        from collegium.answers.local import correct

        right = correct(
            committee.basis, committee.noise, rows, rows.X[row : row + 1], near[near != row][None]
        ).predict(committee.basis, committee.belief, rows.X[row : row + 1])
        assert_allclose(found.mean[i], right.mean[0], rtol=1e-9)
        assert_allclose(found.variance[i], right.variance[0], rtol=1e-9)


# all in one call ----------------------------------------------------------------------------


def models():
    X, y = table(400)
    both = table(400, p=2)
    yield "local", CommitteeRegressor(**GIVEN, n_local=20).fit(X, y)
    yield "outputs", CommitteeRegressor(**GIVEN, n_local=20).fit(*both)
    yield "exact", CommitteeRegressor(Matern32(), learn=True, random_state=0).fit(X[:60], y[:60])
    yield "averaged", CommitteeRegressor(random_state=0).fit(X[:50], y[:50])
    skewed = np.exp(y)
    yield "log", CommitteeRegressor(transforms="log", random_state=0).fit(X, skewed)
    yield "filter", RegressionFilter(random_state=0).fit(X[:, :1], y)
    counts = np.floor(np.exp(y))
    given = {**GIVEN, "noise": "auto"}
    yield "counts", CommitteeRegressor(**given, likelihood="poisson").fit(X, counts)


@pytest.fixture(scope="module")
def every_model():
    return dict(models())


@pytest.mark.parametrize("level", ["observation", "function"])
@pytest.mark.parametrize(
    "name", ["local", "outputs", "exact", "averaged", "log", "filter", "counts"]
)
def test_one_call_gives_all(every_model, name, level):
    model = every_model[name]
    X = table(11, model.n_features_in_, seed=3)[0]
    mean, std, lower, upper = model.predict(X, True, interval=0.8, level=level)
    expected = model.predict(X, True, level=level)
    assert_array_equal(mean, expected[0])
    assert_array_equal(std, expected[1])
    assert_array_equal((lower, upper), model.predict_interval(X, 0.8, level=level))
    found = model.predict(X, interval=0.8, level=level)
    assert_array_equal(found[1:], (lower, upper))
    assert_allclose(found[0], mean, rtol=1e-12)
    assert len(found) == 3


def test_one_call_predicts_once(rows, plain, monkeypatch):
    asked, own = [], LocalPredictor.predict
    monkeypatch.setattr(LocalPredictor, "predict", lambda *given: asked.append(0) or own(*given))
    plain.predict(rows[0][:5], return_std=True, interval=0.9)
    assert len(asked) == 1


def test_intervals_of_a_call_say_what_is_wrong(rows, plain):
    for wrong in (0.0, 1.0, 95, "most"):
        with pytest.raises(ValueError, match="interval="):
            plain.predict(rows[0][:3], interval=wrong)
    with pytest.raises(ValueError, match="interval and return_cov exclude each other"):
        plain.predict(rows[0][:3], return_cov=True, interval=0.9)


def test_answers_of_files_are_those_of_a_call(tmp_path, plain):
    pytest.importorskip("pyarrow")
    import pandas as pd

    X = table(20, seed=4)[0]
    frame = pd.DataFrame(X, columns=list("abcd"))
    plain.predict_to(frame, tmp_path / "a.csv", interval=0.9, n_local=11)
    found = pd.read_csv(tmp_path / "a.csv")
    assert list(found.columns) == ["mean", "std", "lower", "upper"]
    expected = plain.predict(X, True, interval=0.9, n_local=11)
    assert_allclose(found.to_numpy().T, expected, rtol=1e-12)


# within a time ------------------------------------------------------------------------------


def covers(model, X, y):
    lower, upper = model.predict_interval(X)
    return np.mean((lower <= y) & (y <= upper))


def test_any_time_gives_the_best_way_and_none_the_quickest(rows):
    X, y = table(600, seed=7)
    best = CommitteeRegressor(**GIVEN, n_local=AnswerTime(ANY, n_local=40)).fit(*rows)
    fast = best.model_.answering.fast
    assert isinstance(fast, Fast) and fast.asked == ANY and fast.memory == 512e6
    assert sorted(best.answer_ways_) == sorted(fast.tried)
    assert best.answer_ways_[0][0] == fast.words
    assert f"within 1e+09 ms per row: {fast.words}" in str(best.summary())
    assert len({words for words, _, _ in fast.tried}) == len(fast.tried) > 2
    scores = [score for _, _, score in fast.tried]
    assert max(scores) == scores[_chosen(fast)]
    words = r"n_local=AnswerTime\(1e-09\): the quickest way .* Give"
    with pytest.warns(AnswerTimeWarning, match=words):
        quick = CommitteeRegressor(**GIVEN, n_local=AnswerTime(NONE, n_local=40)).fit(*rows)
    looked_at = {
        words: ms for words, ms, score in quick.model_.answering.fast.tried if score > -np.inf
    }
    assert len(looked_at) == 2  # the quickest of each kind: of others no error bars are known
    assert looked_at[quick.model_.answering.fast.words] == min(looked_at.values())
    for model in (best, quick):
        assert 0.88 < covers(model, X, y) < 0.995
        assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 0.5 * y.std()


@pytest.mark.filterwarnings("ignore:.*left no time to check")
def test_no_other_way_is_tried_when_the_time_is_up(rows):
    limited = {"n_local": AnswerTime(ANY, n_local=40), "limits": 1e-6}
    model = CommitteeRegressor(**GIVEN, **limited).fit(*rows)
    assert len(model.model_.answering.fast.tried) == 1
    assert np.isfinite(model.predict(rows[0][:5])).all()


def _chosen(fast):
    """The place of the way that was chosen among those tried."""
    if fast.cells is None:
        names = [f"{fast.n_local} nearest rows"]
    else:
        names = [f"cells, means of {fast.cells.k} rows, variances of {fast.cells.near}"]
    return [words for words, _, _ in fast.tried].index(*names)


def answering_by(model, fast):
    return replace(model, answering=replace(model.answering, fast=fast))


def cells_model(rows, **given):
    """A model that answers by cells, whatever is quicker here."""
    model = CommitteeRegressor(**{**GIVEN, "n_local": 40, **given}).fit(*rows)
    way = answering._by_cells(model.model_, ANY, 1e8, print)
    *_, way = way  # of least rows
    fast = Fast(
        2.0,
        512e6,
        len(way.model.kept),
        way.model.sizes.n_local,
        way.model.answering.cells,
        way.model.errors,
        False,
        "",
        (),
    )
    model.model_ = answering_by(model.model_, fast)
    return model.set_params(n_local=AnswerTime(2.0, n_local=model.n_local))


def test_answers_by_cells_do_not_depend_on_the_batch(rows):
    model, X = cells_model(rows), table(50, seed=9)[0]
    own = model._predictor()
    assert isinstance(own, CellPredictor) and own.cells.power != 1.0
    mean, std, lower, upper = model.predict(X, True, interval=0.9)
    for i in range(0, 50, 7):
        found = model.predict(X[i : i + 1], True, interval=0.9)
        assert_array_equal(np.ravel(found), [part[i] for part in (mean, std, lower, upper)])
    model.set_params(n_jobs=2)
    assert_array_equal(model.predict(X[::-1], True), (mean[::-1], std[::-1]))


def test_answers_by_cells_stay_in_a_file(rows, tmp_path):
    model, X = cells_model(rows), table(50, seed=9)[0]
    model.save(tmp_path / "fast.clg")
    again = collegium.load(tmp_path / "fast.clg")
    assert isinstance(again._predictor(), CellPredictor)
    collegium.warm_up(again)
    assert len(again._predictor().cache) >= again.model_.answering.fast.cells.centres.shape[0]
    assert_array_equal(again.predict(X, True), model.predict(X, True))
    fitted = CommitteeRegressor(**GIVEN, n_local=AnswerTime(ANY, n_local=40)).fit(*rows)
    fitted.save(tmp_path / "fitted.clg")
    again = collegium.load(tmp_path / "fitted.clg")
    assert_array_equal(again.predict(X, True), fitted.predict(X, True))


def test_time_is_looked_for_after_fit_too(rows, plain, tmp_path):
    model, X = clone(plain).fit(*rows), rows[0][:20]
    before = model.predict(X)
    assert not hasattr(model, "answer_ways_")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model.set_params(n_local=AnswerTime(ANY, n_local=40))
    answers = model.predict(X, True)
    assert model.model_.answering.fast is None  # an answer changes nothing
    assert len(model.answer_ways_) > 2
    model.save(tmp_path / "later.clg")
    again = collegium.load(tmp_path / "later.clg")
    assert again.model_.answering.fast.words == model.answer_ways_[0][0]
    assert_array_equal(again.predict(X, True), answers)
    assert_array_equal(model.predict(X, n_local=40), before)
    assert_array_equal(model.set_params(n_local=40).predict(X), before)
    assert not hasattr(model, "answer_ways_")


def test_refused_arguments_of_time(rows):
    for wrong in (0, -1.0, "fast", True, np.nan, np.inf, AnswerTime(0.0)):
        with pytest.raises(ValueError, match="n_local=AnswerTime.*: give milliseconds per row"):
            CommitteeRegressor(**GIVEN, n_local=AnswerTime(wrong)).fit(*rows)
    with pytest.raises(ValueError, match="memory of n_local"):
        CommitteeRegressor(**GIVEN, n_local=AnswerTime(1.0, "much")).fit(*rows)
    with pytest.raises(ValueError, match="AnswerTime.* means nothing in a model of n_local=0"):
        CommitteeRegressor(**GIVEN, n_local=AnswerTime(1.0, n_local=0)).fit(*rows)
    with pytest.raises(ValueError, match="AnswerTime.* is for inference='inductive'"):
        CommitteeRegressor(**GIVEN, n_local=AnswerTime(1.0), inference="transductive").fit(*rows)
    with pytest.raises(ValueError, match="AnswerTime.* is for .*likelihood='gaussian'"):
        CommitteeRegressor(n_local=AnswerTime(1.0), likelihood="poisson").fit(rows[0], rows[1] > 0)


def test_time_and_memory_are_arguments_like_others(rows):
    model = CommitteeRegressor(**GIVEN, n_local=AnswerTime(ANY, 2e4))
    assert clone(model).n_local == AnswerTime(ANY, 2e4)
    model.set_params(n_local__memory="1MB").fit(*rows)
    assert model.model_.answering.fast.memory == 1e6
    own = model._predictor()
    if isinstance(own, CellPredictor):
        assert 0 < own.cache.nbytes <= 1e6
    few = CommitteeRegressor(**GIVEN, n_local=AnswerTime(ANY, 10)).fit(*rows)
    assert few.model_.answering.fast.cells is None  # no cells fit ten bytes


def test_rows_that_come_later_are_answered_from(rows):
    model = cells_model(rows)
    X, y = table(200, seed=11)
    model.partial_fit(X + 6.0, y)
    assert isinstance(model._predictor(), CellPredictor)
    assert np.abs(model.predict(X + 6.0) - y).mean() < 0.5 * np.abs(y - y.mean()).mean()
    assert model.model_.answering.fast.holds(2.0, 512e6, 1800)
    assert not model.model_.answering.fast.holds(2.0, 512e6, 1801)
    assert not model.model_.answering.fast.holds(2.1, 512e6, 900)


def test_what_is_forgotten_is_not_kept_in_cells(rows):
    model = cells_model(rows)
    every_id_given(model).forget(model.chunk_ids_[0])
    assert model.model_.answering.fast is None


@pytest.mark.parametrize("n", [pytest.param(300, marks=pytest.mark.slow), 700])
def test_exact_and_averaged_models_answer_in_time(n):
    X, y = table(n + 200, 3)
    model = CommitteeRegressor(random_state=0).fit(X[:n], y[:n])
    assert bool(model.model_.averaged) == (n == 300)
    other = clone(model).set_params(n_local=AnswerTime(ANY)).fit(X[:n], y[:n])
    assert_array_equal(other.predict(X[n:], True), model.predict(X[n:], True))
    with pytest.warns(AnswerTimeWarning):
        quick = clone(model).set_params(n_local=AnswerTime(NONE)).fit(X[:n], y[:n])
    assert 0.9 < covers(quick, X[n:], y[n:]) < 0.995
    error = np.sqrt(np.mean((quick.predict(X[n:]) - y[n:]) ** 2))
    assert error < 1.2 * np.sqrt(np.mean((model.predict(X[n:]) - y[n:]) ** 2))


def test_refined_means_are_answered_from_all_rows(rows):
    X, y = table(2400, 3)
    given = {"kernel": Matern52(1.0, [0.9, 1.3, 1.1]), "n_local": 30, "anchors": 20}
    model = CommitteeRegressor(**given, inference="cg", random_state=0).fit(X[:2100], y[:2100])
    known = model.model_.refined.errors
    assert known.at.size == known.wrong.shape[0] > 100 and (np.diff(known.at) > 0).all()
    way = next(answering._by_cells(model.model_, ANY, 1e9, print))
    assert way.words.startswith("refined means of all rows")
    own, right = way.predictor(), model._predictor()
    engine = collegium.engines.Serial()
    means = own.mean(X[2100:], engine), right.mean(X[2100:], engine)
    assert_allclose(*means, atol=0.02)
    found = model.model_.answering.fast, model.predict(X[2100:], True)
    assert found[0] is None
    fast = Fast(
        2.0, 512e6, 2100, 30, way.model.answering.cells, way.model.errors, False, "", ()
    )  # fmt: skip
    model.model_ = answering_by(model.model_, fast)
    model.set_params(n_local=AnswerTime(2.0, n_local=30))
    assert 0.9 < covers(model, X[2100:], y[2100:]) < 0.99


def test_rows_on_disk_answer_in_time(rows, tmp_path):
    given = {**GIVEN, "n_local": AnswerTime(ANY, n_local=40), "store": tmp_path / "rows"}
    model = CommitteeRegressor(**given).fit(*rows)
    assert model.model_.stored is not None and model.model_.answering.fast.cells is None
    X = table(30, seed=5)[0]
    given = {**given, "n_local": 9, "store": tmp_path / "others"}
    right = CommitteeRegressor(**given).fit(*rows).predict(X, True)
    assert_array_equal(model.predict(X, True, n_local=9), right)


def test_words_outputs_and_weights_are_answered_by_cells():
    rng = np.random.default_rng(2)
    X, y = table(800, 4, p=2)
    X[:, 3] = rng.integers(0, 4, 800)
    y[:, 0] += X[:, 3]
    w = rng.integers(1, 4, 800)
    given = {"chunks": 100, "anchors": 15, "noise": "constant", "learn": True, "n_local": 40}
    model = CommitteeRegressor(**given, categorical_features=[3], trend=[1], random_state=0)
    model.fit(X[:700], y[:700], w[:700])
    *_, way = answering._by_cells(model.model_, ANY, 1e9, print)
    found = way.predictor().predict(X[700:], collegium.engines.Serial())
    exact = model._predictor().predict(X[700:], collegium.engines.Serial())
    assert found.mean.shape == (100, 2)
    spread = np.sqrt(exact.variance + model.model_.committee.noise)[:, None]
    assert np.abs((found.mean - exact.mean) / spread).mean() < 0.6


def test_the_power_of_variances_is_the_likeliest():
    rng = np.random.default_rng(0)
    given = rng.uniform(0.001, 0.2, 4000)
    error = np.sqrt(1.3 * (given / 1.3) ** 1.35 + 0.004)[:, None] * rng.normal(size=(4000, 2))
    assert_allclose(power_of_variances(error, given, 1.3, 0.004), 1.35, atol=0.04)
    assert power_of_variances(error[:0], given[:0], 1.3, 0.0) == 1.0


def test_refined_means_are_scored_by_the_errors_that_are_known():
    X, y = table(700)
    model = CommitteeRegressor(**GIVEN, n_local=30, inference="cg").fit(X, y)
    own = model.model_
    assert own.refined.rest is not None and own.refined.errors is None
    at, found = np.array([3, 50]), np.full((2, 1), 0.25)
    rows, rest = own.committee.rows().y[at], own.refined.rest.rows().y[at]
    zero = answering._refined(own, at, answering.Prediction(found, np.ones(2)))
    assert_allclose(zero.mean, rows - rest + 0.25)
    wrong = np.array([[0.5], [9.0], [-2.0]])
    errors = RefinedErrors(np.array([3, 7, 50]), wrong)
    known = replace(own, refined=replace(own.refined, errors=errors))
    right = answering._refined(known, at, answering.Prediction(found, np.ones(2)))
    assert_allclose(right.mean, rows - rest - wrong[[0, 2]] + 0.25)


@pytest.mark.parametrize(
    "stored", [pytest.param(False, marks=pytest.mark.slow), True], ids=["in memory", "on disk"]
)
def test_own_rows_do_not_tell_their_errors(uneven, tmp_path, stored):
    """Errors of the twenty nearest rows, the row itself left out."""
    model, X, y = uneven
    given = model.get_params() | {"store": tmp_path / "rows" if stored else None}
    own = CommitteeRegressor(**given).fit(X[:2300], y[:2300]).model_
    at, metric = np.arange(0, 2300, 230), own.errors.metric
    everything = own.kept.take(np.arange(2300))
    near = own.kept.neighbours(metric)
    S = metric.forward(everything.X)
    found = near.log_error(S[at], np.zeros((10, 1)), at)
    for i, row in enumerate(at):
        order = np.argsort(np.linalg.norm(S - S[row], axis=1))
        others = order[order != row][:20]
        expected = np.log((everything.y[others] ** 2).mean() + 1e-6)
        assert_allclose(found[i], expected, rtol=1e-6)


def test_a_refined_way_does_not_outlive_refined_means():
    X, y = table(700)
    model = CommitteeRegressor(**GIVEN, n_local=30, inference="cg").fit(X, y)
    fast = Fast(2.0, 512e6, 700, 30, None, None, False, "", ())
    model.model_ = answering_by(model.model_, fast)
    model.set_params(inference="inductive")
    model.partial_fit(X[:50] + 0.1, y[:50])
    assert model.model_.refined is None and model.model_.answering.fast is None


def test_prepared_answers_follow_the_argument_and_the_model(rows, plain):
    """Answers are prepared once; another `n_local`, changed in place too, renews them."""
    (X, y), model = rows, clone(plain).fit(*rows)
    first = model.predict(X[:5], return_std=True)
    prepared = model._own_answers()
    assert model._own_answers() is prepared
    model.n_local = 7
    few = model.predict(X[:5], return_std=True)
    assert_array_equal(few, model.predict(X[:5], return_std=True, n_local=7))
    assert not np.array_equal(few, first)
    model.n_local = AnswerTime(ANY, n_local=7)
    slow = model.predict(X[:5], return_std=True)
    model.set_params(n_local__milliseconds=2 * ANY).predict(X[:5])
    assert f"within=({2 * ANY}, 512000000.0)" in model._made.others
    model.n_local = 40
    assert_array_equal(model.predict(X[:5], return_std=True), first)
    assert not np.array_equal(slow, few)
    model.partial_fit(X[:40] + 0.1, y[:40])
    assert not np.array_equal(model.predict(X[:5], return_std=True), first)


def test_few_predictors_are_kept(rows, plain):
    X, model = rows[0][:3], clone(plain).fit(*rows)
    for k in (3, 4, 5, 6, 7):
        model.predict(X, n_local=k)
    names = [name for name in model._made.others if name.startswith("n_local")]
    assert names == ["n_local=6", "n_local=7"]


def test_a_time_has_nearest_rows_for_fit_alone(rows):
    model = cells_model(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(n_local__n_local=20)
        assert isinstance(model._predictor(), CellPredictor)
        model.set_params(n_local=20)
    assert not isinstance(model._predictor(), CellPredictor)
    X = rows[0][:20]
    assert_array_equal(model.predict(X, True), model.predict(X, True, n_local=20))


def test_a_stream_looks_for_a_way_when_it_has_grown(monkeypatch):
    asked, own = [], answering.chosen
    monkeypatch.setattr(
        "collegium.committee.answering.chosen",
        lambda model, *given: asked.append(len(model.kept)) or own(model, *given),
    )
    model = CommitteeRegressor(**{**GIVEN, "chunks": 100}, n_local=AnswerTime(ANY, n_local=20))
    X, y = table(1000)
    for part in np.array_split(np.arange(1000), 10):
        model.partial_fit(X[part], y[part])
        assert np.isfinite(model.predict(X[:3])).all()
    # while the rows are one exact GP each answer looks; then where rows have doubled
    later = [n for n in asked if n > 100]
    assert len(later) <= 5 and later == sorted(set(later))
    assert model.model_.answering.fast.rows >= 500


def test_where_nothing_is_quick_enough_the_quickest_way_of_all_is_taken(plain, monkeypatch):
    """With its errors and density, even if it was too slow to be looked at before."""
    times = iter([0.5, 0.2, 0.9, 0.8, 0.7, 0.6, 0.55, 0.95])
    monkeypatch.setattr(answering, "milliseconds_a_row", lambda answers, X: next(times))
    with pytest.warns(AnswerTimeWarning, match="25 nearest rows, takes about 0.2 ms"):
        fast, _ = answering.chosen(plain.model_, NONE, 1e8, lambda text: None)
    assert fast.words == "25 nearest rows" and fast.n_local == 25
    density = {words: value for words, _, value in fast.tried}
    assert np.isfinite(density["25 nearest rows"])


def test_words_do_not_keep_queries_from_their_cells():
    """The cell of a query has its nearest row, whatever the levels of its centre are."""
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.uniform(-2, 2, (900, 4)), rng.integers(0, 6, (900, 2))])
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 4] + 0.1 * rng.normal(size=900)
    kernel = Matern52(1.1, [0.9, 1.3, 1.1, 1.6, 1.5, 1.2], categories=(4, 5))
    model = CommitteeRegressor(**{**GIVEN, "kernel": kernel}, n_local=40).fit(X, y)
    cells = answering._cells_within(model.model_, 200, 1e8).summed_predictor()
    assert cells.cells.own == 1 and cells.places.strange(X).mean() > 0.5
    lacks = cells._each(lambda cell, X: (cell.mean(X),), X[::5], Serial())[-1]
    assert lacks.mean() < 0.2
