"""Degrees of freedom, the decision, calibrated deviations, and the record that is kept."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import norm
from scipy.stats import t as student

from collegium.errors.basis import ScaleBasis
from collegium.errors.decision import Gain, calibrated
from collegium.errors.degrees import (
    cross_fit,
    cross_fit_constant,
    cross_fitted,
    folds,
    level_and_degrees,
    most_degrees,
)
from collegium.errors.density import log_t_density, squared
from collegium.errors.features import ScaleInputs
from collegium.errors.fitting import find_mode, learn_scale
from collegium.errors.scale import ErrorScale, OutputScale
from collegium.errors.tuning import TUNING
from collegium.errors.values import Values
from collegium.modelfile.tree import Reader, Writer
from collegium.numerics import records


def held_out(n=400, p=1, seed=0, strength=1.5, nu=4.0, near=True):
    """Inputs, targets and weights of rows with log squared scale strength · sin 3x₁."""
    rng = np.random.default_rng(seed)
    place = rng.uniform(-1.0, 1.0, (n, 2))
    log_sd, mean = rng.normal(-1.0, 0.3, (n, p)), rng.normal(size=(n, p))
    q = rng.normal(size=(n, p)) if near else None
    noise = rng.standard_normal((n, p)) if np.isinf(nu) else rng.standard_t(nu, (n, p))
    y = mean + np.exp(log_sd + 0.5 * strength * np.sin(3.0 * place[:, :1])) * noise
    return ScaleInputs(log_sd, mean, place, q), y, rng.uniform(0.5, 1.5, n)


def learnt(**arguments):
    inputs, y, w = held_out(**arguments)
    z = ((y - inputs.mean) / np.exp(inputs.log_sd))[:, 0]
    return learn_scale(ScaleBasis.of(inputs, 0, w), z, w), z, w


# --- degrees of freedom ---------------------------------------------------------------------------


def test_cross_fitted_scale_of_a_row_does_not_depend_on_its_own_error():
    found, z, w = learnt(n=60)
    own = folds(60) == 2
    other = np.where(own, 5.0 * z, z)
    same = cross_fitted(found, z, w)[own]
    assert_allclose(cross_fitted(found, other, w)[own], same, atol=1e-7)
    mode = find_mode(found.B[~own], z[~own], w[~own], found.nu)
    assert_allclose(same, found.B[own] @ mode.w, atol=1e-7)
    assert np.bincount(folds(62)).max() - np.bincount(folds(62)).min() <= 1


def test_level_and_degrees_are_the_most_likely():
    rng = np.random.default_rng(1)
    g, w = rng.normal(size=500), rng.uniform(0.5, 1.5, 500)
    z = np.exp(0.5 * g + 0.35) * rng.standard_t(5.0, 500)
    b, nu = level_and_degrees(z, g, w, 20.0)

    def slow(at):
        return -(w @ student.logpdf(z, np.exp(at[1]), scale=np.exp(0.5 * (g + at[0]))))

    best = minimize(slow, [0.0, np.log(4.0)], method="Nelder-Mead", options={"xatol": 1e-7})
    assert_allclose([b, np.log(nu)], best.x, atol=1e-3)
    assert abs(b - 0.7) < 0.3 and 3.0 < nu < 10.0


def test_degrees_of_freedom_leave_a_mean():
    z = np.random.default_rng(0).standard_cauchy(400) ** 3
    assert_allclose(level_and_degrees(z, np.zeros(400), np.ones(400), 1.5)[1], 1.05)
    z = np.random.default_rng(0).normal(size=400)
    assert level_and_degrees(z, np.zeros(400), np.ones(400), 1.5)[1] > 15.0


def loss_of_normal_rows(nu):
    """KL(N(0, 1) ‖ t_ν) with the best scale, by sums over a grid."""
    z = np.linspace(-12.0, 12.0, 20_001)
    share = np.exp(-0.5 * z**2)
    share /= share.sum()

    def cross_entropy(b):
        return -share @ log_t_density(squared(z, b), b, nu)

    least = minimize_scalar(cross_entropy, bounds=(-0.5, 0.5), method="bounded").fun
    return least + share @ log_t_density(z**2, 0.0, np.inf)


def test_normal_rows_lose_a_quarter_of_a_nat_by_the_most_degrees_of_freedom():
    for n in (300, 3000):
        nu = most_degrees(np.full(n, 2.0))
        assert_allclose(n * loss_of_normal_rows(nu), 0.25, rtol=0.15)
    rng = np.random.default_rng(1)
    _, nu = level_and_degrees(rng.uniform(-1.0, 1.0, 75), np.zeros(75), np.ones(75), 6.0)
    assert_allclose(nu, 15.0, rtol=1e-6)


def test_few_rows_have_heavy_tails_unless_they_lose():
    at, y = held_out(80, strength=0.0, nu=np.inf)[:2]
    assert ErrorScale.learn(at, y).normal
    (one,) = ErrorScale.learn(at, y, nats=TUNING.decision.few_nats).outputs
    assert one.function is None and one.nu <= np.sqrt(240.0) + 1e-9
    within = at.mean + np.exp(at.log_sd) * np.sign(y - at.mean)  # no tails at all
    right = norm.logpdf(within, at.mean, np.exp(at.log_sd)) + 1.0
    assert ErrorScale.learn(at, within, before=right, nats=TUNING.decision.few_nats).normal


def test_cross_fit_is_not_below_the_floor():
    found, z, w = learnt(n=60)
    least = np.full(60, 0.4)
    assert cross_fit(found, z, w, least).g.min() >= 0.4


# --- the decision ---------------------------------------------------------------------------------


def test_gain_is_the_mean_of_gains_cut_at_two():
    rng = np.random.default_rng(0)
    new, old = rng.normal(1.0, 2.0, 50), rng.normal(size=50)
    each = [min(a - b, 2.0) for a, b in zip(new, old)]
    found = Gain.of(new, old, np.ones(50))
    assert_allclose(found.mean, np.mean(each))
    assert_allclose(found.error, np.std(each) / np.sqrt(50))


@pytest.mark.parametrize(
    "mean, error, enough", [(0.01, 0.004, True), (0.01, 0.006, False), (0.004, 0.0, False)]
)
def test_gain_has_to_exceed_a_limit_and_two_standard_errors(mean, error, enough):
    assert Gain(mean, error).enough == enough


def test_calibrated_variance_is_the_most_likely_of_its_kind():
    rng = np.random.default_rng(0)
    g, w = 2.0 * rng.normal(size=3000), rng.uniform(0.5, 1.5, 3000)
    z = np.sqrt(1.7 * (0.8 * np.exp(g) + 0.2)) * rng.normal(size=3000)
    kappa, rho = calibrated(z, g, w)

    def slow(k, r):
        return -(w @ norm.logpdf(z, scale=np.sqrt(k * ((1.0 - r) * np.exp(g) + r))))

    assert abs(kappa - 1.7) < 0.2 and abs(rho - 0.2) < 0.07
    for k, r in [(1.02, 1.0), (0.98, 1.0), (1.0, 1.3), (1.0, 0.7), (1.0, 1.0 / rho)]:
        assert slow(kappa, rho) <= slow(k * kappa, min(r * rho, 1.0))


def test_variance_stays_as_it_was_where_there_is_nothing_to_gain():
    rng = np.random.default_rng(0)
    z, g = rng.standard_t(5.0, 500) / np.sqrt(5.0 / 3.0), rng.normal(size=500)
    assert calibrated(z, g, np.ones(500)) == (1.0, 1.0)


# --- the record -----------------------------------------------------------------------------------


def test_identity_is_the_normal_with_the_given_moments():
    inputs, y, _ = held_out(p=2, near=False)
    one = ErrorScale.identity(2)
    sd = np.exp(inputs.log_sd)
    assert one.normal and not one.needs_near
    assert_array_equal(one.log_scale(inputs), np.zeros(y.shape))
    assert_allclose(one.variance(inputs), sd**2, rtol=1e-14)
    found = one.predictive(inputs)
    assert_allclose(found.log_density(y), norm.logpdf(y, inputs.mean, sd), rtol=1e-10)
    assert_allclose(found.quantile(0.9), norm.ppf(0.9, inputs.mean, sd), rtol=1e-10)


@pytest.mark.parametrize("near", [True, False])
def test_density_and_coverage_of_new_rows_are_better_where_the_scale_varies(near):
    inputs, y, w = held_out(1000, near=near)
    fresh, y_fresh, _ = held_out(4000, seed=1, near=near)
    one, identity = ErrorScale.learn(inputs, y, w), ErrorScale.identity()
    assert not one.normal and one.needs_near == near
    new, old = one.predictive(fresh), identity.predictive(fresh)
    gain = new.log_density(y_fresh).mean() - old.log_density(y_fresh).mean()
    assert gain > 0.2
    truth = 0.5 * 1.5 * np.sin(3.0 * fresh.place[:, :1]) + fresh.log_sd
    best = student.logpdf(y_fresh, 4.0, fresh.mean, np.exp(truth)).mean()
    assert new.log_density(y_fresh).mean() > best - 0.04
    inside = (new.quantile(0.025) <= y_fresh) & (y_fresh <= new.quantile(0.975))
    for part in np.array_split(inside[np.argsort(fresh.place[:, 0])], 3):
        assert 0.91 < part.mean() < 0.98
    sd = np.sqrt(one.variance(fresh))
    assert norm.logpdf(y_fresh, fresh.mean, sd).mean() > old.log_density(y_fresh).mean()


@pytest.mark.parametrize("n", [60, 400])
def test_constant_noise_stays_constant(n):
    used = [ErrorScale.learn(*held_out(n, seed=seed, strength=0.0, nu=np.inf)).normal
            for seed in range(8)]  # fmt: skip
    assert all(used)


def test_few_rows_say_nothing():
    assert ErrorScale.learn(*held_out(19)).normal
    inputs, y, w = held_out(200)
    heavy = [np.where(np.arange(200) == row, 1e9, w) for row in range(6)]
    assert all(ErrorScale.learn(inputs, y, one).normal for one in heavy)
    assert ErrorScale.learn(inputs.take(np.arange(0)), y[:0]).normal


def test_the_order_of_rows_does_not_matter():
    inputs, y, w = held_out(150, p=2)
    order = np.random.default_rng(0).permutation(150)
    one = ErrorScale.learn(inputs, y, w)
    other = ErrorScale.learn(inputs.take(order), y[order], w[order])
    assert not one.normal
    assert_allclose(one.log_scale(inputs), other.log_scale(inputs), rtol=1e-9, atol=1e-9)
    assert_allclose([o.nu for o in one.outputs], [o.nu for o in other.outputs], rtol=1e-9)


def test_outputs_have_scales_of_their_own():
    inputs, y, w = held_out(500, p=2)
    y[:, 1] = inputs.mean[:, 1] + np.exp(inputs.log_sd[:, 1]) * np.random.default_rng(5).normal(
        size=500
    )
    one = ErrorScale.learn(inputs, y, w)
    assert one.outputs[0].function is not None and one.outputs[1].function is None
    first = ScaleInputs(inputs.log_sd[:, :1], inputs.mean[:, :1], inputs.place, inputs.near[:, :1])
    alone = ErrorScale.learn(first, y[:, :1], w)
    assert_allclose(alone.log_scale(first)[:, 0], one.log_scale(inputs)[:, 0], atol=1e-6)


def test_weights_count_relative_to_their_mean():
    inputs, y, w = held_out(200)
    found = [ErrorScale.learn(inputs, y, c * w).log_scale(inputs) for c in (1.0, 64.0)]
    assert_allclose(*found, rtol=1e-9)


def test_an_answer_does_not_depend_on_the_rows_beside_it():
    inputs, y, w = held_out(200)
    one, some = ErrorScale.learn(inputs, y, w), np.array([3, 77, 150])
    assert not one.normal
    assert_array_equal(one.log_scale(inputs.take(some)), one.log_scale(inputs)[some])


def test_densities_are_bounded_where_all_errors_are_zero():
    inputs, _, w = held_out(60)
    found = ErrorScale.learn(inputs, inputs.mean.copy(), w).predictive(inputs)
    share = found.scale / np.exp(inputs.log_sd)
    assert share.min() >= 0.999e-4 and share.max() < 2e-4
    assert np.isfinite(found.log_density(inputs.mean)).all()


def test_scale_of_new_rows_is_the_mode_and_the_offset_of_cross_fitted_ones():
    inputs, y, _ = held_out(200)
    order = np.lexsort(inputs.place.T[::-1])
    inputs, y, w = inputs.take(order), y[order], np.ones(200)
    z = ((y - inputs.mean) / np.exp(inputs.log_sd))[:, 0]
    found = learn_scale(ScaleBasis.of(inputs, 0, w), z, w)
    cross = cross_fit(found, z, w, np.full(200, -np.inf))
    one = ErrorScale.learn(inputs, y)
    assert not one.normal and abs(cross.offset) > 1e-3
    assert_allclose(one.log_scale(inputs)[:, 0], found.mode.g + cross.offset, atol=1e-6)
    assert_allclose(one.outputs[0].nu, cross.nu, rtol=1e-6)


def test_record_goes_through_a_model_file():
    inputs, y, w = held_out(150)
    one = ErrorScale.learn(inputs, y, w)
    assert not one.normal
    both = ErrorScale((*one.outputs, *ErrorScale.identity().outputs))
    writer = Writer()
    node = writer.node(both, "scale")
    writer.finish()
    again = Reader(writer.arrays, records.maker_of, str).value(node, "scale")
    assert writer.n_rows == 0
    assert_array_equal(ErrorScale(again.outputs[:1]).log_scale(inputs), one.log_scale(inputs))
    assert [o.nu for o in again.outputs] == [one.outputs[0].nu, np.inf]
    assert again.outputs[0].gain == one.outputs[0].gain


# --- other units, and floors ----------------------------------------------------------------------


def test_scale_is_the_same_in_other_units_of_y():
    inputs, y, w = held_out(p=2)
    y[:, 1] = 0.5 * np.round(y[:, 1] / 0.5)
    scale = ErrorScale.learn(inputs, y, w, [None, Values.of(y[:, 1])], always=True)
    ratio, shift = np.array([0.01, 30.0]), np.array([5.0, -2.0])
    near = inputs.near + 2.0 * np.log(ratio)
    other = ScaleInputs(
        inputs.log_sd + np.log(ratio), ratio * inputs.mean + shift, inputs.place, near
    )
    moved = scale.moved(ratio, shift)
    assert_allclose(moved.log_scale(other), scale.log_scale(inputs), atol=1e-9)
    assert_allclose(moved.variance(other), ratio**2 * scale.variance(inputs), rtol=1e-9)
    density = moved.predictive(other).log_density(ratio * y + shift) + np.log(ratio)
    assert_allclose(density, scale.predictive(inputs).log_density(y), atol=1e-9)
    assert np.ptp(scale.log_scale(inputs)[:, 0]) > 0.5


def test_deviations_have_the_floor_that_scales_have():
    inputs, _, w = held_out(n=60)
    scale = ErrorScale.learn(inputs, inputs.mean.copy(), w)
    assert not scale.normal
    sd = np.sqrt(scale.variance(inputs)) / np.exp(inputs.log_sd)
    assert (sd >= 1e-4 * (1.0 - 1e-9)).all()


def test_constant_scale_of_rounded_targets_may_be_above_its_floor():
    rng = np.random.default_rng(0)
    n, step = 400, 0.1
    y = step * np.round(rng.standard_t(3.0, n) / step)
    bound = np.full(n, 2.0 * np.log(step / np.sqrt(12.0) / 1e-2))
    z = np.hypot(y / 1e-2, np.exp(0.5 * bound))
    found = cross_fit_constant(z, np.ones(n), bound)
    scale = 1e-2 * np.exp(0.5 * np.maximum(found.offset, bound))  # as new rows are answered
    assert_allclose(scale, 1.0, rtol=0.2)
    assert_allclose(1e-2 * np.exp(0.5 * found.g), scale, rtol=0.2)


def test_far_from_all_rows_the_scale_is_that_of_the_model():
    inputs, y, w = held_out(400)
    one = ErrorScale.learn(inputs, y, w)
    most = inputs.log_sd.max()
    for beyond, share in ((0.0, 1.0), (0.25, 0.5), (0.6, 0.0), (9.0, 0.0)):
        at = replace(inputs, log_sd=np.full_like(inputs.log_sd, most + beyond))
        clipped = replace(inputs, log_sd=np.full_like(inputs.log_sd, most))
        assert_allclose(one.log_scale(at), share * one.log_scale(clipped), atol=1e-9)
    assert_allclose(one.variance(at), np.exp(2 * at.log_sd), rtol=1e-12)


def test_few_normal_errors_keep_a_t():
    """A cross-fitted level costs more than half a nat by chance: that is no evidence against it."""
    zero, rng = np.zeros((20, 1)), np.random.default_rng(0)
    at = ScaleInputs(zero, zero, rng.normal(size=(20, 1)), None)
    dropped = [
        ErrorScale.learn(at, rng.normal(size=(20, 1)), nats=TUNING.decision.few_nats).normal
        for _ in range(30)
    ]
    assert np.mean(dropped) <= 0.1


@pytest.mark.parametrize("ratio", [1.0, 7.0])
def test_far_from_all_rows_a_constant_scale_below_one_is_given_up(ratio):
    heavy = OutputScale(None, 4.0, 0.8, 0.5, 0.0, Gain(), level=-0.6, most=0.3)
    one, log_sd = ErrorScale((heavy,)), np.array([[-1.0], [0.3], [0.55], [0.9]])
    one = one.moved(np.array([ratio]), np.zeros(1))  # other units, the same errors
    nothing = np.zeros_like(log_sd)
    at = ScaleInputs(log_sd + np.log(ratio), nothing, nothing, None)
    assert_allclose(one.log_scale(at)[:, 0], [-0.6, -0.6, -0.3, 0.0], atol=1e-12)
    assert_allclose(one.variance(at)[-1], np.exp(2 * at.log_sd[-1]), rtol=1e-12)
    wide = ErrorScale((replace(heavy, level=0.6),))  # of new groups, which are everywhere
    assert_allclose(wide.log_scale(at), 0.6)


def test_a_constant_scale_that_was_learnt_is_given_up_where_no_rows_were_held_out():
    inputs, y, w = held_out(60, strength=0.0, nu=3.0, near=False)
    inputs = replace(inputs, log_sd=inputs.log_sd + 0.3)  # too wide
    one, most = ErrorScale.learn(inputs, y, w, nats=-9.0), inputs.log_sd.max()
    assert one.outputs[0].function is None and one.outputs[0].level < -0.2
    for beyond, share in ((0.0, 1.0), (0.25, 0.5), (0.6, 0.0)):
        at = replace(inputs, log_sd=np.full_like(inputs.log_sd, most + beyond))
        assert_allclose(one.log_scale(at), share * one.outputs[0].level, atol=1e-9)


# --- groups of rows -------------------------------------------------------------------------------


def test_folds_keep_groups_together():
    group = np.random.default_rng(0).permutation(np.repeat(np.arange(40), 6))
    fold = folds(240, group)
    assert all(np.unique(fold[group == k]).size == 1 for k in range(40))
    assert_array_equal(np.bincount(fold[np.unique(group, return_index=True)[1]]), [8] * 5)


def test_the_constant_scale_of_a_group_does_not_depend_on_its_own_errors():
    rng = np.random.default_rng(4)
    group, least = np.repeat(np.arange(30), 4), np.full(120, -20.0)
    z = rng.standard_t(4.0, size=120)
    found = cross_fit_constant(z, np.full(120, 0.25), least, group).g
    own = group == 7
    other = cross_fit_constant(np.where(own, 6.0 * z, z), np.full(120, 0.25), least, group).g
    assert_allclose(other[own], found[own], atol=1e-9)
    assert np.abs(other - found).max() > 0.01


def test_groups_bound_the_degrees_of_freedom():
    assert_allclose(most_degrees(np.full(120, 0.1), np.repeat(np.arange(12), 10)), 6.0)


def alike(groups=60, size=20, seed=0):
    """Rows whose errors are N(0, 2²), nearly the same within a group."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), size)
    error = 2.0 * rng.normal(size=groups)[group] + 0.1 * rng.normal(size=group.size)
    place = rng.normal(size=(groups, 2))[group]
    zero = np.zeros((group.size, 1))
    return ScaleInputs(zero, zero, place, None), error[:, None], group


def test_errors_alike_in_groups_widen_the_scale_of_all():
    inputs, y, group = alike()
    for count in (60, 6):
        some = group < count
        scale = ErrorScale.learn(inputs.take(some), y[some], group=group[some], nats=-1.0)
        own = scale.outputs[0]
        assert own.function is None  # no place is known to be worse than others
        assert own.nu <= np.sqrt(3 * count) * (1 + 1e-12)
        assert_allclose(own.kappa, np.mean(y[some] ** 2), rtol=1e-6)
        far = scale.predictive(inputs.take(some)).quantile(0.975)[0, 0]
        assert 1.8 < far / np.sqrt(np.mean(y[some] ** 2)) < 3.0
    alone = ErrorScale.learn(inputs, y, nats=-1.0).outputs[0]
    assert alone.function is not None  # taken as single rows, places seem to differ


def test_one_group_shows_nothing():
    inputs, y, _ = alike(2)
    assert ErrorScale.learn(inputs, y, group=np.zeros(40, dtype=int)).normal
