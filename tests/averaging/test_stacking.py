"""Leave-one-out densities, and the weights of models."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import norm

import reference
from collegium.averaging.model import SmallTable
from collegium.averaging.stacking import (
    leave_one_out_densities,
    log_scores,
    model_weights,
    stack,
)

THETA = np.array([0.4, 0.3, -0.9, -0.6, 0.5, -0.7])


def rows(n=9, seed=3):
    rng = np.random.default_rng(seed)
    X = 1.3 * rng.normal(size=(n, 2))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=n)


def slow_left_out(theta, X, y):
    found = np.empty(y.size)
    for i in range(y.size):
        others = np.arange(y.size) != i
        mean, variance = reference.few_rows_prediction(theta, X[others], y[others], X[i : i + 1])
        found[i] = norm.logpdf(y[i], mean[0], np.sqrt(variance[0]))
    return found


def test_rows_left_out_are_predicted_from_the_others():
    X, y = rows()
    found = leave_one_out_densities(SmallTable(X, y, np.ones(9)), THETA)
    assert_allclose(found, slow_left_out(THETA, X, y), rtol=1e-10)


def test_groups_left_out_are_predicted_from_the_others():
    X, y = rows()
    group, want = np.array([3, 1, 1, 3, 8, 3, 1, 8, 1]), np.empty(9)
    for k in (1, 3, 8):
        own, rest = group == k, group != k
        mean, variance = reference.few_rows_prediction(THETA, X[rest], y[rest], X[own])
        want[own] = norm.logpdf(y[own], mean, np.sqrt(variance))
    found = leave_one_out_densities(SmallTable(X, y, np.ones(9), group=group), THETA)
    assert_allclose(found, want, rtol=1e-9)


def test_copies_are_left_out_with_their_group():
    X, y = rows()
    w, group = np.array([1, 3, 2, 1, 1, 5, 1, 1, 1]), np.array([3, 1, 1, 3, 8, 3, 1, 8, 1])
    again, want = np.repeat(np.arange(9), w), np.empty(9)
    for k in (1, 3, 8):
        own, rest = group == k, again[group[again] != k]
        mean, variance = reference.few_rows_prediction(THETA, X[rest], y[rest], X[own])
        want[own] = norm.logpdf(y[own], mean, np.sqrt(variance))
    found = leave_one_out_densities(SmallTable(X, y, w.astype(float), group=group), THETA)
    assert_allclose(found, want, rtol=1e-8)


def test_of_a_row_seen_several_times_one_copy_is_left_out():
    X, y = rows()
    w = np.array([1, 3, 2, 1, 1, 5, 1, 1, 1])
    again = np.repeat(np.arange(9), w)
    slow = slow_left_out(THETA, X[again], y[again])
    assert_allclose(
        leave_one_out_densities(SmallTable(X, y, w.astype(float)), THETA)[again], slow, rtol=1e-9
    )


def test_densities_are_averaged_over_points():
    X, y = rows()
    table, points = SmallTable(X, y, np.ones(9)), THETA + np.array([[0.0], [0.4], [-0.3]])
    slow = np.log(
        np.mean([np.exp(leave_one_out_densities(table, theta)) for theta in points], axis=0)
    )
    assert_allclose(log_scores(table, points), slow, rtol=1e-12)


def test_weights_maximise_the_density_of_rows_and_pseudo_rows():
    rng = np.random.default_rng(4)
    scores, w = rng.normal(size=(3, 20)), rng.uniform(0.2, 3.0, 20)
    a = np.array([5.0, 2.5, 2.5])

    def negative(free):
        logs = np.append(free, 0.0)
        pi = np.exp(logs - logsumexp(logs))
        return -(w @ np.log(pi @ np.exp(scores)) + a @ np.log(pi))

    logs = np.append(minimize(negative, np.zeros(2), tol=1e-10).x, 0.0)
    assert_allclose(stack(scores, w, a), np.exp(logs - logsumexp(logs)), atol=2e-5)


def test_pseudo_rows_are_shared_out_by_halves_and_quarters():
    equal = [np.zeros(7)] * 3
    assert_allclose(model_weights(equal, np.zeros(3), np.ones(7)), [0.5, 0.25, 0.25], atol=1e-9)
    assert_allclose(model_weights(equal[:1], np.zeros(1), np.ones(7)), [1.0])
    # of ten rows that only the first can explain, and ten pseudo-rows
    sure = [np.zeros(10), np.full(10, -900.0), np.full(10, -900.0)]
    assert_allclose(model_weights(sure, np.zeros(3), np.ones(10)), [0.75, 0.125, 0.125], atol=1e-9)


def test_a_model_far_below_the_best_evidence_is_left_out():
    equal = [np.zeros(7)] * 3
    found = model_weights(equal, np.array([-21.0, 0.0, -19.0]), np.ones(7))
    assert_allclose(found, [0.0, 0.5, 0.5], atol=1e-9)
