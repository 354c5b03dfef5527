"""Batches: what is known once earlier points have been evaluated; draws that are continued."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium.optimise.ahead import Ahead, confidence, improvement
from collegium.optimise.drawing import continued, drawn
from collegium.optimise.improvement import log_improvement
from collegium.optimise.surface import Surface
from collegium.optimise.tuning import TUNING
from surface_cases import exact, known

NOISE = 0.02
BATCH = np.array([[0.31, -0.2], [0.9, 0.75]])
Q = np.random.default_rng(5).uniform(-1.0, 1.0, size=(TUNING.tile + 9, 2))


@pytest.fixture(scope="module")
def case():
    model, X, y = known(2, 9, NOISE)
    return model, Ahead.of(Surface(model), BATCH, np.random.default_rng(3)), X, y


def test_values_of_a_batch_act_as_rows_without_noise(case):
    model, ahead, X, y = case
    mean, sd = ahead.moments(Q)
    m, C = exact(NOISE, X, y, np.concatenate([BATCH, Q]))
    for draw in (0, 5):
        gain = np.linalg.solve(C[:2, :2], C[:2, 2:]).T
        assert_allclose(mean[:, draw], m[2:] + gain @ (ahead.values[:, draw] - m[:2]), atol=1e-6)
        assert_allclose(sd**2, np.diag(C[2:, 2:] - gain @ C[:2, 2:]), atol=1e-6)


def test_values_of_a_batch_come_from_the_posterior():
    model, X, y = known(2, 9, NOISE)
    surface = Surface(model, -1.0)
    many = [Ahead.of(surface, BATCH, np.random.default_rng(k)).values for k in range(60)]
    values = np.concatenate(many, axis=1)
    mean, C = exact(NOISE, X, y, BATCH)
    assert_allclose(values.mean(axis=1), -mean, atol=0.08)
    assert_allclose(np.cov(values), C, atol=0.08)


def test_improvement_is_the_average_over_draws(case):
    _, ahead, _, _ = case
    best = -0.3
    mean, sd = ahead.moments(Q)
    lowest = np.minimum(best, ahead.values.min(axis=0))
    each = [np.exp(log_improvement(mean[:, s], sd, lowest[s])) for s in range(TUNING.draws)]
    assert_allclose(np.exp(improvement(ahead, best, Q)), np.mean(each, axis=0), rtol=1e-9)


def test_the_bound_of_a_batch_keeps_means_and_narrows_deviations(case):
    model, ahead, _, _ = case
    mean, sd = model.predict(Q, return_std=True, level="function")
    narrow = ahead.moments(Q)[1]
    assert (narrow < sd + 1e-9).all() and (narrow < 0.9 * sd).any()
    assert_allclose(confidence(ahead, np.inf, Q), TUNING.width * narrow - mean, rtol=1e-9)


def test_a_draw_that_is_continued_knows_its_values(case):
    """The mean and variance of f near a point where it is 3, by 400 draws."""
    model, _, X, y = case
    at, near = np.array([[0.6, 0.7]]), np.array([[0.45, 0.6]])
    rng, surface = np.random.default_rng(0), Surface(model)
    found = [continued(surface, at, np.array([3.0]), near, rng)[0] for _ in range(400)]
    mean, C = exact(NOISE, X, y, np.concatenate([at, near]))
    gain, variance = C[1, 0] / C[0, 0], C[1, 1] - C[1, 0] ** 2 / C[0, 0]
    expected = mean[1] + gain * (3.0 - mean[0])
    assert abs(np.mean(found) - expected) < 4.0 * np.sqrt(variance / 400)
    assert_allclose(np.var(found), variance, rtol=0.3)


def test_a_draw_is_joint(case):
    """Moments of f at two points, by 1,000 draws."""
    model, _, X, y = case
    rng = np.random.default_rng(0)
    found = [drawn(Surface(model), BATCH, rng) for _ in range(1_000)]
    mean, C = exact(NOISE, X, y, BATCH)
    assert_allclose(np.mean(found, axis=0), mean, atol=0.15)
    assert_allclose(np.cov(np.transpose(found)), C, atol=0.2)
