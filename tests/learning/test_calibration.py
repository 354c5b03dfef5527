"""Sizes of kernel and noise by held-out rows and regions."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from scipy.stats import t as student

from collegium.learning.calibration import Look, Misses, calibrate, shrunken, sizes
from collegium.learning.tuning import TUNING


def answers(errors, s, noise):
    """The same errors with any noise, beside variances s of f."""
    return lambda ratio: Look(ratio, Misses(errors, s, noise * ratio))


def claims(true_ratio, true_scale=1.0, *, noise=0.04, signal=(-3, 0), n=3000, p=1, seed=13):
    """Rows of unequal signal variance; errors for a given noise and scale."""
    rng = np.random.default_rng(seed)
    s = 10.0 ** rng.uniform(*signal, n)
    truth = true_scale * (s + noise * true_ratio)
    errors = rng.normal(size=(n, p)) * np.sqrt(truth)[:, None]
    return answers(errors, s, noise)


def drawn_to_one(z2):
    return shrunken(z2, z2.std() / np.sqrt(z2.size))


def density(errors, variance):
    """Mean negative log density, in a loop over rows and outputs."""
    total = 0.0
    for e, v in zip(errors, variance):
        total += np.mean(0.5 * np.log(2 * np.pi * v) + 0.5 * e**2 / v)
    return total / len(errors)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize(
    ("ratio", "scale", "noise"),
    [(1.0, 1.0, 0.04), (9.0, 1.0, 0.04), (81.0, 1.0, 0.002), (9.0, 2.5, 0.01), (30.0, 0.6, 0.01)],
)
def test_calibration_finds_noise_and_scale(ratio, scale, noise, p):
    answer = claims(ratio, scale, noise=noise, p=p)
    found = calibrate(answer)
    assert ratio / 3.1 < found.ratio < ratio * 3.1
    off = np.log(
        found.scale
        * answer(found.ratio).rows.variance(1.0, 1.0)
        / (scale * answer(ratio).rows.variance(1.0, 1.0))
    )
    assert abs(off.mean()) < 0.1
    assert np.abs(off).max() < np.log(2.0)


def test_calibration_reports_the_densities_before_and_after():
    answer = claims(9.0, 1.7, p=2, n=400)
    found = calibrate(answer)
    errors, variance = answer(1.0).rows.errors, answer(1.0).rows.variance(1.0, 1.0)
    assert_allclose(found.before, density(errors, variance), rtol=1e-10)
    variance = answer(found.ratio).rows.variance(1.0, 1.0)
    assert_allclose(found.after, density(errors, found.scale * variance), rtol=1e-10)
    for other in (0.9 * found.scale, 1.1 * found.scale):
        assert density(errors, other * variance) > found.after
    assert found.after < found.before


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_a_wrong_scale_alone_needs_no_other_noise(scale):
    found = calibrate(claims(1.0, scale))
    assert found.ratio == 1.0
    assert_allclose(found.scale, scale, rtol=0.1)


def test_noise_is_left_alone_where_a_scale_does_the_same():
    answer = claims(5.0, signal=(-12, -11))
    found = calibrate(answer)
    assert found.ratio == 1.0
    assert_allclose(found.scale, 5.0, rtol=0.1)


def test_calibration_never_lowers_the_noise():
    found = calibrate(claims(0.05, noise=0.3))
    assert found.ratio == 1.0
    assert found.scale < 1.0


def test_noise_is_left_alone_where_few_rows_decide():
    """One outlier in 400 rows is no evidence for more noise."""
    s = np.repeat([0.01, 1.0], 200)
    errors = np.sqrt(s + 0.04)[:, None] * np.tile([1.0, -1.0], 200)[:, None]
    errors[0] *= 12.0
    found = calibrate(answers(errors, s, 0.04))
    assert found.ratio == 1.0
    errors[0] /= 12.0
    errors[:200] *= 2.0  # many of them are
    assert calibrate(answers(errors, s, 0.04)).ratio > 1.0


def test_outputs_are_averaged_and_a_small_gain_is_not_enough():
    rng = np.random.default_rng(8)
    s = 10.0 ** rng.uniform(-3, 0, 2000)
    z = rng.normal(size=(2000, 2))
    plain = z * np.sqrt(s + 0.04)[:, None]
    noisy = z * np.sqrt(s + 0.36)[:, None]
    mixed = np.column_stack([plain[:, 0], noisy[:, 1]])
    assert calibrate(answers(mixed, s, 0.04)).ratio > 1.0
    assert calibrate(answers(plain, s, 0.04)).ratio == 1.0
    same = np.sqrt(0.1047) * np.ones((2000, 1))  # all rows gain, and next to nothing
    v = np.r_[0.1 * np.ones(1000), 0.11 * np.ones(1000)]
    assert calibrate(answers(same, v - 1e-3, 1e-3)).ratio == 1.0


def test_a_scale_is_that_which_is_believed():
    rng = np.random.default_rng(9)
    errors = rng.standard_t(2.2, size=(300, 2))
    found = Look(1.0, Misses(errors, np.full(300, 1.9), 0.1)).best()
    z2 = (errors**2).mean(axis=1) / 2.0
    assert found.scale == pytest.approx(np.clip(drawn_to_one(z2), 0.1, 10.0), rel=1e-12)


def test_a_scale_is_drawn_towards_one_by_its_error():
    """Under heavy tails the mean of 800 squares shows nothing; under normal ones it is exact."""
    rng = np.random.default_rng(5)
    heavy = rng.standard_t(2.5, size=(100, 800, 1)) ** 2 / 5.0  # of mean one
    plain, drawn = heavy.mean(axis=(1, 2)), np.array([drawn_to_one(z2) for z2 in heavy])
    assert np.abs(drawn - 1.0).mean() < 0.7 * np.abs(plain - 1.0).mean()
    assert ((drawn - 1.0) * (plain - 1.0) >= 0.0).all()  # drawn towards one, never beyond
    z2 = 0.5 * rng.normal(size=(800, 1)) ** 2
    error = z2.std() / np.sqrt(800) / z2.mean()  # of the log
    usual = TUNING.calibration.usual
    share = usual**2 / (usual**2 + error**2)  # posterior mean of a normal with a normal prior
    assert np.log(drawn_to_one(z2)) == pytest.approx(share * np.log(z2.mean()), rel=1e-12)
    assert drawn_to_one(np.ones((5, 1))) == 1.0


@pytest.mark.parametrize("excess", [100.0, 1e-3])
def test_one_scale_stays_within_a_factor_of_ten(excess):
    found = calibrate(claims(1.0, excess))
    assert 0.1 <= found.scale <= 10.0
    assert found.after <= found.before


def test_a_search_without_end_ends():
    asked = []

    def better_and_better(ratio):
        asked.append(ratio)
        return Look(ratio, Misses(np.full((5, 1), 1e6), np.zeros(5), ratio))

    found = calibrate(better_and_better)
    assert len(asked) < 10
    assert 1e3 <= found.ratio < 1e4


# -- groups ------------------------------------------------------------------------------------


def in_groups(function, noise, seed):
    """Errors of 20 groups of 40 rows as the model says, alike in a group; and as they are told."""
    e = np.random.default_rng(seed).normal(size=20) * np.sqrt(function + noise)
    every = np.repeat(e, 40)[:, None], np.repeat(function, 40), noise
    return Misses(*every, group=np.repeat(np.arange(20), 40)), Misses(e[:, None], function, noise)


def test_errors_alike_in_groups_count_once():
    nothing = Misses(np.empty((0, 1)), np.empty(0), np.empty(0))
    for seed in range(5):
        rows, once = in_groups(np.full(20, 1e-4), 0.1, seed)
        z2 = once.squares / once.squares.mean()
        wider = student.ppf(norm.cdf(1.0), 19)
        assert_allclose(rows.number, 2.0 / max(wider**2 * z2.var(ddof=1) / 20, 2.0 / 800))
        size, alone = (np.log(sizes(one, [nothing])[1]) for one in (rows, once))
        assert_allclose(size, alone, atol=0.1)
        one = replace(rows, group=np.zeros(800, dtype=int))
        assert one.number == 0.0 and sizes(one, [nothing]) == (1.0, 1.0)
        assert Look(1.0, one).best().scale == 1.0
        scales = [Look(1.0, one).best().scale for one in (rows, once, replace(rows, group=None))]
        far = np.abs(np.log(scales))
        assert far[0] < far[2] and abs(far[0] - far[1]) < 0.2 * far[2]


def test_groups_that_gain_by_chance_do_not_raise_the_noise():
    def raised(seed, grouped):
        function = 10.0 ** np.random.default_rng(seed + 99).uniform(-3, 0, 20)
        rows, _ = in_groups(function, 0.04, seed)
        rows = rows if grouped else replace(rows, group=None)
        return calibrate(lambda r: Look(r, replace(rows, noise=0.04 * r))).ratio > 1.0

    grouped, alone = (sum(raised(seed, own) for seed in range(30)) for own in (True, False))
    assert grouped <= 4 and alone >= 8


# -- rows and regions -------------------------------------------------------------------------


def seen(a, b, *, function, noise, n, p=1, seed=0):
    """Errors where the kernel should be a times as large, and the noise b times."""
    z = np.random.default_rng(seed).normal(size=(n, p))
    v = a * np.full(n, function) + b * noise
    return Misses(z * np.sqrt(v)[:, None], np.full(n, function), noise)


def test_regions_decide_the_kernel_and_rows_the_noise():
    rows = seen(1.0, 1.3, function=0.002, noise=0.1, n=3000)
    regions = seen(2.5, 1.3, function=1.0, noise=0.1, n=3000, p=2)
    a, b = sizes(rows, [regions])
    assert_allclose([a, b], [2.5, 1.3], rtol=0.1)
    found = Look(3.0, rows, (regions,)).best()  # answered with three times the noise
    assert_allclose([found.scale, found.scale * found.ratio], [a, 3.0 * b], rtol=1e-12)


def test_the_kind_of_region_that_asks_for_the_larger_kernel_decides():
    rows = seen(1.0, 1.0, function=0.002, noise=0.1, n=800)
    small, large = (seen(a, 1.0, function=1.0, noise=0.1, n=400) for a in (1.0, 1.8))
    assert sizes(rows, [small, large]) == sizes(rows, [large, small]) == sizes(rows, [large])
    assert sizes(rows, [small])[0] < 1.2 < sizes(rows, [large])[0]


def test_few_regions_move_the_kernel_little_and_downwards_less():
    rows = seen(1.0, 1.0, function=1e-6, noise=0.1, n=800)
    z = np.sqrt(np.full((60, 1), 2.0))
    up, down = (Misses(factor * z, np.ones(60), 1e-6) for factor in (1.0, 0.5))
    more, less = sizes(rows, [up])[0], sizes(rows, [down])[0]
    assert 1.4 < more < 1.9 and 0.6 < less < 0.9
    assert np.log(more) > 1.5 * -np.log(less)


def test_no_regions_that_tell_leave_the_kernel_as_it_is():
    rows = seen(1.0, 1.5, function=1e-6, noise=0.1, n=800)
    nothing = Misses(np.empty((0, 1)), np.empty(0), np.empty(0))
    a, b = sizes(rows, [nothing, nothing])
    assert a == 1.0
    assert_allclose(b, 1.5, rtol=0.1)
    found = Look(1.0, rows, (nothing, nothing)).best()
    assert (found.scale, found.ratio, found.regions) == (a, b / a, 0.0)


def test_a_ratio_that_regions_reject_is_not_taken():
    """Rows gain little by a kernel of a third; regions, where f is what is wrong, lose by it."""
    rng = np.random.default_rng(1)
    e, far = 0.3 * rng.normal(size=(800, 1)), rng.normal(size=(60, 1))

    def look(ratio, regions):
        better = 0.85 if ratio > 1.0 else 1.0  # smoother means
        rows = Misses(better * e, np.full(800, 0.01) * ratio**0.8, 0.08 * ratio)
        wrong = far * (1.0 if ratio == 1.0 else 1.5)
        return Look(ratio, rows, (Misses(wrong, np.ones(60), 0.08 * ratio),) if regions else ())

    alone = calibrate(lambda ratio: look(ratio, False))
    assert alone.ratio == 3.0 and alone.scale < 0.4
    both = calibrate(lambda ratio: look(ratio, True))
    assert both.scale > 0.8 and both.ratio < 1.3


def test_noise_that_rows_and_regions_ask_for_is_taken():
    rows = seen(1.0, 20.0, function=0.01, noise=0.01, n=2000)
    regions = seen(1.0, 20.0, function=0.3, noise=0.01, n=60)
    found = calibrate(
        lambda r: Look(
            r,
            replace(rows, noise=0.01 * r),
            (replace(regions, noise=0.01 * r),),
        )
    )
    assert_allclose(found.scale * found.ratio, 20.0, rtol=0.5)


def test_variances_between_two_ratios_neither_fall_nor_grow_faster_than_the_noise():
    e, v = np.ones((3, 1)), np.array([1.0, 2.0, 3.0])
    lower, higher = Misses(e, v, 0.1), Misses(e, np.array([0.01, 2.0 * 3**0.4, 900.0]), 0.3)
    known = lower.with_slope(lower, higher, 3.0)
    assert_allclose(known.variance(1.0, 2.0), v * 2.0 ** np.array([0.0, 0.4, 1.0]) + 0.2)


def test_variances_and_errors_between_two_ratios_are_those_that_were_seen():
    rng = np.random.default_rng(2)
    e, turn = rng.normal(size=(2, 50, 3))
    v, slope = rng.uniform(0.1, 1.0, size=(2, 50))

    def at(ratio):
        t = np.log(ratio)
        return Look(
            ratio,
            Misses(e + turn * t, v * ratio**slope, 0.2 * ratio),
            (Misses(e[:9] - turn[:9] * t, v[:9] * ratio ** slope[:9], 0.3 * ratio),),
        )

    known = at(1.0).with_slopes(at(1.0), at(3.0))
    for a, b in ((1.0, 1.7), (1.4, 1.0), (0.5, 0.8)):
        for one, exact in zip((known.rows, *known.regions), (at(b / a).rows, *at(b / a).regions)):
            variance = a * (exact.function + exact.noise)
            assert_allclose(one.variance(a, b), variance, rtol=1e-9)
            losses = 0.5 * np.log(2 * np.pi * variance)[:, None]
            losses = losses + 0.5 * exact.errors**2 / variance[:, None]
            assert_allclose(one.losses(a, b), losses, rtol=1e-9)
            mean = one.mean_losses(np.array([a]), np.array([b]))
            assert_allclose(mean, losses.mean(), rtol=1e-9)
