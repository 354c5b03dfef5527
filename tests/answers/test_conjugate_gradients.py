"""Conjugate gradients to the exact GP, preconditioned by a committee."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from collegium.answers import conjugate_gradients
from collegium.answers.conjugate_gradients import (
    LinearSystem,
    Refined,
    refined,
    solve_system,
    with_targets,
)
from collegium.answers.preconditioner import Preconditioner, RowGroup
from collegium.answers.predictors import predictor
from collegium.answers.tuning import TUNING
from collegium.engines import Serial, Threads
from collegium.kernels import (
    RBF,
    Constant,
    Leaf,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    RationalQuadratic,
)
from collegium.messages.basis import Anchors
from collegium.messages.committee import Committee
from collegium.numerics.linalg import JitterWarning
from collegium.rows.chunk import cut

SIZES = (9, 1, 14, 6)


def dense(problem):
    X, y, w, _ = problem.rows
    return reference.covariance(problem.kernel, X) + np.diag(problem.noise / w), y


def committee(problem):
    p = problem.chunks[0].y.shape[1]
    empty = Committee.start(problem.kernel, problem.noise, problem.Z, p)
    return empty.add(problem.chunks, Serial(), keep=True)


def tune(monkeypatch, **numbers):
    own = replace(TUNING, refining=replace(TUNING.refining, **numbers))
    monkeypatch.setattr(conjugate_gradients, "TUNING", own)


def conditioner(problem, basis=None):
    """Chunks that are given no rows: the committee itself."""
    groups = [RowGroup(i, at, at[:0]) for i, at in enumerate(problem.rows[3])]
    own = system(problem)
    return Preconditioner.of(basis or problem.basis, own.X, own.psi, groups, Serial())


def system(problem):
    return LinearSystem.of(problem.kernel, problem.noise, problem.chunks)


def solved(problem, *, engine=None, helped=None, **given):
    given = {"tolerance": 1e-9, "max_iter": 400, **given}
    helped = conditioner(problem) if helped is None else helped
    return solve_system(system(problem), problem.rows[1], helped, engine or Serial(), **given)


def covariance_of_the_committee(problem):
    """VᵀV between chunks, K within: PITC."""
    X, _, w, groups = problem.rows
    Kxz = reference.covariance(problem.kernel, X, problem.Z)
    M = Kxz @ np.linalg.solve(reference.covariance(problem.kernel, problem.Z), Kxz.T)
    for at in groups:
        M[np.ix_(at, at)] = reference.covariance(problem.kernel, X[at])
    return M + np.diag(problem.noise / w)


class Nothing:
    """M = I."""

    def solve(self, r, engine):
        return r


class Noted(Nothing):
    """M, and the residuals it was given, one an iterate."""

    def __init__(self, problem):
        self.own, self.seen = conditioner(problem), []

    def solve(self, r, engine):
        self.seen.append(r)
        return self.own.solve(r, engine)

    def errors(self, problem):
        """‖w − w*‖² in the norm of K + Ψ, of each iterate and output: rᵀ(K + Ψ)⁻¹r."""
        C, _ = dense(problem)
        return np.array([(r * np.linalg.solve(C, r)).sum(axis=0) for r in self.seen])


@pytest.mark.parametrize("side", [1, 7, 30, 1000])
@pytest.mark.parametrize("coarse", [False, True])
def test_the_product_is_the_covariance_of_all_rows_times_the_weights(
    problem, side, coarse, monkeypatch
):
    tune(monkeypatch, side=side)
    C, y = dense(problem)
    found = system(problem).product(y, Serial(), coarse=coarse)
    assert found.dtype == float
    assert_allclose(found, C @ y, rtol=1e-10, atol=2e-5 if coarse else 0.0)
    rounded = side < 30 and coarse
    assert (np.abs(found - C @ y).max() > 1e-9) == rounded


@pytest.mark.parametrize(
    "kernel",
    [
        *(leaf() for leaf in Leaf.registry),
        Matern12(1.3, np.array([0.4, 2.0])),
        Matern32(1.3, np.array([0.4, 2.0])) * RationalQuadratic(0.7, 2.0, 0.6),
        RBF(2.1, 0.7) + Linear(3.0) + Matern52(1.4, np.array([1.2, 0.6])),
        Periodic(0.6, 1.1, 2.5) * RBF(1.9, np.array([3.0, 0.9])),
    ],
    ids=repr,
)
def test_coarse_values_are_the_values_in_single_precision(kernel, make):
    problem = make((9, 8))
    X, Z = problem.chunks[0].X + 1e3, problem.Z + 1e3
    found = next(kernel.coarse_parts(X, [Z]))
    assert found.dtype == np.float32
    assert_allclose(found, kernel.value(X, Z), rtol=3e-5, atol=1e-6)
    if not isinstance(kernel, Leaf) or type(kernel).__name__ in reference.KERNELS:
        assert_allclose(found, reference.covariance(kernel, X, Z), rtol=3e-5, atol=1e-6)


@pytest.mark.parametrize("noise", [0.23, 1e-4])
@pytest.mark.parametrize("coarse", [False, True])
def test_the_weights_are_those_of_the_exact_gp(make, noise, coarse, monkeypatch):
    """Whatever is rounded on the way, in the preconditioner or in the products."""
    tune(monkeypatch, side=4)
    problem = make(SIZES, noise=noise)
    C, y = dense(problem)
    found = solved(problem, tolerance=1e-11, coarse=coarse)
    assert found.residuals[-1] <= 1e-11
    assert_allclose(found.weights, np.linalg.solve(C, y), rtol=1e-5, atol=1e-7)


@pytest.mark.diagonal
@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize("stop", ["tolerance", "max_iter", "enough"])
def test_the_residual_reported_is_that_of_the_weights(make, coarse, stop, monkeypatch):
    tune(monkeypatch, side=8)
    problem = make((40, 40, 40), noise=1e-5)
    asked = iter(range(100))
    given = {
        "tolerance": {"tolerance": 1e-4},
        "max_iter": {"tolerance": 0.0, "max_iter": 5},
        "enough": {"tolerance": 0.0, "enough": lambda: next(asked) == 5},
    }[stop]
    C, y = dense(problem)
    found = solved(problem, coarse=coarse, **given)
    left = np.linalg.norm(y - C @ found.weights, axis=0) / np.linalg.norm(y, axis=0)
    assert_allclose(found.residuals[-1], left.max(), rtol=1e-5)
    assert_allclose(found.rest, y - C @ found.weights, rtol=1e-4, atol=1e-10)
    if stop != "tolerance":
        assert found.residuals.size == 6


def test_the_residual_is_renewed_on_the_way(make, monkeypatch):
    """Also where double precision needs many steps: noise in the products does not build up."""
    tune(monkeypatch, renew=5)
    problem, calls = make((40, 40, 40), noise=1e-5, p=1), []
    product = LinearSystem.product

    def counted(self, w, engine, *, coarse=False):
        calls.append(coarse)
        return product(self, w, engine, coarse=coarse)

    monkeypatch.setattr(LinearSystem, "product", counted)
    found = solved(problem, tolerance=0.0, max_iter=20, coarse=False)
    assert found.residuals.size == 21 and len(calls) == 20 + 4


@pytest.mark.diagonal
@pytest.mark.parametrize("coarse", [False, True])
def test_no_step_takes_the_weights_away_from_those_of_the_exact_gp(make, coarse, monkeypatch):
    """In the norm of K + Ψ; the residual may grow."""
    tune(monkeypatch, side=16)
    problem = make((40, 40, 40), noise=1e-4)
    noted = Noted(problem)
    found = solved(problem, helped=noted, tolerance=1e-6, coarse=coarse)
    errors = noted.errors(problem)
    assert len(errors) == found.residuals.size
    assert (np.diff(errors, axis=0) < 0.0).all()
    assert (np.diff(found.residuals) > 0.0).any()


@pytest.mark.diagonal
@pytest.mark.parametrize("noise", [1e-14, 1e-10, 1e-7])
@pytest.mark.parametrize("max_iter", [1, 3, 20])
def test_rounding_that_makes_the_covariance_indefinite_does_no_harm(
    make, noise, max_iter, monkeypatch
):
    """Of single precision: no answer is farther from the exact one than w = 0."""
    tune(monkeypatch, side=5)
    kernel = RBF(variance=1.7, length_scale=np.array([2.5, 3.0]))
    problem = make((20, 20, 20), noise=noise, kernel=kernel, weighted=False)
    C, y = dense(problem)
    found = solved(problem, tolerance=1e-10, max_iter=max_iter).weights

    assert np.isfinite(found).all()
    energy = (0.5 * found * (C @ found) - found * y).sum(axis=0)
    assert (energy <= 0.0).all()
    if max_iter == 20:  # a step that rounding has spoilt is not taken: three may leave w = 0
        assert (energy < 0.0).all()


def test_enough_is_called_before_each_step_and_ends_them(make):
    problem = make((40, 40, 40), noise=1e-3)
    full = solved(problem, coarse=False)
    at_once = solved(problem, enough=lambda: True)
    assert not at_once.weights.any() and at_once.residuals.tolist() == [1.0]
    asked = []
    later = solved(problem, coarse=False, enough=lambda: asked.append(None) or len(asked) > 3)
    assert_array_equal(later.residuals, full.residuals[:4])


@pytest.mark.parametrize("n_local", [0, 5])
def test_stopped_at_once_the_answer_is_the_committees_own(problem, n_local):
    c = committee(problem)
    found = refined(c, Serial(), tolerance=1e-3, max_iter=9, enough=lambda: True)
    given = Refined(
        predictor(with_targets(c, found.rest, Serial()), n_local),
        problem.kernel, problem.rows[0], found.weights,
    )  # fmt: skip
    own = predictor(c, n_local).predict(problem.Xs, Serial())
    mine = given.predict(problem.Xs, Serial())
    assert_allclose(mine.mean, own.mean, rtol=1e-12)
    assert_allclose(mine.variance, own.variance, rtol=1e-12)


def test_the_first_step_is_along_the_committees_weights(problem):
    """c M⁻¹y with the c that minimises the energy."""
    C, y = dense(problem)
    found = solved(problem, max_iter=1, coarse=False).weights
    for j in range(2):
        own = np.linalg.solve(covariance_of_the_committee(problem), y[:, j])
        assert_allclose(found[:, j], own * (own @ y[:, j]) / (own @ C @ own), rtol=1e-4, atol=1e-5)


class Changing(Nothing):
    """M, each number of M⁻¹r by up to 30 % off, another time otherwise."""

    def __init__(self, problem):
        self.own, self.rng = conditioner(problem), np.random.default_rng(0)

    def solve(self, r, engine):
        return self.own.solve(r, engine) * self.rng.uniform(0.7, 1.3, r.shape)


def test_a_preconditioner_that_changes_from_step_to_step_will_do(make):
    """By Polak and Ribière's rule; Fletcher and Reeves' hardly moves."""
    problem = make((40, 40, 40), m=15, p=1)
    fixed, changing = solved(problem), solved(problem, helped=Changing(problem))
    assert changing.residuals[-1] <= 1e-9
    assert changing.residuals.size < 3 * fixed.residuals.size


def test_no_residual_of_single_precision_ends_the_steps(make, monkeypatch):
    """With products that are a tenth off, residuals seem to fall and stay at a ninth."""
    tune(monkeypatch, renew_coarse=1000)

    class Rounded(LinearSystem):
        def product(self, w, engine, *, coarse=False):
            return (0.9 if coarse else 1.0) * super().product(w, engine)

    problem = make((40, 40, 40))
    own, y = Rounded.of(problem.kernel, problem.noise, problem.chunks), problem.rows[1]
    found = solve_system(own, y, conditioner(problem), Serial(), tolerance=0.05, max_iter=100)
    assert 0.0 < found.residuals[-1] <= 0.05


@pytest.mark.parametrize("k", [0, 1, 3])
def test_the_error_of_an_iterate_is_the_error_of_the_committee_for_the_rest(make, k):
    """k(x*, X)w + s(x*)ᵀr, with s row by row from a committee with unit targets."""
    problem = make((9, 1, 14, 6), noise=0.02)
    c, (X, y, _, _) = committee(problem), problem.rows
    C, _ = dense(problem)
    found = solved(problem, max_iter=k, tolerance=0.0)
    rest = predictor(with_targets(c, found.rest, Serial()), 4)
    mean = Refined(rest, problem.kernel, X, found.weights).predict(problem.Xs, Serial()).mean
    s = predictor(with_targets(c, np.eye(len(X)), Serial()), 4).predict(problem.Xs, Serial()).mean
    Ks = reference.covariance(problem.kernel, problem.Xs, X)
    w = np.linalg.solve(C, y)
    wrong = (Ks - s @ C) @ (w - found.weights)
    assert_allclose(Ks @ w - mean, wrong, rtol=1e-6, atol=1e-9)
    assert np.abs(wrong).max() > 1e-4


def test_progress_names_the_residual(problem):
    said = []
    found = solved(problem, say=said.append)
    assert len(said) == found.residuals.size
    assert f"{found.residuals[2]:.1e} after 2" in said[2]


def test_a_committee_saves_iterations(make):
    problem = make((40, 40, 40), m=60, noise=1e-3, p=1)
    plain = solved(problem, helped=Nothing(), tolerance=1e-6)
    helped = solved(problem, tolerance=1e-6)
    assert helped.residuals.size < 0.4 * plain.residuals.size


def test_more_anchors_save_more(make):
    problem = make((40, 40, 40), m=10, noise=1e-3, p=1)
    more = replace(problem, Z=make((40,), m=70, seed=5).Z)
    assert solved(more).residuals.size < solved(problem).residuals.size


@pytest.mark.parametrize("sizes", [(40, 40, 40), (1, 100, 19), (120,)])
def test_refining_makes_groups_of_its_own(make, sizes):
    """Which are told of rows around them, and need fewer iterations than the chunks."""
    problem = make(sizes, m=6)
    C, y = dense(problem)
    found = refined(committee(problem), Serial(), tolerance=1e-10, max_iter=60)
    assert_allclose(found.weights, np.linalg.solve(C, y), rtol=1e-5, atol=1e-7)
    if len(sizes) > 1:
        assert found.residuals.size < 0.7 * solved(problem, tolerance=1e-10).residuals.size


def test_the_order_of_rows_does_not_matter(make):
    problem = make((40, 40, 40), noise=1e-3, weighted=False)
    X, y, w, _ = problem.rows
    order = np.random.default_rng(3).permutation(120)
    other = replace(problem, chunks=cut(X[order], y[order], w, [np.arange(120)]))
    given = {"tolerance": 1e-10, "max_iter": 60}
    here = refined(committee(problem), Serial(), **given).weights
    there = refined(committee(other), Serial(), **given).weights
    assert_allclose(there, here[order], rtol=1e-5, atol=1e-6 * np.abs(here).max())


@pytest.mark.diagonal
@pytest.mark.parametrize(
    "kernel, far",
    [(Matern52(), 1e9), (Linear(2.0) + Periodic(), 30.0), (Constant(2.0), 1e9)],
    ids=repr,
)
@pytest.mark.parametrize("noise", [1e-12, 0.1])
def test_any_finite_rows_are_refined(make, kernel, far, noise):
    """Copies, rows far out, constant columns, almost no noise."""
    problem = make((70, 60), kernel=kernel.for_width(2), weighted=False, noise=noise, m=5)
    X, y, w, groups = problem.rows
    X[20:90] = X[:70]
    X[3], X[110] = far, -far
    X[:, 1] = 0.3
    problem = replace(problem, chunks=cut(X, y, w, groups))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JitterWarning)
        found = refined(committee(problem), Serial(), tolerance=1e-6, max_iter=20)
    assert np.isfinite(found.weights).all() and np.isfinite(found.rest).all()
    C, _ = dense(problem)
    assert ((0.5 * found.weights * (C @ found.weights) - found.weights * y).sum(axis=0) < 0).all()


def test_one_chunk_is_solved_in_one_step(make):
    assert solved(make((25,), m=0), tolerance=1e-10).residuals.size == 2


def test_outputs_are_systems_of_their_own(problem):
    both = solved(problem, coarse=False).weights
    for j in range(2):
        chunks = [replace(chunk, y=chunk.y[:, [j]]) for chunk in problem.chunks]
        one = solved(replace(problem, chunks=chunks), coarse=False).weights
        assert_allclose(one[:, 0], both[:, j], rtol=1e-6)


def test_threads_change_no_bit(problem, monkeypatch):
    tune(monkeypatch, side=4)
    one = refined(committee(problem), Serial(), tolerance=1e-8, max_iter=50)
    two = refined(committee(problem), Threads(3), tolerance=1e-8, max_iter=50)
    assert_array_equal(one.weights, two.weights)
    assert_array_equal(one.residuals, two.residuals)


def test_means_are_kernel_values_times_weights(problem):
    X, y, _, _ = problem.rows
    found = Refined(None, problem.kernel, X, y)._weighed(problem.Xs, Serial())
    wanted = reference.covariance(problem.kernel, problem.Xs, X) @ y
    assert_allclose(found, wanted, rtol=1e-10)


def test_no_anchors_are_chunks_alone(problem):
    C, y = dense(problem)
    alone = conditioner(problem, Anchors.at(problem.kernel, problem.Z[:0]))
    found = solved(problem, helped=alone, tolerance=1e-10)
    assert_allclose(found.weights, np.linalg.solve(C, y), rtol=1e-6, atol=1e-8)


def test_far_rows_have_no_covariance_in_single_precision_either():
    """Where squares leave its range, and where a difference would be infinite less infinite."""
    X = np.array([[0.0], [1e200], [-1e20]])
    for kernel in (RBF(2.0, 0.5), Matern32(2.0, 0.5), Matern52(2.0, 1e-9)):
        found = next(kernel.coarse_parts(X, [X[:2]]))
        assert_allclose(found, [[2.0, 0.0], [0.0, 2.0], [0.0, 0.0]], atol=1e-30)


@pytest.mark.parametrize("coarse", [False, True])
def test_renewing_often_undoes_no_progress_that_the_energy_cannot_show(make, coarse, monkeypatch):
    """The energy's rounding hides errors below the root of the machine's precision."""
    problem = make((40, 40, 40), m=15, noise=1e-4)
    seldom = solved(problem, tolerance=1e-10, coarse=False).residuals
    tune(monkeypatch, renew=2)
    often = solved(problem, tolerance=1e-10, coarse=coarse).residuals
    assert often[-1] <= 1e-10 and often.size < 1.5 * seldom.size


def test_an_output_without_variation_does_not_end_single_precision(make, monkeypatch):
    tune(monkeypatch, side=16)
    problem, calls = make((40, 40, 40), m=40, noise=1e-2), []
    product = LinearSystem.product

    def noted(self, w, engine, *, coarse=False):
        calls.append(coarse)
        return product(self, w, engine, coarse=coarse)

    monkeypatch.setattr(LinearSystem, "product", noted)
    y = problem.rows[1] * [0.0, 1.0]
    found = solve_system(
        system(problem), y, conditioner(problem), Serial(), tolerance=1e-3, max_iter=50
    )  # fmt: skip
    assert not found.weights[:, 0].any() and found.residuals[-1] <= 1e-3
    assert calls.count(True) == found.residuals.size - 1


@pytest.mark.parametrize("smooth", [True, False])
def test_single_precision_that_leads_nowhere_is_given_up(smooth):
    """Its K is bad and no direction shows it: steps that were none must not go on to the end."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    y = np.sin(X.sum(axis=1, keepdims=True)) if smooth else rng.normal(size=(700, 1))
    chunks = cut(X, y, np.ones(700), np.array_split(np.arange(700), 7))
    empty = Committee.start(RBF(length_scale=3.0 * np.ones(3)), 1e-6, X[:20], 1)
    model = empty.add(chunks, Serial(), keep=True)
    found = refined(model, Serial(), tolerance=1e-6, max_iter=100)
    assert found.residuals[-1] <= 1e-6


def test_held_out_rows_are_answered_by_the_exact_gp_of_the_others():
    """The preconditioner does not know all rows: without the factor that a random vector gives,
    errors would be a tenth too large."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(600, 6)), 1.0 + np.arange(600) % 2
    A = Matern52(length_scale=3.0 * np.ones(6)).value(X) + np.diag(1e-3 / w)
    y = np.linalg.cholesky(A) @ rng.normal(size=(600, 2))
    chunks = cut(X, y, w, np.array_split(np.arange(600), 6))
    empty = Committee.start(Matern52(length_scale=3.0 * np.ones(6)), 1e-3, X[:20], 2)
    model, held = empty.add(chunks, Serial(), keep=True), rng.permutation(600)[:200]
    found = refined(model, Serial(), tolerance=1e-8, max_iter=200, held=held)
    rest = np.setdiff1d(np.arange(600), held)
    wanted = y[held] - A[np.ix_(held, rest)] @ np.linalg.solve(A[np.ix_(rest, rest)], y[rest])
    assert found.weights.shape == (600, 2)
    slope = np.vdot(found.left_out, wanted) / np.vdot(wanted, wanted)
    assert abs(slope - 1.0) < 0.03
    assert np.corrcoef(found.left_out.ravel(), wanted.ravel())[0, 1] > 0.95
