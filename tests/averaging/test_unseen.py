"""Rows as if hyperparameters had not seen them."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import norm

import reference
from collegium.averaging.averaged import average
from collegium.averaging.mixture import Mixture, as_unseen, shares_without
from collegium.averaging.predictor import AveragedPredictor
from collegium.rows.rows import Rows
from collegium.rows.scaling import Scaling

THETA = np.array([[0.4, 0.1, -1.2, -1.0], [0.1, -0.2, -1.0, -0.5], [0.8, 0.3, -0.7, -1.5]])


def table(n=9):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 2))
    return X, np.sin(X[:, 0]) + 0.4 * rng.normal(size=n)


def evidence(theta, X, y):
    return float(reference.few_rows_evidence(theta, X, y)[0])


def mixture():
    """Predictions of each row from the others under each θ, weighted by the evidence of all."""
    X, y = table()
    rest = ~np.eye(y.size, dtype=bool)
    found = [
        [reference.few_rows_prediction(t, X[own], y[own], X[~own]) for t in THETA] for own in rest
    ]
    m, v = np.array(found)[..., 0].transpose(2, 0, 1)
    log_shares = np.array([evidence(t, X, y) for t in THETA])
    return Mixture(m, v, np.exp(log_shares - logsumexp(log_shares))), X, y


def test_shares_without_a_row_are_those_by_the_evidence_of_the_others():
    found, X, y = mixture()
    assert np.ptp(found.shares) > 0.05
    for i, shares in enumerate(shares_without(found, y)):
        rest = np.arange(y.size) != i
        want = np.array([evidence(t, X[rest], y[rest]) for t in THETA])
        assert_allclose(shares, np.exp(want - logsumexp(want)), rtol=1e-7)


@pytest.mark.parametrize("w", [[1] * 9, [1, 2, 1, 1, 1, 2, 1, 1, 1]], ids=["once", "copies"])
def test_shares_without_a_group_are_those_by_the_evidence_of_the_others(w):
    X, y = table()
    group, again = np.array([0, 1, 0, 2, 1, 2, 2, 0, 1]), np.repeat(np.arange(9), w)
    own = replace(average(X, y, n_points=4), theta=np.pad(THETA, [(0, 0), (0, 2)]))
    own = replace(own, rows=Rows(X, y[:, None], np.array(w, dtype=float), group=group))
    own = replace(own, inputs=Scaling(np.zeros(2), np.ones(2)), targets=Scaling.none())
    every = np.array([evidence(t, X[again], y[again]) for t in THETA])
    own = replace(own, shares=np.exp(every - logsumexp(every)))
    want = np.empty((9, 3))
    for k in group:
        rest = again[group[again] != k]
        want[group == k] = [evidence(t, X[rest], y[rest]) for t in THETA]
    want = np.exp(want - logsumexp(want, axis=1, keepdims=True))
    found = own.leave_one_out()
    together = np.log(own.shares / want)  # log p(group | others, θ), up to a constant
    assert_allclose(shares_without(found, y, together), want, rtol=1e-9)  # no factor is cut
    sorted_rows = AveragedPredictor((own,)).leave_one_out()
    assert_allclose(sorted_rows[1][:, 0], as_unseen(found, y, together)[0], rtol=1e-6)


def test_no_factor_is_above_the_root_of_their_number_of_their_mean():
    means = np.append(np.zeros(15), 2.0)
    found = Mixture(means[None], np.ones((1, 16)), np.full(16, 1.0 / 16.0))
    got = shares_without(found, np.zeros(1))[0]
    factors = 1.0 / norm.pdf(0.0, means)
    assert factors[-1] > 4.0 * factors.mean()
    factors[-1] = 4.0 * factors.mean()
    assert_allclose(got, factors / factors.sum(), rtol=1e-12)


def test_targets_move_so_that_errors_are_those_without_them():
    found, _, y = mixture()
    moved, density = as_unseen(found, y)
    for i, shares in enumerate(shares_without(found, y)):
        m, v = found.means[i], found.variances[i]
        mean = shares @ m
        std = np.sqrt(shares @ (v + (m - mean) ** 2))
        z = (moved[i] - found.mean()[i]) / found.std()[i]
        assert_allclose(z, (y[i] - mean) / std, rtol=1e-9)
        plain = logsumexp(norm.logpdf(y[i], m, np.sqrt(v)), b=shares)
        assert_allclose(density[i], plain + np.log(std) - np.log(found.std()[i]), rtol=1e-9)


def test_of_equal_parts_nothing_moves():
    found = Mixture(np.full((3, 2), 1.5), np.full((3, 2), 4.0), np.array([0.3, 0.7]))
    y = np.array([-1.0, 2.0, 9.0])
    moved, density = as_unseen(found, y)
    assert_allclose(moved, y, rtol=1e-12)
    assert_allclose(density, norm.logpdf(y, 1.5, 2.0), rtol=1e-12)
