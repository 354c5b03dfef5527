"""How much a member counts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.optimize import approx_fprime

from collegium.errors.decision import Gain
from collegium.members import weighing
from collegium.members.tuning import TUNING
from collegium.members.weighing import (
    Opinions,
    Verdict,
    Weight,
    behind,
    hopeless,
    judge,
    learn_weight,
)

WEIGHT = Weight(0.0, 0.0, 0.0, 1.0, -1.0, 1.0)


def opinions(n=1200, better=0.5, nu=5.0, seed=0, trend=0.0):
    """A committee whose sd varies; a member whose errors have `better` times its size."""
    rng = np.random.default_rng(seed)
    log_sd = rng.normal(-1.0, 0.6, n)
    mean = rng.normal(size=n)
    f = mean + np.exp(log_sd) * rng.standard_t(5, n) * 0.6
    other = f + better * np.exp(-1.0) * np.exp(trend * (log_sd + 1.0)) * rng.standard_t(5, n)
    return Opinions(f, mean, other, log_sd, -0.5 * np.ones(n), nu, rng.uniform(0.5, 1.5, n))


def slow_loss(at, theta):
    """The loss of the module's docstring, by scipy's density."""
    a, b, l = theta
    start = Weight.start(at.log_sd, at.weight)
    u = (at.log_sd - start.centre) / start.spread
    omega = 1.0 / (1.0 + np.exp(-a - b * u))
    m = at.mean + omega * (at.other - at.mean)
    scale = np.exp(0.5 * at.g + l)
    p = stats.norm if np.isinf(at.nu) else stats.t(at.nu)
    density = p.logpdf((at.y - m) / np.exp(at.log_sd) / scale) - np.log(scale)
    t = TUNING.weighing
    return -at.weight @ density + t.level * a**2 + t.slope * b**2 + t.scale * l**2


@pytest.mark.parametrize("nu", [3.5, np.inf])
def test_the_weight_is_at_the_minimum_of_the_loss(nu):
    at = opinions(nu=nu, better=0.8)
    weight, l = learn_weight(at)
    slopes = approx_fprime(
        [weight.a, weight.b, l], lambda theta: slow_loss(at, theta), 1e-6
    )  # fmt: skip
    assert_allclose(slopes, 0.0, atol=0.5)  # the loss is a sum over 1,200 rows
    for step in np.eye(3) * 0.1:
        for sign in (-1.0, 1.0):
            theta = np.array([weight.a, weight.b, l]) + sign * step
            if theta[1] >= 0.0:
                assert slow_loss(at, theta) > slow_loss(at, [weight.a, weight.b, l])


def test_a_member_counts_where_the_committee_is_unsure():
    weight, _ = learn_weight(opinions(better=0.7))
    sure, unsure = weight.range()
    assert weight.b > 0.0 and sure < 0.2 < 0.8 < unsure


def test_the_weight_fades_beyond_all_held_out_rows():
    weight = Weight(5.0, 1.0, 0.0, 1.0, -2.0, 1.0)
    found = weight(np.array([1.0, 1.0 + 0.5 * TUNING.weighing.fades, 9.0]))
    assert_allclose(found, [found[0], 0.5 * found[0], 0.0], rtol=1e-12)
    assert weight(np.array([-9.0])) == weight(np.array([-2.0]))


def test_units_of_y_change_nothing():
    at = opinions()
    weight, _ = learn_weight(at)
    assert_allclose(weight.moved(3.0)(at.log_sd + np.log(3.0)), weight(at.log_sd), rtol=1e-12)


def test_a_good_member_is_taken():
    at = opinions(better=0.5)
    X = np.random.default_rng(1).normal(size=(at.y.size, 2))
    verdict = judge(at, X)
    assert verdict.taken and verdict.ratio < 0.7 and verdict.gain.mean > 0.1


@pytest.mark.parametrize("seed", range(12))
def test_noise_is_no_member(seed):
    """A member that knows nothing is not taken, whatever the seed."""
    at = opinions(n=700, seed=seed)
    rng = np.random.default_rng(seed)
    at = Opinions(
        at.y, at.mean, rng.normal(size=at.y.size), at.log_sd, at.g, at.nu, at.weight
    )  # fmt: skip
    assert not judge(at, rng.normal(size=(at.y.size, 2))).taken


def test_copies_of_a_row_do_not_vouch_for_each_other(monkeypatch):
    """Held-out rows with equal inputs are judged by others only."""
    at, seen = opinions(n=400), []
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 2)), 20, axis=0)
    plain = weighing.learn_weight

    def watched(some):
        seen.append(some.y)
        return plain(some)

    monkeypatch.setattr(weighing, "learn_weight", watched)
    judge(at, X)
    blocks = at.y.reshape(20, 20)
    for y in seen:
        told = np.isin(blocks, y).all(axis=1) | ~np.isin(blocks, y).any(axis=1)
        assert told.all()


def test_one_outlier_does_not_decide():
    at = opinions(n=600, better=1.6)
    y = at.y.copy()
    y[0], mean = at.other[0], at.mean.copy()
    mean[0] = at.other[0] + 80.0  # one row of which the member alone knows the answer
    at = Opinions(y, mean, at.other, at.log_sd, at.g, np.inf, at.weight)
    assert not judge(at, np.random.default_rng(0).normal(size=(600, 1))).taken


def test_a_better_scale_is_no_merit_of_the_member():
    """Where the committee's scale is wrong, a member that repeats its mean gains nothing."""
    at = opinions(n=900)
    at = Opinions(at.y, at.mean, at.mean, at.log_sd, at.g + 2.0, at.nu, at.weight)
    gain = judge(at, np.random.default_rng(0).normal(size=(900, 1))).gain
    assert abs(gain.mean) < 1e-6


def test_hopeless_members_are_given_up():
    good, bad = opinions(better=0.5), opinions(better=9.0)
    assert hopeless(bad) and not hopeless(good)
    assert behind(bad) and not behind(good)


def test_means_must_not_get_worse():
    good = Gain(0.2, 0.01, 900.0)
    assert Verdict(WEIGHT, good, 0.99).taken and not Verdict(WEIGHT, good, 1.01).taken
    assert not Verdict(WEIGHT, Gain(0.2, 0.15, 900.0), 0.9).taken
    little = Gain(0.006, 0.004, 900.0)
    for error, taken in ((0.002, True), (0.004, False)):
        squares = Gain(0.005, error, 900.0)
        assert Verdict(WEIGHT, little, 0.95, 0.0, squares).taken == taken
    assert not Verdict(WEIGHT, Gain(0.003, 0.004, 900.0), 0.95, 0.0, Gain(0.1, 0.01, 900.0)).taken


def test_gains_in_squared_error_are_those_of_cross_fitted_means(monkeypatch):
    """½(e_c² − e²)/mean e_c², averaged, with weights learnt from other rows."""
    at = opinions(n=500, better=0.9)
    X = np.random.default_rng(4).normal(size=(500, 2))
    fixed = Weight.start(at.log_sd, at.weight)  # ω = ½
    monkeypatch.setattr(weighing, "learn_weight", lambda some: (fixed, 0.0))
    verdict, mean = judge(at, X), at.mean + 0.5 * fixed.known(at.log_sd) * (at.other - at.mean)
    w = at.weight / at.weight.sum()
    before = w @ (at.y - at.mean) ** 2
    each = 0.5 * ((at.y - at.mean) ** 2 - (at.y - mean) ** 2) / before
    assert_allclose(verdict.squares.mean, w @ np.minimum(each, 2.0), rtol=1e-10)
    assert_allclose(verdict.ratio, w @ (at.y - mean) ** 2 / before, rtol=1e-10)
