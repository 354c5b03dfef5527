"""Cells: with all rows they are the exact GP; answers depend on the query alone."""

from dataclasses import replace

import numpy as np
import pytest
from cell_cases import cells_of, committee_of
from numpy.testing import assert_allclose, assert_array_equal

import reference
from collegium.answers.cells import predictor
from collegium.answers.cells.predictor import CellPredictor
from collegium.answers.local import Shared
from collegium.answers.predictors import ExactPredictor
from collegium.answers.tuning import TUNING
from collegium.engines import Serial, Threads
from collegium.kernels import Linear, Matern32, Trend
from collegium.messages.committee import Committee
from collegium.messages.expansion import Expansion
from collegium.rows.chunk import chunk_of
from collegium.rows.rows import Rows


@pytest.mark.parametrize("d", [2, 4], ids=["boxes", "around rows"])
@pytest.mark.parametrize("kernel", [None, "trend"])
def test_a_cell_of_all_rows_is_the_exact_gp(d, kernel):
    kernel = kernel and Matern32(1.3, 0.9) + Trend(30.0, 1.7, centre=0.4)
    committee, Xs = committee_of(60, d, chunks=1, kernel=kernel)
    found = cells_of(committee, 60, 60).predict(Xs, Serial())
    rows = committee.rows()
    mean, C, _ = reference.gp(committee.basis.kernel, committee.noise, rows.X, rows.y, rows.w, Xs)
    assert_allclose(found.mean, mean, rtol=1e-7, atol=1e-9)
    assert_allclose(found.variance, np.diag(C), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("d", [2, 4], ids=["boxes", "around rows"])
def test_a_cell_is_the_local_correction_by_the_rows_around_its_centre(d):
    committee, Xs = committee_of(d=d)
    answers = cells_of(committee, 25, 10, power=1.4)
    found, rows, kernel = answers.predict(Xs, Serial()), committee.rows(), committee.basis.kernel
    names, number = answers.places.names(Xs)
    for name in names:
        own = number == names.index(name)
        at = answers.places.nearest(answers.near, name, 25)
        shared = Shared.of(committee.basis, committee.noise, rows.take(at))
        right = shared.predict(committee.basis, committee.belief, Xs[own])
        assert_allclose(found.mean[own], right.mean, rtol=1e-8, atol=1e-10)
        some = rows.take(at[:10])
        _, C, _ = reference.gp(kernel, committee.noise, some.X, some.y, some.w, Xs[own])
        right = 1.7 * (np.diag(C) / 1.7) ** 1.4
        assert_allclose(found.variance[own], right, rtol=1e-7, atol=1e-9)
    assert_array_equal(answers.mean(Xs, Serial()), found.mean)


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("memory", [0.0, 2e4, 1e8])
def test_answers_do_not_depend_on_the_batch_nor_on_what_is_kept(d, memory):
    committee, Xs = committee_of(d=d)
    answers, order = cells_of(committee, 25, 10, memory), np.random.default_rng(0).permutation(45)
    whole = cells_of(committee, 25, 10).predict(Xs, Serial())
    alone = [answers.predict(Xs[i : i + 1], Serial()) for i in range(45)]
    mixed = answers.predict(Xs[order], Threads(2))
    for part in ("mean", "variance"):
        own = getattr(whole, part)
        assert_array_equal(np.concatenate([getattr(one, part) for one in alone]), own)
        assert_array_equal(getattr(mixed, part), own[order])
    assert answers.cache.nbytes <= memory


def test_weights_that_were_kept_give_the_same_cells():
    committee, Xs = committee_of()
    answers = cells_of(committee, 25, 10)
    kept = answers.with_weights()
    assert kept.weights.shape == (4, 9 + 25, 2)
    again = CellPredictor.of(committee, kept, answers.accurate)
    assert_array_equal(again.predict(Xs, Serial()).mean, answers.predict(Xs, Serial()).mean)
    other = replace(kept, weights=2.0 * kept.weights)
    doubled = CellPredictor.of(committee, other, answers.accurate).mean(Xs, Serial())
    assert_allclose(doubled, 2.0 * answers.mean(Xs, Serial()))


def test_without_queries_there_are_no_answers():
    committee, Xs = committee_of()
    found = cells_of(committee, 25, 10).predict(Xs[:0], Serial())
    assert found.mean.shape == (0, 2) and found.variance.shape == (0,)


@pytest.mark.parametrize("d", [2, 4], ids=["boxes", "around rows"])
def test_held_out_rows_are_answered_as_by_a_cell_without_them(d):
    committee, _ = committee_of(d=d)
    answers, rows = cells_of(committee, 25, 10), committee.rows()
    basis, kernel, noise = committee.basis, committee.basis.kernel, committee.noise
    names, number = answers.places.names(rows.X)
    left = answers.left_out(names)
    assert left.own.size > 12 and np.unique(left.own).size == left.own.size
    for i, row in enumerate(left.own):
        at = answers.places.nearest(answers.near, names[number[row]], 25)
        others = rows.take(at[at != row])
        shared = Shared.of(basis, noise, others)
        query = rows.X[row : row + 1]
        mean = shared.predict(basis, committee.belief, query).mean
        assert_allclose(left.error[i], rows.y[row] - mean[0], rtol=1e-6, atol=1e-9)
        some = rows.take(at[:10][at[:10] != row])
        _, C, _ = reference.gp(kernel, noise, some.X, some.y, some.w, query)
        assert_allclose(left.variance[i], C[0, 0], rtol=1e-6, atol=1e-9)


def test_only_rows_that_are_asked_for_are_held_out():
    committee, _ = committee_of()
    answers = cells_of(committee, 25, 10)
    names, _ = answers.places.names(committee.rows().X)
    only = np.arange(0, 160, 7)
    assert np.isin(answers.left_out(names, only).own, only).all()
    assert answers.left_out([]).own.size == 0


def test_centres_are_not_held_out(monkeypatch):
    """They are in the middle of their cells, as no query will be."""
    many = replace(TUNING.cells, held_out=1000)
    monkeypatch.setattr(predictor, "TUNING", replace(TUNING, cells=many))
    committee, _ = committee_of()
    answers = cells_of(committee, 25, 10)
    left = answers.left_out(answers.places.names(committee.rows().X)[0])
    own = committee.rows().X[left.own]
    assert not (own[:, None] == answers.cells.centres[None]).all(axis=2).any()


def test_means_of_all_rows_are_added():
    committee, Xs = committee_of()
    plain, weights = cells_of(committee, 25, 10), np.random.default_rng(1).normal(size=(160, 2))
    more = Expansion(committee.basis.kernel, committee.rows().X, weights)
    both = CellPredictor.of(committee, plain.cells, plain.accurate, more)
    K = reference.covariance(committee.basis.kernel, Xs, committee.rows().X)
    expected = plain.mean(Xs, Serial()) + K @ weights
    assert_allclose(both.mean(Xs, Serial()), expected, rtol=1e-9, atol=1e-9)
    assert_allclose(both.predict(Xs, Serial()).mean, expected, rtol=1e-9, atol=1e-9)
    joint = both.joint(Xs, Serial())[0].mean - plain.joint(Xs, Serial())[0].mean
    assert_allclose(joint, K @ weights, rtol=1e-8, atol=1e-9)


def test_means_of_an_exact_gp_are_its_own():
    committee, Xs = committee_of(anchors=0, chunks=1)
    answers, exact = cells_of(committee, 0, 12), ExactPredictor.of(committee)
    found, right = answers.predict(Xs, Serial()), exact.predict(Xs, Serial())
    assert_allclose(found.mean, right.mean, rtol=1e-9, atol=1e-11)
    for i in range(0, 45, 11):
        assert_array_equal(answers.mean(Xs[i : i + 1], Serial()), found.mean[i : i + 1])
    assert (found.variance >= right.variance - 1e-9).all()  # given fewer rows
    assert_allclose(answers.joint(Xs, Serial())[1], exact.joint(Xs, Serial())[1])


def test_far_from_all_rows_variances_are_those_of_the_prior():
    committee, Xs = committee_of()
    answers = cells_of(committee, 25, 10, power=1.3)
    assert_allclose(answers.predict(Xs + 1e3, Serial()).variance, 1.7, rtol=1e-6)


def test_cells_that_are_prepared_are_those_of_rows_and_within_memory():
    committee, _ = committee_of(d=2)
    answers = cells_of(committee, 25, 10)
    number = answers.prepare(Threads(2))
    assert number == len(answers.places.names(committee.rows().X)[0])
    few = cells_of(
        committee, 25, 10, memory=3.5 * answers.cell(next(iter(answers.cache._values))).nbytes
    )
    assert few.prepare(Serial()) == 3


def test_preparing_ends_when_it_is_told_to():
    committee, Xs = committee_of(d=2)
    answers, others = cells_of(committee, 25, 10), cells_of(committee, 25, 10)
    assert answers.prepare(Serial(), lambda: True) <= 1  # one shows how large they are
    others.prepare(Serial())
    assert_array_equal(answers.mean(Xs, Serial()), others.mean(Xs, Serial()))


def test_the_memory_of_all_cells_is_foreseen():
    for d in (2, 4):
        committee, _ = committee_of(400, d)
        answers = cells_of(committee, 25, 10)
        foreseen = answers.all_bytes(committee.rows().X[::3])
        answers.prepare(Serial())
        assert 0.6 < foreseen / answers.cache.nbytes < 1.7


@pytest.mark.parametrize("d", [2, 4], ids=["boxes", "around rows"])
def test_twins_without_noise_have_no_negative_variance(d):
    committee, _ = committee_of(d=d, noise=1e-14)
    twins = committee.rows()
    again = Rows(twins.X + 1e-9, twins.y, twins.w)
    committee = committee.add([chunk_of(9, again)], Serial(), keep=True)
    answers = cells_of(committee, 25, 20)
    with np.errstate(all="ignore"):
        found = answers.predict(twins.X, Serial())
    assert (found.variance >= 0.0).all() and np.isfinite(found.mean).all()


def test_variances_that_grow_without_bound_are_not_scaled():
    kernel = Matern32(1.3, 0.9) + Trend(30.0, 1.7, centre=0.4)
    committee, _ = committee_of(300, kernel=kernel)
    answers = cells_of(committee, 100, 50, power=1.8)
    far = np.array([[20.0, 0, 0, 0], [300.0, -200.0, 0, 0]])
    found, right = answers.predict(far, Serial()), answers.accurate.predict(far, Serial())
    assert_allclose(found.variance, right.variance, rtol=0.5)
    assert answers.cells.anchored and answers.cells.prior == 1.3


def test_queries_so_far_out_that_sums_overflow_are_answered_from_nearest_rows():
    committee, Xs = committee_of(kernel=Matern32(1.3, 0.9) + Linear(1.5))
    answers = cells_of(committee, 25, 10)
    Xs = np.concatenate([Xs[:3], np.full((1, 4), 1e120)])
    with np.errstate(all="ignore"):
        found, right = answers.predict(Xs, Serial()), answers.accurate.predict(Xs, Serial())
        mean = answers.mean(Xs, Serial())
    assert np.isfinite(right.variance).all() and np.isfinite(found.variance).all()
    assert_array_equal(mean, found.mean)


def test_queries_of_a_level_that_no_centre_near_them_has_are_answered_from_nearest_rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (400, 4))
    X[:, 3] = rng.integers(0, 3, 400)
    X[:6, 3] = 7.0  # few rows of their own
    y = np.sin(X[:, :1]) + 4.0 * (X[:, 3:] == 7.0) + 0.05 * rng.normal(size=(400, 1))
    kernel = Matern32(2.0, [0.9, 1.3, 1.1, 0.4], categories=[3])
    start = Committee.start(kernel, 0.01, X[50:59], 1)
    parts = [Rows(X[a : a + 100], y[a : a + 100], np.ones(100)) for a in range(0, 400, 100)]
    chunks = [chunk_of(i, part) for i, part in enumerate(parts)]
    committee = start.add(chunks, Serial(), keep=True)
    answers = cells_of(committee, 25, 10)
    assert set(np.unique(X[:, 3])) == set(answers.cells.centres[:, 3])
    Xs = np.repeat(rng.uniform(-2, 2, (40, 4)), 2, axis=0)
    Xs[:, 3] = np.tile([7.0, 99.0], 40)
    strange = answers.places.strange(Xs)
    assert strange[1::2].all() and 5 < strange[::2].sum()
    found, right = answers.predict(Xs, Serial()), answers.accurate.predict(Xs, Serial())
    assert_array_equal(found.mean[strange], right.mean[strange])
    assert_array_equal(found.variance[strange], right.variance[strange])
    assert_array_equal(answers.mean(Xs, Serial()), found.mean)
    left = answers.left_out(answers.places.names(X)[0])
    assert not answers.places.strange(committee.rows().X[left.own]).any()
