"""Targets that are rounded or discrete: cells, their likelihood, quantiles that are values."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

import reference
from collegium import CommitteeRegressor
from collegium.errors.answers import closest
from collegium.errors.density import Intervals, Points, log_between
from collegium.errors.features import ScaleInputs
from collegium.errors.margins import Margins
from collegium.errors.scale import ErrorScale
from collegium.errors.values import Values, seen_apart
from collegium.metrics import coverage
from collegium.modelfile.tree import Reader, Writer
from collegium.numerics import records

# --- cells ----------------------------------------------------------------------------------------


def test_cells_of_a_lattice_are_a_step_wide_with_holes_between():
    y = np.repeat([1.0, 1.5, 2.0, 3.5, 9.0], 4)
    own = Values.of(y)
    assert_array_equal(own.values, [1.0, 1.5, 2.0, 3.5, 9.0])
    assert_allclose(own.upper - own.lower, 0.5)
    assert_allclose(own.cell(np.array([1.2, 2.9])), [[0.75, np.nan], [1.25, np.nan]])


def test_cells_of_unequal_gaps_meet_in_the_middle():
    own = Values.of(np.repeat([0.0, 1.0, 4.4, 11.1], 3))
    assert_allclose(own.lower, [-0.5, 0.5, 2.7, 7.75])
    assert_allclose(own.upper, [0.5, 2.7, 7.75, 14.45])


def test_continuous_targets_have_none():
    rng = np.random.default_rng(0)
    y = rng.normal(size=300)
    assert Values.of(y) is None
    assert Values.of(np.ones(20)) is None
    assert Values.of(np.append(y, y[:90])) is None  # more than half of the rows are not tied
    twice = Values.of(np.append(y, y))  # tied, but further values may lie between these
    assert twice is not None and twice.values is None
    assert_allclose(twice.seen, np.sort(y))
    one = Margins(np.zeros((1, 1)), np.full((1, 1), 1e-3), np.ones(1), None, (twice,))
    assert_array_equal(one.quantile(0.9), replace(one, values=()).quantile(0.9))


def test_ends_go_through_a_transform():
    y = np.repeat([0.1, 1.0, 2.0, 5.0], 5)
    own, logs = Values.of(y), Values.of(y, np.log)
    assert own.lower[0] > 0.0
    for name in ("seen", "lower", "upper"):
        assert_allclose(getattr(logs, name), np.log(getattr(own, name)))
    assert_array_equal(logs.values, own.values)


@pytest.mark.parametrize("nu", [1.6, 7.0, np.inf])
def test_probability_of_a_cell_in_either_tail(nu):
    own = stats.norm() if np.isinf(nu) else stats.t(nu)
    low = np.array([-40.0, -9.0, -0.3, 0.2, 5.0, 8.0])
    width = np.array([3.0, 2.0, 0.7, 1e-6, 0.01, 5.0])
    found = log_between(low, low + width, nu)
    slow = [integrate.quad(own.pdf, a, a + b, epsabs=0.0)[0] for a, b in zip(low, width)]
    inside = np.array(slow) > 1e-200
    assert_allclose(found[inside], np.log(np.array(slow)[inside]), atol=1e-6)
    assert np.isfinite(log_between(np.array([1e8]), np.array([1e8 + 1.0]), nu)).all()
    assert_allclose(log_between(-low - width, -low, nu), found, rtol=1e-12)


@pytest.mark.parametrize("nu", [1.6, 7.0])
def test_slopes_of_cells_against_differences(nu):
    g = np.array([0.3, -2.0, -5.0, 1.0, 0.0])
    low = np.array([-3.0, -0.2, 0.5, 2.0, -30.0])
    own = Intervals(low, low + np.array([1.0, 0.5, 2.0, 1e-5, 4.0]))

    def value(a):
        return own.log_density(g + a[0], nu + a[1])

    found = reference.gradient(value, np.zeros(2))
    assert_allclose(own.slope(g, nu), found[:, 0], rtol=1e-5, atol=1e-6)
    assert_allclose(own.nu_slope(g, nu), found[:, 1], rtol=1e-4, atol=1e-6)


def test_narrow_cells_are_points():
    z, g = np.array([-3.0, 0.1, 7.0]), np.array([0.2, -1.0, 1.0])
    cells = Intervals(z - 1e-3, z + 1e-3)
    assert_allclose(cells.log_density(g, 4.0), Points(z).log_density(g, 4.0), atol=1e-5)
    assert_allclose(cells.slope(g, 4.0), Points(z).slope(g, 4.0), atol=1e-5)
    assert_allclose(cells.bend(g, 4.0), Points(z).bend(g, 4.0), atol=1e-4)


# --- densities and quantiles ----------------------------------------------------------------------


def margins(values, scale, skew=None):
    n = 6
    location = np.linspace(-1.0, 6.0, n)[:, None]
    return Margins(location, np.full((n, 1), scale), np.array([4.0]), skew, (values,))


@pytest.mark.parametrize("skew", [None, np.array([0.4])])
def test_density_of_discrete_targets_integrates_to_one(skew):
    own = Values.of(np.repeat([0.0, 1.0, 2.0, 5.0], 3))
    found = margins(own, 0.7, skew)
    grid = np.linspace(-300.0, 300.0, 600_001)
    one = Margins(
        np.full((grid.size, 1), 1.3), np.full((grid.size, 1), 0.7), found.nu, skew, (own,)
    )
    total = np.trapezoid(np.exp(one.log_density(grid[:, None])[:, 0]), grid)
    assert_allclose(total, 1.0, atol=1e-3)
    plain = replace(found, values=())
    y = np.full((6, 1), 1.0)
    p = plain.cdf(y + 0.5) - plain.cdf(y - 0.5)
    assert_allclose(np.exp(found.log_density(y)), p, rtol=1e-9)
    between = np.full((6, 1), 3.4)  # no cell holds it
    assert_array_equal(found.log_density(between), plain.log_density(between))


def test_quantiles_are_values_where_errors_are_within_cells():
    own = Values.of(np.repeat([0.0, 1.0, 2.0, 5.0], 3))
    sharp, wide = margins(own, 0.2), margins(own, 9.0)
    for p in (0.025, 0.5, 0.9):
        assert np.isin(sharp.quantile(p), own.values).all()
        plain = replace(sharp, values=()).quantile(p)
        assert_array_equal(own.values[own.nearest(plain)], sharp.quantile(p))
        assert_array_equal(wide.quantile(p), replace(wide, values=()).quantile(p))


# --- learnt ---------------------------------------------------------------------------------------


def held_out(n, step, noise, seed=0):
    rng = np.random.default_rng(seed)
    place = rng.uniform(-1.0, 1.0, (n, 2))
    mean = 3.0 * rng.normal(size=(n, 1))
    scale = noise * np.exp(0.8 * np.sin(3.0 * place[:, :1]))
    latent = mean + scale * rng.normal(size=(n, 1))
    at = ScaleInputs(np.full((n, 1), np.log(noise)), mean, place, None)
    return at, step * np.round(latent / step), scale


@pytest.mark.parametrize("step", [0.3, 1.0, 2.0])
def test_scale_of_rounded_targets_is_that_before_rounding(step):
    at, y, _ = held_out(1000, step, 0.5)
    fresh, _, truth = held_out(2000, step, 0.5, seed=1)
    scale = ErrorScale.learn(at, y, None, [Values.of(y[:, 0])])
    found = scale.predictive(fresh).scale
    assert abs(np.mean(np.log(found / truth))) < 0.15
    assert np.std(np.log(found / truth)) < 0.35
    errors = np.sqrt(scale.variance(fresh))
    assert errors.min() >= step / np.sqrt(12.0) * (1.0 - 1e-9)  # of y, which is rounded


def test_values_that_do_not_matter_are_left_out():
    rng = np.random.default_rng(0)
    y = np.round(rng.normal(size=400), 1)
    own = Values.of(y)
    assert seen_apart(own, y, rng.normal(size=400) * 0.1) is own
    assert seen_apart(own, y, rng.normal(size=400) * 10.0) is None  # a fine step
    assert seen_apart(own, y, rng.normal(size=400) * 1e-3) is None  # levels that are all met
    few = np.where(np.arange(400) % 20 == 0, 0.1, 1e-3)
    assert seen_apart(own, y, few) is own  # steps that are met but for their edges
    assert seen_apart(None, y, few) is None


def test_intervals_of_a_step_function_end_in_values_and_cover():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (700, 2))
    y = 0.7 * np.floor(1.5 * (np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1])) + 0.1
    model = CommitteeRegressor(random_state=0, learn=True).fit(X[:400], y[:400])
    lower, upper = model.predict_interval(X[400:])
    assert np.isin(lower, y).all() and np.isin(upper, y).all()
    assert coverage(y[400:], lower, upper) >= 0.95
    density = model.log_density(X[400:], y[400:])
    assert density.max() <= -np.log(0.7) + 1e-9
    cell = model.cdf(X[400:], y[400:] + 0.35) - model.cdf(X[400:], y[400:] - 0.35)
    assert_allclose(np.exp(density) * 0.7, cell, atol=1e-6)


def test_a_transform_with_few_values_has_no_spikes():
    """The density is the probability of cells in the units of y, whatever the transform is."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-2.0, 2.0, (900, 2))
    t = 0.8 * np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.5 * rng.normal(size=900)
    y = np.clip(np.round(2.0 * np.exp(t + 1.2)), 1.0, 58.0)
    model = CommitteeRegressor(random_state=0, learn=True, transforms="rank")
    model.fit(X[:600], y[:600])
    Xs, ys = X[600:], y[600:]
    values = np.unique(y[:600])
    inside = np.isin(ys, values) & (ys > values[0]) & (ys < values[-1])
    p = model.cdf(Xs, ys + 0.5) - model.cdf(Xs, ys - 0.5)
    assert_allclose(np.exp(model.log_density(Xs, ys))[inside], p[inside], rtol=1e-3, atol=1e-9)


def test_values_and_skewness_go_through_a_model_file():
    at, y, _ = held_out(400, 1.0, 0.5)
    scale = ErrorScale.learn(at, y, None, [Values.of(y[:, 0])], always=True)
    scale = ErrorScale((replace(scale.outputs[0], skew=0.3),))
    writer = Writer()
    node = writer.node(scale, "scale")
    writer.finish()
    again = Reader(writer.arrays, records.maker_of, str).value(node, "scale")
    one, two = scale.predictive(at), again.predictive(at)
    assert_array_equal(one.log_density(y), two.log_density(y))
    assert_array_equal(one.quantile(0.1), two.quantile(0.1))
    assert_array_equal(scale.outputs[0].rest, again.outputs[0].rest)
    assert scale.outputs[0].rest.size


def test_ends_of_intervals_are_values_to_the_last_bit():
    """Units and transforms round: what is a value up to that is given back as it came."""
    values = np.sort(np.random.default_rng(0).normal(size=9)) / 3.0
    near = values * (1.0 + 3e-16) + 1e-17
    assert (near != values).any()
    assert_array_equal(closest(values, near), values)
    between = 0.5 * (values[1:] + values[:-1])
    assert_array_equal(closest(values, between), between)
