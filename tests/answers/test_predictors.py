"""Means alone are the means that come with variances, and cost no factor."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from collegium.answers import predictors
from collegium.answers.conjugate_gradients import Refined
from collegium.answers.predictors import (
    ExactPredictor,
    GlobalPredictor,
    LocalPredictor,
    OwnChunkPredictor,
)
from collegium.answers.transductive import Joint
from collegium.answers.tuning import TUNING
from collegium.combining.predictors import ExpertsPredictor, NestedKriging
from collegium.engines import Serial, Threads
from collegium.kernels import RBF, Linear, Matern32, White
from collegium.likelihoods import Gaussian
from collegium.messages.basis import Anchors
from collegium.messages.committee import Committee
from collegium.messages.expansion import LEAST, POINTS, Expansion
from collegium.messages.experts import Block, Projected
from collegium.numerics import linalg
from collegium.online.gp import OnlineGP
from collegium.sparse.nystrom import Nystrom

KERNEL = Matern32(1.7, [0.8, 1.9]) + Linear([1.5, 0.9]) + White(0.2)


def committee_of(problem, Z, expert=Block):
    start = Committee.start(problem.kernel, problem.noise, Z, 2, expert)
    return start.add(problem.chunks, Serial(), keep=True)


def all_predictors(problem):
    anchored, alone = committee_of(problem, problem.Z), committee_of(problem, problem.Z[:0])
    local = LocalPredictor.of(anchored, 7)
    X, y, w, _ = problem.rows
    yield "exact, with anchors", ExactPredictor.of(anchored)
    yield "exact", ExactPredictor.of(alone)
    yield "global", GlobalPredictor(anchored)
    yield "degenerate", GlobalPredictor(anchored, degenerate=True)
    yield "own", OwnChunkPredictor.of(anchored)
    yield "local", local
    yield "joint", Joint.of(anchored, 9)
    yield "nystrom", Nystrom.of(committee_of(problem, problem.Z, Projected))
    yield "experts", ExpertsPredictor.of(alone, "rbcm")
    yield "nested", NestedKriging.of(alone)
    yield "refined", Refined(local, problem.kernel, X, np.cos(y))


NAMES = [
    "exact, with anchors", "exact", "global", "degenerate", "own", "local", "joint", "nystrom",
    "experts", "nested", "refined",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::collegium.sparse.nystrom.NystromWarning")
@pytest.mark.parametrize("name", NAMES)
def test_means_alone_are_the_means_with_variances(make, name):
    problem = make((9, 1, 14, 6), kernel=KERNEL)
    predictor = dict(all_predictors(problem))[name]
    found = predictor.predict(problem.Xs, Serial())
    assert_allclose(predictor.mean(problem.Xs, Serial()), found.mean, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["exact", "exact, with anchors", "global", "own", "nystrom"])
def test_means_alone_need_no_solve_for_a_query(make, name, monkeypatch):
    problem = make((9, 1, 14, 6))
    predictor = dict(all_predictors(problem))[name]
    predictor.mean(problem.Xs, Serial())
    solved = []

    def solve(L, B, *arguments):
        solved.append(B.shape[-1])
        return real(L, B, *arguments)

    real = linalg._solve
    monkeypatch.setattr(linalg, "_solve", solve)
    predictor.mean(np.tile(problem.Xs, (6, 1)), Serial())
    # "own" factorises its chunks again: right-hand sides are rows of a chunk, never queries
    assert not solved or (name == "own" and max(solved) <= 14)


def test_an_expansion_is_a_sum_over_its_points():
    """More points and queries than one block has; any engine, any grouping of queries."""
    rng = np.random.default_rng(3)
    P, W = rng.normal(size=(POINTS + 9, 2)), rng.normal(size=(POINTS + 9, 3))
    Xs = rng.normal(size=(2 * LEAST + 5, 2))
    kernel = Matern32(1.7, [0.8, 1.9])
    some = np.array([0, LEAST - 1, LEAST, 2 * LEAST + 4])
    expected = reference.covariance(kernel, Xs[some], P) @ W
    expansion = Expansion(kernel, P, W)
    for engine in (Serial(), Threads(2)):
        found = expansion.mean(Xs, engine)
        assert_allclose(found[some], expected, rtol=1e-11, atol=1e-11)
    assert_array_equal(expansion.mean(Xs[some], Serial()), found[some])


def test_means_of_a_nearly_singular_basis_lose_no_more_than_by_whitening():
    """Anchors so close that K(Z, Z) has a condition beyond 1e12, against 60 digits.

    The factor is taken as exact: what is compared is K(x, Z)L⁻ᵀE[v] with (L⁻¹K(Z, x))ᵀE[v].
    """
    rng = np.random.default_rng(5)
    basis = Anchors.at(RBF(1.3, 1.0), np.linspace(-1.0, 1.0, 30)[:, None])
    assert np.linalg.cond(basis.factor) > 1e5
    v, Xs = rng.normal(size=(30, 1)), rng.uniform(-1.0, 1.0, size=(8, 1))
    with mpmath.workdps(60):
        weights = mpmath.lu_solve(mpmath.matrix(basis.factor.T.tolist()), mpmath.matrix(v.tolist()))
        K = mpmath.matrix(
            [[1.3 * mpmath.exp(-(mpmath.mpf(x) - z) ** 2 / 2) for z in basis.Z[:, 0]]
             for x in Xs[:, 0]]
        )  # fmt: skip
        exact = np.array((K * weights).tolist(), dtype=float)
    whitened = np.abs(basis.design(Xs).T @ v - exact).max()
    expanded = np.abs(basis.expansion(v).at(Xs) - exact).max()
    assert expanded < max(10.0 * whitened, 1e-12)
    assert expanded < 1e-8 * np.abs(exact).max()


def test_means_of_the_online_gp(make):
    problem = make((30,), weighted=False, kernel=Matern32(1.7, [0.8, 1.9]))
    X, y, _, _ = problem.rows
    gp, _ = OnlineGP.start(problem.kernel, Gaussian(0.1), d=2, p=2).add(X, y)
    assert_allclose(gp.means(problem.Xs), gp.predict(problem.Xs).mean, rtol=1e-9, atol=1e-12)


def test_rows_whose_design_is_not_kept_give_the_same_answer(problem, monkeypatch):
    committee = committee_of(problem, problem.Z)
    kept = LocalPredictor.of(committee, 7)
    assert_allclose(kept.design, problem.basis.design(problem.rows[0]).T, rtol=1e-12, atol=1e-14)
    small = replace(TUNING.predictors, design_bytes=8 * 30 * problem.basis.m - 1)
    monkeypatch.setattr(predictors, "TUNING", replace(TUNING, predictors=small))
    fresh = LocalPredictor.of(committee, 7)
    assert fresh.design is None
    for ask in ("predict", "joint"):
        one, two = (getattr(each, ask)(problem.Xs, Serial()) for each in (kept, fresh))
        if ask == "joint":
            assert_allclose(one[1], two[1], rtol=1e-10, atol=1e-13)
            one, two = one[0], two[0]
        assert_allclose(one.mean, two.mean, rtol=1e-10)
        assert_allclose(one.variance, two.variance, rtol=1e-10)


def test_the_exact_mean_by_the_book(problem):
    """Weights with and without anchors: the GP on all rows."""
    X, y, w, _ = problem.rows
    K = reference.covariance(problem.kernel, X) + np.diag(problem.noise / w)
    expected = reference.covariance(problem.kernel, problem.Xs, X) @ np.linalg.solve(K, y)
    one = replace(problem, chunks=[problem.merged])
    for Z in (problem.Z, problem.Z[:0]):
        exact = ExactPredictor.of(committee_of(one, Z))
        assert_allclose(exact.mean(problem.Xs, Serial()), expected, rtol=1e-9)
