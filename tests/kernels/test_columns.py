"""Kernels on some columns, by position and by name; groups; periods that stay."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial import cKDTree
from sklearn.base import clone
from sklearn.gaussian_process import kernels as sk

import collegium
from collegium import (
    CommitteeClassifier,
    CommitteeRegressor,
    ExpertsRegressor,
    RegressionFilter,
    SparseGPRegressor,
)
from collegium.kernels import (
    RBF,
    Constant,
    Group,
    Linear,
    Matern12,
    Matern32,
    On,
    Periodic,
    Sum,
    White,
    as_kernel,
    split_white,
)
from collegium.rows.metric import Metric

NAMES = ["day", "lon", "height", "lat", "store"]


def space_time():
    space, time = (
        Matern32(0.7, [0.8, 1.2], columns=["lon", "lat"]),
        Matern12(1.5, 2.0, columns="day"),
    )
    return space * time + Linear(0.5, columns="height") + Group("store", variance=0.3)


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return np.column_stack([rng.normal(size=(40, 4)), rng.integers(0, 5, 40)])


# --- names and positions --------------------------------------------------------------------------


def test_names_stand_for_positions(X):
    by_name = space_time().on_columns(NAMES)
    space, time = Matern32(0.7, [0.8, 1.2], columns=[1, 3]), Matern12(1.5, 2.0, columns=0)
    by_place = space * time + Linear(0.5, columns=[2]) + Group(4, variance=0.3)
    assert_array_equal(by_name.value(X), by_place.value(X))
    plain = (
        1.05 * Matern32(1.0, [0.8, 1.2]).value(X[:, [1, 3]]) * Matern12(1.0, 2.0).value(X[:, :1])
    )
    plain += X[:, 2:3] @ X[:, 2:3].T / 0.25 + 0.3 * (X[:, 4:] == X[:, 4])
    assert_allclose(by_name.value(X), plain, rtol=1e-13, atol=1e-14)
    assert by_name.labels == (("variance", 1), ("length", 1), ("length", 3), ("length", 0)) + (
        ("slope", 2),
        ("variance", 4),
    )


def test_other_frames_have_other_positions(X):
    order = [4, 2, 0, 1, 3]
    once = space_time().on_columns(NAMES)
    again = once.on_columns([NAMES[k] for k in order])
    assert_array_equal(again.value(X[:, order]), once.value(X))


def test_names_within_chosen_columns_are_of_those(X):
    inner = On(RBF(columns="lat") + Linear(columns=0), ["day", "lat"]).on_columns(NAMES)
    assert_array_equal(inner.value(X), RBF().value(X[:, [3]]) + Linear().value(X[:, [0]]))


def test_an_unknown_name_is_refused_with_those_that_are_known():
    with pytest.raises(ValueError, match="columns of Matern32.*'lat'.*'day', 'lon'"):
        space_time().on_columns(["day", "lon"])


def test_names_without_a_frame_are_refused(X):
    for ask in (lambda k: k.value(X), lambda k: k.for_width(5), lambda k: k.inverse_squares(5)):
        with pytest.raises(ValueError, match="columns=.* are names"):
            ask(space_time())


@pytest.mark.parametrize("wrong", [-1, 1.5, True, [0, 0], ["a", "a"], [], [[0]], [None], {}])
def test_what_is_no_column_is_refused(wrong):
    with pytest.raises(ValueError, match="columns of RBF"):
        RBF(columns=wrong)


def test_columns_beyond_those_of_x_are_refused(X):
    for ask in (lambda k: k.value(X), lambda k: k.for_width(5)):
        with pytest.raises(ValueError, match="columns=5 of RBF.*X has 5"):
            ask(RBF(columns=5))


@pytest.mark.parametrize("family", [White, Constant])
def test_kernels_that_see_no_column_take_none(family):
    with pytest.raises(ValueError, match=family.__name__):
        family(columns=0)


def test_length_scales_are_one_a_chosen_column():
    wide = (RBF(2.0, 0.7, columns=[3, 1]) + Linear(columns=0)).for_width(5)
    assert_array_equal(wide.parts[0].kernel.length_scale, [0.7, 0.7])
    assert wide.labels == (("variance", 3), ("length", 3), ("length", 1), ("slope", 0))
    with pytest.raises(ValueError, match="length_scale of RBF"):
        RBF(length_scale=[1.0, 2.0, 3.0], columns=[0, 1]).for_width(5)


def test_a_product_on_columns_has_one_free_variance(X):
    product = RBF(2.0, columns=0) * Matern12(3.0, columns=1) * RBF(5.0)
    assert [kind for kind, _ in product.labels].count("variance") == 1
    assert_allclose(product.diag(X), 30.0)
    held = as_kernel(2.0 * RBF(columns=0)) * Constant(3.0, fixed=("variance",))
    assert held.labels == (("length", 0),) and held.diag(X)[0] == 6.0


def test_what_is_shown_makes_the_kernel_again():
    text = repr(space_time())
    assert "Matern32(variance=1.05, length_scale=[0.8, 1.2], columns=['lon', 'lat'])" in text
    assert "Group(variance=0.3, columns='store')" in text
    assert repr(space_time().on_columns(NAMES)) == text
    assert repr(eval(text)) == text
    both = On(RBF() + Linear(), [0, 2])
    assert repr(eval(repr(both))) == repr(both) and repr(both).startswith("On(RBF(")
    assert repr(On(RBF(columns=1), [0, 2])) == "On(RBF(variance=1, length_scale=1, columns=1), " + (
        "columns=[0, 2])"
    )


def test_copies_are_the_same_kernel(X):
    kernel = space_time().on_columns(NAMES)
    for other in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert repr(other) == repr(kernel)
        assert_array_equal(other.value(X), kernel.value(X))


def test_white_noise_beside_kernels_on_columns_is_split_off():
    rest, white = split_white(space_time() + White(0.2))
    assert white.variance == 0.2 and isinstance(rest, Sum) and len(rest.parts) == 3


# --- nearest rows ---------------------------------------------------------------------------------


def test_columns_that_no_term_uses_have_no_weight(X):
    kernel = RBF(2.0, [0.5, 2.0], columns=[3, 1]) + Matern12(1.0, 4.0, columns=3)
    assert_allclose(kernel.inverse_squares(5), [0.0, 0.5, 0.0, 8.0 + 1 / 16, 0.0])
    moved = X.copy()
    moved[:, [0, 2, 4]] *= 1e3
    own = Metric.of(kernel, X)
    near = [cKDTree(own.forward(rows)).query(own.forward(rows), 7)[1] for rows in (X, moved)]
    assert_array_equal(*near)


def test_every_factor_of_a_product_counts_by_the_height_of_the_others():
    kernel = RBF(4.0, 2.0, columns=0) * RBF(1.0, 0.5, columns=1)
    assert_allclose(kernel.inverse_squares(2), [1.0, 16.0])


@pytest.mark.parametrize(("levels", "each"), [(5, 3000), (50, 40), (700, 3)])
def test_rows_of_the_same_group_are_among_the_nearest(levels, each):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=(levels * each, 3)), np.repeat(np.arange(levels), each)])
    kernel = RBF(1.0, 1.5, columns=[0, 1, 2]) + Group(3, variance=1.0)
    metric = Metric.of(kernel, X)
    S = metric.forward(X)
    some = rng.permutation(len(X))[:40]
    _, near = cKDTree(S).query(S[some], 200)
    found = (X[near, 3] == X[some, 3][:, None]).sum(axis=1)
    assert found.min() >= min(each, 40)
    if each > 200:  # a large group leaves room for near rows of others
        assert (found < 200).any()


def test_centres_of_rows_have_a_level_that_some_row_has(X):
    kernel = RBF(columns=[0, 1, 2, 3]) + Group(4)
    metric = Metric.of(kernel, X)
    assert_allclose(metric.backward(metric.forward(X)), X, atol=1e-12)
    assert_allclose(metric.backward(metric.forward(X)[3]), X[3], atol=1e-12)
    between = metric.backward(metric.forward(X)[:10].mean(axis=0)[None])
    assert between[0, 4] in X[:10, 4]
    assert_allclose(between[0, :4], X[:10, :4].mean(axis=0))


def test_groups_far_apart_in_their_numbers_are_no_farther(X):
    kernel = RBF(columns=0) + Group(4)
    for codes in (X[:, 4], 1e9 + 1e6 * X[:, 4], -0.5 - X[:, 4]):
        table = np.column_stack([X[:, :4], codes])
        metric = Metric.of(kernel, table)
        P = metric.forward(table)[:, 5:]
        apart = ((P[:, None] - P) ** 2).sum(axis=2)
        same = codes[:, None] == codes
        assert np.abs(apart[same]).max() == 0.0 < 0.05 * apart.max() < apart[~same].min()
        assert_array_equal(metric.backward(metric.forward(table))[:, 4], codes)


# --- groups ---------------------------------------------------------------------------------------


def test_groups_are_equal_values_of_all_their_columns():
    X = np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0], [np.nan, 2.0], [np.nan, 2.0]])
    expected = np.eye(5)
    expected[0, 2] = expected[2, 0] = expected[3, 4] = expected[4, 3] = 1.0
    assert_array_equal(Group(variance=0.7).value(X), 0.7 * expected)
    assert_array_equal(Group([0, 1], variance=0.7).value(X, X), 0.7 * expected)


def test_a_gap_between_groups_ends_their_reach():
    gaps = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    assert_array_equal(Group(variance=0.7).reach(gaps), [0.7, 0.0, 0.0])
    assert_array_equal(Group(1, variance=0.7).reach(gaps), [0.7, 0.0, 0.7])
    assert_array_equal(RBF(columns=1).reach(gaps), RBF().value(np.zeros((1, 1)), gaps[:, 1:])[0])


def frame(n=300, levels=20, seed=2):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.uniform(-2, 2, (n, 2)), columns=["lon", "lat"])
    table["store"] = rng.integers(0, levels, n).astype(float)
    effect = rng.normal(size=levels)[table["store"].astype(int)]
    return table, np.sin(2 * table["lon"].to_numpy()) + effect, rng


def test_a_random_effect_is_learnt():
    table, f, rng = frame()
    y = f + 0.1 * rng.normal(size=f.size)
    kernel = RBF(columns=["lon", "lat"]) + Group("store")
    model = CommitteeRegressor(kernel, noise="constant", learn=True).fit(table[:200], y[:200])
    error = np.sqrt(np.mean((model.predict(table[200:]) - f[200:]) ** 2))
    assert error < 0.1
    smooth, group = model.kernel_.parts
    assert 0.3 < group.kernel.variance < 3.0 and 0.05 < smooth.kernel.variance < 3.0
    new = table[200:].assign(store=999.0)
    sd = model.predict(new, return_std=True)[1]
    assert (sd**2 > 0.9 * group.kernel.variance).all()


# --- estimators -----------------------------------------------------------------------------------

KERNEL = RBF(0.8, [0.7, 1.5], columns=["lon", "lat"]) + Group("store", variance=0.9)
ESTIMATORS = {
    "committee": CommitteeRegressor(KERNEL, noise=0.1, learn=False, chunks=60),
    "exact": CommitteeRegressor(KERNEL, noise=0.1, learn=False),
    "experts": ExpertsRegressor(KERNEL, noise=0.1, learn=False, chunks=60),
    "sparse": SparseGPRegressor(KERNEL, noise=0.1, learn=False, anchors=30),
    "classifier": CommitteeClassifier(KERNEL, learn=False, chunks=60),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_look_names_up_in_any_order_of_columns(name, tmp_path):
    table, f, _ = frame(200)
    ask = "predict_proba" if name == "classifier" else "predict"
    y = (f > 0).astype(int) if name == "classifier" else f
    for order in (["lon", "lat", "store"], ["store", "lat", "lon"]):
        rows, at = table[order], [order.index(one) for one in ("lon", "lat", "store")]
        placed = On(KERNEL.parts[0].kernel, at[:2]) + Group(at[2], variance=0.9)
        named, plain = (clone(ESTIMATORS[name]).set_params(random_state=0) for _ in range(2))
        named.fit(rows, y), plain.set_params(kernel=placed).fit(rows, y)
        answer = getattr(named, ask)(rows[:30])
        assert_array_equal(answer, getattr(plain, ask)(rows[:30]))
        assert "columns=['lon', 'lat']" in repr(named.kernel_)
        named.save(tmp_path / "model.clg")
        loaded = collegium.load(tmp_path / "model.clg")
        assert repr(loaded.kernel_) == repr(named.kernel_)
        assert_array_equal(getattr(loaded, ask)(rows[:30]), answer)


def test_an_estimator_refuses_names_that_x_does_not_have():
    table, f, _ = frame(60)
    with pytest.raises(ValueError, match="no column 'store'; it has 'lon', 'lat'"):
        clone(ESTIMATORS["exact"]).fit(table[["lon", "lat"]], f)
    with pytest.raises(ValueError, match="are names, but X came without"):
        clone(ESTIMATORS["exact"]).fit(table.to_numpy(), f)


def test_a_filter_refuses_what_is_no_number():
    table, f, _ = frame(60)
    for wrong in (Group(2), RBF(categories=2)):
        with pytest.raises(ValueError, match="numbers alone"):
            RegressionFilter(wrong, start_rows=20).fit(table.to_numpy(), f)


def test_a_frame_with_y_inside_has_names_too():
    table, f, _ = frame(200)
    model = clone(ESTIMATORS["committee"]).fit(table.assign(y=f), "y")
    assert repr(model.kernel_.parts[1]) == repr(KERNEL.parts[1])


def test_a_stream_and_what_is_learnt_anew_know_the_names():
    table, f, _ = frame(200)
    model = CommitteeRegressor(KERNEL, noise=0.1, chunks=60, random_state=0)
    for part in (slice(0, 100), slice(100, 200)):
        model.partial_fit(table[part], f[part])
    assert "columns='store'" in repr(model.relearn().kernel_)


# --- periods --------------------------------------------------------------------------------------


def test_a_period_stays_unless_it_is_to_be_learnt():
    assert [kind for kind, _ in Periodic(period=7.0).labels] == ["variance", "shape"]
    assert ("length", 0) in Periodic(period=7.0, fixed=()).labels
    t = np.linspace(0, 10, 80)[:, None]
    # with noise: without, a period of 3.4 is as good
    y = np.sin(2 * np.pi * t[:, 0] / 1.7) + 0.1 * np.random.default_rng(1).normal(size=80)
    kept = CommitteeRegressor(Periodic(period=1.6), learn=True, random_state=0).fit(t, y).kernel_
    assert kept.period == 1.6
    start = Periodic(period=1.6, fixed=())
    found = CommitteeRegressor(start, learn=True, random_state=0).fit(t, y).kernel_
    assert_allclose(found.period, 1.7, rtol=1e-2)


def test_a_period_of_scikit_learn_is_learnt_where_its_bounds_say_so():
    assert as_kernel(sk.ExpSineSquared()).fixed == ()
    assert as_kernel(sk.ExpSineSquared(periodicity_bounds="fixed")).fixed == ("period",)


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("1 day", 86_400.0), ("12 hours", 43_200.0), ("1 week", 604_800.0), ("minute", 60.0),
        ("365.25 days", 31_557_600.0), ("1 year", 31_556_952.0), ("2 Months", 5_259_492.0),
        ("90 seconds", 90.0), (["1 day", 7.0], [86_400.0, 7.0]),
    ],
)  # fmt: skip
def test_periods_in_words_are_seconds(words, seconds):
    assert_allclose(Periodic(period=words).period, seconds, rtol=1e-12)
    assert_allclose(Periodic(period=words, columns=[0, 1]).kernel.period, seconds)


@pytest.mark.parametrize(
    "words", ["1 moon", "", "day 1", "0 days", "-1 day", "1 day 2", "inf days"]
)
def test_other_periods_are_refused(words):
    with pytest.raises(ValueError, match="period of Periodic.*such as '1 day'"):
        Periodic(period=words)


def test_a_season_of_dates_is_found():
    rng = np.random.default_rng(7)
    hours = np.sort(rng.uniform(0, 24 * 20, 150))
    X = pd.DataFrame({"date": pd.Timestamp("2024-03-01") + pd.to_timedelta(hours, unit="h")})
    X["date"] = (X["date"] - X["date"].min()).dt.total_seconds()
    y = np.sin(2 * np.pi * hours / 24) + 0.1 * rng.normal(size=150)
    kernel = Periodic(columns="date", period="1 day")
    model = CommitteeRegressor(kernel, random_state=0).fit(X[:120], y[:120])
    assert np.sqrt(np.mean((model.predict(X[120:]) - y[120:]) ** 2)) < 0.2
