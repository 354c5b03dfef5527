"""Modes under three priors, and points around them."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from collegium.averaging import maps
from collegium.averaging.averaged import points_for
from collegium.averaging.maps import Mode, Normal, climb, correlation_ratio, deltas, hessian, modes
from collegium.averaging.model import NOISE, SHARED, SmallTable, weak_prior
from collegium.averaging.tuning import TUNING


def table(n=40, d=3, seed=1):
    """y depends on the first column alone."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=n)
    return SmallTable(X, (y - y.mean()) / y.std(), np.ones(n))


def test_modes_are_modes():
    rows = table()
    same, little, much = found = modes(rows)
    assert [mode.theta.size for mode in found] == [4, 7, 7]
    assert_allclose([mode.prior.spread[-1] for mode in found[1:]], [1.0, 2.0])
    for mode in found:
        value, gradient = rows.log_posterior(mode.theta, mode.prior)
        assert_allclose(mode.value, value, rtol=1e-12)
        inside = (mode.theta > mode.prior.low) & (mode.theta < mode.prior.high)
        assert np.abs(mode.prior.spread * gradient)[inside].max() < 0.3  # nats a prior sd
    assert same.value < little.value
    assert little.theta[SHARED] < little.theta[SHARED + 1 :].min()  # shorter where y depends on x


def test_the_best_of_several_starts_is_taken():
    rows, weak = table(), weak_prior(3, 1.0)
    starts = [weak.centre, weak.centre + 2.0 * weak.spread, weak.centre - 2.0 * weak.spread]
    alone = [climb(rows, weak, [start]).value for start in starts]
    assert climb(rows, weak, starts).value == max(alone)


def test_a_rough_mode_is_found_where_rows_recur():
    """Five of sixty rows are repeated, with the same y: the higher mode has no noise."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(60, 3)), np.repeat([2.0, 1.0], [5, 55])
    y = X[:, 0] + rng.normal(size=60)
    rows = SmallTable(X, (y - y.mean()) / y.std(), w)
    from_centre = climb(rows, weak_prior(3, 0.0), [weak_prior(3, 0.0).centre])
    same = modes(rows)[0]
    assert same.theta[NOISE] < -4.0 and from_centre.theta[NOISE] > -1.0
    assert same.value > from_centre.value + 5.0


def test_one_column_and_very_many_have_one_length_scale(monkeypatch):
    rows = table()
    assert len(modes(SmallTable(rows.X[:, :1], rows.y, rows.w))) == 1
    less = replace(TUNING, most_work=maps.work(40, 3) - 1.0)
    monkeypatch.setattr(maps, "TUNING", less)
    assert len(modes(rows)) == 1


def test_correlation_ratios_are_shares_of_the_variance_between_bins():
    rng = np.random.default_rng(2)
    x, y = rng.permutation(np.repeat(np.arange(16.0), 2)), rng.normal(size=32)
    mean = {b: y[(x // 2) == b].mean() for b in range(8)}
    between = np.mean([(mean[b] - y.mean()) ** 2 for b in x // 2])
    assert_allclose(correlation_ratio(x, y, np.ones(32)), between / y.var(), rtol=1e-12)
    twice = correlation_ratio(np.tile(x, 2), np.tile(y, 2), np.ones(64))
    assert_allclose(correlation_ratio(x, y, np.full(32, 2.0)), twice, rtol=1e-12)
    assert correlation_ratio(np.ones(32), y, np.ones(32)) < 1e-15
    assert correlation_ratio(x, np.ones(32), np.ones(32)) == 0.0


def test_a_column_that_tells_y_starts_with_a_short_length():
    delta = deltas(table())
    assert delta.argmin() == 0 and delta[0] < -0.3
    assert_allclose(delta.sum(), 0.0, atol=1e-12)


def test_the_hessian_is_the_second_derivative_in_units_of_the_prior():
    rows, weak = table(), weak_prior(3, 2.0)
    mode = Mode(weak, weak.centre + 0.1, 0.0)

    def gradient(z):
        return weak.spread * rows.log_posterior(mode.theta + weak.spread * z, weak)[1]

    slow = -reference.gradient(gradient, np.zeros(7), step=1e-3)
    assert_allclose(hessian(rows, mode), slow, atol=3e-3 * np.abs(slow).max())


def test_curvature_is_floored():
    rows, weak = table(), weak_prior(3, 2.0)
    far = Mode(weak, weak.centre, 0.0)  # no mode: the surface is not concave
    assert np.linalg.eigvalsh(hessian(rows, far)).min() < TUNING.curvature
    assert maps.normal_at(rows, far).eigenvalues.min() == TUNING.curvature


def normal(q=5):
    rng = np.random.default_rng(6)
    U, _ = np.linalg.qr(rng.normal(size=(q, q)))
    mode = Mode(weak_prior(q - 4, 2.0), rng.normal(size=q) - 1.0, 1.7)
    return Normal(mode, np.linspace(0.5, 60.0, q), U)


def test_points_have_the_covariance_of_the_normal_and_mirror_each_other():
    one = normal()
    theta = one.points(100_000, np.random.default_rng(0))
    S = np.diag(one.mode.prior.spread)
    H = one.directions @ np.diag(one.eigenvalues) @ one.directions.T
    inside = np.arange(5) != NOISE
    found = np.cov(theta.T)[np.ix_(inside, inside)]
    assert_allclose(found, (S @ np.linalg.inv(H) @ S)[np.ix_(inside, inside)], atol=0.04)
    few = one.points(16, np.random.default_rng(3))
    assert few.shape == (16, 5)
    middle = 0.5 * (few[:8] + few[8:])
    assert_allclose(middle[:, inside], np.tile(one.mode.theta[inside], (8, 1)), rtol=1e-12)
    assert_array_equal(few, one.points(16, np.random.default_rng(3)))
    assert_array_equal(one.points(0, np.random.default_rng(3)), one.mode.theta[None])


def test_points_stay_within_the_bounds():
    one = normal()
    one.mode.theta[NOISE] = -6.0  # at its bound, as where y has no noise
    theta = one.points(1_000, np.random.default_rng(0))
    assert theta[:, NOISE].min() == -6.0 < theta[:, NOISE].max()
    assert (theta >= one.mode.prior.low).all() and (theta <= one.mode.prior.high).all()


def test_the_evidence_of_a_normal_posterior_is_exact():
    """log p(y) = log p(y | θ̂) p(θ̂) / p(θ̂ | y), with normal densities."""
    one, q = normal(), 5
    log_prior_constant = -0.5 * q * np.log(2.0 * np.pi)  # in units of the prior's sd
    log_posterior_at_mode = 0.5 * np.log(one.eigenvalues).sum() - 0.5 * q * np.log(2.0 * np.pi)
    slow = one.mode.value + log_prior_constant - log_posterior_at_mode
    assert_allclose(one.log_evidence, slow, rtol=1e-12)


@pytest.mark.parametrize("d", [1, 13, 40])
def test_points_taper(d):
    counts = [points_for(n, d) for n in range(5, 700, 5)]
    assert counts[0] == 16 and points_for(600, d) == 4 and points_for(601, d) == 0
    assert all(b <= a and a % 2 == 0 for a, b in pairwise(counts))
    assert points_for(300, 13) == 16 and points_for(51, 1) == 4
