"""Kernels of latent functions, by the Laplace evidence of chunks."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from collegium import kernels
from collegium.engines import Serial, Threads
from collegium.laplace.learning import (
    LatentEffort,
    Problem,
    _in_units,
    learn_from,
)
from collegium.laplace.tuning import TUNING
from collegium.learning.optimise import Scales
from collegium.learning.pool import Pool
from collegium.likelihoods import Logit, Poisson, Probit, Softmax, StudentT
from collegium.numerics.clock import Clock
from collegium.rows.rows import Rows

TRUTH = kernels.RBF(4.0, [0.5, 3.0])
SMALL = LatentEffort(rough_rows=60, chunks=3, size=50, max_iter=20)


def draw(n=150, seed=0):
    """Inputs, a latent function, weights."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    f = np.linalg.cholesky(TRUTH.value(X) + 1e-8 * np.eye(n)) @ rng.normal(size=n)
    return X, f, rng


def signs(n=150, seed=0):
    X, f, rng = draw(n, seed)
    y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-f)), 1.0, -1.0)[:, None]
    return Rows(X, np.zeros((n, 1)), np.ones(n)), [Problem(Logit(), y)]


def learn(rows, problems, kernel=None, *, seed=0, engine=None, **arguments):
    pool = Pool(Rows(rows.X, np.hstack([problem.y for problem in problems]), rows.w))
    rng = np.random.default_rng(seed)
    return learn_from(pool, problems, kernel, rng, engine or Serial(), **arguments)


def test_the_learnt_kernel_is_near_a_maximum_of_evidence_and_prior():
    rows, problems = signs(40)
    start = kernels.RBF(1.0, [1.0, 1.0])
    found = learn(rows, problems, start, effort=LatentEffort(max_iter=200))
    prior = Scales.of(rows.X).prior(found.kernel)
    centre, spread = (prior.centre + np.log(prior.units))[:-1], prior.spread[:-1].copy()
    variance = np.array([kind == "variance" for kind, _ in found.kernel.labels])
    centre[variance], spread[variance] = np.log(TUNING.learning.size), TUNING.learning.size_spread

    def posterior(theta):
        K = reference.covariance(found.kernel.with_theta(theta), rows.X)
        evidence = reference.laplace(K, Logit(), problems[0].y, rows.w)[3]
        return evidence - 0.5 * np.sum(((theta - centre) / spread) ** 2)

    theta = found.kernel.theta
    top = posterior(theta)
    for j in range(theta.size):
        for step in (-0.3, 0.3):
            moved = theta.copy()
            moved[j] += step
            assert posterior(moved) < top
    assert posterior(start.theta) < top - 0.1


def test_the_columns_that_matter_are_found():
    rows, problems = signs(300)
    found = learn(rows, problems).kernel
    assert found.length_scale[1] > 2.0 * found.length_scale[0]
    assert 0.2 < found.length_scale[0] < 1.5 and 0.5 < found.variance < 40.0


def test_more_rows_than_a_rough_fit_takes_are_learnt_from_in_clusters():
    rows, problems = signs(150)
    whole = LatentEffort(rough_rows=150, max_iter=20)
    rough = learn(rows, problems, kernels.RBF(), effort=whole)
    fine = learn(rows, problems, kernels.RBF(), effort=SMALL)
    assert not np.allclose(fine.kernel.theta, rough.kernel.theta)
    assert_allclose(fine.kernel.theta, rough.kernel.theta, atol=2.0)
    stopped = learn(rows, problems, kernels.RBF(), effort=SMALL, clock=Clock(0.0))
    assert_allclose(stopped.kernel.theta[0], kernels.RBF().theta[0], atol=1.5)


def test_problems_share_one_kernel_and_their_evidence_adds_up():
    rows, (problem,) = signs(100)
    once = learn(rows, [problem], kernels.RBF(), effort=SMALL)
    twice = learn(rows, [problem, problem], kernels.RBF(), effort=SMALL)
    assert len(twice.likelihoods) == 2 and len(once.likelihoods) == 1
    flipped = learn(rows, [Problem(Logit(), -problem.y)], kernels.RBF(), effort=SMALL)
    assert_allclose(flipped.kernel.theta, once.kernel.theta, rtol=1e-6)
    assert not np.allclose(twice.kernel.theta, once.kernel.theta)  # the prior weighs half
    heavy = Rows(rows.X, rows.y, 2.0 * rows.w)
    assert not np.allclose(learn(heavy, [problem], kernels.RBF(), effort=SMALL).kernel.theta,
                           once.kernel.theta)  # fmt: skip


@pytest.mark.parametrize("likelihood", [Probit(), Softmax(2), Poisson()], ids=repr)
def test_every_likelihood_is_learnt_with(likelihood):
    X, f, rng = draw(80)
    y = np.where(f > 0, 1.0, -1.0 if likelihood == Probit() else 0.0)[:, None]
    y = np.hstack([y, np.ones((80, 1))]) if likelihood == Poisson() else y
    rows = Rows(X, np.zeros((80, 1)), np.ones(80))
    found = learn(rows, [Problem(likelihood, y)], kernels.Matern32(), effort=SMALL)
    assert found.likelihoods == (likelihood,) and np.isfinite(found.kernel.theta).all()


def test_the_noise_of_a_likelihood_is_learnt_too():
    X, f, rng = draw(150)
    y = (f + 0.2 * rng.normal(size=150)) / f.std()
    rows = Rows(X, np.zeros((150, 1)), np.ones(150))
    found = learn(rows, [Problem(StudentT(4.0, 1.0), y[:, None])], kernels.RBF())
    (likelihood,) = found.likelihoods
    noise = float(np.exp(likelihood.theta[0]))
    assert 0.1 < noise / (0.2 / f.std()) ** 2 < 5.0


def test_seeds_and_workers_give_the_same_bits():
    rows, problems = signs(150)
    one = learn(rows, problems, kernels.RBF(), effort=SMALL)
    two = learn(rows, problems, kernels.RBF(), effort=SMALL, engine=Threads(2))
    assert_array_equal(one.kernel.theta, two.kernel.theta)
    other = learn(rows, problems, kernels.RBF(), effort=SMALL, seed=1)
    assert not np.array_equal(other.kernel.theta, one.kernel.theta)


def test_families_are_tried_until_time_is_up():
    rows, problems = signs(60)
    said = []
    learn(rows, problems, effort=SMALL, say=said.append)
    assert [line.split(":")[0] for line in said[:-1]] == ["Matern32", "Matern52", "RBF"]
    said.clear()
    found = learn(rows, problems, effort=SMALL, clock=Clock(0.0), say=said.append)
    assert len(said) == 2 and isinstance(found.kernel, kernels.Matern32)


def test_targets_are_those_of_the_pool():
    rows, (problem,) = signs(60)
    pool, unread = Pool(replace(rows, y=problem.y)), replace(problem, y=np.full((60, 1), np.nan))
    found = [
        learn_from(pool, [one], kernels.RBF(), np.random.default_rng(0), Serial(), effort=SMALL)
        for one in (problem, unread)
    ]
    assert_array_equal(found[0].kernel.theta, found[1].kernel.theta)


@pytest.mark.parametrize("likelihood, y, expected", [
    (Logit(), [[1.0], [-1.0]], [[0.5], [-0.5]]),
    (Probit(), [[1.0], [-1.0]], [[np.sqrt(2 / np.pi)], [-np.sqrt(2 / np.pi)]]),
    (Poisson(), [[3.0, 1.0], [3.0, 5.0]], [[2.0], [-2.0]]),
    (Softmax(3), [[2.0], [0.0]], [[-1 / 3, -1 / 3, 2 / 3], [2 / 3, -1 / 3, -1 / 3]]),
], ids=["logit", "probit", "poisson", "softmax"])  # fmt: skip
def test_the_gradient_at_zero(likelihood, y, expected):
    assert_allclose(Problem(likelihood, np.array(y)).gradient_at_zero(), expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", [
    kernels.RBF(2.0, [0.5, 3.0]), kernels.Linear(1.7),
    kernels.Matern32(1.3, 0.7) + kernels.Linear(1.7),
], ids=["rbf", "linear", "sum"])  # fmt: skip
def test_priors_in_other_units_expect_covariances_in_these(kernel):
    """k of θ at the moved centre is k at the centre, times the unit; so is the noise."""
    X, _, _ = draw(12)
    plain = Scales.of(X).prior(kernel)
    moved = _in_units(plain, kernel, 37.0, 37.0)
    for one, other in ((plain.centre, moved.centre), (plain.low, moved.low)):
        before, after = (kernel.with_theta(theta[:-1]).value(X) for theta in (one, other))
        assert_allclose(after, 37.0 * before, rtol=1e-10)
        assert_allclose(other[-1] - one[-1], np.log(37.0))
    assert_allclose(moved.high - moved.low, plain.high - plain.low)


def test_heavy_tails_do_not_hide_a_rough_function():
    """Five columns, so that f follows every row: Laplace's own evidence learns a noise of .48."""
    truth, rng = kernels.Matern32(1.0, 0.9), np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (250, 5))
    f = np.linalg.cholesky(truth.value(X) + 1e-9 * np.eye(250)) @ rng.normal(size=250)
    y = (f + 0.3 * rng.standard_t(4, size=250))[:, None]
    pool, problem = Pool(Rows(X, y, np.ones(250))), Problem(StudentT(4.0, 0.1), y)
    found = learn_from(pool, [problem], truth, rng, Serial(), effort=LatentEffort(rough_rows=250))
    assert 0.25 < np.sqrt(found.likelihoods[0].noise) < 0.36
