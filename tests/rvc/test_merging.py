"""Streams of local experts, merged."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from rvc_cases import GRID, MODES, assert_alike, model, wave
from sklearn.exceptions import NotFittedError

from collegium.rvc.experts import Experts
from collegium.rvc.merging import merged_committees
from estimator_cases import assert_same_state, leaves, rmse, state


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
