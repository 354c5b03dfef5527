"""Committees about the queries themselves: as LaplaceCommittee with Z = the queries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium.answers.transductive import padding
from collegium.engines import Serial, Threads
from collegium.laplace.transductive import JointLatents
from collegium.likelihoods import Logit, Poisson, Probit, Softmax
from collegium.rows import partition
from site_cases import converged, draw, start, swept

LIKELIHOODS = {"logit": Logit(), "probit": Probit(), "poisson": Poisson(), "softmax": Softmax(3)}
every = pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS.keys())


def settled(likelihood, chunks, Z, **arguments):
    first = start(likelihood, Z).join(chunks)
    return converged(first, **{"tolerance": 1e-10, **arguments})


def joint(likelihood, size, *, sweeps=50, tolerance=1e-10, sequential=False):
    chunks, Z, Xs = draw(likelihood, q=12)
    one = swept(start(likelihood, Z).join(chunks))
    answer = JointLatents.of([one], size, sweeps, tolerance, sequential=sequential)
    return answer, chunks, Z, Xs


@every
@pytest.mark.parametrize("sequential", [False, True])
def test_a_full_batch_is_a_committee_with_the_queries_as_anchors(likelihood, sequential):
    answer, chunks, _, Xs = joint(likelihood, 12, sweeps=2, sequential=sequential)
    found = answer.predict(Xs, Serial())
    exact = settled(likelihood, chunks, Xs, sequential=sequential, max_sweeps=2)
    other = settled(likelihood, chunks, Xs, sequential=not sequential, max_sweeps=2)
    V = exact.basis.design(Xs)
    assert len(found) == likelihood.latents
    for one, belief, wrong in zip(found, exact.beliefs, other.beliefs):
        assert_allclose(one.mean, V.T @ belief.mean, rtol=1e-7, atol=1e-8)
        assert_allclose(one.variance, np.sum(belief.spread(V) ** 2, axis=0), rtol=1e-6)
        assert np.abs(one.mean - V.T @ wrong.mean).max() > 1e-6


@every
def test_a_small_batch_is_padded_with_rows_and_anchors_near_it(likelihood):
    answer, chunks, Z, Xs = joint(likelihood, 15)
    pad = padding(Xs[:3], 15, answer.X, Z, answer.metric, answer.tree)
    assert pad.shape == (12, 2)
    known = {tuple(row) for row in np.concatenate([answer.X, Z])}
    assert {tuple(row) for row in pad} <= known
    assert len({tuple(row) for row in pad} & {tuple(row) for row in Z}) >= 5
    found = answer.predict(Xs[:3], Serial())
    points = np.unique(np.concatenate([Xs[:3], pad]), axis=0)
    exact = settled(likelihood, chunks, points)
    V = exact.basis.design(Xs[:3])
    for one, belief in zip(found, exact.beliefs):
        assert_allclose(one.mean, V.T @ belief.mean, rtol=1e-6, atol=1e-8)


def test_several_committees_answer_side_by_side():
    chunks, Z, Xs = draw(Logit(), q=12)
    both = [swept(start(likelihood, Z).join(chunks)) for likelihood in (Logit(), Probit())]
    together = JointLatents.of(both, 5, 9, 1e-8).predict(Xs, Serial())
    for one, found in zip(both, together):
        alone = JointLatents.of([one], 5, 9, 1e-8).predict(Xs, Serial())[0]
        assert_array_equal(found.mean, alone.mean)
        assert_array_equal(found.variance, alone.variance)


def test_neither_order_nor_copies_nor_workers_matter():
    answer, _, _, Xs = joint(Softmax(3), 5)
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(12), 2))
    plain = answer.predict(Xs, Serial())
    for one, other in zip(plain, answer.predict(Xs[order], Threads(2))):
        assert_array_equal(one.mean[order], other.mean)
        assert_array_equal(one.variance[order], other.variance)


def test_each_batch_is_predicted_by_itself():
    answer, _, _, Xs = joint(Logit(), 5)
    whole = answer.predict(Xs, Serial())[0]
    distinct, _ = partition.distinct(Xs)
    batches = partition.balanced(answer.metric.forward(distinct), 5, np.random.default_rng(0))
    assert len(batches) == 3
    for batch in batches:
        rows = [int(np.flatnonzero((Xs == x).all(axis=1))[0]) for x in distinct[batch]]
        alone = answer.predict(Xs[rows], Serial())[0]
        assert_allclose(alone.mean, whole.mean[rows], rtol=1e-9)


def test_predicting_leaves_the_committee_as_it_was():
    answer, chunks, Z, Xs = joint(Logit(), 5)
    one = answer.committees[0]
    before = one.log_evidence, one.sweeps, one.change, [id(state) for state in one.states]
    answer.predict(Xs, Serial())
    after = one.log_evidence, one.sweeps, one.change, [id(state) for state in one.states]
    assert before == after
    assert_array_equal(one.basis.Z, Z)
