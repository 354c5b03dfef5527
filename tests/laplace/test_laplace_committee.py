"""Chunks approximated against each other until they converge: the mode of the anchored model."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from collegium.answers.local import correct
from collegium.answers.predictors import GlobalPredictor, LocalPredictor, OwnChunkPredictor
from collegium.answers.predictors import predictor as predictor_of
from collegium.engines import Serial, Threads
from collegium.kernels import RBF
from collegium.laplace import committee as committees
from collegium.laplace.committee import (
    ChunkState,
    LaplaceCommittee,
    Stack,
    predict_latents,
    settle_together,
)
from collegium.likelihoods import Gaussian, Logit, Poisson, Probit, Softmax, StudentT
from collegium.messages.basis import Anchors
from collegium.messages.committee import Committee
from collegium.messages.experts import Block, Diagonal
from collegium.rows.chunk import Chunk
from collegium.rows.rows import Rows, SiteRows
from site_cases import KERNEL, LIKELIHOODS, converged, draw, predictors, start, swept

every = pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS.keys())
both_experts = pytest.mark.parametrize(
    ("expert", "kind"), [(Block, "pitc"), (Diagonal, "fitc")], ids=["block", "diagonal"]
)
both_orders = pytest.mark.parametrize("sequential", [True, False], ids=["sequential", "parallel"])


def settled(likelihood, chunks, Z, *, expert=Block, sequential=False, tolerance=1e-12):
    first = start(likelihood, Z, expert=expert).join(chunks)
    return converged(first, sequential=sequential, tolerance=tolerance)


def all_sites(committee, k=0):
    return committee.latent(k).rows()


# --- the fixed point ------------------------------------------------------------------------------


@pytest.mark.diagonal
@every
@both_experts
@both_orders
def test_at_the_fixed_point_mode_and_evidence_are_those_of_the_whole_model(
    likelihood, expert, kind, sequential
):
    chunks, Z, Xs = draw(likelihood)
    found = settled(likelihood, chunks, Z, expert=expert, sequential=sequential)
    assert found.modes_found and found.change <= 1e-12 and 2 <= found.sweeps <= 20
    X, y, w, _ = reference.stack(chunks)
    C = reference.between_rows(kind, KERNEL, chunks, Z)
    sites = all_sites(found)
    f, g, W, evidence = reference.laplace(C, likelihood, y, w, start=sites.f[:, 0] + 1e-3)
    assert_allclose(sites.f[:, 0], f, rtol=1e-9, atol=1e-9)
    assert_allclose(sites.W, W, rtol=1e-7, atol=1e-8)
    assert_allclose(found.log_evidence, evidence, rtol=1e-9)
    Ksf = reference.covariance(KERNEL, Xs, Z) @ np.linalg.solve(
        reference.covariance(KERNEL, Z), reference.covariance(KERNEL, Z, X)
    )
    A = np.linalg.solve(np.eye(len(f)) + W[:, None] * C, np.diag(W))
    answer = GlobalPredictor(found.latent()).predict(Xs, Serial())
    assert_allclose(answer.mean[:, 0], Ksf @ g, rtol=1e-7, atol=1e-8)
    variance = KERNEL.diag(Xs) - np.einsum("qn,nk,qk->q", Ksf, A, Ksf)
    assert_allclose(answer.variance, variance, rtol=1e-8)


@both_orders
def test_at_the_fixed_point_softmax_is_at_its_joint_mode(sequential):
    likelihood = Softmax(3)
    chunks, Z, _ = draw(likelihood)
    found = settled(likelihood, chunks, Z, sequential=sequential)
    assert found.change <= 1e-12
    _, y, w, _ = reference.stack(chunks)
    f, p = reference.softmax_mode(reference.between_rows("pitc", KERNEL, chunks, Z), 3, y, w)
    for k in range(3):
        sites = all_sites(found, k)
        assert_allclose(sites.f[:, 0], f[:, k], rtol=1e-8, atol=1e-9)
        assert_allclose(sites.W, w * p[:, k] * (1 - p[:, k]), rtol=1e-8)
    assert_allclose(sum(b.mean for b in found.beliefs), 0.0, atol=1e-9)
    assert len(found.total.parts) == 3 and found.total.parts[0].precision.shape == (7, 7)


@pytest.mark.diagonal
@both_experts
@both_orders
@pytest.mark.parametrize("size", [1e9, 1e15])
def test_rough_counts_of_any_size_converge_to_their_joint_mode(size, expert, kind, sequential):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = rng.poisson(np.exp(1.0 + np.sin(X[:, 0]))).astype(float)
    y = size * (y if size < 1e15 else y > np.median(y))[:, None]
    y = np.hstack([y, np.full_like(y, y.mean())])
    groups = np.array_split(np.argsort(X[:, 0]), 4)
    chunks = [Chunk(i, X[g], y[g], np.ones(15)) for i, g in enumerate(groups)]
    Z = X[:12] + 0.01
    found = settled(Poisson(), chunks, Z, expert=expert, sequential=sequential, tolerance=1e-7)
    assert found.modes_found and found.change <= 1e-7
    _, y, w, _ = reference.stack(chunks)
    C = reference.between_rows(kind, KERNEL, chunks, Z)
    sites = all_sites(found)
    f, _, _, evidence = reference.laplace(C, Poisson(), y, w, start=sites.f[:, 0] + 1e-3)
    assert_allclose(sites.f[:, 0], f, rtol=1e-5, atol=1e-5)
    assert_allclose(found.log_evidence, evidence, rtol=1e-8)


@pytest.mark.diagonal
@every
def test_one_chunk_has_the_laplace_evidence_for_any_anchors(likelihood):
    chunks, Z, _ = draw(likelihood, (22,))
    X, y, w = chunks[0].load()
    C = reference.covariance(KERNEL, X)
    for anchors in (Z[:0], Z[:1], Z, X):
        found = swept(start(likelihood, anchors).join(chunks))
        sites = all_sites(found)
        f, _, _, evidence = reference.laplace(C, likelihood, y, w, start=sites.f[:, 0] + 1e-4)
        assert_allclose(sites.f[:, 0], f, rtol=1e-7, atol=1e-7)
        assert_allclose(found.log_evidence, evidence, rtol=1e-8)


@both_experts
def test_gaussian_chunks_converge_in_one_sweep(expert, kind):
    chunks, Z, Xs = draw(Gaussian(0.21))
    plain = Committee.start(KERNEL, 0.21, Z, 1, expert).add(chunks, Serial(), keep=True)
    once = swept(start(Gaussian(0.21), Z, expert=expert).join(chunks))
    assert_allclose(once.beliefs[0].mean, plain.belief.mean, rtol=1e-9, atol=1e-10)
    assert_allclose(once.beliefs[0].covariance, plain.belief.covariance, rtol=1e-9, atol=1e-11)
    assert_allclose(once.log_evidence, plain.log_evidence()[0], rtol=1e-11)
    assert swept(once).change < 1e-12
    for make in (lambda c: LocalPredictor.of(c, 5), OwnChunkPredictor.of, GlobalPredictor):
        mine, theirs = make(once.latent()), make(plain)
        left, right = mine.joint(Xs, Serial()), theirs.joint(Xs, Serial())
        assert_allclose(left[0].mean, right[0].mean, rtol=1e-8, atol=1e-9)
        assert_allclose(left[0].variance, right[0].variance, rtol=1e-9)
        assert_allclose(left[1], right[1], rtol=1e-8, atol=1e-9)
        assert_allclose(mine.mean(Xs, Serial()), right[0].mean, rtol=1e-8, atol=1e-9)


def test_the_first_sweep_is_the_committee_machine_of_chunks_against_the_prior():
    chunks, Z, _ = draw(Logit())
    once = swept(start(Logit(), Z).join(chunks[::-1]))
    totals = once.past
    for chunk in chunks:
        totals = totals + swept(start(Logit(), Z).join([chunk])).totals
    total = totals.with_prior(once.basis)
    for name in ("precision", "shift", "log_scale"):
        assert_array_equal(getattr(once.total.parts[0], name), getattr(total.parts[0], name))


@pytest.mark.parametrize("likelihood", [Poisson(), StudentT(3.7, 0.08), Softmax(3)],
                         ids=["poisson", "student", "softmax"])  # fmt: skip
def test_sweeps_are_the_same_to_the_bit_on_every_engine(likelihood):
    chunks, Z, _ = draw(likelihood)
    one = converged(start(likelihood, Z).join(chunks), max_sweeps=3)
    for engine in (Threads(2), Threads(3)):
        again = start(likelihood, Z).join(chunks[::2]).join(chunks[3::-2])
        other = converged(again, engine, max_sweeps=3)
        assert other.log_evidence == one.log_evidence and other.change == one.change
        for a, b in zip(one.beliefs, other.beliefs):
            assert_array_equal(a.mean, b.mean)
            assert_array_equal(a.factor, b.factor)


# --- streams --------------------------------------------------------------------------------------


def test_a_new_chunk_is_approximated_against_the_present_belief():
    chunks, Z, _ = draw(Probit())
    old = settled(Probit(), chunks[:3], Z)
    new = old.add([chunks[3]])
    X, y, w = chunks[3].load()
    V = old.basis.design(X)
    belief = old.beliefs[0]
    P = KERNEL.value(X) - V.T @ V + V.T @ belief.covariance @ V
    m = (V.T @ belief.mean)[:, 0]

    class Shifted:
        def log_density(self, y, e):
            return Probit().log_density(y, m + e)

        def derivatives(self, y, e):
            return Probit().derivatives(y, m + e)

    e, _, W, _ = reference.laplace(P, Shifted(), y, w)
    assert_allclose(new.states[-1].sites.f[:, 0], m + e, rtol=1e-8, atol=1e-9)
    assert_allclose(new.states[-1].sites.W[:, 0], W, rtol=1e-7)
    forgetful = old.add([chunks[3]], keep=False)
    assert len(forgetful.states) == 3 and len(new.states) == 4
    assert_allclose(forgetful.beliefs[0].mean, new.beliefs[0].mean, rtol=1e-9, atol=1e-10)
    assert_allclose(forgetful.log_evidence, new.log_evidence, rtol=1e-11)
    pair = settled(Probit(), chunks[:2], Z)
    at_once, in_turn = pair.add(chunks[2:]), pair.add(chunks[2:3]).add(chunks[3:])
    # sums of the same messages in another order: rounding alone differs
    assert_allclose(at_once.states[-1].sites.f, in_turn.states[-1].sites.f, rtol=1e-12)
    assert_allclose(at_once.log_evidence, in_turn.log_evidence, rtol=1e-12)
    joint = settled(Probit(), chunks, Z)
    again = converged(new, tolerance=1e-12)
    assert_allclose(again.log_evidence, joint.log_evidence, rtol=1e-10)
    assert abs(new.log_evidence - joint.log_evidence) > 1e-6


def test_gaussian_streams_are_batches():
    chunks, Z, _ = draw(Gaussian(0.21))
    plain = Committee.start(KERNEL, 0.21, Z, 1).add(chunks, Serial(), keep=False)
    stream = start(Gaussian(0.21), Z)
    for chunk in chunks:
        stream = stream.add([chunk], keep=False)
    assert not stream.states
    assert_allclose(stream.beliefs[0].mean, plain.belief.mean, rtol=1e-8, atol=1e-9)
    assert_allclose(stream.log_evidence, plain.log_evidence()[0], rtol=1e-10)


# --- damping --------------------------------------------------------------------------------------


def test_steps_are_shortened_while_changes_grow_and_only_then(monkeypatch):
    first = LaplaceCommittee.of(Anchors.at(KERNEL, np.empty((0, 2))), Logit())

    def run(changes, **rules):
        """Sweeps whose changes are given beforehand; the steps that were taken."""
        steps = []

        def scripted(now, own, engine, *, sequential):
            steps.extend(own)
            sweeps = now[0].sweeps
            return [replace(now[0], sweeps=sweeps + 1, change=changes[sweeps])]

        monkeypatch.setattr(committees, "sweep_together", scripted)
        return converged(first, **rules), steps

    end, steps = run([4.0, 2.0, 3.0, 5.0, 1.0, 0.5, 0.2, 1e-9], tolerance=1e-8)
    assert steps == [1.0, 1.0, 1.0, 0.5, 0.25, 0.375, 0.5625, 0.84375]
    assert end.sweeps == 8 and end.change == 1e-9
    end, steps = run(np.arange(1.0, 41.0), max_sweeps=40)
    assert end.sweeps == 40
    assert min(steps) == 1 / 16


@pytest.mark.diagonal
@both_orders
def test_rows_of_negative_curvature_do_not_diverge(sequential):
    """Heavy tails at one input, and chunks whose rows are outliers to each other."""
    rng = np.random.default_rng(0)
    y = np.sort(np.sin(rng.normal(size=120)) + 0.1 * rng.standard_t(3, size=120))
    X, likelihood = np.zeros((120, 2)), StudentT(4.0, 0.01)
    groups = np.split(np.arange(120), 4)
    chunks = [Chunk(i, X[g], y[g, None], np.ones(30)) for i, g in enumerate(groups)]
    prior = start(likelihood, X[:1])
    first = prior.join(chunks)
    found = converged(first, sequential=sequential, tolerance=1e-6, max_sweeps=300)
    assert found.change <= 1e-6 and not found.bounded
    f = all_sites(found).f
    assert np.ptp(f) < 1e-5 and np.abs(f).max() < 1.0
    for most in (12, 18, 27):  # sane before it converges, too
        early = converged(first, sequential=sequential, max_sweeps=most)
        assert (
            np.abs(GlobalPredictor(early.latent()).predict(X[:1], Serial()).mean) < np.abs(y).max()
        )
    never = converged(first, sequential=sequential, tolerance=0.0, max_sweeps=100)
    assert_allclose(never.log_evidence, found.log_evidence, rtol=1e-6)
    slope = likelihood.derivatives(y[:, None], f[:, 0])[0].sum() - f[0, 0] / KERNEL.variance
    assert abs(slope) < 0.01  # of curvatures of hundreds
    (W,) = {float(all_sites(found).W.sum())}
    belief = found.beliefs[0]
    spread = belief.spread(found.basis.design(X[:1]))
    assert_allclose((spread**2).sum(), 1.0 / (1.0 / KERNEL.variance + W), rtol=1e-6)
    one = Chunk(0, X, y[:, None], np.ones(120))
    guess = ChunkState(one, Stack.zero(1, 1), replace(found.states[0].sites, g=all_sites(found).g))
    whole = swept(replace(prior, states=(guess,)))
    assert_allclose(whole.states[0].sites.f, f, atol=1e-4)
    assert_allclose(found.log_evidence, whole.log_evidence, rtol=1e-6)


def test_damped_sweeps_have_the_same_fixed_point():
    chunks, Z, _ = draw(Poisson())
    once = swept(start(Poisson(), Z).join(chunks))
    half, whole = swept(once, step=0.6), swept(once)
    assert half.change == whole.change
    for old, part, new in zip(once.states, half.states, whole.states):
        a, b, c = (one.messages.parts[0].shift for one in (old, part, new))
        assert_allclose(b - a, 0.6 * (c - a), rtol=1e-9, atol=1e-12)
    rest = settled(Poisson(), chunks, Z)
    for sequential in (True, False):
        now = start(Poisson(), Z).join(chunks)
        for _ in range(35):
            now = swept(now, sequential=sequential, step=0.6)
        assert_allclose(now.log_evidence, rest.log_evidence, rtol=1e-11)
        assert_allclose(now.beliefs[0].mean, rest.beliefs[0].mean, rtol=1e-8, atol=1e-10)


@both_orders
def test_committees_that_share_designs_converge_as_they_do_alone(sequential):
    chunks, Z, _ = draw(Logit())
    basis = Anchors.at(KERNEL, Z)
    turned = [Chunk(c.id, c.X, -c.y * (c.X[:, :1] > 0) + c.y * (c.X[:, :1] <= 0), c.w)
              for c in chunks]  # fmt: skip
    starts = [
        LaplaceCommittee.of(basis, Logit()).join(chunks),
        LaplaceCommittee.of(basis, Probit()).join(turned),
        LaplaceCommittee.of(basis, Gaussian(0.3)).join(chunks),
    ]
    rules = {"sequential": sequential, "tolerance": 1e-7, "max_sweeps": 30}
    together = settle_together(starts, Serial(), **rules)
    assert len({one.sweeps for one in together}) > 1  # those that have converged are left alone
    for first, found in zip(starts, together):
        alone = converged(first, **rules)
        assert alone.sweeps == found.sweeps and alone.change == found.change
        assert_array_equal(alone.beliefs[0].mean, found.beliefs[0].mean)
        assert alone.log_evidence == found.log_evidence


# --- answers --------------------------------------------------------------------------------------


def pseudo(sites, least=0.0):
    """Rows of equivalent Gaussian data: f̂ + W⁻¹g, noise W⁻¹."""
    W = np.maximum(sites.W, least)
    return Rows(sites.X, sites.f + sites.g / W[:, None], W)


def test_local_answers_are_those_of_pseudo_targets():
    chunks, Z, Xs = draw(Logit())
    found = settled(Logit(), chunks, Z)
    latent = found.latent()
    rows = pseudo(latent.rows())
    answer = LocalPredictor.of(latent, 6)
    neighbours = answer.near.nearest(Xs, 6)
    expected = correct(found.basis, 1.0, rows, Xs, neighbours)
    right = expected.predict(found.basis, latent.belief, Xs)
    left, covariance = answer.joint(Xs, Serial())
    assert_allclose(left.mean, right.mean, rtol=1e-8, atol=1e-9)
    assert_allclose(left.variance, right.variance, rtol=1e-9)
    right = expected.covariance(found.basis, latent.belief, Xs)
    assert_allclose(covariance, right, rtol=1e-8, atol=1e-9)
    assert_allclose(np.diag(covariance), left.variance, rtol=1e-8)


def test_answers_about_several_latent_functions_share_what_they_can():
    chunks, Z, Xs = draw(Softmax(3))
    found = settled(Softmax(3), chunks, Z, tolerance=1e-6)
    answers = predictors(found, 5)
    for k in range(3):
        left, right = answers[k].predict(Xs, Serial()), LocalPredictor.of(found.latent(k), 5)
        assert_array_equal(left.mean, right.predict(Xs, Serial()).mean)
        assert_array_equal(left.variance, right.predict(Xs, Serial()).variance)
        assert answers[k].design is answers[0].design
    assert len(predictors(found, 0)) == 3
    for n_local in (5, 0):
        answers = predictors(found, n_local)
        for one, together in zip(answers, predict_latents(answers, Xs, Serial())):
            assert_array_equal(together.mean, one.predict(Xs, Serial()).mean)
            assert_array_equal(together.variance, one.predict(Xs, Serial()).variance)


def test_answers_by_the_own_chunk_are_pic_of_pseudo_targets():
    chunks, Z, Xs = draw(Poisson())
    latent = settled(Poisson(), chunks, Z).latent()
    own = OwnChunkPredictor.of(latent)
    data = [pseudo(part) for part in latent.parts()]
    data = [Chunk(i, one.X, one.y, one.w) for i, one in enumerate(data)]
    owners = own._owners(Xs)
    mean, cov, _ = reference.sparse_gp("pic", KERNEL, 1.0, data, Z, Xs, owners)
    found = own.predict(Xs, Serial())
    assert_allclose(found.mean, mean, rtol=1e-7, atol=1e-8)
    assert_allclose(found.variance, np.diag(cov), rtol=1e-8)
    assert_allclose(own.mean(Xs, Serial()), mean, rtol=1e-7, atol=1e-8)


def test_rows_of_precision_zero_still_count():
    likelihood = StudentT(3.7, 0.08)
    chunks, Z, Xs = draw(likelihood)
    found = settled(likelihood, chunks, Z)
    sites = all_sites(found)
    assert (sites.W == 0.0).any()
    basis, belief = found.basis, found.beliefs[0]
    N = np.tile(np.arange(sites.X.shape[0])[::2], (len(Xs), 1))
    left = correct(basis, 0.0, sites, Xs, N).predict(basis, belief, Xs)
    right = correct(basis, 1.0, pseudo(sites, 1e-7), Xs, N).predict(basis, belief, Xs)
    assert_allclose(left.mean, right.mean, rtol=1e-4, atol=1e-5)
    assert_allclose(left.variance, right.variance, rtol=1e-5)
    flat = SiteRows(sites.X, sites.f, 0.0 * sites.g, 0.0 * sites.W)
    alone = correct(basis, 0.0, flat, Xs, N).predict(basis, belief, Xs)
    anchors = GlobalPredictor(found.latent()).predict(Xs, Serial())
    assert_allclose(alone.mean, anchors.mean, rtol=1e-10)
    assert_allclose(alone.variance, anchors.variance, rtol=1e-10)


@every
def test_one_chunk_and_all_its_rows_is_the_ordinary_laplace_gp(likelihood):
    chunks, Z, Xs = draw(likelihood, (22,))
    X, y, w = chunks[0].load()
    C, Ks = reference.covariance(KERNEL, X), reference.covariance(KERNEL, Xs, X)
    found = swept(start(likelihood, Z).join(chunks))
    f, g, W, _ = reference.laplace(C, likelihood, y, w, start=all_sites(found).f[:, 0])
    A = np.linalg.solve(np.eye(22) + W[:, None] * C, np.diag(W))
    variance = KERNEL.diag(Xs) - np.einsum("qn,nk,qk->q", Ks, A, Ks)
    latent = found.latent()
    for answer in (
        predictor_of(latent, 3),
        LocalPredictor.of(latent, 22),
        OwnChunkPredictor.of(latent),
    ):
        mine = answer.predict(Xs, Serial())
        assert_allclose(mine.mean[:, 0], Ks @ g, rtol=1e-7, atol=1e-8)
        assert_allclose(mine.variance, variance, rtol=1e-8)


# --- nasty input ----------------------------------------------------------------------------------


def nasty():
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (60, 2))
    side = np.where(X[:, 0] > 0, 1.0, -1.0)
    one = np.where(np.arange(60) < 30, 1.0, -1.0)
    rare = np.full(60, -1.0)
    rare[7] = 1.0
    yield "separable", Logit(), X, side
    yield "separable probit", Probit(), X, side
    yield "chunks of one class", Logit(), X, one
    yield "one class", Logit(), X, np.ones(60)
    yield "rare", Probit(), X, rare
    yield "same rows, both labels", Logit(), np.zeros((60, 2)), one
    yield "no counts", Poisson(), X, np.zeros(60)
    yield "huge counts", Poisson(), X, np.full(60, 1e9)
    yield "all counts", Poisson(), X, 10.0 ** rng.integers(0, 10, 60)
    yield "far outliers", StudentT(2.0, 1e-4), X, np.where(rare > 0, 1e8, X[:, 0])
    yield "constant", StudentT(4.0, 1e-6), X, np.full(60, 3.0)
    yield "noiseless", Gaussian(1e-10), X, X[:, 0]
    yield "one of four classes", Softmax(4), X, np.full(60, 2.0)
    yield "separable classes", Softmax(3), X, 1.0 + side


NASTY = {case[0]: case[1:] for case in nasty()}


@pytest.mark.parametrize("variance", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("expert", [Block, Diagonal], ids=lambda e: e.__name__)
@pytest.mark.parametrize("likelihood, X, y", NASTY.values(), ids=NASTY.keys())
@pytest.mark.diagonal
def test_nasty_data_give_finite_answers(likelihood, X, y, expert, variance):
    kernel = RBF(variance, [0.6, 0.9])
    groups = np.array_split(np.arange(60), 4)
    chunks = [Chunk(i, X[g], y[g, None], np.ones(g.size)) for i, g in enumerate(groups)]
    Z = np.random.default_rng(1).uniform(-1, 1, (10, 2))
    found = start(likelihood, Z, kernel=kernel, expert=expert).join(chunks)
    found = converged(found, max_sweeps=6)
    assert np.isfinite(found.log_evidence) and found.modes_found
    size = {"reals": np.abs(y).max(), "counts": np.log1p(y.max())}.get(likelihood.support.name, 0.0)
    most = 3.0 * size + 10.0 * np.sqrt(variance)  # latent means overshoot between rows
    Xs = np.concatenate([X[:5], [[0.0, 0.0], [50.0, -50.0]]])
    for k, answer in enumerate(predictors(found, 8)):
        for one in (
            answer,
            GlobalPredictor(found.latent(k)),
            OwnChunkPredictor.of(found.latent(k)),
        ):
            moments = one.predict(Xs, Serial())
            assert np.isfinite(moments.mean).all() and np.abs(moments.mean).max() < most
            assert (moments.variance >= 0.0).all() and np.isfinite(moments.variance).all()
            assert (moments.variance <= 1.001 * variance).all()
    for state in found.states:
        assert (state.sites.W >= 0.0).all()


def test_one_in_ten_thousand():
    rng = np.random.default_rng(0)
    n = 10_001
    X = rng.normal(size=(n, 2))
    X[0], y = [2.5, 2.5], np.full(n, -1.0)
    y[0] = 1.0
    groups = np.array_split(np.arange(n), 25)
    chunks = [Chunk(i, X[g], y[g, None], np.ones(g.size)) for i, g in enumerate(groups)]
    Z = np.concatenate([X[:1], rng.normal(size=(19, 2))])
    found = start(Logit(), Z, kernel=RBF(9.0, 1.0), expert=Diagonal).join(chunks)
    found = converged(found)
    assert found.change <= 1e-8
    answer = GlobalPredictor(found.latent()).predict(X[:200], Serial())
    p = Logit().probability(answer.mean[:, 0], answer.variance)
    assert np.isfinite(p).all() and p[0] > 0.1 and 0.0 < np.median(p) < 0.001


def test_a_committee_without_chunks_is_the_prior():
    found = converged(start(Logit(), np.zeros((1, 2))))
    assert found.sweeps == 1 and found.change == 0.0
    assert_allclose(found.log_evidence, 0.0, atol=1e-12)
    answer = predictors(found, 5)[0].predict(np.ones((2, 2)), Serial())
    assert_allclose(answer.mean, 0.0)
    assert_allclose(answer.variance, KERNEL.variance)


def test_empty_chunks_change_nothing():
    chunks, Z, _ = draw(Logit())
    empty = Chunk(9, np.empty((0, 2)), np.empty((0, 1)), np.empty(0))
    with_it, without = settled(Logit(), [*chunks, empty], Z), settled(Logit(), chunks, Z)
    assert_allclose(with_it.log_evidence, without.log_evidence, rtol=1e-12)
