"""Streams of RVCRegressor: in parts, weighed, forgotten, merged; their widths selected."""

import copy
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

from collegium import RVCRegressor
from collegium.rvc.choosing import Choice, begin_selection
from collegium.rvc.committee import StreamRules
from collegium.rvc.experts import Experts
from collegium.rvc.merging import merged_committees
from collegium.rvc.tuning import TUNING
from estimator_cases import assert_same_state, leaves, queries, rmse, rows, state
from rvc_cases import GRID, MODES, assert_alike, assert_sound, model, wave


@MODES
@pytest.mark.parametrize("p", [None, 2])
def test_a_stream_in_many_calls_is_the_stream(mode, p):
    X, y = rows(900, p=p)
    one = model(mode=mode, start_rows=100, forgetting=0.999, sweeps=2).partial_fit(X, y)
    many = model(mode=mode, start_rows=100, forgetting=0.999, sweeps=2)
    for part in np.split(np.arange(900), [1, 2, 30, 99, 100, 101, 150, 420]):
        many.partial_fit(X[part], y[part])
    assert_alike(one, many, queries(), rtol=0)
    assert one.n_seen_ == many.n_seen_ == 900
    assert one.width_ == many.width_ and one.n_experts_ == many.n_experts_
    for a, b in zip(one.model_.widths, many.model_.widths, strict=True):
        assert (a.rounds, a.round_rows, a.round_length, a.best_index) == (
            b.rounds, b.round_rows, b.round_length, b.best_index,
        )  # fmt: skip
        assert_allclose(a.gains, b.gains, rtol=1e-10)
    for kept in (one.model_.waiting, many.model_.waiting):
        assert kept is None


@MODES
def test_the_first_rows_are_answered_for(mode):
    X, y = wave(60)
    found = model(mode=mode, start_rows=40)
    for i in range(60):
        found.partial_fit(X[[i]], y[[i]])
        assert_sound(found, X[:3])
        assert found.n_seen_ == i + 1
        assert (found.model_.waiting is None) == (i + 1 >= 40)
        if i == 0:
            assert_allclose(found.predict(X[:5]), y[0], rtol=1e-12)
    assert rmse(found.predict(GRID), np.sin(GRID[:, 0])) < 0.35


@pytest.mark.diagonal
@MODES
@pytest.mark.parametrize("p", [None, 2])
def test_progressive_is_predict_and_partial_fit_row_by_row(mode, p):
    X, y = rows(130, p=p)
    frame, given = pd.DataFrame(X, columns=["a", "b"]), {"mode": mode, "start_rows": 40}
    at_once, by_row, means, stds = model(**given), model(**given), [], []
    for i in range(130):
        if i:
            mean, std = by_row.predict(frame[i : i + 1], return_std=True)
            means.append(mean[0])
            stds.append(std[0])
        by_row.partial_fit(frame[i : i + 1], y[[i]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parts = [at_once.progressive(frame[a:b], y[a:b]) for a, b in ((0, 25), (25, 60), (60, 130))]
    mean, std = (np.concatenate(each) for each in zip(*parts, strict=True))
    assert np.isnan(mean[0]).all() and np.isnan(std[0]).all()
    assert_allclose(mean[1:], means, rtol=1e-10)
    assert_allclose(std[1:], stds, rtol=1e-10)
    assert_alike(at_once, by_row, frame[:9], rtol=0)
    assert at_once.n_seen_ == 130 and list(at_once.feature_names_in_) == ["a", "b"]
    before = leaves(state(at_once))
    with pytest.raises(ValueError, match="NaN"):
        at_once.progressive(frame, np.where(np.arange(130)[:, None] == 99, np.nan, 1.0))
    assert_same_state(before, at_once)


@MODES
def test_fit_goes_on_as_a_stream(mode):
    X, y = wave(1200)
    found = model(mode=mode, max_experts=40).fit(X[:300], y[:300])
    assert found.bound_ and 1 <= found.n_iter_ <= 4 and found.n_seen_ == 300
    before = rmse(found.predict(GRID), np.sin(GRID[:, 0]))
    found.partial_fit(X[300:], y[300:])
    assert found.n_seen_ == 1200
    assert rmse(found.predict(GRID), np.sin(GRID[:, 0])) < max(before, 0.03)
    stream = model(mode=mode).partial_fit(X, y)
    assert stream.n_iter_ == 0 and not hasattr(stream, "bound_")


@MODES
def test_forgetting_follows_a_jump(mode):
    X, y = wave(2500)
    y[1500:] *= -1
    errors = {}
    for forgetting in (1.0, 0.95):
        found = model(mode=mode, forgetting=forgetting, max_experts=30, width=0.3)
        found.partial_fit(X, y)
        errors[forgetting] = rmse(found.predict(GRID), -np.sin(GRID[:, 0]))
    assert errors[0.95] < 0.1 < 0.2 < errors[1.0]
    faded, still = (
        model(mode=mode, forgetting=f, width=0.3, max_experts=30, max_iter=8).fit(X, y)
        for f in (0.995, 1.0)
    )
    errors = [rmse(each.predict(GRID), -np.sin(GRID[:, 0])) for each in (faded, still)]
    assert errors[0] < 0.15 < 0.2 < errors[1]


@MODES
def test_weights_are_repetitions(mode):
    X, y = rows(60)
    w = np.random.default_rng(0).integers(0, 4, 60)
    again = np.repeat(np.arange(60), w)
    given = {"mode": mode, "max_iter": 2, "max_experts": 6}
    weighed = model(**given).fit(X, y, w)
    assert_alike(weighed, model(**given).fit(X[again], y[again]), queries(), rtol=0)
    assert weighed.n_seen_ == (w > 0).sum()
    plain = model(**given).fit(X, y)
    assert rmse(plain.predict(queries()), weighed.predict(queries())) > 1e-3


@MODES
def test_weights_on_a_stream(mode):
    X, y = rows(1_000)
    w = np.random.default_rng(0).integers(0, 3, 1_000)
    streams = {"w": (X, y, w), "without": (X[w > 0], y[w > 0], w[w > 0])}
    again = np.repeat(np.arange(1_000), w)
    streams["twice"] = X[again], y[again]
    given = {"mode": mode, "start_rows": 200, "width": 0.8}
    found = {name: model(**given).partial_fit(*each) for name, each in streams.items()}
    assert_alike(found["w"], found["without"], queries(), rtol=0)
    assert found["w"].n_seen_ == (w > 0).sum()
    one, two = (found[name].predict(queries(), return_std=True) for name in ("w", "twice"))
    assert rmse(one[0], two[0]) < 0.1 * y.std()
    assert_allclose(one[1], two[1], rtol=0.4 if mode == "local" else 0.8)


# -- merging --------------------------------------------------------------------------------------


def streams(n=3, **given):
    """A model that has settled, and copies of it that went on with rows of their own."""
    X, y = wave(400 + 600 * n)
    first = model(start_rows=200, **{"width": 0.3, **given}).partial_fit(X[:400], y[:400])
    copies = []
    for part in np.split(np.arange(400, len(y)), n):
        copies.append(copy.deepcopy(first).partial_fit(X[part], y[part]))
    return first, copies, copy.deepcopy(first).partial_fit(X[400:], y[400:])


@MODES
@pytest.mark.parametrize("centres", ["given", "grow"])
def test_merged_streams_are_one_stream(mode, centres):
    centres = "grow" if centres == "grow" else np.linspace(-3, 3, 9)[:, None]
    first, copies, whole = streams(mode=mode, centres=centres)
    merged = copy.deepcopy(copies[0]).merge(*copies[1:], common=first)
    assert merged.n_seen_ == whole.n_seen_ == 2_200
    mean, std = merged.predict(GRID, return_std=True)
    expected, bars = whole.predict(GRID, return_std=True)
    assert rmse(mean, expected) < (0.05 if isinstance(centres, str) else 0.02)
    assert_allclose(std, bars, rtol=0.5 if isinstance(centres, str) else 0.25)
    truth = np.sin(GRID[:, 0])
    errors = [rmse(each.predict(GRID), truth) for each in copies]
    assert rmse(mean, truth) < 1.1 * np.mean(errors)
    if not isinstance(centres, str):
        assert merged.n_experts_ == 9
        rows_seen = sum(each.experts_["rows"] for each in copies) - 2 * first.experts_["rows"]
        assert_allclose(merged.experts_["rows"], rows_seen)
        assert_allclose(merged.experts_["rows"], whole.experts_["rows"])
    for order in ([2, 0, 1], [1, 2, 0]):
        one, *others = (copy.deepcopy(copies[i]) for i in order)
        assert_alike(merged, one.merge(*others, common=first), GRID, rtol=1e-7)
    X, y = wave(300, seed=5)
    merged.partial_fit(X, y)  # and goes on
    assert merged.n_seen_ == 2_500 and rmse(merged.predict(GRID), truth) < 0.15


@MODES
def test_merging_nothing_new_changes_nothing(mode):
    centres = np.append(np.linspace(-3, 3, 5), 0.0)[:, None]  # one of them twice
    for given in ("grow", centres):
        _, (one, *_), _ = streams(1, mode=mode, centres=given)
        same = copy.deepcopy(one)
        assert_alike(one, same.merge(copy.deepcopy(one), common=one), GRID, rtol=1e-6)
        assert same.n_seen_ == one.n_seen_
        assert_alike(one, copy.deepcopy(one).merge(), GRID, rtol=1e-6)


def test_models_that_do_not_belong_together_are_not_merged():
    first, (one, other), _ = streams(2)
    before = leaves(state(one))
    X, y = wave(400)
    strangers = {
        "scale X and y differently": [
            model(width=0.3).partial_fit(2 * X, y), model(width=0.3).partial_fit(X, y),
            model().fit(X, np.column_stack([y, y])),
        ],
        "1 and 2 columns": [model(width=0.3).fit(np.hstack([X, X]), y)],
        "different widths": [
            model(width=0.4, start_rows=200).partial_fit(*wave(1_600)),
            model(width=0.3, start_rows=200, mode="paper").partial_fit(*wave(1_600)),
        ],
        "fitted RVCRegressors": ["model", None],
        "not fitted": [model()],
    }  # fmt: skip
    for message, models in strangers.items():
        for stranger in models:
            for arguments, common in (((stranger,), None), ((other, stranger), first)):
                with pytest.raises(ValueError, match=message):
                    one.merge(*arguments, common=common)
            if stranger is not None:
                with pytest.raises(ValueError, match=message):
                    one.merge(other, common=stranger)
            assert_same_state(before, one)
    with pytest.raises(NotFittedError):
        model().merge(one)


# -- widths ---------------------------------------------------------------------------------------


def test_the_best_width_answers_and_wider_ones_are_dropped():
    X, y = rows(2_000)
    y, w = (y - y.mean()) / y.std(), np.random.default_rng(0).uniform(0.5, 1.5, 2_000)
    choice = Choice(True, StreamRules(max_experts=15), None, None, None, 3, 1e-4)
    selection, start, kept = begin_selection(choice, X, y, w, 60), 0, []
    assert len(selection.committees) == 9 and selection.best_index == 4
    while selection.rounds:
        part = slice(start, start + selection.round_length)
        first_round = selection.rounds == TUNING.rounds
        half = 0 if first_round else selection.round_length // 2  # new committees need some rows
        gains = []
        for committee in selection.committees:
            _, mean, v = committee.add(X[part], y[part], w[part])
            z2 = np.minimum((y[part] - mean) ** 2 / v, 25)
            gains.append(np.sum((w[part] * (-z2 - np.log(2 * np.pi * v)))[half:]))
        few = slice(start, start + half + 49)
        most = slice(start, start + selection.round_length - 1)
        assert selection.add(X[few], y[few], w[few]).best_index == selection.previous
        late = selection.add(X[most], y[most], w[most])
        assert late.best_index == np.argmax(late.gains) and len(late.committees) == len(gains)
        after, best = selection.add(X[part], y[part], w[part]), int(np.argmax(gains))
        first = max(best - TUNING.narrower, 0) if selection.rounds > 1 else best
        units = [committee.assumed.unit for committee in selection.committees]
        assert units == sorted(units)
        expected = units[first : best + 1]
        while selection.rounds > 1 and len(expected) <= TUNING.narrower:  # added
            expected.insert(0, expected[0] / np.sqrt(2))
        assert_allclose([c.assumed.unit for c in after.committees], expected, rtol=1e-12)
        assert after.best.assumed.unit == units[best]
        kept.append(len(after.committees))
        selection, start = after, part.stop
    assert start == 60 * 31 and kept == [4, 4, 4, 4, 1]


@MODES
def test_memory_does_not_grow_with_the_rows(mode):
    found, sizes = model(mode=mode, start_rows=50), {}
    for seed in range(10):
        found.partial_fit(*wave(4_000, seed))
        sizes[found.n_seen_] = len(pickle.dumps(found))
    flat = [sizes[n] for n in range(8_000, 40_001, 4_000)]
    assert max(flat) - min(flat) < 100
    assert max(flat) < 20_000


# -- streams that change ---------------------------------------------------------------------------


def test_idle_experts_are_replaced():
    """Inputs that wander off for good, with far fewer experts than places."""
    t = 0.1 * np.arange(8_000.0)[:, None]
    y = np.sin(t[:, 0]) + 0.05 * np.random.default_rng(0).normal(size=8_000)
    found = model(max_experts=60, start_rows=200)
    mean, std = found.progressive(t, y)
    late = slice(2_000, None)
    assert found.n_experts_ <= 60 and found.experts_["centre"].min() > 100.0
    assert rmse(mean[late], y[late]) < 0.4
    assert (np.abs(y - mean) < 1.96 * std)[late].mean() > 0.88


def test_one_outlier_spoils_nothing():
    X, y = wave(3_000)
    for at in (700, 1500):
        wrong = y.copy()
        wrong[at] = 1e6
        mean, _ = model(start_rows=100).progressive(X, wrong)
        assert rmse(mean[at + 300 :], y[at + 300 :]) < 0.2


def test_bars_recover_after_rows_that_were_predicted_exactly():
    X, y = wave(8_000)
    y[:6_000] = 3.0
    found = model().partial_fit(X[:6_000], y[:6_000])
    mean, std = found.progressive(X[6_000:], y[6_000:])
    assert np.isfinite(mean).all() and (std > 0).all()
    assert (np.abs(y[6_000:] - mean) < 1.96 * std)[1_000:].mean() > 0.85


def test_rows_of_no_weight_do_not_count_in_width_selection():
    X, y = rows(1_500)
    w = (np.random.default_rng(0).uniform(size=1_500) < 0.3).astype(float)
    one = model(start_rows=60)
    one.progressive(X, y, w)
    other = model(start_rows=60).partial_fit(X[w > 0], y[w > 0])
    assert one.width_ == other.width_ and one.n_seen_ == other.n_seen_
    assert_allclose(one.predict(X), other.predict(X), rtol=1e-9)


def test_what_one_stream_has_pruned_another_still_knows():
    first, (one, other), _ = streams(2)
    committee = one.model_.widths[0].committees[0]
    experts = committee.experts
    gone = Experts(experts.size - 1, *(array[1:] for array in experts.arrays()))
    selection = replace(one.model_.widths[0], committees=(replace(committee, experts=gone),))
    one.model_ = replace(one.model_, widths=(selection,))
    expert = other.experts_
    found = copy.deepcopy(one).merge(other, common=first).experts_
    at = np.flatnonzero((found["centre"] == expert["centre"][0]).all(axis=1))
    assert at.size == 1
    assert_allclose(found["rows"][at], expert["rows"][:1], rtol=1e-9)
    assert_allclose(found["slope"][at], expert["slope"][:1], rtol=1e-6)


def test_messages_do_not_depend_on_what_experts_expected():
    """Experts with the same rows but other prior means have equal messages."""
    committee = streams(1)[0].model_.committees[0]
    e, variance = committee.experts, committee.assumed.prior_variance()
    start = e.start + np.random.default_rng(0).normal(size=e.start.shape)
    mu = e.mu.copy()
    for k, S in enumerate(e.covariance()):
        mu[k] += S @ ((start[k] - e.start[k]) / variance)  # the same message, another prior mean
    other = replace(committee, experts=replace(e, start=start, mu=mu))
    found, plain = (merged_committees([committee, c], None).experts for c in (other, committee))
    assert_allclose(found.mu[: e.size], plain.mu[: e.size], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n", [100, 300])
def test_fit_chooses_narrow_regions_for_a_wiggle_and_scales_its_bars(n):
    X, _ = wave(n)
    noise = 0.05 * np.random.default_rng(1).normal(size=n)
    smooth = model(max_experts=40).fit(X, 0.3 * X[:, 0] + noise)
    wiggle = model(max_experts=40).fit(X, np.sin(6 * X[:, 0]) + noise)
    assert wiggle.width_ < 0.5 * smooth.width_
    assert abs(wiggle.model_.committees[0].scale[0]) > 1e-3


def wandering(n, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.linspace(0, 10, n) + 0.1 * rng.normal(size=n), rng.uniform(-2, 2, n)])
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("seed", [1, 4])
def test_bars_cover_what_a_stream_that_wanders_has_left_behind(seed):
    X, y = wandering(6_000, seed)
    found = RVCRegressor(random_state=0)
    for start in range(0, 6_000, 500):
        found.partial_fit(X[start : start + 500], y[start : start + 500])
    mean, std = found.predict(X[-1_000:], return_std=True)
    assert rmse(mean, y[-1_000:]) <= 0.15
    assert 0.90 <= np.mean(np.abs(y[-1_000:] - mean) <= 1.96 * std) <= 0.99


def test_bars_are_those_of_arriving_rows_or_of_the_past_where_these_are_wider():
    X, y = wandering(3_000)
    stream = model(width=0.2).partial_fit(X, y).model_
    narrow = replace(stream.committees[0], scale=np.array([-3.0, 3_000.0, 0.0]))
    Xs, ys = stream.inputs.forward(X), stream.scaling.forward(y[:, None])[:, 0]
    wide = narrow.covering(Xs, ys)
    assert_allclose(wide.factor_of_bars, np.exp(2 * wide.past))
    answer = wide.answer(Xs)
    known = np.argsort(answer.variance, kind="stable")[:1_500]
    outside = np.abs(ys - answer.mean) > 1.959963984540054 * np.sqrt(answer.variance)
    assert_allclose(outside[known].mean(), 0.05, atol=1e-3)
    wider = replace(wide, scale=np.array([wide.past + 1.0, 3_000.0, 0.0]))
    assert_allclose(wider.factor_of_bars, np.exp(2 * (wide.past + 1.0)))
    assert model(width=0.2, forgetting=0.99).partial_fit(X, y).model_.sample is None
