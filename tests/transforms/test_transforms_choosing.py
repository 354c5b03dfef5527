"""Trials on held-out rows, and the choice among transforms."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from scipy.stats import t as student

from collegium.engines import Serial, Threads
from collegium.errors.values import Values
from collegium.kernels import Matern32
from collegium.learning.optimise import Learnt
from collegium.rows.rows import Rows
from collegium.rows.scaling import merged
from collegium.transforms import choosing
from collegium.transforms.choosing import (
    best,
    better,
    better_target,
    choose,
    density_gain,
    kinds_worth_trying,
    lognormal,
    sample,
)
from collegium.transforms.held_out import (
    TriedTransform,
    attempt,
    learn_quickly,
    leave_one_out_inputs,
    log_slopes,
)
from collegium.transforms.inputs import InputTransform
from collegium.transforms.targets import TargetTransform
from collegium.transforms.tuning import TUNING

ENGINE = Serial()


def rows(n=400, seed=0, warp=np.exp, noise=0.3):
    """y = warp(sin 2x₁ + x₂ + noise)."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    t = np.sin(2.0 * X[:, 0]) + X[:, 1] + noise * rng.normal(size=n)
    return merged(Rows(X, warp(t)[:, None], np.ones(n)), None, in_order=False)[0]


# --- held-out rows --------------------------------------------------------------------------------


def test_learning_finds_the_noise():
    data = rows(500, warp=lambda t: t, noise=0.3)
    found = learn_quickly(data, ENGINE)
    assert 0.05 < found.noise < 0.15
    again = learn_quickly(data, ENGINE, found)
    assert again.value >= found.value - 1e-4


def test_log_density_is_in_the_units_of_y():
    """y in cents instead of euros: log densities fall by log 100, errors grow by 100²."""
    data = rows(150)
    for kind in (None, "log", "rank"):
        found = []
        for factor in (1.0, 100.0):
            own = replace(data, y=factor * data.y)
            target = kind and TargetTransform.of(kind, own.y[:, 0], own.w)
            found.append(attempt(own, target, None, ENGINE))
        one, two = found
        assert_allclose(two.log_density, one.log_density - np.log(100.0), atol=1e-4)
        assert_allclose(np.sqrt(two.squared_error), 100.0 * np.sqrt(one.squared_error), atol=1e-2)


def test_log_density_and_errors_of_fresh_rows_are_like_those_of_rows_left_out():
    """Under the right transform they are nearly those of the truth."""
    data = rows(800)
    found = attempt(data, TargetTransform("log"), None, ENGINE)
    truth = np.exp(np.sin(2.0 * data.X[:, 0]) + data.X[:, 1])
    y = data.y[:, 0]
    best_density = -0.5 * ((np.log(y / truth) / 0.3) ** 2 + np.log(2 * np.pi * 0.09)) - np.log(y)
    assert -0.1 < (found.log_density - best_density).mean() < 0.02
    error = (y - truth * np.exp(0.5 * 0.09)) ** 2
    assert found.squared_error.mean() < 1.25 * error.mean()


# --- the rule -------------------------------------------------------------------------------------


Y = np.exp(np.linspace(0.0, 3.0, 200))
LOG, RANK = (TargetTransform.of(kind, Y, np.ones(200)) for kind in ("log", "rank"))


def tried(log_density, squared_error=None, target=None):
    density = np.asarray(log_density, dtype=float)
    error = np.ones(density.size) if squared_error is None else np.asarray(squared_error)
    return TriedTransform(target, None, density, error, Learnt(Matern32(), 0.1, 0.0))


def test_gain_is_the_mean_of_gains_cut_either_way():
    rng = np.random.default_rng(0)
    new, old = 3.0 * rng.normal(size=50), rng.normal(size=50)
    w = rng.integers(1, 4, 50).astype(float)
    each = np.repeat([min(max(a - b, -2.0), 2.0) for a, b in zip(new, old)], w.astype(int))
    mean, error = density_gain(tried(new), tried(old), w)
    assert_allclose(mean, each.mean())
    assert_allclose(density_gain(tried(new), tried(old), np.ones(50))[1],
                    np.clip(new - old, -2.0, 2.0).std() / np.sqrt(50))  # fmt: skip
    assert error > 0.0


def test_the_error_of_a_gain_is_that_of_groups():
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(10), 5)
    new = 0.1 * rng.normal(size=10)[group]
    own = replace(tried(new), group=group)
    _, error = density_gain(own, tried(np.zeros(50)), np.ones(50))
    wider = student.ppf(norm.cdf(TUNING.errors), 9) / TUNING.errors
    assert_allclose(error, wider * new[::5].std(ddof=1) / np.sqrt(10))


def test_errors_of_nearest_rows_are_not_read_where_these_may_be_of_the_same_group():
    data = rows(60)
    found = learn_quickly(data, ENGINE)
    assert leave_one_out_inputs(found, data).near is not None
    grouped = replace(data, group=np.arange(60) // 3)
    assert leave_one_out_inputs(found, grouped).near is None


def test_trials_leave_groups_out():
    """Copies of rows with other noise: errors of single rows are far smaller."""
    first = rows(60)
    noise = 0.1 * np.random.default_rng(1).normal(size=(180, 1))
    three = Rows(np.tile(first.X, (3, 1)), np.tile(np.log(first.y), (3, 1)) + noise, np.ones(180))
    single = attempt(three, None, None, ENGINE)
    whole = attempt(replace(three, group=np.tile(np.arange(60), 3)), None, None, ENGINE)
    assert whole.squared_error.mean() > 5.0 * single.squared_error.mean()
    assert whole.learnt.noise == single.learnt.noise


@pytest.mark.parametrize(
    "level, spread, errors, expected",
    [(0.03, 0.05, 0.9, True), (0.03, 0.2, 0.9, False), (0.015, 0.01, 0.9, False),
     (0.03, 0.05, 0.945, True), (0.03, 0.05, 0.955, False), (-0.5, 0.1, 0.5, False)],
)  # fmt: skip
def test_transformed_inputs_need_a_clear_gain_and_better_means(level, spread, errors, expected):
    each = level + spread * np.tile([-1.0, 1.0], 50)
    new, old = tried(each, np.full(100, errors)), tried(np.zeros(100))
    assert better(new, old, np.ones(100)) == expected


@pytest.mark.parametrize(
    "level, spread, errors, noise, expected",
    [(0.03, 0.05, 0.999, 0.0, True), (0.03, 0.2, 0.9, 0.0, False), (0.015, 0.01, 0.9, 0.0, False),
     (0.03, 0.05, 1.01, 0.2, True), (0.03, 0.05, 1.01, 0.05, False),
     (0.03, 0.05, 1.03, 0.9, False), (-0.5, 0.1, 0.5, 0.0, False)],
)  # fmt: skip
def test_the_logarithm_of_y_needs_a_clear_gain_and_means_not_worse_beyond_noise(
    level, spread, errors, noise, expected
):
    """Squared errors may be larger by a standard error of the difference, and by 2 %; those of
    other transforms have to be smaller."""
    sign, w = np.tile([-1.0, 1.0], 50), np.ones(100)
    density, squares, old = level + spread * sign, errors + noise * sign, tried(np.zeros(100))
    assert better_target(tried(density, squares, LOG), old, w) == expected
    for other in (RANK, None):
        new = tried(density, squares, other)
        assert better_target(new, old, w) == better(new, old, w)


def test_less_is_asked_of_the_logarithm_where_y_suggests_it():
    sign, w = np.tile([-1.0, 1.0], 50), np.ones(100)
    new, old = tried(0.01 + 0.07 * sign, 0.98 + 0.15 * sign, LOG), tried(np.zeros(100))
    assert not better_target(new, old, w) and better_target(new, old, w, natural=True)
    loses = tried(-0.001 + 0.07 * sign, 0.9 + 0.15 * sign)
    assert not better_target(loses, old, w, natural=True)
    plain = replace(new, target=TargetTransform("yeo-johnson"))
    log = replace(new, target=TargetTransform("log"))
    assert best(old, [plain], w, natural=True) is old
    assert best(old, [log, plain], w, natural=True) is log


def test_y_suggests_its_logarithm_where_that_is_symmetric_and_not_a_line():
    rng = np.random.default_rng(0)
    t, w = rng.normal(size=2000), np.ones(2000)
    assert lognormal(np.exp(0.3 * t), w)
    assert not lognormal(np.exp(0.05 * t), w)  # about a line
    assert not lognormal(5.0 + t, w)
    assert not lognormal(np.exp(0.3 * t) - 0.1, w) or (np.exp(0.3 * t) > 0.1).all()
    assert not lognormal(np.exp(t) - 1.0, w)


def test_the_largest_gain_is_taken_among_those_that_are_good():
    old, w = tried(np.zeros(100)), np.ones(100)
    less = np.full(100, 0.9)
    small, large = tried(np.full(100, 0.1), less), tried(np.full(100, 0.3), less)
    wrong = tried(np.full(100, 0.5), np.full(100, 1.1))
    assert best(old, [small, large, wrong], w) is large
    assert best(old, [wrong], w) is old
    assert best(old, [], w) is old


# --- which to try ---------------------------------------------------------------------------------


def test_ordinary_targets_are_not_tried():
    rng = np.random.default_rng(0)
    t, w = rng.normal(size=500), np.ones(500)
    assert kinds_worth_trying(t, w) == ()
    assert kinds_worth_trying(10.0 + t, w) == ()
    assert kinds_worth_trying(np.exp(t), w) == ("log", "yeo-johnson", "rank")
    assert kinds_worth_trying(np.exp(t) - 0.5, w) == ("yeo-johnson", "rank")
    assert kinds_worth_trying(-np.exp(t), w) == ("yeo-johnson", "rank")
    assert kinds_worth_trying(np.exp(t[:80]), w[:80]) == ()
    assert kinds_worth_trying(np.where(t < -1.0, 0.0, np.exp(t)), w) == ()  # a mass at zero
    counts = np.floor(8.0 * np.exp(t))
    assert kinds_worth_trying(counts, w) == ("yeo-johnson", "rank")  # cells have a probability


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_tried_on_normal_targets_and_on_heavy_symmetric_tails(seed):
    rng = np.random.default_rng(seed)
    for noise in (rng.normal(size=800), rng.standard_t(1.7, 800), rng.laplace(size=800)):
        y = noise - noise.min() + 1.0
        assert kinds_worth_trying(y, np.ones(800)) == ()


def test_ordinary_tables_pay_nothing(monkeypatch):
    monkeypatch.setattr(choosing, "attempt", None)
    found = choose(rows(300, warp=lambda t: t), "auto", "auto", ENGINE)
    assert found.inputs is None and found.targets == (None,)
    found = choose(rows(300), None, None, ENGINE)
    assert found.inputs is None and found.targets == (None,)
    found = choose(rows(300), "rank", "rank", ENGINE)
    assert found.inputs.any and found.targets[0].kind == "rank"


def test_no_more_is_tried_when_the_time_is_up(monkeypatch):
    attempts = []

    def counted(*given, **more):
        attempts.append(given)
        return attempt(*given, **more)

    monkeypatch.setattr(choosing, "attempt", counted)
    assert not choose(rows(150), "auto", "auto", ENGINE, stop=lambda: True).any
    assert not attempts
    choose(rows(150), "auto", "auto", ENGINE, stop=lambda: len(attempts) >= 2)
    assert len(attempts) == 2  # as they came, and by their logarithm


# --- the choice -----------------------------------------------------------------------------------


def test_logarithm_of_lognormal_targets_is_found():
    said = []
    found = choose(rows(500, seed=1, noise=0.6), "auto", "auto", ENGINE, said.append)
    assert found.targets[0].kind == "log" and found.inputs is None
    assert len(said) == 1 and "log is used" in said[0]


@pytest.mark.parametrize("seed", [0, 1])
def test_prices_get_their_logarithm(seed):
    """Errors of a sixth, levels and a gap: the scale of errors explains nearly as much."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-2.0, 2.0, (700, 2)), rng.integers(0, 12, 700)])
    level = 0.25 * rng.normal(size=12)[X[:, 2].astype(int)]
    t = 0.35 * np.sin(2.0 * X[:, 0]) + 0.2 * X[:, 1] + level + 0.17 * rng.normal(size=700)
    X[rng.random(700) < 0.2, 1] = 0.0
    data = merged(Rows(X, 50.0 * np.exp(t)[:, None], np.ones(700)), None, in_order=False)[0]
    assert choose(data, "auto", None, ENGINE, levels=(2,)).targets[0].kind == "log"


def test_a_rank_does_not_win_by_ties():
    """58 values with unequal gaps: at values the slope of ranks is steep where the next is near."""
    rng = np.random.default_rng(0)
    values = np.sort(rng.lognormal(0.0, 0.7, 58))
    X = rng.uniform(-2.0, 2.0, (3000, 2))
    t = np.exp(0.3 * (np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1])) + 0.3 * rng.normal(size=3000)
    y = values[np.searchsorted(0.5 * (values[1:] + values[:-1]), t)]
    data = merged(Rows(X, y[:, None], np.ones(3000)), None, in_order=False)[0]
    some, rank = sample(data), TargetTransform.of("rank", data.y[:, 0], data.w)
    old = attempt(some, None, None, ENGINE)
    new = attempt(some, rank, None, ENGINE, old.learnt)
    own = some.y[:, 0]
    spikes = rank.log_slope(own) - log_slopes(rank, own)
    assert spikes.mean() > 0.1  # what ties would have added
    cells = Values.of(own)
    width = cells.width(own)
    assert (new.log_density <= -np.log(width) + 1e-9).all()  # a probability is at most one
    assert (old.log_density <= -np.log(width) + 1e-9).all()


def test_skewed_targets_stay_where_noise_is_normal_and_the_function_a_line():
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(500, 2)))
    data = Rows(X, X[:, :1] + 0.3 * rng.normal(size=(500, 1)), np.ones(500))
    assert kinds_worth_trying(data.y[:, 0], data.w) == ("yeo-johnson", "rank")
    assert choose(data, "auto", None, ENGINE).targets == (None,)


def test_scores_of_skewed_inputs_are_found_where_they_help():
    rng = np.random.default_rng(0)
    u = rng.normal(size=(500, 2))
    y = np.sin(3.0 * u[:, :1]) + u[:, 1:] + 0.1 * rng.normal(size=(500, 1))
    skewed = Rows(np.column_stack([np.exp(2.0 * u[:, 0]), u[:, 1]]), y, np.ones(500))
    found = choose(skewed, "auto", "auto", ENGINE)
    assert [one is not None for one in found.inputs.columns] == [True, False]
    y = u[:, 1:] + 0.1 * rng.normal(size=(500, 1))
    assert choose(replace(skewed, y=y), "auto", "auto", ENGINE).inputs is None


def test_outputs_have_transforms_of_their_own():
    data = rows(900, seed=1, noise=0.6)
    both = replace(data, y=np.hstack([np.log(data.y), data.y]))
    found = choose(both, "auto", None, ENGINE)
    assert found.targets[0] is None and found.targets[1].kind == "log"


def test_the_choice_does_not_depend_on_threads():
    data = rows(900, seed=1, noise=0.6)
    one, two = (choose(data, "auto", "auto", engine) for engine in (ENGINE, Threads(2)))
    assert one.targets[0].kind == two.targets[0].kind
    assert_array_equal(one.targets[0].forward(data.y[:, 0]), two.targets[0].forward(data.y[:, 0]))


def test_many_rows_are_sampled():
    data, most = rows(2000), TUNING.sample
    assert most < 2000 and sample(data).X.shape[0] == most
    assert sample(data.take(slice(0, 700))).X.shape[0] == 700
    assert_array_equal(sample(data).X, sample(data).X)


def test_transformed_inputs_are_used():
    data = rows(200, warp=lambda t: t)
    wide = replace(data, X=np.exp(3.0 * data.X))
    scored = InputTransform.of(wide.X, wide.w)
    one = attempt(wide, None, scored, ENGINE)
    two = attempt(replace(wide, X=scored.forward(wide.X)), None, None, ENGINE)
    assert_array_equal(one.log_density, two.log_density)
