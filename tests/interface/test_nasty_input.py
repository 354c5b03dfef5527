"""Finite input gives finite, right answers; anything else a ValueError that names it."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from collegium import Chunks, OnlineGPRegressor, RegressionFilter, kernels
from estimator_cases import (
    GIVEN,
    NOISE,
    VARIANTS,
    assert_sound,
    committee,
    queries,
    rmse,
    rows,
    smooth_rows,
    truth,
)

pytestmark = pytest.mark.parametrize("variant", VARIANTS)
X, Y = rows(40)
XS = np.concatenate([queries(6), X[:5]])


def fit_sound(variant, X, y, Xs=XS, w=None, **arguments):
    model = committee(variant, **arguments).fit(X, y, w)
    assert_sound(model, Xs)
    return model


def spoilt(array, value):
    array = np.array(array, dtype=np.result_type(array, type(value)))
    array.flat[5] = value
    return array


# -- refused --------------------------------------------------------------------------------------


def test_missing_targets_are_counted_whatever_they_are(variant):
    """NaN, None and the missing values of pandas, in lists, arrays and series."""
    lost = pd.Series(Y, dtype="Float64")
    lost[[7, 30]] = pd.NA
    words = [None if k in (7, 30) else value for k, value in enumerate(Y)]
    for y in (lost, words, np.array(words, dtype=object), np.array(words, dtype=float)):
        with pytest.raises(ValueError, match=r"in 2 of 40 rows \(row 7 is the first\): drop"):
            committee(variant).fit(X, y)
        with pytest.raises(ValueError, match=r"in 2 of 40 rows \(row 7 is the first\): drop"):
            OnlineGPRegressor().partial_fit(X, y)


def test_what_is_not_a_finite_number_is_refused(variant):
    model = committee(variant)
    for value in (np.nan, np.inf, -np.inf):
        if value == value:  # a gap in X is taken
            with pytest.raises(ValueError, match="Input X contains"):
                model.fit(spoilt(X, value), Y)
        with pytest.raises(
            ValueError,
            match=r"y is NaN, None or infinite in 1 of 40 rows \(row [25] is the first\): drop",
        ):
            model.fit(X, spoilt(Y, value))
        with pytest.raises(
            ValueError,
            match=r"y is NaN, None or infinite in 1 of 40 rows \(row [25] is the first\): drop",
        ):
            model.fit(X, spoilt(np.column_stack([Y, Y]), value))
        with pytest.raises(ValueError, match="sample_weight"):
            model.fit(X, Y, spoilt(np.ones(40), value))
    for bad in ((spoilt(X, 1j), Y), (X, spoilt(Y, 1j))):
        with pytest.raises(ValueError, match="Complex data"):
            model.fit(*bad)
    with pytest.raises(ValueError, match="y has words"):
        model.fit(X.astype(object).tolist(), ["word"] * 40)
    for dates in (np.arange(40).astype("M8[D]"), np.arange(40).astype("m8[s]")):
        with pytest.raises(ValueError, match="y holds dates"):
            model.fit(X, dates)
    with pytest.raises(ValueError, match="takes numbers alone"):
        RegressionFilter().fit(np.char.add(X.astype(str), "x"), Y)
    with pytest.raises(ValueError, match="y is sparse"):
        model.fit(X, csr_array(np.column_stack([Y, Y])))
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, Y, spoilt(np.ones(40), -1.0))
    for name, arguments in {"X": (1e160 * X, Y), "y": (X, 1e160 * Y)}.items():
        with pytest.raises(ValueError, match=f"{name} has values beyond"):
            model.fit(*arguments)


def test_wrong_shapes_are_refused(variant):
    model = committee(variant)
    for arguments, message in (
        ((X[:, 0], Y), "Expected 2D array"),
        ((X[None], Y), "dim 3"),
        ((X, Y[:-1]), "inconsistent numbers of samples"),
        ((X, np.zeros((40, 2, 2))), "dim 3"),
        ((X, np.zeros((40, 0))), "0 feature"),
        ((X, None), "y"),
        ((X[:0], Y[:0]), "0 sample"),
        ((X[:, :0], Y), "0 feature"),
        ((X, Y, np.ones(39)), "sample_weight"),
        ((X, Y, np.ones((40, 2))), "(?i)sample.weights"),
        ((X, Y, np.zeros(40)), "(?i)sample.weight"),
        ((3.0, Y), "Expected 2D array"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(*arguments)


def test_bad_questions_are_refused(variant):
    model = committee(variant, **GIVEN).fit(X, Y)
    for Xs, message in (
        (spoilt(XS, np.inf), "Input X contains infinity"),
        (1j * XS, "Complex"),
        ([["a", "b"]], "'x0' holds 'a' and held numbers"),
        (XS[:, :1], "features"),
        (XS[0], "Expected 2D array"),
        (XS[:0], "0 sample"),
    ):
        for ask in (model.predict, model.predict_interval, model.sample_y):
            with pytest.raises(ValueError, match=message):
                ask(Xs)
    for ask in (model.predict, model.predict_interval, model.sample_y):
        with pytest.raises(ValueError, match="level="):
            ask(XS, level="model")
    with pytest.raises(ValueError, match="return_std and return_cov"):
        model.predict(XS, return_std=True, return_cov=True)
    for coverage in (0.0, 1.0, -1, 95, np.nan, "0.9", None, [0.5]):
        with pytest.raises(ValueError, match="coverage="):
            model.predict_interval(XS, coverage)
    for n_samples in (0, -1, 1.5, "2", None):
        with pytest.raises(ValueError, match="n_samples="):
            model.sample_y(XS, n_samples)
    with pytest.raises(ValueError, match="seed"):
        model.sample_y(XS, random_state="a")


def test_a_dense_answer_too_large_is_refused_before_it_is_tried(variant):
    model = committee(variant, **GIVEN).fit(X, Y)
    many = np.broadcast_to(XS[0], (100_000, 2))
    with pytest.raises(ValueError, match=r"return_cov .*100000 x 100000 .*GiB"):
        model.predict(many, return_cov=True)
    with pytest.raises(ValueError, match=r"sample_y .*100000 x 100000"):
        model.sample_y(many)


# -- few, constant, repeated ----------------------------------------------------------------------


@pytest.mark.diagonal
@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows(variant, n):
    model = fit_sound(variant, X[:n], Y[:n])
    mean, std = model.predict(X[:n], return_std=True)
    assert (np.abs(mean - Y[:n]) <= 3.0 * std).all()
    if n == 1:
        assert_allclose(model.predict(XS), Y[0])


def test_one_column_is_enough(variant):
    x = np.linspace(-3.0, 3.0, 60)[:, None]
    model = fit_sound(variant, x, np.sin(2.0 * x[:, 0]), x[::7] + 0.01, anchors=12)
    assert rmse(model.predict(x), np.sin(2.0 * x[:, 0])) < 0.05


@pytest.mark.parametrize("value", [0.0, 3.0, -1e9, 1e-12])
@pytest.mark.diagonal
def test_a_constant_column_changes_nothing(variant, value):
    def wide(X):
        return np.column_stack([X, np.full(len(X), value)])

    X, y = smooth_rows(120)
    Xs = 0.9 * smooth_rows(40, seed=3)[0]
    arguments = {"anchors": 40, "chunks": 30} if variant != "exact" else {}
    model = fit_sound(variant, wide(X), y, wide(Xs), **arguments)
    plain = committee(variant, **arguments).fit(X, y)
    assert rmse(model.predict(wide(Xs)), truth(Xs)) < 1.5 * rmse(plain.predict(Xs), truth(Xs))


def test_constant_inputs_predict_the_mean(variant):
    constant = np.full((40, 2), 3.0)
    model = fit_sound(variant, constant, Y, constant[:3])
    mean, std = model.predict(constant[:3], return_std=True)
    assert_allclose(mean, Y.mean(), atol=0.5 * Y.std())
    assert_allclose(std, Y.std(), rtol=0.5)


@pytest.mark.parametrize("value", [0.0, 5.0, -1e100, 1e-100])
@pytest.mark.diagonal
def test_constant_targets_are_predicted(variant, value):
    model = fit_sound(variant, X, np.full(40, value))
    mean, std = model.predict(XS, return_std=True)
    assert_allclose(mean, value, rtol=1e-9)
    assert (std <= 0.1 * (abs(value) or 1.0)).all()


@pytest.mark.diagonal
def test_a_constant_output_beside_another_is_predicted(variant):
    model = fit_sound(variant, X, np.column_stack([Y, np.full(40, 2.0)]))
    alone = committee(variant).fit(X, Y)
    mean = model.predict(XS)
    assert_allclose(mean[:, 1], 2.0, rtol=1e-6)
    assert rmse(mean[:, 0], alone.predict(XS)) < 0.2 * Y.std()


def test_targets_constant_but_for_rounding(variant):
    y = 1e6 + 1e-9 * Y
    assert_allclose(fit_sound(variant, X, y).predict(XS), 1e6, rtol=1e-12)


def test_repeated_rows(variant):
    model = fit_sound(variant, np.repeat(X, 5, axis=0), np.repeat(Y, 5))
    assert rmse(model.predict(X), Y) < 0.5 * Y.std()
    assert (model.model_.committee.rows().w == 5.0).all()


def test_rows_all_equal(variant):
    model = fit_sound(variant, np.repeat(X[:1], 30, axis=0), np.repeat(Y[:1], 30))
    assert_allclose(model.predict(XS), Y[0])


@pytest.mark.parametrize("rule", ["balanced", "kmeans", "random", "time"])
@pytest.mark.diagonal
def test_equal_inputs_with_different_targets_predict_their_means(variant, rule):
    few = np.repeat(X[:8], 5, axis=0)
    y = np.repeat(10.0 * np.arange(8), 5) + np.tile([-0.2, -0.1, 0.0, 0.1, 0.2], 8)
    chunks = rule if variant == "exact" else Chunks(8, rule)
    model = fit_sound(variant, few, y, chunks=chunks, anchors=8)
    assert_allclose(model.predict(X[:8]), 10.0 * np.arange(8), atol=2.0)
    assert model.noise_ < 20.0


def test_more_columns_than_rows(variant):
    rng = np.random.default_rng(2)
    wide = rng.normal(size=(25, 40))
    y = 3.0 * wide[:, 0]
    model = fit_sound(variant, wide, y, rng.normal(size=(5, 40)))
    assert rmse(model.predict(wide), y) < y.std()


def test_collinear_columns(variant):
    def wide(X):
        return np.column_stack([X, 2.0 * X[:, 0], X[:, 0] - X[:, 1], X[:, 0]])

    model = fit_sound(variant, wide(X), Y, wide(XS))
    assert rmse(model.predict(wide(X)), Y) < 0.5 * Y.std()


# -- any magnitude --------------------------------------------------------------------------------


@pytest.mark.parametrize("of_X, of_y", [
    (1e-150, 1.0), (1e150, 1.0), (1.0, 1e-150), (1.0, 1e150), (1e-150, 1e150), (1e60, 1e-90),
])  # fmt: skip
@pytest.mark.diagonal(9)
def test_answers_follow_the_units_of_inputs_and_targets(variant, of_X, of_y):
    plain = committee(variant).fit(X, Y)
    scaled = fit_sound(variant, of_X * X, of_y * Y, of_X * XS)
    mean, std = plain.predict(XS, return_std=True)
    found, bars = scaled.predict(of_X * XS, return_std=True)
    assert_allclose(found, of_y * mean, rtol=1e-9)
    assert_allclose(bars, of_y * std, rtol=1e-9)
    lower, upper = scaled.predict_interval(of_X * XS)
    assert ((lower < found) & (found < upper)).all()
    assert_allclose(scaled.log_evidence_, plain.log_evidence_ - 40 * np.log(of_y), rtol=1e-9)
    assert_allclose(scaled.kernel_.length_scale / of_X, plain.kernel_.length_scale, rtol=1e-9)
    assert_allclose(scaled.noise_ / of_y / of_y, plain.noise_, rtol=1e-9)


def test_columns_of_unlike_magnitude(variant):
    units = np.array([1e-150, 1e150])
    plain = committee(variant).fit(X, Y)
    scaled = fit_sound(variant, X * units, Y, XS * units)
    assert_allclose(scaled.predict(XS * units), plain.predict(XS), rtol=1e-9)


@pytest.mark.parametrize("unit, length", [(1e-150, 1e-160), (1.0, 1e-20), (1.0, 1e160)])
def test_length_scales_far_from_the_data(variant, unit, length):
    for lengths in (length, [length, unit]):
        kernel = {"kernel": kernels.Matern52(30.0, lengths), "noise": NOISE, "learn": False}
        model = fit_sound(variant, unit * X, Y, unit * XS, **kernel)
        assert rmse(model.predict(unit * X), Y) < 1.1 * Y.std()


def test_inputs_smaller_than_any_scale_count_as_constant(variant):
    model = fit_sound(variant, 1e-300 * X, Y, 1e-300 * XS)
    assert_allclose(model.predict(1e-300 * XS), Y.mean(), atol=Y.std())


def test_targets_smaller_than_any_scale(variant):
    with pytest.warns(UserWarning, match="y has no values beyond 1e-152: .* in larger units"):
        model = fit_sound(variant, X, 1e-300 * Y)
    assert (np.abs(model.predict(XS)) < 1e-150).all()


@pytest.mark.diagonal
def test_an_outlier_in_everything(variant):
    fit_sound(variant, np.vstack([X, [[1e9, 1e9]]]), np.append(Y, 1e9))
    fit_sound(variant, np.exp(20.0 * X), Y, np.exp(20.0 * XS))


def test_inputs_far_from_the_origin(variant):
    plain = committee(variant, **GIVEN).fit(X, Y)
    moved = fit_sound(variant, X + 2.0**20, Y, XS + 2.0**20, **GIVEN)
    assert_allclose(moved.predict(XS + 2.0**20), plain.predict(XS), rtol=1e-5)


@pytest.mark.parametrize("distance", [1e3, 1e60, 1e155, 1e300])
@pytest.mark.diagonal
def test_far_away_the_prior_comes_back(variant, distance):
    model = committee(variant, noise="constant", learn=True).fit(X, Y)
    far = distance * np.array([[1.0, 0.5], [-1.0, 1.0], [0.3, -1.2]])
    near = np.concatenate([far, XS])
    for level, noise in (("function", 0.0), ("observation", model.noise_)):
        mean, std = model.predict(far, return_std=True, level=level)
        assert_allclose(mean, Y.mean(), rtol=1e-9)
        assert_allclose(std**2, model.kernel_.variance + noise, rtol=1e-9)
    assert_sound(model, near)
    assert_allclose(model.predict(near)[3:], model.predict(XS), rtol=1e-7)


# -- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize("low, high", [(-12, -12), (-30, 30), (0, 12)])
@pytest.mark.diagonal
def test_weights_of_any_size(variant, low, high):
    fit_sound(variant, X, Y, w=10.0 ** np.linspace(low, high, 40))


def test_weights_that_no_sum_can_hold_are_refused_and_named(variant):
    w = np.full(40, 1e200)
    if variant == "exact":
        fit_sound(variant, X, Y, w=w)
        return
    model = fit_sound(variant, X, Y)
    before = model.predict(XS)
    with pytest.raises(ValueError, match=r"noise variance of .* smaller weights"):
        model.fit(X, Y, w)
    assert (model.predict(XS) == before).all()


def test_rows_that_weigh_nearly_nothing_say_nearly_nothing(variant):
    model = fit_sound(variant, X, Y, w=np.full(40, 1e-12), **GIVEN)
    assert_allclose(model.predict(XS), Y.mean(), rtol=1e-6)


# -- no noise -------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 1e-300])
def test_without_noise_rows_are_interpolated(variant, noise):
    x = np.linspace(-2.0, 2.0, 12)[:, None]
    y = np.sin(2.0 * x[:, 0])
    arguments = {} if variant == "exact" else {"anchors": x, "chunks": 4}
    model = fit_sound(
        variant, x, y, x, kernel=kernels.RBF(1.0, 0.8), noise=noise, learn=False, **arguments
    )
    assert_allclose(model.predict(x), y, atol=1e-3)
    _, std = model.predict(x, return_std=True)
    assert (std < 1e-2).all()
    assert rmse(model.predict(x + 0.05)[:-1], np.sin(2.0 * x[:-1, 0] + 0.1)) < 0.01


@pytest.mark.parametrize("length", [0.5, 2.0, 20.0])
@pytest.mark.diagonal
def test_without_noise_smooth_kernels_stay_sound(variant, length):
    smooth = {"kernel": kernels.RBF(30.0, length), "noise": 0.0, "learn": False}
    fit_sound(variant, X, Y, **smooth)
    fit_sound(variant, np.repeat(X, 3, axis=0), np.repeat(Y, 3), **smooth)
    fit_sound(variant, np.repeat(X[:8], 5, axis=0), Y, **smooth)
    fit_sound(variant, X[:, :1], Y, XS[:, :1], **smooth)
    fit_sound(variant, X + 1e-9 * np.arange(80).reshape(40, 2), Y, X, **smooth)


@pytest.mark.parametrize("kernel", [
    kernels.Linear(), kernels.Constant(), kernels.Periodic(), kernels.Hat(), kernels.White(),
    kernels.RationalQuadratic(), kernels.Linear() + kernels.Constant(),
    kernels.RBF() * kernels.Linear(),
])  # fmt: skip
@pytest.mark.diagonal
def test_every_kernel_is_sound_with_and_without_noise(variant, kernel):
    fit_sound(variant, X, Y, kernel=kernel)
    fit_sound(variant, X, Y, kernel=kernel, noise=0.0, learn=False)
