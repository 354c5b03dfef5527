"""Committees of local experts: answers, streams, experts added and dropped."""

from dataclasses import replace

import numpy as np
import pytest
import reference_rvc as slow
from numpy.testing import assert_allclose, assert_array_equal
from reference_rvc import of_expert, rows
from rvc_cases import BOTH, DIMENSIONS, assumptions, one_expert

from collegium.rvc import batch
from collegium.rvc.committee import LocalCommittee, StreamRules


def grown(d, local, n=120, **rules):
    rules = StreamRules(**{"max_experts": 6, "alike": 0.01, "add_below": -1.0, **rules})
    return LocalCommittee.start(assumptions(d, local), rules).add(*rows(d, n, seed=8))[0]


@BOTH
@DIMENSIONS
def test_answers_are_products_of_the_experts(local, d):
    committee = grown(d, local)
    e, unit, Xs = committee.experts, committee.assumed.unit, rows(d, 7, seed=9)[0]
    assert e.size > 1
    found = committee.answer(Xs)
    bars = np.exp(2 * committee.scale[0]) if local else 1.0
    assert not local or bars != 1.0
    ps = [of_expert(e, k) for k in range(e.size)]
    for i, row in enumerate(Xs):
        xs = [slow.inputs(row[None], e.centres[k], unit)[0] for k in range(e.size)]
        near = np.array([slow.locality(x) for x in xs])
        keep = [k for k in range(e.size) if not local or near[k] >= 1e-4 * near.max()]
        seen = [xs[k] for k in keep], [ps[k] for k in keep]
        m, v, noise, slopes = slow.combined(*seen, unit, local)
        assert_allclose(found.mean[i], m, rtol=1e-9)
        assert_allclose([found.variance[i], found.noise[i]], [bars * v, bars * noise], rtol=1e-9)
        assert_allclose(found.slopes[i], slopes, rtol=1e-9)
    assert np.all(found.noise <= found.variance)


@BOTH
@DIMENSIONS
def test_a_stream_in_parts_is_the_stream(local, d):
    X, y, w = rows(d, 90, seed=2)
    rules = StreamRules(max_experts=5, sweeps=2, forgetting=0.98, alike=0.02, add_below=-1.0)
    start = committee = LocalCommittee.start(assumptions(d, local), rules)
    whole, mean, variance = start.add(X, y, w)
    assert 1 < whole.experts.size <= 5
    for i in range(y.size):  # what was answer before a row is the answer before it
        found = committee.answer(X[i : i + 1])
        assert_allclose([found.mean[0], found.variance[0]], [mean[i], variance[i]], rtol=1e-12)
        committee, *_ = committee.add(X[i : i + 1], y[i : i + 1], w[i : i + 1])
        assert committee.experts.size <= 5
    for one, other in zip(whole.experts.arrays(), committee.experts.arrays(), strict=True):
        assert_array_equal(one, other)
    assert_array_equal(whole.scale, committee.scale)
    assert start.experts.size == 0  # records do not change


@BOTH
def test_rows_without_weight_change_nothing(local):
    committee = grown(3, local)
    X, y, w = rows(3, 40, seed=4)
    whole = committee.add(3 * X, 3 * y, np.where(np.arange(40) < 30, 0.0, w))[0]
    last = committee.add(3 * X[30:], 3 * y[30:], w[30:])[0]
    assert all(map(np.array_equal, whole.experts.arrays(), last.experts.arrays()))
    assert_array_equal(whole.scale, last.scale)


def test_bars_widen_when_rows_fall_outside():
    """The log of the scale moves by its step times (outside − 5 %)."""
    committee = grown(1, True)
    X = np.array([[0.1]])
    answer = committee.answer(X)
    for far, outside in ((1.9, 0.0), (2.1, 1.0)):
        y = answer.mean + far * np.sqrt(answer.variance)
        after = committee.add(X, y, np.ones(1))[0]
        step = max(0.5 / (1 + committee.scale[1] / 10), 0.02)
        assert_allclose(after.scale[0] - committee.scale[0], step * (outside - 0.05), rtol=1e-12)


def test_local_experts_join_beyond_reach_with_the_committees_line():
    assumed = assumptions(1, True)
    committee = LocalCommittee.start(assumed, StreamRules(max_experts=9, reach=0.5, alike=0.0))
    edge = assumed.unit * np.sqrt(2 * np.log(2))  # where K = reach
    rest = (np.array([0.3]), np.ones(1))
    committee = committee.add(np.zeros((1, 1)), *rest)[0]
    assert committee.add(np.array([[edge - 1e-6]]), *rest)[0].experts.size == 1
    X = np.array([[edge + 1e-6]])
    answer = committee.answer(X)
    e = committee.add(X, *rest)[0].experts
    assert e.size == 2
    assert_allclose(e.start[1], [answer.slopes[0, 0] * assumed.unit, answer.mean[0]])


def test_published_experts_join_where_the_density_is_low():
    committee = grown(1, False, n=10, alike=0.0, max_experts=30)
    X = np.array([[0.2]])
    assert committee.experts.size < 30
    answer = committee.answer(X)
    below = -0.5 * (3.0**2 + np.log(2 * np.pi * answer.variance[0]))
    y = answer.mean + 3.0 * np.sqrt(answer.variance)
    empty = LocalCommittee.start(committee.assumed, committee.rules)
    assert empty.add(X, np.zeros(1), np.ones(1))[0].experts.size == 1
    for shift, more in ((-1e-6, 0), (1e-6, 1)):
        rules = replace(committee.rules, add_below=below + shift)
        after = replace(committee, rules=rules).add(X, y, np.ones(1))[0]
        assert after.experts.size == committee.experts.size + more


@BOTH
def test_of_two_alike_experts_one_is_dropped(local):
    centres, rules = (
        np.array([[0.0, 3.0, 0.0, -3.0]]).T,
        StreamRules(max_experts=4, add_below=-np.inf),
    )
    start = LocalCommittee.start(assumptions(1, local), rules, centres)
    X, y, w = rows(1, 16)
    assert start.add(X[:15], y[:15], w[:15])[0].experts.size == 4
    e = start.add(X, y, w)[0].experts  # after four rows an expert
    assert_array_equal(np.sort(e.centres[: e.size, 0]), [-3.0, 0.0, 3.0])
    kept = replace(start, rules=replace(start.rules, grow=False)).add(*rows(1, 60))[0]
    assert kept.experts.size == 4


@pytest.mark.parametrize("near, place, gap", [([0], "far", 21), ([0], "beside", 31),
                                              ([0, 4, 8], "far", 61)])  # fmt: skip
def test_an_idle_expert_is_replaced_after_some_rows(near, place, gap):
    """After 20 times its own mean gap, and 10 rows per expert (1 where the new row is far)."""
    assumed, rules = assumptions(1, True), StreamRules(max_experts=3, alike=1e-9)
    at = 200.0 + 1.5 * assumed.unit if place == "beside" else 1000.0
    for wait, replaced in ((gap - 1, False), (gap, True)):
        X = np.full((near[-1] + wait + 1, 1), 200.0)
        X[1::2], X[near], X[-1] = 100.0, 0.0, at
        y, w = np.zeros(len(X)), np.ones(len(X))
        e = LocalCommittee.start(assumed, rules).add(X, y, w)[0].experts
        assert_array_equal(e.centres[:, 0], [at if replaced else 0.0, 100.0, 200.0])


@BOTH
def test_forgetting_follows_a_jump(local):
    rng = np.random.default_rng(0)
    X, w = 0.2 * rng.standard_normal((400, 1)), np.ones(400)
    y = np.where(np.arange(400) < 300, 1.0, -1.0) + 0.05 * rng.standard_normal(400)
    after = [one_expert(1, local, forgetting=f).add(X, y, w)[0] for f in (1.0, 0.9)]
    errors = [abs(committee.answer(X[:1]).mean[0] + 1.0) for committee in after]
    assert errors[1] < 0.5 * errors[0]


# -- nothing finite breaks them ------------------------------------------------------------------

HARD = dict(slow.hard_rows(*rows(2, 60)))


@pytest.mark.diagonal
@BOTH
@pytest.mark.parametrize("forgetting", [1.0, 0.9])
@pytest.mark.parametrize("case, data", HARD.items(), ids=HARD)
def test_finite_rows_give_finite_answers(local, forgetting, case, data):
    rules = StreamRules(max_experts=5, sweeps=2, forgetting=forgetting)
    start = LocalCommittee.start(assumptions(2, local, slope_variance=1e6), rules)
    committee, mean, variance = start.add(*data)
    Xs = np.concatenate([data[0][:20], [[1e6, -1e6], [0.0, 3.0]]])
    found = committee.answer(Xs)
    for values in (mean, variance, found.mean, found.variance, found.noise, found.slopes):
        assert np.isfinite(values).all()
    assert min(variance.min(), found.variance.min(), found.noise.min()) > 0
    e = committee.experts
    pivots = np.einsum("kii->ki", e.factor[: e.size]) if local else e.factor[: e.size]
    assert min(pivots.min(), *(z[: e.size].min() for z in (e.a, e.b, e.c, e.d))) > 0
    fitted, _ = batch.fit_experts(e, *data, committee.assumed, 20, 1e-6)
    assert all(np.isfinite(z[: e.size]).all() for z in fitted.arrays())
    assert min(fitted.noise().min(), fitted.misfit().min()) > 0
