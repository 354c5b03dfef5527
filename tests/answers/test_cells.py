"""Cells: with all rows they are the exact GP; answers depend on the query alone."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from collegium.answers import cells as module
from collegium.answers.cell import Cell, FewRows
from collegium.answers.cells import CellPredictor, Cells, local_variance, scaled_variance
from collegium.answers.places import LEVELS, REACH, AroundRows, Boxes
from collegium.answers.predictors import Exact, Local
from collegium.engines import Serial, Threads
from collegium.kernels import RBF, Constant, Linear, Matern32, Periodic, Trend
from collegium.messages.committee import Committee
from collegium.messages.expansion import Expansion
from collegium.rows.chunk import chunk_of
from collegium.rows.metric import Metric
from collegium.rows.nearest import Nearby
from collegium.rows.rows import Rows

KERNEL = Matern32(1.7, [0.8, 1.9, 1.3, 0.9])


def committee_of(n=160, d=4, chunks=3, anchors=9, kernel=None, p=2, noise=0.07, seed=3):
    rng = np.random.default_rng(seed)
    kernel = kernel or replace(KERNEL, length_scale=KERNEL.length_scale[:d])
    X = rng.uniform(-2, 2, (n, d))
    y = np.stack([np.sin(2 * X[:, 0]) + X[:, -1], X[:, 0] ** 2], axis=1)[:, :p]
    rows = Rows(X, y + 0.2 * rng.normal(size=y.shape), rng.uniform(0.4, 3.0, n))
    start = Committee.start(kernel, noise, X[:anchors] + 0.1, p)
    parts = [rows.take(own) for own in np.array_split(np.arange(n), chunks)]
    own = [chunk_of(i, part) for i, part in enumerate(parts)]
    return start.add(own, Serial(), keep=True), rng.uniform(-2.5, 2.5, (45, d))


def cells_of(committee, k, near, memory=1e8, n_local=20, **more):
    own = Cells.of(committee.basis.kernel, committee.rows().X, k, near, memory)
    accurate = Local.of(committee, n_local) if committee.basis.m else Exact.of(committee)
    return CellPredictor.of(committee, replace(own, **more), accurate)


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
        shared = module.Shared.of(committee.basis, committee.noise, rows.take(at))
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
def test_rows_left_out_are_answered_as_by_a_cell_without_them(d):
    committee, _ = committee_of(d=d)
    answers, rows = cells_of(committee, 25, 10), committee.rows()
    basis, kernel, noise = committee.basis, committee.basis.kernel, committee.noise
    names, number = answers.places.names(rows.X)
    left = answers.left_out(names)
    assert left.own.size > 12 and np.unique(left.own).size == left.own.size
    for i, row in enumerate(left.own):
        at = answers.places.nearest(answers.near, names[number[row]], 25)
        others = rows.take(at[at != row])
        shared = module.Shared.of(basis, noise, others)
        query = rows.X[row : row + 1]
        mean = shared.predict(basis, committee.belief, query).mean
        assert_allclose(left.error[i], rows.y[row] - mean[0], rtol=1e-6, atol=1e-9)
        some = rows.take(at[:10][at[:10] != row])
        _, C, _ = reference.gp(kernel, noise, some.X, some.y, some.w, query)
        assert_allclose(left.variance[i], C[0, 0], rtol=1e-6, atol=1e-9)


def test_only_rows_that_are_asked_for_are_left_out():
    committee, _ = committee_of()
    answers = cells_of(committee, 25, 10)
    names, _ = answers.places.names(committee.rows().X)
    only = np.arange(0, 160, 7)
    assert np.isin(answers.left_out(names, only).own, only).all()
    assert answers.left_out([]).own.size == 0


def test_centres_are_not_left_out(monkeypatch):
    """They are in the middle of their cells, as no query will be."""
    monkeypatch.setattr(module, "LEFT_OUT", 1000)
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
    answers, exact = cells_of(committee, 0, 12), Exact.of(committee)
    found, right = answers.predict(Xs, Serial()), exact.predict(Xs, Serial())
    assert_allclose(found.mean, right.mean, rtol=1e-9, atol=1e-11)
    for i in range(0, 45, 11):
        assert_array_equal(answers.mean(Xs[i : i + 1], Serial()), found.mean[i : i + 1])
    assert (found.variance >= right.variance - 1e-9).all()  # given fewer rows
    assert_allclose(answers.joint(Xs, Serial())[1], exact.joint(Xs, Serial())[1])


def test_far_from_all_rows_variances_are_those_of_the_prior():
    given = np.array([0.0, 0.02, 1.7, 9.0])
    assert_allclose(scaled_variance(given, 1.7, 1.5)[[0, 2, 3]], [0.0, 1.7, 9.0])
    assert scaled_variance(given, 1.7, 1.5)[1] < 0.02 < scaled_variance(given, 1.7, 0.7)[1]
    assert_array_equal(scaled_variance(given, 0.0, 1.5), given)
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


def test_rounding_gives_no_negative_variance():
    few = FewRows(None, np.array([0.7]), 1, 0)
    found = few.at(np.zeros((2, 1)), np.array([0.49, 0.5]), np.array([[0.4900001], [0.49]]))
    assert_allclose(found, [0.0, 0.01])


def test_the_prior_that_fades_is_that_of_stationary_terms():
    X = np.random.default_rng(0).normal(size=(30, 2))
    kernel = Matern32(1.3, 0.9) + Trend(30.0, 1.7) + RBF(0.4, [2.0, 0.5]) + Linear(1.1)
    kernel = kernel + Constant(5.0) + Periodic(2.0) + Matern32(0.7, 1.0) * Linear(0.8)
    assert_allclose(local_variance(kernel.for_width(2), X), 1.7)
    assert local_variance(Linear(1.1), X) == 0.0


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


# places ------------------------------------------------------------------------------------


def boxes_of(X, k):
    metric = Metric.of(Matern32(1.0, np.linspace(0.7, 1.4, X.shape[1])), X)
    return Boxes.of(metric, Nearby.of(metric, X).tree, k), metric


@pytest.mark.parametrize("d", [1, 2, 3])
def test_boxes_reach_no_farther_than_a_share_of_the_depth_of_their_rows(d):
    rng = np.random.default_rng(4)
    X = np.concatenate([rng.normal(size=(200, d)), 5.0 + 0.1 * rng.normal(size=(100, d))])
    boxes, metric = boxes_of(X, 20)
    Xs = rng.uniform(-4, 7, (80, d))
    names, number = boxes.names(Xs)
    assert sorted(set(number)) == list(range(len(names)))
    S = metric.forward(Xs)
    for i, j in enumerate(number):
        name = names[j]
        centre = boxes._centres([name])[0]
        half = 0.5 * boxes.side / 2.0 ** name[0]
        assert (np.abs(S[i] - centre) <= half * (1 + 1e-9)).all()
        far = np.sort(np.linalg.norm(metric.forward(X) - centre, axis=1))[:20]
        assert np.sqrt(d) * half <= REACH * (far[-1] - far[0]) * (1 + 1e-9)
        parent = (name[0] - 1, *(v // 2 for v in name[1:]))
        if name[0]:  # the larger box would have reached too far
            far = np.sort(np.linalg.norm(metric.forward(X) - boxes._centres([parent])[0], axis=1))
            assert np.sqrt(d) * 2 * half > REACH * (far[19] - far[0])
        assert boxes.inside(name, Xs)[i]
    for i in range(0, 80, 9):
        alone, _ = boxes.names(Xs[i : i + 1])
        assert alone[0] == names[number[i]]


def test_boxes_end_where_rows_are_equal_and_far_away():
    X = np.zeros((50, 2))
    X[40:] = np.random.default_rng(0).normal(size=(10, 2))
    boxes, _ = boxes_of(X, 30)
    names, number = boxes.names(np.array([[0.0, 0.0], [1e300, -1e300], [1e6, 3.0]]))
    assert number.size == 3 and max(name[0] for name in names) <= LEVELS


def test_what_boxes_remember_is_bounded(monkeypatch):
    monkeypatch.setattr("collegium.answers.places.REMEMBERED", 10)
    boxes, _ = boxes_of(np.random.default_rng(1).normal(size=(300, 2)), 20)
    Xs = np.random.default_rng(2).normal(size=(50, 2))
    first = [boxes.names(Xs[i : i + 1])[0] for i in range(50)]
    assert len(boxes.depths) <= 10 + LEVELS
    assert first == [boxes.names(Xs[i : i + 1])[0] for i in range(50)]


def test_a_query_is_in_the_cell_of_the_nearest_centre():
    X = np.random.default_rng(1).normal(size=(300, 5))
    metric = Metric.of(Matern32(1.0, np.linspace(0.5, 2.0, 5)), X)
    around, Xs = AroundRows.of(metric, X[::40]), np.random.default_rng(2).normal(size=(30, 5))
    names, number = around.names(Xs)
    D = np.linalg.norm(metric.forward(Xs)[:, None] - metric.forward(X[::40])[None], axis=2)
    assert [names[j][0] for j in number] == list(D.argmin(axis=1))
    for name in names:
        assert_array_equal(around.inside(name, Xs), D.argmin(axis=1) == name[0])


def test_a_cell_counts_all_that_it_keeps():
    committee, _ = committee_of()
    cell: Cell = cells_of(committee, 25, 10).cell((0,))
    assert cell.nbytes == 8 * (55 + (9 + 25) * (4 + 2))
    committee, _ = committee_of(kernel=Matern32(1.3, 0.9) + Trend(30.0, 1.7))
    cell = cells_of(committee, 25, 10).cell((0,))
    assert cell.nbytes == 8 * ((9 + 5) * 10 + 100 + 10 * 4 + (9 + 25) * (4 + 2))
