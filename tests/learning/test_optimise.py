"""Sizes of columns, priors, the optimiser, learning from known processes."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

import reference
from collegium.engines import Serial
from collegium.kernels import (
    RBF,
    Constant,
    Linear,
    Matern12,
    Matern32,
    Periodic,
    RationalQuadratic,
    Sum,
    White,
)
from collegium.learning import hyperparameters
from collegium.learning.calibration import Look, Misses
from collegium.learning.families import gap_density, near_check, roughest_good
from collegium.learning.hyperparameters import (
    Effort,
    _Learner,
    learn,
    learn_anchored,
    trivial_value,
)
from collegium.learning.optimise import Prior, Scales, maximise
from collegium.learning.pool import Pool
from collegium.learning.regions import Region
from collegium.learning.tuning import TUNING
from collegium.messages.evidence import anchored, factorised
from collegium.numerics.clock import Clock
from collegium.rows.chunk import Chunk
from collegium.rows.metric import Metric, column_scales
from collegium.rows.nearest import nearest_others
from collegium.rows.rows import Rows

# --- sizes of columns -----------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e-148, 1e-75, 1e-3, 1.0, 1e150, 1e290])
def test_scale_of_a_column_is_its_standard_deviation_in_any_unit(unit):
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 7.0, 0.2] + [0.0, 3.0, -1.0]
    assert_allclose(column_scales(X * unit) / unit, X.std(axis=0), rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, 1.0, -3.7, 0.1, 1e150, -1e-150, 5e-324])
@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_scale_of_a_constant_column_is_positive_and_of_its_size(value, n):
    X = np.stack([np.full(n, value), np.arange(n, dtype=float)], axis=1)
    scale = column_scales(X)
    assert (scale > 0).all() and np.isfinite(scale).all()
    assert_allclose(scale[0], max(abs(value), 1e-150) if value else 1.0)


def test_scales_of_no_rows():
    scale = column_scales(np.empty((0, 3)))
    assert scale.shape == (3,)
    assert (scale > 0).all()


def test_scales_of_extreme_mixtures_are_positive_and_finite():
    big, small = 1.7e308, 5e-324
    X = np.array([[big, small, 1.0], [-big, 0.0, 1.0], [big, -small, 1.0 + 1e-15]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scale = column_scales(X)
    assert (scale >= 1e-150).all() and np.isfinite(scale).all()


def assert_metric(kernel, X, expected):
    """Proportional to those expected; the widest column has standard deviation one."""
    weights = Metric.of(kernel, X).weights
    assert_allclose(weights / weights[0], np.asarray(expected) / expected[0], rtol=1e-12)
    assert_allclose((X * weights).std(axis=0).max(), 1.0, rtol=1e-12)


@pytest.mark.parametrize("unit", [1e-100, 1.0, 1e100])
def test_metric_divides_by_length_scales(unit):
    X = unit * np.random.default_rng(1).normal(size=(20, 3))
    lengths = np.array([0.5, 1.0, 4.0]), np.array([1.0, 0.2, 8.0])
    assert_metric(RBF(2.0, unit * lengths[0]), X, 1.0 / lengths[0])
    both = RBF(2.0, unit * lengths[0]) + Matern12(3.0, unit * lengths[1]) + White(5.0)
    assert_metric(both, X, np.sqrt(2.0 / lengths[0] ** 2 + 3.0 / lengths[1] ** 2))


def test_metric_of_a_kernel_without_length_scales_is_that_of_the_columns():
    X = np.random.default_rng(2).normal(size=(30, 2)) * [1.0, 10.0]
    for kernel in (Linear(2.0), Constant(3.0), Linear(1.0) + White(0.1)):
        assert_metric(kernel, X, 1.0 / X.std(axis=0))


def test_the_metric_ignores_shifts_and_is_invertible():
    X = np.round(np.random.default_rng(5).normal(size=(30, 2)) * 2**20) / 2**20
    kernel = RBF(2.0, [0.3, 7.0])
    here, there = Metric.of(kernel, X), Metric.of(kernel, X + 2.0**20)
    distances = [np.diff(m.forward(x), axis=0) for m, x in ((here, X), (there, X + 2.0**20))]
    assert_allclose(*distances, rtol=1e-6)
    assert_allclose(there.backward(there.forward(X + 2.0**20)), X + 2.0**20, rtol=1e-15)


def test_rows_in_the_metric_have_finite_squares():
    X = np.array([[1e300, -1e-300], [0.5, 1e308], [-1e308, 2.0]])
    found = Metric(np.zeros(2), np.array([3.0, 1e10])).forward(X)
    assert np.isfinite(found**2).all()
    assert_array_equal(found[1, 0], 1.5)
    assert_array_equal(np.sign(found), np.sign(X))


# --- priors ---------------------------------------------------------------------------------------

KERNEL = (
    RBF(0.7, [0.4, 1.9]) + Periodic(1.2, 0.6, 3.0) * RationalQuadratic(1.0, 0.8, 2.5) + Linear(3)
)


def test_prior_gradient_is_its_derivative():
    prior = Scales(np.array([0.5, 20.0]), 400).prior(KERNEL)
    theta = np.append(KERNEL.theta, np.log(0.02))
    value, gradient = prior.log_density(theta)
    assert_allclose(
        gradient, reference.gradient(lambda t: prior.log_density(t)[0], theta), rtol=1e-8
    )
    z = (theta - prior.centre) / prior.spread
    assert_allclose(value, -0.5 * (z**2).sum(), rtol=1e-14)


def test_prior_has_an_entry_a_parameter_and_one_for_the_noise():
    prior = Scales(np.array([0.5, 20.0]), 400).prior(KERNEL)
    q = KERNEL.theta.size + 1
    assert all(a.shape == (q,) for a in (prior.centre, prior.spread, prior.low, prior.high))
    assert (prior.low < prior.centre).all() and (prior.centre < prior.high).all()
    assert (prior.spread > 0).all()


@pytest.mark.parametrize("unit", [1e-148, 1e-3, 1e150])
def test_prior_of_length_scales_has_the_unit_of_its_column(unit):
    X = np.random.default_rng(3).normal(size=(40, 2)) * [1.0, 6.0]
    kernel = Matern32(1.4, [0.3, 0.9])
    plain, other = Scales.of(X).prior(kernel), Scales.of(X * unit).prior(kernel)
    shift = np.log(unit) * np.array([0.0, 1.0, 1.0, 0.0])
    for name in ("centre", "low", "high"):
        ours, theirs = (getattr(one, name) + np.log(one.units) for one in (other, plain))
        assert_allclose(ours, theirs + shift, rtol=1e-12)
    assert_array_equal(other.spread, plain.spread)


def test_what_is_neither_length_nor_variance_starts_at_the_centre_of_its_prior():
    prior, theta = Scales(np.array([0.5, 20.0]), 400).prior(KERNEL), KERNEL.theta
    shapes = [i for i, (kind, _) in enumerate(KERNEL.labels) if kind == "shape"]
    assert shapes
    assert_array_equal(prior.theta(KERNEL)[shapes], prior.centre[shapes])
    for end in (prior.low, prior.high):
        low_or_high = prior.kernel(KERNEL, end[:-1]).theta
        assert_allclose(np.abs(low_or_high - theta)[shapes], 5.0, rtol=1e-12)


# --- maximise -------------------------------------------------------------------------------------


def quadratic(peak, curvature, calls=None):
    """log evidence −½(t − peak)ᵀA(t − peak), t = (θ, log σ²)."""

    def objective(kernel, noise):
        t = np.append(kernel.theta, np.log(noise)) - peak
        if calls is not None:
            calls.append(t)
        return -0.5 * t @ curvature @ t, -curvature @ t

    return objective


@pytest.fixture
def hill():
    B = np.random.default_rng(4).normal(size=(4, 4))
    return np.array([0.4, -0.9, 1.1, -2.0]), 50.0 * (B @ B.T + np.eye(4))


def wide(centre=0.0, spread=1.5, bound=6.0):
    ones = np.ones(4)
    return Prior(centre * ones, spread * ones, -bound * ones, bound * ones)


def test_maximise_finds_where_evidence_and_prior_balance(hill):
    peak, A = hill
    prior = wide(centre=0.5)
    found = maximise(quadratic(peak, A), RBF(1.0, [1.0, 1.0]), 0.3, prior, 20.0)
    D = np.diag(prior.spread**-2.0)
    best = np.linalg.solve(A + D, A @ peak + D @ prior.centre)
    at = np.append(found.kernel.theta, np.log(found.noise))
    assert_allclose(at, best, atol=5e-3)
    value = (quadratic(peak, A)(found.kernel, found.noise)[0] + prior.log_density(at)[0]) / 20.0
    assert_allclose(found.value, value, rtol=1e-10)
    assert found.converged


def test_maximise_stops_at_a_bound(hill):
    peak, A = hill
    prior = wide(bound=0.7)
    found = maximise(quadratic(peak, A), RBF(1.0, [1.0, 1.0]), 1.0, prior, 20.0)
    at = np.append(found.kernel.theta, np.log(found.noise))
    gradient = quadratic(peak, A)(found.kernel, found.noise)[1] + prior.log_density(at)[1]
    inside = np.abs(at) < 0.7 - 1e-9
    assert (np.abs(at) <= 0.7 + 1e-12).all()
    assert not inside.all()
    assert np.abs(gradient[inside]).max(initial=0.0) < 1.0
    assert (gradient[~inside] * np.sign(at[~inside]) > 0).all()


def test_maximise_starts_within_the_bounds(hill):
    peak, A = hill
    found = maximise(quadratic(peak, A), RBF(1e9, [1e9, 1e-9]), 1e-200, wide(bound=3.0), 20.0)
    assert_allclose(found.kernel.theta, peak[:3], atol=0.05)


def test_maximise_leaves_fixed_parameters_and_fixed_noise_alone(hill):
    peak, A = hill
    kernel = RBF(2.2, [1.0, 1.0], fixed=("variance",))
    seen = []

    def objective(k, noise):
        seen.append((k.variance, noise))
        value, gradient = quadratic(peak, A)(RBF(k.variance, k.length_scale), noise)
        return value, gradient[1:]

    three = Prior(*[a[1:] for a in (wide().centre, wide().spread, wide().low, wide().high)])
    found = maximise(objective, kernel, 0.37, three, 20.0, noise_fixed=True)
    assert set(seen) == {(2.2, 0.37)}
    assert (found.kernel.variance, found.noise) == (2.2, 0.37)
    held = np.array([np.log(2.2), np.log(0.37)]) - peak[[0, 3]]
    D = np.diag(three.spread[:2] ** -2.0)
    rest = np.linalg.solve(A[1:3, 1:3] + D, A[1:3, 1:3] @ peak[1:3] - A[1:3][:, [0, 3]] @ held)
    assert_allclose(found.kernel.theta, rest, atol=5e-3)


def test_a_noise_of_zero_that_is_fixed_stays_zero(hill):
    noises = []

    def objective(kernel, noise):
        noises.append(noise)
        return -0.5 * float(kernel.theta @ kernel.theta), np.append(-kernel.theta, 0.0)

    found = maximise(objective, RBF(3.0, [2.0, 2.0]), 0.0, wide(), 5.0, noise_fixed=True)
    assert set(noises) == {0.0}
    assert found.noise == 0.0


def test_nothing_free_is_evaluated_once():
    calls = []
    kernel = RBF(2.0, [0.5, 0.7], fixed=("variance", "length_scale"))

    def objective(k, noise):
        calls.append(noise)
        return -7.0, np.zeros(1)

    prior = Prior(np.log([0.2]) + 3.0, np.array([1.5]), np.zeros(1), np.zeros(1))
    found = maximise(objective, kernel, 0.2, prior, 10.0, noise_fixed=True)
    assert calls == [0.2]
    assert found.kernel is kernel
    assert (found.noise, found.converged) == (0.2, True)
    assert found.value == pytest.approx((-7.0 - 2.0) / 10.0)  # the prior is 2 sd away


def test_running_out_of_iterations_is_reported(hill):
    peak, A = hill
    found = maximise(quadratic(peak, A), RBF(1.0, [1.0, 1.0]), 1.0, wide(), 20.0, max_iter=1)
    assert not found.converged


def test_maximise_finds_the_maximum_of_a_real_evidence():
    rows = draw_from(Matern32(1.3, [0.6, 1.8]), 0.05, 120, seed=5)
    chunks = [Chunk(0, rows.X, rows.y, rows.w)]
    prior = Scales.of(rows.X).prior(Matern32(1.0, [1.0, 1.0]))

    def objective(kernel, noise):
        return factorised(kernel, noise, chunks, Serial())

    found = maximise(objective, Matern32(1.0, [1.0, 1.0]), 0.1, prior, 120.0)

    def negative(t):
        value = objective(kernel := found.kernel.with_theta(t[:-1]), np.exp(t[-1]))[0]
        return -(value + prior.log_density(np.append(prior.theta(kernel), t[-1]))[0]) / 120.0

    start = np.append(found.kernel.theta, np.log(found.noise))
    best = minimize(negative, start, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-9})
    assert -best.fun - found.value < 1e-4
    assert_allclose(found.value, -negative(start), rtol=1e-10)


# --- learning -------------------------------------------------------------------------------------


def draw_from(kernel, noise, n, *, seed, p=1):
    """A draw from a GP on the unit square."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    L = np.linalg.cholesky(kernel.value(X) + 1e-10 * np.eye(n))
    f = L @ rng.normal(size=(n, p))
    return Rows(X, f + np.sqrt(noise) * rng.normal(size=(n, p)), np.ones(n))


SMALL = Effort(
    at_once=150, rough_rows=150, family_chunks=2, family_size=100, final_chunks=4, final_size=120,
    near_rows=40, near_neighbours=50,
)  # fmt: skip


@pytest.mark.parametrize("noise", [0.003, 0.1])
@pytest.mark.parametrize("n", [140, 600], ids=["at once", "in clusters"])
def test_learning_recovers_noise_and_length_scales(noise, n):
    truth = Matern32(1.0, [0.5, 3.0])
    rows = draw_from(truth, noise, n, seed=6)
    rng = np.random.default_rng(0)
    found = learn(rows, Matern32(1.0, [1.0, 1.0]), None, rng, Serial(), effort=SMALL)
    assert noise / 2.5 < found.noise < noise * 2.5
    assert isinstance(found.kernel, Matern32)
    ratio = found.kernel.length_scale / truth.length_scale
    assert ((ratio > 0.4) & (ratio < 2.5)).all()
    assert found.value > trivial_value([Chunk(0, rows.X, rows.y, rows.w)])


def test_learning_keeps_a_given_noise_and_fixed_parameters():
    rows = draw_from(Matern32(1.0, [0.5, 3.0]), 0.05, 120, seed=7)
    kernel = RBF(1.0, [0.8, 2.0], fixed=("length_scale",))
    found = learn(rows, kernel, 0.08, np.random.default_rng(0), Serial(), effort=SMALL)
    assert found.noise == 0.08
    assert_array_equal(found.kernel.length_scale, [0.8, 2.0])
    assert found.kernel.variance != 1.0


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_learning_is_blind_to_the_units_of_the_inputs(unit):
    rows = draw_from(Matern32(1.0, [0.5, 3.0]), 0.05, 120, seed=8)
    plain = learn(rows, None, None, np.random.default_rng(0), Serial(), effort=SMALL)
    other = learn(
        Rows(rows.X * unit, rows.y, rows.w), None, None, np.random.default_rng(0), Serial(),
        effort=SMALL,
    )  # fmt: skip
    assert type(other.kernel) is type(plain.kernel)
    assert_allclose(other.noise, plain.noise, rtol=1e-2)
    assert_allclose(other.kernel.length_scale / unit, plain.kernel.length_scale, rtol=1e-2)


@pytest.mark.parametrize("noise_fixed", [False, True])
def test_learn_anchored_raises_the_evidence_of_the_committee(noise_fixed):
    rows = draw_from(Matern32(1.3, [0.6, 1.8]), 0.05, 120, seed=14)
    chunks = [
        Chunk(i, rows.X[part], rows.y[part], rows.w[part])
        for i, part in enumerate(np.split(np.arange(120), 4))
    ]
    Z, start = rows.X[::10], Matern32(1.0, [1.0, 1.0])
    found = learn_anchored(start, 0.2, Z, chunks, Serial(), noise_fixed=noise_fixed)
    prior = Scales.of(rows.X).prior(start)
    assert (found.noise == 0.2) == noise_fixed

    def total(theta):
        kernel, noise = start.with_theta(theta[:-1]), float(np.exp(theta[-1]))
        value, gradient = anchored(kernel, noise, Z, chunks, Serial())
        density, slope = prior.log_density(np.append(prior.theta(kernel), theta[-1]))
        return value + density, gradient + slope

    first, last = (np.append(k.theta, np.log(s)) for k, s in
                   ((start, 0.2), (found.kernel, found.noise)))  # fmt: skip
    assert_allclose(found.value, total(last)[0] / 120.0, rtol=1e-9)
    assert total(last)[0] > total(first)[0] + 1.0
    free = slice(None, -1 if noise_fixed else None)
    assert np.abs(total(last)[1][free]).max() < 0.5  # of 120 rows


def test_learning_from_pure_noise_finds_little_else():
    rng = np.random.default_rng(9)
    rows = Rows(rng.uniform(-2, 2, (140, 2)), rng.normal(size=(140, 1)), np.ones(140))
    found = learn(rows, None, None, np.random.default_rng(0), Serial(), effort=SMALL)
    mean, _, _ = reference.gp(found.kernel, found.noise, rows.X, rows.y, rows.w, rows.X)
    assert mean.std() < 0.3
    assert 0.7 < found.noise < 1.4


def test_the_same_seed_learns_the_same():
    rows = draw_from(Matern32(1.0, [0.5, 3.0]), 0.05, 300, seed=10)
    one, two = (
        learn(rows, None, None, np.random.default_rng(3), Serial(), effort=SMALL) for _ in range(2)
    )
    assert_array_equal(one.kernel.theta, two.kernel.theta)
    assert one.noise == two.noise


@pytest.mark.parametrize("p", [1, 3])
def test_trivial_value_is_the_best_density_of_a_constant_variance(p):
    rng = np.random.default_rng(11)
    chunks = [
        Chunk(i, np.zeros((n, 1)), rng.normal(size=(n, p)) * np.arange(1, p + 1), np.ones(n))
        for i, n in enumerate((5, 9))
    ]
    y = np.concatenate([chunk.y for chunk in chunks])
    best = 0.0
    for column in y.T:
        grid = np.exp(np.linspace(-6, 6, 200_001))
        density = -0.5 * np.log(2 * np.pi * grid) - 0.5 * (column**2).mean() / grid
        best += density.max()
    assert_allclose(trivial_value(chunks), best, rtol=1e-8)


def test_gap_density_is_that_of_the_exact_gp_on_the_rows_around():
    kernel, noise = Matern32(1.3, [0.6, 1.8]), 0.1
    rows = draw_from(kernel, noise, 30, seed=12, p=2)
    groups = [(np.arange(4), np.arange(4, 20)), (np.array([25]), np.arange(10))]
    densities = []
    for out, given in groups:
        mean, cov, _ = reference.gp(
            kernel, noise, rows.X[given], rows.y[given], rows.w[given], rows.X[out]
        )
        variance = (cov.diagonal() + noise)[:, None]
        z2 = (rows.y[out] - mean) ** 2 / variance
        densities.append((-0.5 * (np.log(2 * np.pi * variance) + z2)).sum(axis=1).mean())
    regions = [Region(rows.take(out), rows.take(given)) for out, given in groups]
    assert_allclose(gap_density(kernel, noise, regions, Serial()), densities, rtol=1e-9)


def test_held_out_rows_are_judged_by_the_gp_of_their_neighbours():
    kernel, noise = Matern32(1.1, [0.6, 2.0]), 0.07
    rows = draw_from(kernel, noise, 90, seed=15, p=2)
    held_out = np.arange(60)
    near = nearest_others(rows.X, held_out, 8)
    errors, variance = np.empty((60, 2)), np.empty(60)
    for i, own in zip(held_out, near):
        given = rows.take(own)
        mean, cov, _ = reference.gp(kernel, noise, given.X, given.y, given.w, rows.X[[i]])
        errors[i], variance[i] = rows.y[i] - mean[0], cov[0, 0]
    found = near_check(kernel, noise, rows, held_out, near, Serial())
    expected = Look(1.0, Misses(errors, variance, noise)).best()
    assert found.ratio == 1.0
    assert_allclose(found.before, expected.before, rtol=1e-9)
    assert_allclose(found.scale, expected.scale, rtol=1e-9)
    assert_allclose(found.each, expected.each, rtol=1e-9)


def test_the_roughest_family_wins_only_where_it_costs_little():
    assert roughest_good(np.array([0.7, 0.9, 1.0]), 0.2) == 1
    assert roughest_good(np.array([0.9, 0.7, 1.0]), 0.2) == 0
    assert roughest_good(np.array([0.1, 0.5, 1.0]), 0.2) == 2


def learner(rows):
    return _Learner(
        Pool(rows), None, None, np.random.default_rng(0), Serial(), 1,
        SMALL.for_rows(rows.X.shape[0]), None, Clock(), lambda text: None,
    )  # fmt: skip


def test_what_is_left_out_is_left_out():
    rows = draw_from(Matern32(1.0, [0.5, 3.0]), 0.05, 300, seed=12)
    asked = learner(rows).held_out
    assert asked.size == 40 and np.unique(asked).size == 40
    neighbours = Pool(rows).near(Matern32(1.0, [0.5, 3.0]), asked, 50)
    assert neighbours.shape == (asked.size, 50)
    assert not (neighbours == asked[:, None]).any()


@pytest.mark.slow
def test_two_scales_need_two_kernels_and_one_does_not():
    rng = np.random.default_rng(5)
    X = np.sort(rng.uniform(0.0, 10.0, size=(900, 1)), axis=0)
    slow, fast = RBF(1.0, 3.0), RBF(0.05, 0.05)
    L = np.linalg.cholesky(slow.value(X) + fast.value(X) + 1e-8 * np.eye(900))
    both = Rows(X, L @ rng.normal(size=(900, 1)) + 0.02 * rng.normal(size=(900, 1)), np.ones(900))
    found = learn(both, None, None, np.random.default_rng(0), Serial(), effort=Effort())
    assert isinstance(found.kernel, Sum)
    lengths = sorted(float(part.length_scale[0]) for part in found.kernel.parts)
    assert lengths[1] > 5.0 * lengths[0]
    L = np.linalg.cholesky(slow.value(X) + 1e-8 * np.eye(900))
    one = Rows(X, L @ rng.normal(size=(900, 1)) + 0.1 * rng.normal(size=(900, 1)), np.ones(900))
    alone = learn(one, None, None, np.random.default_rng(0), Serial(), effort=Effort())
    assert not isinstance(alone.kernel, Sum)


@pytest.mark.parametrize("field", ["rough_rows", "family_chunks", "family_size", "first_chunks",
                                   "final_chunks", "final_size", "near_rows"])  # fmt: skip
@pytest.mark.parametrize("second", [True, False])
def test_more_rows_to_learn_from_are_foreseen_to_take_longer(field, second):
    effort = Effort(second=second)
    more = replace(effort, **{field: 2 * getattr(effort, field)})
    assert more.steps() > effort.steps() * 1.02


def test_a_race_goes_on_from_the_best_of_its_starts(monkeypatch):
    quick = replace(TUNING, newton=replace(TUNING.newton, first=1))
    monkeypatch.setattr(hyperparameters, "TUNING", quick)
    rows = draw_from(Matern32(1.0, [0.5, 3.0]), 0.05, 300, seed=12)
    own = learner(rows)
    chunks = own._cut([np.arange(150), np.arange(150, 300)])
    starts = [(RBF(0.3, [6.0, 0.2]), 0.9), (Matern32(1.0, [0.2, 9.0]), 0.5)]
    few = [own._fit(*start, chunks, max_iter=1) for start in starts]
    found, best = own._race(starts, chunks), max(few, key=lambda one: one.value)
    assert not best.converged
    assert type(found.kernel) is type(best.kernel)
    assert found.value > best.value + 1e-3
