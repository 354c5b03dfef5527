"""Means that are refined where held-out rows gain by it."""

from dataclasses import replace

import numpy as np
import pytest

from collegium import CommitteeRegressor, kernels
from collegium.answers import conjugate_gradients as module
from collegium.answers.conjugate_gradients import refined_without
from collegium.datasets import make_robot_arm
from collegium.engines.local import Serial, Threads
from collegium.errors.decision import Gain
from collegium.messages.committee import Committee
from collegium.pipeline import refining
from collegium.pipeline.planning.refining import steps_allowed
from collegium.pipeline.refining import t_densities
from collegium.rows.chunk import cut_rows
from collegium.rows.rows import Rows

KERNEL, NOISE = kernels.Matern52(1.4, np.array([0.7, 1.1])), 0.02


def committee(n=600, p=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    y = np.column_stack([np.sin(3.0 * X[:, 0] + k) * X[:, 1] for k in range(p)])
    rows = Rows(X, y + 0.1 * rng.normal(size=y.shape), rng.integers(1, 4, n).astype(float))
    chunks = cut_rows(rows, np.array_split(np.argsort(X[:, 0]), 6), range(6))
    return Committee.start(KERNEL, NOISE, X[::30], p).add(chunks, Serial(), keep=True)


def test_weights_without_held_out_rows_are_those_of_the_exact_gp_of_the_others():
    own, held = committee(), np.arange(0, 600, 17)
    rows = own.rows()
    found = refined_without(own, Serial(), held, steps=60, sizes=(40, 80))
    others = np.delete(np.arange(600), held)
    K = KERNEL.value(rows.X)
    A = K[np.ix_(others, others)] + np.diag(rows.psi(NOISE)[others])
    w = np.linalg.solve(A, rows.y[others])
    assert not found.weights[held].any() and not found.left_out.any()
    np.testing.assert_allclose(K @ found.weights, K[:, others] @ w, atol=5e-3)
    # y = (K + Ψ)w + r at all rows, however far w is
    early = refined_without(own, Serial(), held, steps=2, sizes=(40, 80))
    y = K @ early.weights + rows.psi(NOISE)[:, None] * early.weights + early.rest
    np.testing.assert_allclose(y, rows.y, atol=0.05 * np.sqrt(NOISE))


def test_residuals_that_lost_digits_are_computed_again(monkeypatch):
    never = replace(module.TUNING.refining, rounded=0.0)
    monkeypatch.setattr(module, "TUNING", replace(module.TUNING, refining=never))
    own = committee()
    found = refined_without(own, Serial(), np.arange(5), steps=3, sizes=(40, 80))
    rows = own.rows()
    K = KERNEL.value(rows.X)
    y = K @ found.weights + rows.psi(NOISE)[:, None] * found.weights + found.rest
    np.testing.assert_allclose(y, rows.y, atol=1e-10)


def test_any_number_of_threads_gives_the_same_bits():
    own, held = committee(), np.arange(0, 600, 17)
    one = refined_without(own, Serial(), held, steps=4, sizes=(40, 80))
    two = refined_without(own, Threads(2), held, steps=4, sizes=(40, 80))
    np.testing.assert_array_equal(one.weights, two.weights)
    np.testing.assert_array_equal(one.rest, two.rest)


def test_ill_conditioned_systems_are_given_up_after_two_steps():
    rng, said = np.random.default_rng(0), []
    X = rng.uniform(-2.0, 2.0, (600, 2))
    rows = Rows(X, np.sin(9.0 * X[:, :1]) * X[:, 1:], np.ones(600))
    chunks = cut_rows(rows, np.array_split(rng.permutation(600), 6), range(6))
    smooth = kernels.Matern32(1.4, np.array([2.0, 2.0]))
    own = Committee.start(smooth, 1e-5, X[::300], 1).add(chunks, Serial(), keep=True)
    given = {"steps": 9, "say": said.append}
    assert refined_without(own, Serial(), np.arange(5), sizes=(2, 2), **given) is None
    assert sum("residual" in line for line in said) == 3  # before each step, and at the end
    assert refined_without(own, Serial(), np.arange(5), sizes=(300, 600), **given) is not None


def test_steps_are_fewer_for_more_rows_columns_and_terms():
    one, two = kernels.RBF(), kernels.RBF() + kernels.Matern32()
    numbers = [steps_allowed(n, 8, one, 200) for n in (3000, 12_000, 30_000, 40_000, 10**6)]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] > 0 and numbers[-1] == 0
    for n in (20_000, 30_000):
        assert steps_allowed(n, 8, two, 200) <= steps_allowed(n, 8, one, 200)
        assert steps_allowed(n, 30, one, 200) <= steps_allowed(n, 8, one, 200)


def test_densities_of_errors_do_not_depend_on_their_unit():
    rng = np.random.default_rng(0)
    z, w = rng.standard_t(4, (500, 2)), rng.uniform(0.5, 2.0, 500)
    one, other = t_densities(z, w), t_densities(z * np.exp(0.5), w)
    np.testing.assert_allclose(one - 0.5, other, atol=1e-9)


@pytest.fixture(scope="module")
def arm():
    return make_robot_arm(3600, random_state=0)


GIVEN = {"kernel": kernels.RBF(1.0, np.full(8, 2.0)), "chunks": 300, "n_local": 40}
GIVEN |= {"anchors": 30, "members": None, "random_state": 0}


def test_the_default_refines_a_smooth_function_of_little_noise(arm):
    X, y = arm
    model = CommitteeRegressor(**GIVEN).fit(X[:3000], y[:3000])
    plain = CommitteeRegressor(inference="inductive", **GIVEN).fit(X[:3000], y[:3000])
    assert model.residuals_.size > 1 and plain.residuals_.size == 0
    Xs, ys = X[3000:], y[3000:]
    assert np.mean((model.predict(Xs) - ys) ** 2) < 0.9 * np.mean((plain.predict(Xs) - ys) ** 2)
    assert model.log_density(Xs, ys).mean() > plain.log_density(Xs, ys).mean()
    again = CommitteeRegressor(n_jobs=2, **GIVEN).fit(X[:3000], y[:3000])
    np.testing.assert_array_equal(again.predict(Xs), model.predict(Xs))
    assert again.model_.errors is not None
    model.partial_fit(X[3000:3300], y[3000:3300])  # as if means had not been refined
    assert model.residuals_.size == 0
    assert (model.model_.errors is None) == (plain.model_.errors is None)


def test_noise_that_no_mean_can_predict_is_not_refined(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("conjugate gradients were started")

    monkeypatch.setattr(refining, "refined_without", refuse)
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (3000, 2))
    y = np.sin(X[:, 0]) + rng.normal(size=3000)
    given = GIVEN | {"kernel": kernels.RBF(1.0, 1.0)}
    model = CommitteeRegressor(**given).fit(X, y)
    assert model.residuals_.size == 0


def test_a_gain_that_held_out_rows_do_not_see_is_not_kept(arm, monkeypatch):
    monkeypatch.setattr(refining, "gain_of_means", lambda *_: Gain(0.02, 0.03))
    X, y = arm
    model = CommitteeRegressor(**GIVEN).fit(X[:3000], y[:3000])
    plain = CommitteeRegressor(inference="inductive", **GIVEN).fit(X[:3000], y[:3000])
    assert model.residuals_.size == 0
    np.testing.assert_array_equal(model.predict(X[3000:]), plain.predict(X[3000:]))
