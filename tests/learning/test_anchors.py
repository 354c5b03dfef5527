"""Anchors: greedy rules against dense brute force, their gains, and when they stop."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from collegium.kernels import RBF, Linear, Matern32
from collegium.learning import anchors as selection
from collegium.learning.anchors import RULES, CandidatePool, Stop, measured
from collegium.learning.tuning import TUNING
from collegium.numerics.threads import single_threaded
from collegium.rows.rows import Rows

KERNEL, NOISE = Matern32(1.7, [0.8, 1.4]), 0.07
GREEDY = ["sgma", "postapp", "pivoted-cholesky"]


@pytest.fixture(autouse=True)
def one_thread():
    with single_threaded():
        yield


def problem(n=60, p=2, seed=3, weighted=True):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    y = np.column_stack([np.sin((1 + j) * X[:, 0]) + X[:, 1] for j in range(p)])
    w = rng.uniform(0.5, 3.0, n) if weighted else np.ones(n)
    return Rows(X, y + 0.1 * rng.normal(size=y.shape), w)


def choose(rule, rows, stop, kernel=KERNEL, noise=NOISE, seed=0):
    return RULES[rule](kernel, noise, rows, stop, np.random.default_rng(seed))


def residual_trace(rows, Z, kernel=KERNEL):
    """Σᵢ var[f(xᵢ) | f(Z)]."""
    Kz = kernel.value(rows.X, Z)
    return kernel.diag(rows.X).sum() - np.trace(Kz @ np.linalg.solve(kernel.value(Z), Kz.T))


def posterior_value(rows, Z, kernel=KERNEL, noise=NOISE):
    """½hᵀΛ⁻¹h, summed over outputs."""
    Kz, W = kernel.value(Z, rows.X), np.diag(rows.w)
    h = Kz @ W @ rows.y
    lam = noise * kernel.value(Z) + Kz @ W @ Kz.T
    return 0.5 * np.trace(h.T @ np.linalg.solve(lam, h))


def criterion(rule, rows, Z):
    if rule == "postapp":
        return posterior_value(rows, Z)
    return KERNEL.diag(rows.X).sum() - residual_trace(rows, Z)


@pytest.mark.parametrize("rule", GREEDY)
def test_gains_are_those_of_the_criterion(rule):
    rows = problem()
    found = choose(rule, rows, Stop(15))
    assert_array_equal(found.Z, rows.X[found.index])
    assert len(set(found.index)) == 15
    values = [criterion(rule, rows, found.Z[:m]) for m in range(1, 16)]
    assert_allclose(np.cumsum(found.gains), values, rtol=1e-8)
    total = 0.5 * (rows.w[:, None] * rows.y**2).sum() if rule == "postapp" else 60 * 1.7
    assert_allclose(found.total, total)
    assert_allclose(found.remaining, 1.0 - np.array(values) / total, rtol=1e-6)


@pytest.mark.parametrize("rule", ["sgma", "postapp"])
def test_each_anchor_is_the_best_of_all_rows_where_all_are_candidates(rule, monkeypatch):
    every = replace(TUNING.anchors, candidates=60, short_list=60)
    monkeypatch.setattr(selection, "TUNING", replace(TUNING, anchors=every))
    rows = problem()
    found = choose(rule, rows, Stop(6))
    for m in range(6):
        tried = [
            criterion(rule, rows, np.concatenate([found.Z[:m], x[None]]))
            for i, x in enumerate(rows.X)
            if i not in found.index[:m]
        ]
        assert_allclose(criterion(rule, rows, found.Z[: m + 1]), max(tried), rtol=1e-9)


def test_pivots_are_the_rows_of_largest_variance():
    rows = problem()
    found = choose("pivoted-cholesky", rows, Stop(8))
    K = reference.covariance(KERNEL, rows.X)
    for m in range(1, 8):
        Kz = K[:, found.index[:m]]
        left = K - Kz @ np.linalg.solve(K[np.ix_(found.index[:m], found.index[:m])], Kz.T)
        assert np.diag(left)[found.index[m]] == pytest.approx(np.diag(left).max(), rel=1e-9)


@pytest.mark.parametrize("rule", ["sgma", "postapp"])
def test_greedy_anchors_beat_random_ones(rule):
    rows = problem(800)
    greedy = criterion(rule, rows, choose(rule, rows, Stop(20)).Z)
    luck = [criterion(rule, rows, choose("random", rows, Stop(20), seed=s).Z) for s in range(5)]
    assert greedy > max(luck)


def test_candidates_are_few_and_pools_are_used_more_than_once(monkeypatch):
    """The number of kernel columns that are looked at: one pool for several anchors."""
    seen = []
    value = Matern32.value

    def counting(self, X, Z=None):
        seen.append((X.shape[0], 0 if Z is None else Z.shape[0]))
        return value(self, X, Z)

    monkeypatch.setattr(Matern32, "value", counting)
    choose("sgma", problem(1000), Stop(40))
    assert sum(rows for rows, others in seen if others == 1000) == 10 * 118


@pytest.mark.parametrize("rule", GREEDY)
def test_a_share_of_the_total_stops_it(rule):
    rows = problem(200)
    found = choose(rule, rows, Stop(200, share=0.1))
    assert 1 < len(found.Z) < 150
    assert found.remaining[-1] <= 0.1 + 1e-12 and found.remaining[-2] > 0.1


@pytest.mark.parametrize("rule", ["random", "kmeans"])
def test_a_share_stops_rules_without_gains(rule):
    rows = problem(200)
    found = choose(rule, rows, Stop(120, share=0.2))
    assert 1 < len(found.Z) < 120
    assert found.remaining[-1] <= 0.2 < found.remaining[-2]


@pytest.mark.parametrize("rule", ["random", "kmeans", "sgma"])
def test_measured_gains_are_decreases_of_the_residual_trace(rule):
    rows = problem()
    found = choose(rule, rows, Stop(10))
    told = measured(KERNEL, rows.X, found)
    values = [60 * 1.7 - residual_trace(rows, found.Z[:m]) for m in range(1, len(found.Z) + 1)]
    assert_allclose(np.cumsum(told.gains), values, rtol=1e-8)
    if rule == "sgma":
        assert_allclose(told.gains, found.gains, rtol=1e-8)


def test_the_gap_is_that_of_the_primal_and_the_dual():
    """Q(α) and Q*(α) of Smola & Bartlett (2001), minimised over the chosen rows."""
    rows = problem(50, p=1, weighted=False)
    state = selection._Posterior(KERNEL, rows, Stop(12), np.random.default_rng(0), NOISE)
    at = state.run().index
    K, y = reference.covariance(KERNEL, rows.X), rows.y[:, 0]
    KB = K[:, at]
    alpha = np.linalg.solve(NOISE * K[np.ix_(at, at)] + KB.T @ KB, KB.T @ y)
    Q = 0.5 * alpha @ (NOISE * K[np.ix_(at, at)] + KB.T @ KB) @ alpha - y @ KB @ alpha
    dual = np.linalg.solve(NOISE * np.eye(12) + K[np.ix_(at, at)], y[at])
    Qs = 0.5 * dual @ (NOISE * np.eye(12) + K[np.ix_(at, at)]) @ dual - y[at] @ dual
    bound = NOISE * Qs + 0.5 * y @ y
    assert_allclose(state.gap(), 2 * (Q + bound) / (abs(Q) + abs(bound)), rtol=1e-8)
    assert state.gap() > 0


@pytest.mark.parametrize("picks", [1, 4])
def test_a_gap_stops_it(picks):
    rows = problem(120, p=1)
    everything = choose("postapp", rows, Stop(120))
    few = choose("postapp", rows, Stop(120, gap=0.9, pool=CandidatePool(118, picks)))
    assert picks <= len(few.Z) < len(everything.Z) and len(few.Z) % picks == 0
    assert everything.gap < few.gap <= 0.9
    assert np.isnan(choose("sgma", rows, Stop(20)).gap)


@pytest.mark.parametrize("rule", ["sgma", "postapp"])
def test_one_pick_of_a_pool_is_the_published_selection(rule):
    """Each anchor is the best of a fresh pool, here by dense matrices given all those before."""
    rows, number, seed = problem(60, weighted=False), 7, 3
    found = choose(rule, rows, Stop(number, pool=CandidatePool(9, 1)), seed=seed)
    K, y, rng = reference.covariance(KERNEL, rows.X), rows.y, np.random.default_rng(seed)

    def value(at):
        if rule == "sgma":
            return np.trace(K[:, at] @ np.linalg.solve(K[np.ix_(at, at)], K[at]))
        h = K[at] @ y
        own = NOISE * K[np.ix_(at, at)] + K[at] @ K[:, at]
        return 0.5 * np.trace(h.T @ np.linalg.solve(own, h))

    taken, left = [], np.arange(60)
    for _ in range(number):
        pool = rng.choice(left, 9, replace=False)
        taken.append(max(pool, key=lambda j: value([*taken, j])))
        spread = np.diag(K - K[:, taken] @ np.linalg.solve(K[np.ix_(taken, taken)], K[taken]))
        known = spread < TUNING.anchors.pivot * spread.max() if rule == "sgma" else []
        left = np.setdiff1d(left, [*taken, *np.flatnonzero(known)])
    assert found.index.tolist() == taken
    assert_allclose(found.gains.sum(), value(taken), rtol=1e-8)


@pytest.mark.parametrize("rule", GREEDY)
def test_a_degenerate_kernel_has_as_many_anchors_as_dimensions(rule):
    found = choose(rule, problem(40), Stop(20), kernel=Linear(0.8))
    assert len(found.Z) == 2
    assert np.isfinite(found.gains).all()


@pytest.mark.parametrize("rule", RULES)
def test_equal_rows_are_taken_once_and_few_rows_are_all_taken(rule):
    rows = problem(12, weighted=False)
    twice = Rows(*(np.concatenate([a, a]) for a in rows.fields()))
    found = choose(rule, twice, Stop(24))
    assert len(np.unique(found.Z, axis=0)) == len(found.Z) == 12


@pytest.mark.parametrize("rule", RULES)
def test_nothing_to_learn_and_no_noise_are_survived(rule):
    rows = problem(30)
    flat = Rows(rows.X, np.zeros_like(rows.y), rows.w)
    for given, noise in ((flat, NOISE), (rows, 0.0)):
        found = choose(rule, given, Stop(10), kernel=RBF(1.0, 3.0), noise=noise)
        assert np.isfinite(found.Z).all() and np.isfinite(found.gains).all()
        assert (found.gains >= 0).all()


@pytest.mark.parametrize("rule", RULES)
def test_the_same_seed_gives_the_same_anchors(rule):
    rows = problem(100)
    assert_array_equal(choose(rule, rows, Stop(9)).Z, choose(rule, rows, Stop(9)).Z)


def test_a_weight_is_a_repetition():
    rows = problem(40, weighted=False)
    w = 1.0 + np.arange(40) % 3
    weighted = Rows(rows.X, rows.y, w)
    repeated = Rows(*(np.repeat(a, w.astype(int), axis=0) for a in rows.fields()))
    Z = rows.X[:7]
    assert_allclose(posterior_value(weighted, Z), posterior_value(repeated, Z), rtol=1e-10)
    found = choose("postapp", weighted, Stop(7))
    assert_allclose(found.gains.sum(), posterior_value(repeated, found.Z), rtol=1e-8)


@pytest.mark.parametrize("length", [1.0, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_gains_stay_right_on_smooth_functions(seed, length):
    """Small pivots would multiply rounding errors until nothing seemed left."""
    X = np.random.default_rng(seed).uniform(-3, 3, size=(1500, 1))
    rows = Rows(X, np.sin(3.0 * X), np.ones(1500))
    found = choose("sgma", rows, Stop(80), kernel=RBF(1.0, length), seed=seed)
    assert found.remaining.min() > -1e-9 and found.remaining[-1] < 1e-8
    told = measured(RBF(1.0, length), X, found)
    assert_allclose(found.remaining, told.remaining, atol=1e-8)


@pytest.mark.parametrize("noise", [1e-2, 1e-6])
@pytest.mark.parametrize("seed", range(4))
def test_the_posterior_of_a_smooth_function_is_approached(seed, noise):
    X = np.random.default_rng(seed).uniform(-3, 3, size=(600, 1))
    y = np.sin(3.0 * X)
    found = choose("postapp", Rows(X, y, np.ones(600)), Stop(60), RBF(1.0, 1.0), noise, seed)
    assert found.remaining.min() > -1e-6 and (np.diff(found.remaining) <= 1e-9).all()
    phi = RBF(1.0, 1.0).value(X, found.Z)
    left = y - phi @ np.linalg.lstsq(phi, y, rcond=1e-12)[0]
    assert (left**2).sum() < 1e-4 * (y**2).sum()


@pytest.mark.parametrize("number", [30, 500])
def test_centres_that_are_enough_cover_all_rows(number):
    X = np.random.default_rng(0).uniform(-3, 3, size=(500, 1))
    rows = Rows(X, X, np.ones(500))
    found = choose("kmeans", rows, Stop(number, share=0.05), kernel=RBF(1.0, 0.8))
    assert 3 <= len(found.Z) <= 30 and found.remaining[-1] <= 0.05
    assert found.Z.min() < -2.0 and found.Z.max() > 2.0


def test_the_gap_takes_weights_and_outputs():
    rows = problem(50, p=2, weighted=True)
    state = selection._Posterior(KERNEL, rows, Stop(12), np.random.default_rng(0), NOISE)
    at = state.run().index
    K, W = reference.covariance(KERNEL, rows.X), np.diag(rows.w)
    KB, KBB = K[:, at], K[np.ix_(at, at)]
    h = KB.T @ W @ rows.y
    Q = -0.5 * np.trace(h.T @ np.linalg.solve(NOISE * KBB + KB.T @ W @ KB, h))
    dual = np.linalg.solve(NOISE * np.diag(1.0 / rows.w[at]) + KBB, rows.y[at])
    bound = 0.5 * np.trace(rows.y.T @ W @ rows.y) - 0.5 * NOISE * np.trace(rows.y[at].T @ dual)
    assert_allclose(state.gap(), 2 * (Q + bound) / (abs(Q) + abs(bound)), rtol=1e-8)


@pytest.mark.parametrize("number", [7, 500])
def test_centres_do_not_depend_on_the_order_of_columns(number):
    """Columns of the same spread; those of 500 centres are the rows themselves."""
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.normal(size=90), rng.uniform(size=90), rng.gamma(2.0, size=90)])
    X = (X - X.mean(axis=0)) / X.std(axis=0) + [0.0, 50.0, 100.0]
    plain = selection.kmeans(X, number, np.random.default_rng(1))
    assert ((plain >= X.min(axis=0)) & (plain <= X.max(axis=0))).all()
    for order in map(list, permutations(range(3))):
        found = selection.kmeans(X[:, order], number, np.random.default_rng(1))
        assert_allclose(found, plain[:, order], rtol=1e-12)
