"""Transforms of targets: inverses, slopes, invariances, extreme values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm, yeojohnson

from collegium.modelfile.tree import Reader, Writer
from collegium.numerics import records
from collegium.transforms.moments import warped_moments
from collegium.transforms.scores import NormalScores, ranked
from collegium.transforms.targets import KINDS, TargetTransform, most_likely_power

POWERS = (-1.3, 0.0, 0.4, 1.0, 1.7, 2.0, 3.1)


def skewed(n=700, seed=0):
    rng = np.random.default_rng(seed)
    return 3.0 * np.exp(0.8 * rng.normal(size=n)), rng.uniform(0.5, 1.5, n)


def transforms():
    """One of each kind, Yeo and Johnson's with every sort of power."""
    y, w = skewed()
    learnt = [TargetTransform.of(kind, y, w) for kind in KINDS]
    given = [TargetTransform("yeo-johnson", 2.5, 1.3, power) for power in POWERS]
    return {one.kind + (f" {one.power:.2f}" if one.scores is None else ""): one
            for one in learnt + given}  # fmt: skip


ALL = transforms()


@pytest.fixture(params=ALL)
def transform(request):
    return ALL[request.param]


# --- inverses and slopes --------------------------------------------------------------------------


def test_backward_is_the_inverse(transform):
    y = np.concatenate([skewed(seed=1)[0], [1e-3, 200.0]])
    assert_allclose(transform.backward(transform.forward(y)), y, rtol=1e-9)


def test_forward_is_increasing(transform):
    assert (np.diff(transform.forward(np.linspace(0.1, 40.0, 999))) > 0.0).all()


def test_slope_is_that_of_forward(transform):
    y = np.linspace(0.2, 40.0, 173)
    h = 1e-6 * y
    slope = (transform.forward(y + h) - transform.forward(y - h)) / (2.0 * h)
    assert_allclose(transform.log_slope(y), np.log(slope), atol=1e-6)


def test_density_in_the_units_of_y_adds_up_to_one():
    y = np.geomspace(1e-6, 1e6, 400_001)
    for kind in KINDS:
        one = TargetTransform.of(kind, *skewed())
        density = np.exp(norm.logpdf(one.forward(y), 0.3, 0.6) + one.log_slope(y))
        below = norm.cdf(one.forward(y[:1]), 0.3, 0.6)[0]
        total = below + np.sum(0.5 * (density[1:] + density[:-1]) * np.diff(y))
        assert_allclose(total, 1.0, atol=1e-3)


@pytest.mark.parametrize("power", POWERS)
def test_powers_are_those_of_yeo_and_johnson(power):
    y = np.linspace(-4.0, 6.0, 57)
    own = TargetTransform("yeo-johnson", 0.0, 1.0, power)
    assert_allclose(own.forward(y), yeojohnson(y, power), rtol=1e-12, atol=1e-14)


def test_log_is_the_logarithm_and_refuses_what_has_none():
    y, w = skewed()
    one = TargetTransform.of("log", y, w)
    assert_array_equal(one.forward(y), np.log(y))
    for wrong in (0.0, -2.0, np.nan):
        with pytest.raises(ValueError, match="transforms='yeo-johnson' or Transform"):
            one.forward(np.array([1.0, wrong]))
        with pytest.raises(ValueError, match="no logarithm"):
            TargetTransform.of("log", np.array([1.0, wrong]), np.ones(2))
    with pytest.raises(ValueError, match="one of"):
        TargetTransform.of("sqrt", y, w)


# --- learning -------------------------------------------------------------------------------------


def test_power_is_the_most_likely_one():
    z = yeojohnson_inverse(np.random.default_rng(3).normal(size=4000), 0.4)
    assert abs(most_likely_power(z, np.ones(4000)) - 0.4) < 0.05
    normal = np.random.default_rng(4).normal(size=4000)
    assert abs(most_likely_power(normal, np.ones(4000)) - 1.0) < 0.05
    assert abs(most_likely_power(normal[:2], np.ones(2)) - 1.0) < 1.0


def test_power_of_few_targets_is_near_one():
    """Symmetric targets prefer λ = 1, which is also the prior's centre."""
    assert_allclose(most_likely_power(np.array([-1.0, 1.0]), np.ones(2)), 1.0, atol=1e-4)
    few, many = (most_likely_power(np.array([0.0, 1.0, 9.0]), w * np.ones(3)) for w in (1.0, 1e6))
    assert many < few < 1.0


def yeojohnson_inverse(t, power):
    return TargetTransform("yeo-johnson", 0.0, 1.0, power).backward(t)


def test_power_agrees_with_scipy_where_there_are_many_rows():
    z = yeojohnson_inverse(0.3 + np.random.default_rng(5).normal(size=3000), 1.4)
    assert_allclose(most_likely_power(z, np.ones(3000)), yeojohnson(z)[1], atol=2e-3)


def test_normal_scores_of_ranks():
    """Φ⁻¹ of the share below, half of its own weight included, where there are few values."""
    y, w = np.array([3.0, 1.0, 2.0, 1.0]), np.array([1.0, 2.0, 4.0, 1.0])
    values, scores = ranked(y, w)
    assert_array_equal(values, [1.0, 2.0, 3.0])
    assert_allclose(scores, norm.ppf([1.5 / 8, 5.0 / 8, 7.5 / 8]))
    one = TargetTransform.of("rank", y, w)
    assert_allclose(one.forward(values), scores)


def test_scores_of_many_rows_are_nearly_normal():
    y, _ = skewed(20_000)
    one = TargetTransform.of("rank", y, np.ones(y.size))
    assert one.scores.knots.size <= 200
    t = one.forward(skewed(20_000, seed=9)[0])
    assert abs(t.mean()) < 0.03 and abs(t.std() - 1.0) < 0.03
    assert_allclose(np.quantile(t, [0.01, 0.2, 0.8, 0.99]), norm.ppf([0.01, 0.2, 0.8, 0.99]),
                    atol=0.1)  # fmt: skip


def test_scores_have_a_knot_for_fifty_rows():
    assert NormalScores.of(skewed(1000)[0], np.ones(1000)).knots.size == 20


def test_scores_of_normal_values_are_a_line_inside_and_out():
    """Slopes at the ends are those of the outer tenth, so that one outlier does not decide."""
    y = norm.ppf((np.arange(5000) + 0.5) / 5000)
    far = np.array([-6.0, 5.0])
    assert_allclose(NormalScores.of(7.0 * y, np.ones(5000)).forward(7.0 * far), far, rtol=0.02)
    y[-1] = 60.0
    one = NormalScores.of(y, np.ones(5000))
    assert one.backward(np.array([5.0]))[0] < 150.0


def test_slopes_outside_are_those_of_the_outer_tenth():
    p = (np.arange(20_000) + 0.5) / 20_000
    one = NormalScores.of(np.exp(norm.ppf(p)), np.ones(20_000))
    edge, ends = norm.ppf(0.9), norm.ppf(p[[0, -1]])
    top = (ends[1] - edge) / (np.exp(ends[1]) - np.exp(edge))
    low = (ends[0] + edge) / (np.exp(ends[0]) - np.exp(-edge))
    assert_allclose([one.low / one.unit, one.high / one.unit], [low, top], rtol=0.02)


# --- invariances ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_order_of_rows_does_not_matter(kind):
    y, w = skewed()
    y[5:9] = y[4]
    order = np.random.default_rng(2).permutation(y.size)
    one, two = TargetTransform.of(kind, y, w), TargetTransform.of(kind, y[order], w[order])
    assert_array_equal(one.forward(y), two.forward(y))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_repetitions(kind):
    y = skewed(300)[0]
    w = np.random.default_rng(1).integers(1, 4, y.size)
    one = TargetTransform.of(kind, y, w.astype(float))
    two = TargetTransform.of(kind, np.repeat(y, w), np.ones(w.sum()))
    assert_allclose(one.forward(y), two.forward(y), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("factor, shift", [(1e-9, 0.0), (1e12, 0.0), (2.0, -50.0), (0.1, 7.0)])
@pytest.mark.parametrize("kind", KINDS)
def test_units_of_y_do_not_matter(kind, factor, shift):
    y, w = skewed()
    if kind == "log" and shift:
        return
    one = TargetTransform.of(kind, y, w)
    two = TargetTransform.of(kind, factor * y + shift, w)
    fresh = skewed(100, seed=8)[0]
    gap = np.log(factor) if kind == "log" else 0.0
    assert_allclose(two.forward(factor * fresh + shift), one.forward(fresh) + gap, atol=1e-5)
    t = np.linspace(-2.0, 2.0, 9)
    assert_allclose(two.backward(t + gap), factor * one.backward(t) + shift, rtol=1e-4)


# --- extreme values -------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
def test_answers_are_finite_for_all_finite_numbers(transform):
    t = np.array([-1e308, -1e300, -1e5, -800.0, 0.0, 800.0, 1e5, 1e300, 1e308])
    y = transform.backward(t)
    assert np.isfinite(y).all() and (np.diff(y) >= 0.0).all()
    mean, sd = warped_moments(transform, np.array([-1e300, 0.0, 3.0, 1e300]), np.full(4, 1e9))
    assert np.isfinite(mean).all() and np.isfinite(sd).all()
    positive = np.array([1e-300, 1e-9, 1e9, 1e300])
    assert np.isfinite(transform.forward(positive)).all()
    assert np.isfinite(transform.log_slope(positive)).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "y",
    [[1e300, 3e300, 2e300], [1e-300, 4e-300, 3e-300], [5.0, 5.0, 5.0], [2.0, 9.0], [7.0],
     [1.0, 1.0, 1.0, 2.0], [1e-300, 1.0, 1e300], [1.0, 1.0 + 1e-15, 3.0]],
)  # fmt: skip
@pytest.mark.parametrize("kind", KINDS)
def test_few_equal_huge_and_tiny_targets(kind, y):
    y = np.array(y)
    one = TargetTransform.of(kind, y, np.ones(y.size))
    t = one.forward(y)
    assert np.isfinite(t).all() and np.isfinite(one.log_slope(y)).all()
    assert_allclose(one.backward(t), y, rtol=1e-9, atol=1e-12 * np.abs(y).max())
    assert (np.diff(t[np.argsort(y)]) >= 0.0).all()


# --- moments, and model files ---------------------------------------------------------------------


def test_moments_of_the_logarithm_are_those_of_the_lognormal():
    m, s = np.array([0.0, 2.0, -3.0]), np.array([0.1, 0.5, 1.0])
    mean, sd = warped_moments(TargetTransform("log"), m, s)
    assert_allclose(mean, np.exp(m + 0.5 * s**2), rtol=1e-8)
    assert_allclose(sd, mean * np.sqrt(np.expm1(s**2)), rtol=1e-3)


def test_moments_of_a_line_are_those_of_the_normal():
    one = TargetTransform("yeo-johnson", 3.0, 2.0, 1.0)
    mean, sd = warped_moments(one, np.array([[0.4], [-7.0]]), np.array([[0.3], [2.0]]))
    assert_allclose(mean, [[3.8], [-11.0]])
    assert_allclose(sd, [[0.6], [4.0]])


def test_moments_without_a_spread_are_the_value():
    for kind in KINDS:
        one = TargetTransform.of(kind, *skewed())
        mean, sd = warped_moments(one, np.array([0.7]), np.zeros(1))
        assert_allclose(mean, one.backward(np.array([0.7])))
        assert_allclose(sd, 0.0, atol=1e-12)


def test_transform_goes_through_a_model_file(transform):
    y = skewed(seed=4)[0]
    writer = Writer()
    node = writer.node(transform, "warp")
    writer.finish()
    again = Reader(writer.arrays, records.maker_of, str).value(node, "warp")
    assert again.kind == transform.kind
    assert_array_equal(again.forward(y), transform.forward(y))
