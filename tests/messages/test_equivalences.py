"""The same sum under its other names: exact GP, PITC, FITC, DTC, the four forms of the BCM."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import reference
from collegium.answers.local import covariance_global, predict_global
from collegium.kernels import RBF, Linear, Matern12, Matern52, White
from collegium.messages.basis import NUGGET, Anchors
from collegium.messages.experts import Block, Diagonal, Projected
from collegium.messages.message import normalise
from collegium.rows.chunk import Chunk


def believe(basis, expert, chunks, p=2):
    total = basis.prior(p)
    for chunk in chunks:
        total = total + expert.send(basis, chunk)
    return normalise(total)


def unweighted(chunks):
    return [replace(chunk, w=np.ones(chunk.n)) for chunk in chunks]


def assert_predicts(basis, belief, Xs, mean, cov, rtol=1e-7, atol=1e-8):
    found = predict_global(basis, belief, Xs)
    assert_allclose(found.mean, mean, rtol=rtol, atol=atol)
    assert_allclose(found.variance, cov.diagonal(), rtol=rtol, atol=atol)
    joint = covariance_global(basis, belief, Xs)
    assert_allclose(joint, cov, rtol=rtol, atol=atol)
    assert_allclose(joint, joint.T, rtol=0)


# --- one chunk ------------------------------------------------------------------------------------

ANCHORS = {
    "none": lambda p: np.empty((0, 2)),
    "one": lambda p: p.Z[:1],
    "some": lambda p: p.Z,
    "equal": lambda p: np.repeat(p.Z[:2], 4, axis=0),
    "nearly equal": lambda p: np.concatenate([p.Z, p.Z + 1e-9]),
    "far away": lambda p: p.Z + 1e3,
    "the rows themselves": lambda p: p.rows[0],
}


@pytest.mark.parametrize("anchors", ANCHORS)
@pytest.mark.parametrize(
    "kernel",
    [Matern52(1.7, [0.8, 1.9]), RBF(0.6, 1.1) + Linear(2.0) * Matern12(1.0, 1.5) + White(0.2)],
    ids=["Matern52", "composite"],
)
def test_evidence_of_one_chunk_is_the_exact_gps_for_any_anchors(anchors, kernel, problem):
    Z = ANCHORS[anchors](problem)
    chunk = replace(problem.merged, w=np.ones(30))
    belief = believe(Anchors.at(kernel, Z), Block(problem.noise), [chunk])
    _, _, exact = reference.gp(kernel, problem.noise, chunk.X, chunk.y, chunk.w, problem.Xs)
    assert_allclose(belief.log_evidence, exact, rtol=1e-9)


def test_belief_of_one_chunk_about_the_queries_is_the_exact_gps(problem):
    chunk = problem.merged
    basis = Anchors.at(problem.kernel, problem.Xs)
    belief = believe(basis, Block(problem.noise), [chunk])
    mean, cov, _ = reference.gp(problem.kernel, problem.noise, *chunk.load(), problem.Xs)
    assert_predicts(basis, belief, problem.Xs, mean, cov)
    L = basis.factor
    assert_allclose(L @ belief.mean, mean, rtol=1e-7, atol=1e-8)
    assert_allclose(L @ belief.covariance @ L.T, cov, rtol=1e-7, atol=1e-8)


def test_weights_of_one_chunk_are_repeated_rows_of_the_exact_gp(make):
    problem = make((8,))
    w = np.array([1.0, 2.0, 4.0, 1.0, 1.0, 3.0, 1.0, 2.0])
    chunk = replace(problem.chunks[0], w=w)
    basis = Anchors.at(problem.kernel, problem.Xs)
    belief = believe(basis, Block(problem.noise), [chunk])
    again = np.repeat(np.arange(8), w.astype(int))
    mean, cov, evidence = reference.gp(
        problem.kernel, problem.noise, chunk.X[again], chunk.y[again], np.ones(15), problem.Xs
    )
    assert_predicts(basis, belief, problem.Xs, mean, cov)
    assert_allclose(belief.log_evidence, evidence, rtol=1e-9)


# --- sparse approximations ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expert", "kind"), [(Block, "pitc"), (Diagonal, "fitc"), (Projected, "dtc")]
)
@pytest.mark.parametrize("composite", [False, True])
def test_expert_is_the_textbook_approximation(expert, kind, composite, problem):
    kernel = problem.kernel + 0.3 * Linear([1.2, 0.7]) if composite else problem.kernel
    chunks = unweighted(problem.chunks)
    basis = Anchors.at(kernel, problem.Z)
    belief = believe(basis, expert(problem.noise), chunks)
    mean, cov, evidence = reference.sparse_gp(
        kind, kernel, problem.noise, chunks, problem.Z, problem.Xs
    )
    assert_allclose(belief.log_evidence, evidence, rtol=1e-8)
    assert_predicts(basis, belief, problem.Xs, mean, cov)


@pytest.mark.parametrize(
    ("expert", "kind"), [(Block, "pitc"), (Diagonal, "fitc"), (Projected, "dtc")]
)
def test_weighted_rows_are_rows_of_less_noise(expert, kind, problem):
    belief = believe(problem.basis, expert(problem.noise), problem.chunks)
    mean, cov, _ = reference.sparse_gp(
        kind, problem.kernel, problem.noise, problem.chunks, problem.Z, problem.Xs
    )
    assert_predicts(problem.basis, belief, problem.Xs, mean, cov)


@pytest.mark.parametrize("expert", [Diagonal, Projected])
def test_fitc_and_dtc_do_not_depend_on_the_chunks(expert, problem):
    e = expert(problem.noise)
    many, one = (believe(problem.basis, e, c) for c in (problem.chunks, [problem.merged]))
    assert_allclose(many.mean, one.mean, rtol=1e-10, atol=1e-12)
    assert_allclose(many.covariance, one.covariance, rtol=1e-10, atol=1e-12)
    assert_allclose(many.log_evidence, one.log_evidence, rtol=1e-11)


def test_pitc_of_single_rows_is_fitc(problem):
    X, y, w, _ = problem.rows
    single = [Chunk(i, X[i : i + 1], y[i : i + 1], w[i : i + 1]) for i in range(30)]
    pitc = believe(problem.basis, Block(problem.noise), single)
    fitc = believe(problem.basis, Diagonal(problem.noise), [problem.merged])
    assert_allclose(pitc.mean, fitc.mean, rtol=1e-10, atol=1e-12)
    assert_allclose(pitc.log_evidence, fitc.log_evidence, rtol=1e-11)


def test_an_anchor_at_every_row_makes_every_expert_exact(problem):
    X, y, w, _ = problem.rows
    basis = Anchors.at(problem.kernel, X)
    mean, cov, _ = reference.gp(problem.kernel, problem.noise, X, y, w, problem.Xs)
    for expert in (Block, Diagonal, Projected):
        belief = believe(basis, expert(problem.noise), problem.chunks)
        assert_predicts(basis, belief, problem.Xs, mean, cov, rtol=1e-5, atol=1e-7)


def test_a_committee_without_one_member_is_the_committee_of_the_others(problem):
    e, basis = Block(problem.noise), problem.basis
    total = basis.prior(2)
    for chunk in problem.chunks:
        total = total + e.send(basis, chunk)
    for i, gone in enumerate(problem.chunks):
        left = normalise(total - e.send(basis, gone))
        others = believe(basis, e, problem.chunks[:i] + problem.chunks[i + 1 :])
        assert_allclose(left.mean, others.mean, rtol=1e-9, atol=1e-11)
        assert_allclose(left.covariance, others.covariance, rtol=1e-9, atol=1e-11)
        assert_allclose(left.log_evidence, others.log_evidence, rtol=1e-10)


def test_outputs_are_separate_committees(problem):
    e = Block(problem.noise)
    both = believe(problem.basis, e, problem.chunks)
    for j in range(2):
        chunks = [replace(c, y=c.y[:, j : j + 1]) for c in problem.chunks]
        alone = believe(problem.basis, e, chunks, p=1)
        assert_allclose(both.mean[:, j : j + 1], alone.mean, rtol=1e-11, atol=1e-13)
        assert_allclose(both.covariance, alone.covariance, rtol=1e-12, atol=1e-14)
        assert_allclose(both.log_evidence[j : j + 1], alone.log_evidence, rtol=1e-12)


# --- the Bayesian committee machine ---------------------------------------------------------------

FORMS = [
    reference.bcm_moments,
    reference.bcm_measurements,
    reference.bcm_online_moments,
    reference.bcm_online_measurements,
]


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "kernel", [Matern12(1.7, [0.8, 1.9]), RBF(2.3, [0.5, 0.7])], ids=["Matern12", "RBF"]
)
def test_messages_about_the_queries_are_the_bcm_in_each_of_its_forms(form, kernel, problem):
    basis = Anchors.at(kernel, problem.Xs)
    belief = believe(basis, Block(problem.noise), problem.chunks)
    mean, cov = form(kernel, problem.noise, problem.chunks, problem.Xs)
    assert_predicts(basis, belief, problem.Xs, mean, cov)


def test_the_bcm_of_two_modules_is_not_the_exact_gp(make):
    # so that the agreement above is not trivial
    problem = make((15, 15), q=3)
    belief = believe(Anchors.at(problem.kernel, problem.Xs), Block(problem.noise), problem.chunks)
    exact, _, _ = reference.gp(problem.kernel, problem.noise, *problem.merged.load(), problem.Xs)
    found = predict_global(Anchors.at(problem.kernel, problem.Xs), belief, problem.Xs)
    assert np.abs(found.mean - exact).max() > 1e-2


# --- many digits ----------------------------------------------------------------------------------


def smooth(q, length_scale, noise, *, sizes=(6, 7, 5), gap=None, d=1, seed=0):
    """Few rows of a smooth function; `gap` moves the second query so close to the first."""
    rng = np.random.default_rng(seed)
    chunks = []
    for i, n in enumerate(sizes):
        X = rng.uniform(-2, 2, (n, d))
        y = np.sin(1.3 * X.sum(axis=1)) + np.sqrt(noise) * rng.normal(size=n)
        chunks.append(Chunk(i, X, y[:, None], rng.integers(1, 4, n).astype(float)))
    Xq = rng.uniform(-2, 2, (q, d))
    if gap is not None:
        Xq[1] = Xq[0] + gap
    return RBF(1.7, length_scale), noise, chunks, Xq


def asked(kernel, noise, chunks, Xq):
    basis = Anchors.at(kernel, Xq)
    belief = believe(basis, Block(noise), chunks, p=1)
    return basis, predict_global(basis, belief, Xq), covariance_global(basis, belief, Xq)


ILL = [
    (q, length_scale, noise)
    for q, length_scale in [(4, 0.7), (4, 6.0), (10, 0.7), (10, 2.0), (12, 0.7)]
    for noise in (1e-2, 1e-5, 1e-8)
]  # condition numbers of Σ^qq up to 2e13
SINGULAR = [(10, 6.0, noise, None) for noise in (1e-2, 1e-5, 1e-8)] + [
    (6, 1.5, noise, gap) for noise in (1e-2, 1e-6) for gap in (0.0, 1e-12, 1e-8)
]  # to rounding


def error_of_means(kernel, noise, chunks):
    """Eight digits, and what rounding leaves of them: Σ n ε k(x, x) ‖α‖₁, α = (K + N)⁻¹y.

    A mean is K_*α: kernel values wrong by nε, after n sums, move it by so much. It counts at noise
    1e-8 and length scale 6, where K + N has condition number 3e9 and ‖α‖₁ is 1e7 (5e-8 in all).
    """
    error = 1e-8 * np.sqrt(kernel.variance)
    for chunk in chunks:
        alpha = np.linalg.solve(kernel.value(chunk.X) + np.diag(noise / chunk.w), chunk.y)
        error += len(alpha) * np.finfo(float).eps * kernel.variance * np.abs(alpha).sum()
    return error


@pytest.mark.diagonal
@pytest.mark.parametrize(("q", "length_scale", "noise"), ILL)
def test_eqs_4_and_5_hold_to_eight_digits_however_ill_conditioned(q, length_scale, noise):
    kernel, noise, chunks, Xq = smooth(q, length_scale, noise)
    basis, found, _ = asked(kernel, noise, chunks, Xq)
    mean, variance = reference.bcm_in_many_digits(1.7, length_scale, noise, chunks, Xq)
    assert basis.jitter == 0.0
    assert np.abs(found.mean[:, 0] - mean).max() < error_of_means(kernel, noise, chunks)
    assert np.abs(found.variance - variance).max() < 1e-12 * 1.7
    assert_allclose(found.variance, variance, rtol=1e-6, atol=1e-13)
    assert (found.variance > 0).all()


@pytest.mark.parametrize(("q", "length_scale", "noise", "gap"), SINGULAR)
def test_where_queries_are_singular_to_rounding_a_nugget_makes_them_regular(
    q, length_scale, noise, gap
):
    kernel, noise, chunks, Xq = smooth(q, length_scale, noise, gap=gap)
    basis, found, joint = asked(kernel, noise, chunks, Xq)
    mean, variance = reference.bcm_in_many_digits(
        kernel.variance, kernel.length_scale, noise, chunks, Xq, nugget=basis.jitter * 1.7
    )
    assert basis.jitter == NUGGET
    assert np.abs(found.mean[:, 0] - mean).max() < error_of_means(kernel, noise, chunks)
    assert np.abs(found.variance - variance).max() < 1e-9 * 1.7
    assert (found.variance > 0).all()
    assert np.abs(joint.diagonal() - found.variance).max() < 1e-13
    assert np.linalg.eigvalsh(joint).min() > -1e-14


@pytest.mark.parametrize("gap", [1e-6, 1e-5, 1e-4, 1e-3])
@pytest.mark.parametrize("noise", [1e-2, 1e-6])
def test_near_duplicates_cost_less_than_a_third_of_an_error_bar(gap, noise):
    kernel, noise, chunks, Xq = smooth(6, 1.5, noise, gap=gap)
    _, found, _ = asked(kernel, noise, chunks, Xq)
    mean, variance = reference.bcm_in_many_digits(1.7, 1.5, noise, chunks, Xq)
    assert (np.abs(found.mean[:, 0] - mean) < 0.33 * np.sqrt(variance)).all()
    assert_allclose(found.variance, variance, rtol=0.1)


@pytest.mark.parametrize("sizes", [(9, 8), (6, 7, 5)])
@pytest.mark.parametrize("noise", [1e-1, 1e-2])
def test_well_separated_queries_give_eqs_4_and_5_themselves(sizes, noise):
    kernel, noise, chunks, Xq = smooth(4, [0.6, 0.9], noise, sizes=sizes, d=2, seed=1)
    _, found, _ = asked(kernel, noise, chunks, Xq)
    mean, variance = reference.bcm_in_many_digits(1.7, kernel.length_scale, noise, chunks, Xq)
    assert np.abs(found.mean[:, 0] - mean).max() < 1e-8 * np.sqrt(1.7)
    assert np.abs(found.variance - variance).max() < 1e-8 * 1.7


@pytest.mark.diagonal
@pytest.mark.parametrize("q", [4, 8, 12])
@pytest.mark.parametrize("length_scale", [0.7, 2.0, 6.0])
def test_the_nugget_costs_less_than_a_tenth_of_an_error_bar(q, length_scale):
    # Eqs 4-5 in exact arithmetic let queries beyond the kernel's rank carry derivatives of f;
    # the nugget hides those that are smaller than itself.
    kernel, noise, chunks, Xq = smooth(q, length_scale, 1e-2)
    _, found, _ = asked(kernel, noise, chunks, Xq)
    mean, variance = reference.bcm_in_many_digits(1.7, length_scale, noise, chunks, Xq)
    assert (np.abs(found.mean[:, 0] - mean) < 0.1 * np.sqrt(variance)).all()
    assert_allclose(found.variance, variance, rtol=0.02)


@pytest.mark.parametrize("gap", [0.0, 1e-12, 1e-9])
@pytest.mark.parametrize("noise", [1e-2, 1e-6])
def test_a_repeated_query_is_predicted_like_a_single_one(gap, noise):
    kernel, noise, chunks, Xq = smooth(6, 1.5, noise, gap=gap)
    _, twice, _ = asked(kernel, noise, chunks, Xq)
    _, once, _ = asked(kernel, noise, chunks, np.delete(Xq, 1, axis=0))
    assert_allclose(twice.mean[1], twice.mean[0], rtol=1e-6)
    rest = [0, 2, 3, 4, 5]
    assert_allclose(twice.mean[rest], once.mean, atol=1e-4 * np.sqrt(1.7))
    assert_allclose(twice.variance[rest], once.variance, atol=1e-6 * 1.7)
