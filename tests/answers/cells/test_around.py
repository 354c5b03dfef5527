"""Rows of a cell, against plain sorting."""

import numpy as np
import pytest
from cell_cases import cells_of, committee_of
from numpy.testing import assert_allclose, assert_array_equal

from collegium.answers.cells.around import best_ranks, in_cell, nearest_by_scan
from collegium.answers.cells.cell import weights_of
from collegium.answers.local import Shared
from collegium.engines import Serial, Threads

RNG = np.random.default_rng(7)
S = RNG.normal(size=(90, 3))


@pytest.mark.parametrize("k", [1, 7, 90, 200])
def test_a_scan_finds_the_nearest_rows_ties_by_number(k):
    twice = np.concatenate([S, S[::-1]])
    D = ((twice - S[5] - 0.1) ** 2).sum(axis=1)
    found = nearest_by_scan(twice, S[5] + 0.1, k)
    assert_array_equal(found, np.lexsort((np.arange(180), D.round(12)))[:k])


def test_ranks_are_the_least_places_among_the_nearest_of_members():
    members, most = np.argsort(((S - S[3]) ** 2).sum(axis=1))[:4], 6  # they share neighbours
    rank = np.empty(90, dtype=np.int64)
    best_ranks(S, members, most, rank)
    right = np.full(90, most)
    for one in members:
        order = np.argsort(((S - S[one]) ** 2).sum(axis=1))[:most]
        right[order] = np.minimum(right[order], np.arange(most))
    assert_array_equal(rank, right)


def test_rows_are_in_the_cell_of_the_nearest_centre():
    centres, inside = S[::9], np.empty(90, dtype=bool)
    in_cell(S, centres, inside)
    D = ((S[:, None] - centres) ** 2).sum(axis=2)
    assert_array_equal(inside, D.argmin(axis=1) == 0)


def test_rows_near_those_in_a_cell_come_first_then_those_near_its_centre():
    committee, _ = committee_of(400)
    answers = cells_of(committee, 150, 20, shared=3)
    X = committee.rows().X
    C = answers.near.metric.forward(answers.cells.centres)
    P = answers.near.metric.forward(X)
    owner = ((P[:, None] - C) ** 2).sum(axis=2).argmin(axis=1)
    sizes = np.bincount(owner)
    for name in [(int(i),) for i in np.flatnonzero(sizes <= 40)[:3]]:  # more would not all count
        members = np.flatnonzero(owner == name[0])
        first = {i for r in members for i in np.argsort(((P - P[r]) ** 2).sum(axis=1))[:3]}
        at = answers._around(name)
        assert first <= set(at) and set(at[: len(first)]) == first
        rest = [i for i in np.argsort(((P - C[name[0]]) ** 2).sum(axis=1)) if i not in first]
        assert_array_equal(at[len(first) :], rest[: 150 - len(first)])
        fewer = answers._around(name, members)
        assert_array_equal(fewer, np.argsort(((P - C[name[0]]) ** 2).sum(axis=1))[:150])


def test_weights_in_single_precision_are_those_in_double():
    committee, _ = committee_of(300)
    rows = committee.rows().take(np.arange(20, 140))
    shared = Shared.of(committee.basis, committee.noise, rows)
    right = shared.expansion(committee.basis, committee.belief).weights
    found = weights_of(
        committee.basis, committee.belief, committee.noise, rows, np.ascontiguousarray(shared.V.T)
    )
    assert found is not None
    assert_allclose(found, right, atol=2e-4 * np.abs(right).max())


def test_single_precision_changes_answers_little():
    committee, Xs = committee_of(400)
    double, single = (
        cells_of(committee, 60, 20, shared=4, single=one).predict(Xs, Serial())
        for one in (False, True)
    )
    assert_allclose(single.mean, double.mean, atol=1e-4)
    assert_allclose(single.variance, double.variance, rtol=1e-3)
    assert not np.array_equal(single.mean, double.mean)


def test_queries_whose_cell_lacks_their_nearest_rows_are_answered_from_these():
    committee, Xs = committee_of(400)
    answers = cells_of(committee, 30, 10, own=3)
    found, plain = (cells_of(committee, 30, 10, own=k).predict(Xs, Serial()) for k in (3, 0))
    right = answers.accurate.predict(Xs, Serial())
    names, number = answers.places.names(Xs)
    P, S = (answers.near.metric.forward(one) for one in (committee.rows().X, Xs))
    lacks = []
    for s, name in zip(S, [names[i] for i in number]):
        nearest = np.argsort(((P - s) ** 2).sum(axis=1))[:3]
        lacks.append(not np.isin(nearest, answers._around(name)).all())
    lacks = np.array(lacks)
    assert 3 < lacks.sum() < 42
    for part in ("mean", "variance"):
        own = getattr(found, part)
        assert_array_equal(own[lacks], getattr(right, part)[lacks])
        assert_array_equal(own[~lacks], getattr(plain, part)[~lacks])
    assert_array_equal(answers.mean(Xs, Serial()), found.mean)


def test_answers_of_shared_cells_do_not_depend_on_the_batch():
    committee, Xs = committee_of(400)
    asked = {"shared": 4, "single": True, "own": 2}
    answers, order = cells_of(committee, 40, 10, 2e4, **asked), RNG.permutation(45)
    whole = cells_of(committee, 40, 10, **asked).predict(Xs, Serial())
    mixed = answers.predict(Xs[order], Threads(2))
    alone = [answers.predict(Xs[i : i + 1], Serial()) for i in range(45)]
    for part in ("mean", "variance"):
        own = getattr(whole, part)
        assert_array_equal(np.concatenate([getattr(one, part) for one in alone]), own)
        assert_array_equal(getattr(mixed, part), own[order])


def test_rows_of_a_cell_are_answered_as_if_they_were_not_in_it():
    committee, _ = committee_of(400)
    answers, rows = cells_of(committee, 60, 20, shared=4), committee.rows()
    for found in answers.without_rows([(1,), (3,)], 3, (10, 25)):
        assert 0 < found.own.size <= 3 and not np.isin(found.own, found.rows).any()
        X = rows.X[found.own]
        for near, given in zip((10, 25), found.given):
            some = rows.take(found.rows[:near])
            K = committee.basis.kernel.value(some.X) + np.diag(some.psi(committee.noise))
            k = committee.basis.kernel.value(some.X, X)
            right = committee.basis.kernel.diag(X) - (k * np.linalg.solve(K, k)).sum(axis=0)
            assert_allclose(given, right, rtol=1e-6)
        shared = Shared.of(committee.basis, committee.noise, rows.take(found.rows))
        right = shared.predict(committee.basis, committee.belief, X)
        assert_allclose(found.mean, right.mean)
        assert_allclose(found.variance, right.variance)
