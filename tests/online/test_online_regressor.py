"""OnlineGPRegressor: units, streams, counts; of both estimators conventions and refusals."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared, WhiteKernel
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from collegium import kernels
from collegium.online.classifier import OnlineGPClassifier
from collegium.online.regressor import OnlineGPRegressor
from estimator_cases import (
    GIVEN,
    KERNEL,
    NOISE,
    SlowGP,
    assert_is_the_gp,
    assert_plain,
    assert_same_answers,
    assert_same_state,
    assert_sound,
    leaves,
    queries,
    rmse,
    rows,
    smooth_rows,
    state,
    truth,
)  # fmt: skip

USUAL = [
    OnlineGPRegressor(random_state=0),
    OnlineGPRegressor(
        kernels.Matern32(2.0, 5.0), noise=0.1, learn=False, budget=8, removal="mean", random_state=0
    ),
    OnlineGPClassifier(random_state=0),
    OnlineGPClassifier(kernels.RBF(4.0, 1.0), learn=False, random_state=0),
]
OTHERS = [
    OnlineGPRegressor(budget=5, learn_rows=20, removal="mean", random_state=0),
    OnlineGPRegressor(kernels.Matern32(2.0, 1.5), noise=0.1, learn=False, forgetting=0.99),
    OnlineGPRegressor(likelihood="poisson", n_sweeps=2, random_state=0),
    OnlineGPClassifier(budget=10, n_sweeps=2, random_state=0),
]


def expected_to_fail(estimator):
    """Where the past fades the order of rows matters, and equal rows are not one weighted row."""
    if estimator.forgetting < 1.0:
        return {
            "check_sample_weight_equivalence_on_dense_data": (
                "the check shuffles the rows, whose order means something with forgetting < 1"
            )
        }
    return {}


@parametrize_with_checks(USUAL, expected_failed_checks=expected_to_fail)
def test_scikit_learn_conventions_hold(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(OTHERS, expected_failed_checks=expected_to_fail)
def test_scikit_learn_conventions_hold_for_every_kind(estimator, check):
    check(estimator)


def given(**arguments):
    return OnlineGPRegressor(**{**GIVEN, **arguments})


def counts(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    rate = np.exp(1.0 + np.sin(2.0 * X[:, 0]) + 0.4 * X[:, 1])
    return X, rng.poisson(rate).astype(float), rate


# --- regression -----------------------------------------------------------------------------------


def test_within_the_budget_it_is_the_exact_gp():
    X, y = rows(60)
    slow = SlowGP(X, y, NOISE)
    for model in (given(novelty=0.0).fit(X, y), given(novelty=0.0).partial_fit(X, y)):
        assert_is_the_gp(model, slow, queries(), rtol=2e-4)
        assert model.n_seen_ == 60 and model.basis_.shape == (60, 2)


@pytest.mark.parametrize("p", [None, 2])
def test_what_was_learnt_fed_back_is_the_same_model(p):
    X, y = rows(90, p=p)
    batches = np.split(np.arange(90), [10, 25, 40, 70])
    learnt = OnlineGPRegressor(budget=20, learn_rows=50, random_state=0)
    for batch in batches:
        learnt.partial_fit(X[batch], y[batch])
    again = clone(learnt).set_params(kernel=learnt.kernel_, noise=learnt.noise_, learn=False)
    for batch in batches:
        again.partial_fit(X[batch], y[batch])
    assert_same_answers(again, learnt, queries(), rtol=1e-6)
    whole = OnlineGPRegressor(budget=20, random_state=0).fit(X, y)
    again = clone(whole).set_params(kernel=whole.kernel_, noise=whole.noise_, learn=False)
    assert_same_answers(again.fit(X, y), whole, queries(), rtol=1e-6)


def test_hyperparameters_come_from_the_first_rows_of_a_stream():
    X, y = rows(120)
    some = OnlineGPRegressor(learn_rows=50, random_state=0).partial_fit(X[:50], y[:50])
    more = OnlineGPRegressor(learn_rows=50, random_state=0).partial_fit(X[:30], y[:30])
    assert more.model_.waiting is not None
    more.partial_fit(X[30:120], y[30:120])
    for model in (some, more):
        assert model.model_.waiting is None
    assert_allclose(more.kernel_.theta, some.kernel_.theta, rtol=1e-9)
    assert_allclose(more.noise_, some.noise_, rtol=1e-9)
    assert_allclose(more.scaling_.centre, y[:50].mean())
    assert more.n_seen_ == 120
    later = pickle.loads(pickle.dumps(more)).partial_fit(X[:5], y[:5] + 1.0)
    assert_array_equal(later.kernel_.theta, more.kernel_.theta)


def test_waiting_rows_are_relearnt_from_when_they_have_doubled():
    X, y = rows(60)
    model, learnt = OnlineGPRegressor(learn_rows=45, random_state=0), []
    for batch in np.split(np.arange(60), [10, 15, 20, 30, 39, 44]):
        model.partial_fit(X[batch], y[batch])
        waiting = model.model_.waiting
        learnt.append(None if waiting is None else (waiting.learnt_at, len(waiting.rows.X)))
    assert learnt == [(10, 10), (10, 15), (20, 20), (20, 30), (20, 39), (44, 44), None]


def test_row_by_row_is_batch_by_batch():
    X, y = rows(80)
    whole = given(budget=15, learn_rows=30).partial_fit(X, y)
    single = given(budget=15, learn_rows=30)
    for i in range(80):
        single.partial_fit(X[i : i + 1], y[i : i + 1])
    assert single.n_seen_ == whole.n_seen_ == 80
    assert_same_answers(single, whole, queries(), rtol=1e-7)


def test_fit_does_not_depend_on_the_order_of_rows_but_on_the_seed():
    X, y = rows(80)
    order = np.random.default_rng(3).permutation(80)
    a, b = given(budget=15).fit(X, y), given(budget=15).fit(X[order], y[order])
    assert_same_answers(a, b, queries(), rtol=0)
    other = given(budget=15, random_state=1).fit(X, y)
    assert rmse(a.predict(queries()), other.predict(queries())) > 1e-3


def test_fit_keeps_the_order_where_the_past_fades():
    X, y = rows(80)
    a = given(budget=15, forgetting=0.9, learn_rows=80)
    streamed = clone(a).partial_fit(X, y)
    assert_same_answers(a.fit(X, y), streamed, queries(), rtol=1e-9)


def test_fit_restarts():
    X, y = rows(80)
    model = given(budget=15).fit(X, y).fit(X[:40], y[:40])
    assert_same_answers(model, given(budget=15).fit(X[:40], y[:40]), queries(), rtol=0)
    assert model.n_seen_ == 40


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_weight_is_a_repetition(method):
    X, y = rows(40)
    w = np.random.default_rng(0).integers(0, 4, size=40)
    again = np.repeat(np.arange(40), w)
    a, b = given(budget=12, learn_rows=10), given(budget=12, learn_rows=10)
    getattr(a, method)(X, y, w)
    getattr(b, method)(X[again], y[again])
    assert_same_answers(a, b, queries(), rtol=1e-9)
    assert a.n_seen_ == (w > 0).sum() and b.n_seen_ == w.sum()


def test_sweeps_improve_a_small_basis():
    X, y = smooth_rows(600)
    kernel, Xs = kernels.RBF(2.0, [0.9, 1.2]), queries(200)
    error = [
        rmse(truth(Xs), OnlineGPRegressor(
            kernel, noise=0.0025, learn=False, budget=25, n_sweeps=n, random_state=0
        ).fit(X, y).predict(Xs))
        for n in (1, 2)
    ]  # fmt: skip
    assert error[1] < 0.9 * error[0]


def test_several_outputs_share_the_error_bars():
    X, y = rows(70, p=3)
    model = OnlineGPRegressor(budget=30, random_state=0).fit(X, y)
    mean, std = model.predict(queries(), return_std=True)
    assert mean.shape == std.shape == (11, 3)
    assert np.ptp(std / model.scaling_.scale, axis=1).max() < 1e-12
    assert model.predict(queries(), return_cov=True)[1].shape == (11, 11, 3)
    assert model.sample_y(queries(), 4).shape == (11, 3, 4)
    noise = np.array([0.4, 1.6, 0.1])
    model = given(noise=noise).fit(X, y)
    assert_allclose(model.noise_, noise)
    one = given(kernel=KERNEL.scaled(4.0), noise=1.6).fit(X, y[:, 1])
    assert_allclose(model.predict(queries())[:, 1], one.predict(queries()), rtol=1e-6)


def test_units_of_y_do_not_matter():
    X, y = rows(60)
    plain = OnlineGPRegressor(budget=20, random_state=0).fit(X, y)
    large = OnlineGPRegressor(budget=20, random_state=0).fit(X, 1e140 * y)
    assert_allclose(large.predict(queries()) / 1e140, plain.predict(queries()), rtol=1e-6)
    with np.errstate(all="raise"):
        assert_sound(large, queries())


def test_white_noise_in_the_kernel_is_the_noise():
    X, y = rows(60)
    kernel = 30.0 * RBF([0.7, 1.9]) + WhiteKernel(0.4)
    model = OnlineGPRegressor(kernel, learn=False, random_state=0).fit(X, y)
    assert_allclose(model.noise_, 0.4)


@pytest.mark.slow
def test_it_learns_a_smooth_function_in_any_mode():
    X, y = smooth_rows(700)
    for model in (OnlineGPRegressor(random_state=0), OnlineGPRegressor(removal="mean", budget=60)):
        model.fit(X, y)
        Xs = queries(200)
        assert rmse(model.predict(Xs), truth(Xs)) < 0.08
        assert_sound(model, Xs[:20])
        lower, upper = model.predict_interval(Xs, 0.95, level="function")
        assert 0.85 < np.mean((lower <= truth(Xs)) & (truth(Xs) <= upper)) <= 1.0
    assert cross_val_score(OnlineGPRegressor(random_state=0), X, y, cv=3).min() > 0.98


# --- counts ---------------------------------------------------------------------------------------


def test_counts_are_predicted_with_their_spread():
    X, y, _ = counts(900)
    Xs, ys, rate = counts(600, seed=1)
    model = OnlineGPRegressor(likelihood="poisson", random_state=0).fit(X, y)
    mean, std = model.predict(Xs, return_std=True)
    assert np.sqrt(np.mean((np.log(mean) - np.log(rate)) ** 2)) < 0.25
    assert 0.85 < np.mean((ys - mean) ** 2 / std**2) < 1.15
    assert_array_equal(model.predict(Xs), mean)
    lower, upper = model.predict_interval(Xs, 0.9)
    assert_array_equal(lower, np.floor(lower))
    assert 0.88 < np.mean((lower <= ys) & (ys <= upper)) <= 0.98
    low, high = model.predict_interval(Xs, 0.9, level="function")
    assert 0.8 < np.mean((low <= rate) & (rate <= high)) <= 1.0
    _, rate_std = model.predict(Xs, return_std=True, level="function")
    assert_allclose(std**2, rate_std**2 + mean, rtol=1e-10)
    assert model.noise_ is None


def test_far_from_all_counts_the_rate_is_about_their_mean():
    X, y, _ = counts(200)
    model = OnlineGPRegressor(kernels.RBF(0.7, 1.0), likelihood="poisson", learn=False).fit(X, y)
    low, high = model.predict_interval([[50.0, 50.0]], 0.9, level="function")
    assert_allclose(low * high, y.mean() ** 2)
    assert_allclose(high / low, np.exp(2 * 1.6448536269514722 * np.sqrt(0.7)))


def test_covariances_and_samples_of_counts_agree():
    X, y, _ = counts(200)
    model = OnlineGPRegressor(likelihood="poisson", random_state=0).fit(X, y)
    Xs = queries(4)
    for level in ("function", "observation"):
        mean, cov = model.predict(Xs, return_cov=True, level=level)
        _, std = model.predict(Xs, return_std=True, level=level)
        assert_allclose(np.diag(cov), std**2, rtol=1e-12)
        draws = model.sample_y(Xs, 40_000, random_state=0, level=level)
        assert_allclose(draws.mean(axis=1), mean, rtol=0.03)
        assert_allclose(np.cov(draws), cov, atol=0.05 * cov.max())
    assert_array_equal(model.sample_y(Xs, 5), np.floor(model.sample_y(Xs, 5)))


def test_a_stream_of_counts_learns_and_goes_on():
    X, y, rate = counts(600)
    model = OnlineGPRegressor(likelihood="poisson", learn_rows=150, budget=60)
    for batch in np.split(np.arange(600), 12):
        model.partial_fit(X[batch], y[batch])
    again = clone(model).set_params(kernel=model.kernel_, learn=False)
    for batch in np.split(np.arange(600), 12):
        again.partial_fit(X[batch], y[batch])
    assert_same_answers(again, model, queries(), rtol=1e-7)
    Xs, _, rate = counts(200, seed=4)
    assert np.sqrt(np.mean((np.log(model.predict(Xs)) - np.log(rate)) ** 2)) < 0.35


def test_weights_of_counts_are_whole_numbers():
    X, y, _ = counts(50)
    w = np.random.default_rng(0).integers(0, 3, size=50)
    again = np.repeat(np.arange(50), w)
    model = OnlineGPRegressor(kernels.RBF(1.0, 1.0), likelihood="poisson", learn=False)
    a, b = clone(model).partial_fit(X, y, w), clone(model).partial_fit(X[again], y[again])
    assert_same_answers(a, b, queries(), rtol=0)
    with pytest.raises(ValueError, match="whole numbers"):
        clone(model).fit(X, y, np.full(50, 0.5))
    with pytest.raises(ValueError, match="sample_weight asks for"):
        clone(model).fit(X, y, np.full(50, 1e9))


# --- state and refusals ---------------------------------------------------------------------------

BAD = {
    "budget": [0, 1.5, "many", True, 20_000],
    "novelty": [-0.1, 1.0, "x", np.nan],
    "removal": ["random", None],
    "forgetting": [0.0, 1.1, np.nan, True],
    "learn": ["yes", 1],
    "n_sweeps": [0, 1.5],
    "learn_rows": [0, "auto"],
    "random_state": ["seed"],
    "verbose": [-1],
    "kernel": ["rbf", 3.0],
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("estimator", [OnlineGPRegressor, OnlineGPClassifier])
def test_bad_arguments_are_refused_by_name_and_change_nothing(estimator, name):
    X, y = rows(40)
    y = np.round(y) if estimator is OnlineGPRegressor else (y > y.mean()).astype(int)
    model = estimator(budget=10, random_state=0).fit(X, y)
    before = leaves(model.model_)
    for value in BAD[name]:
        model.set_params(**{name: value})
        for method in ("fit", "partial_fit"):
            if (name, method) == ("random_state", "partial_fit"):
                continue  # read when a stream begins
            with pytest.raises(ValueError, match=name):
                getattr(model, method)(X, y)
    for (path, old), (_, new) in zip(before, leaves(model.model_), strict=True):
        assert_array_equal(old, new, err_msg=path)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"likelihood": "student"}, "likelihood"),
        ({"likelihood": "poisson", "noise": 0.1}, "noise"),
        ({"likelihood": "poisson", "learn": False}, "kernel"),
        ({"learn": False}, "kernel and noise"),
        ({"noise": -1.0}, "noise"),
        ({"noise": [1.0, 2.0]}, "noise"),
        ({"kernel": RBF([1.0, 1.0, 1.0])}, "length_scale"),
        ({"kernel": ExpSineSquared()}, "ExpSineSquared"),
    ],
)
def test_arguments_of_regression_that_mean_nothing_are_refused(arguments, message):
    X, y = rows(30)
    with pytest.raises(ValueError, match=message):
        OnlineGPRegressor(**arguments).fit(X, np.round(y))


def test_bad_rows_leave_a_stream_as_it_was():
    X, y = rows(40)
    model = given(budget=10, learn_rows=20).partial_fit(X, y)
    before = leaves(state(model))
    bad = [
        (X[:, :1], y), (X, y[:-1]), (np.full((3, 2), np.inf), y[:3]), (X, np.column_stack([y, y])),
    ]  # fmt: skip
    for Xb, yb in bad:
        with pytest.raises(ValueError):
            model.partial_fit(Xb, yb)
    tiny = given(kernel=KERNEL.scaled(1e-300), noise=1e-300, budget=10, learn_rows=20)
    tiny.partial_fit(X, 1e-150 * y)
    with pytest.raises(ValueError, match="y has values"):
        tiny.partial_fit(X, 1e140 * y)
    with pytest.raises(ValueError, match="[Ss]ample.weight"):
        model.partial_fit(X, y, np.zeros(40))
    with pytest.raises(ValueError, match="[Ss]ample.weight"):
        model.fit(X[:, :1], y, np.zeros(40))
    assert_same_state(before, model)
    with pytest.raises(ValueError, match="exclude"):
        model.predict(X, return_std=True, return_cov=True)
    for method in (model.predict, model.predict_interval, model.sample_y):
        with pytest.raises(ValueError, match="level"):
            method(X, level="model")


def test_bad_counts_and_labels_are_refused():
    X, y, _ = counts(30)
    model = OnlineGPRegressor(likelihood="poisson")
    for bad in (y - 5.0, np.column_stack([y, y]), 1e16 * y):
        with pytest.raises(ValueError, match="y "):
            model.fit(X, bad)
    model.fit(X, y)
    for method in (model.predict, model.predict_interval, model.sample_y):
        with pytest.raises(ValueError, match="level"):
            method(X, level="model")
    classifier, labels = OnlineGPClassifier(), (y > y.mean()).astype(int)
    with pytest.raises(ValueError, match="classes"):
        classifier.partial_fit(X, labels)
    with pytest.raises(ValueError, match="not among the classes"):
        classifier.partial_fit(X, labels + 1, classes=[0, 1])
    assert not hasattr(classifier, "classes_")
    classifier.partial_fit(X, labels, classes=[0, 1])
    with pytest.raises(ValueError, match="classes"):
        classifier.partial_fit(X, labels, classes=[0, 1, 2])
    before = leaves(state(classifier))
    with pytest.raises(ValueError, match="one class"):
        classifier.fit(X[:, :1], np.zeros(30))
    with pytest.raises(ValueError, match="whole numbers"):
        classifier.partial_fit(X, labels, sample_weight=np.full(30, 0.5))
    assert_same_state(before, classifier)
    fresh = OnlineGPClassifier()
    with pytest.raises(ValueError, match="whole numbers"):
        fresh.partial_fit(X, labels, [0, 1], sample_weight=np.full(30, 0.5))
    assert not hasattr(fresh, "classes_") and not hasattr(fresh, "n_features_in_")
    with pytest.raises(ValueError, match="learn=False needs a kernel"):
        OnlineGPClassifier(learn=False).fit(X, labels)


def test_fitted_state_is_a_tree_of_plain_records():
    X, y = rows(60)
    labels = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    for model, target in [
        (OnlineGPRegressor(budget=10, learn_rows=50, random_state=0), y),
        (OnlineGPRegressor(likelihood="poisson", budget=10, learn_rows=50), np.round(y)),
        (OnlineGPClassifier(budget=10, learn_rows=50), labels),
    ]:  # the sample is full after `fit`
        assert_plain(model.fit(X, target))
        model.predict(X)
        assert_plain(model)
        streamed = clone(model)
        classes = {"classes": [0, 1, 2]} if isinstance(model, OnlineGPClassifier) else {}
        for batch in np.split(np.arange(60), 4):
            assert_plain(streamed.partial_fit(X[batch], target[batch], **classes))
        size = len(pickle.dumps(model))
        for _ in range(3):
            model.partial_fit(X, target)
        assert len(pickle.dumps(model)) < 1.1 * size + 2000


@pytest.mark.parametrize(
    "stream",
    ["one row over and over", "constant y", "outliers", "huge X", "one row"],
)
def test_nasty_streams_are_answered(stream):
    X, y = rows(400)
    if stream == "one row over and over":
        X[:] = X[0]
    elif stream == "constant y":
        y[:] = 3.0
    elif stream == "outliers":
        y[100::50] = 1e8
    elif stream == "huge X":
        X *= 1e150
    elif stream == "one row":
        X, y = X[:1], y[:1]
    model = OnlineGPRegressor(budget=20, learn_rows=100, random_state=0)
    for Xb, yb in zip(np.array_split(X, 5), np.array_split(y, 5)):
        if len(yb):
            assert_sound(model.partial_fit(Xb, yb), X[:7])


def test_verbose_says_what_was_learnt(capsys):
    X, y, _ = counts(60)
    OnlineGPRegressor(likelihood="poisson", verbose=1).fit(X, y)
    OnlineGPClassifier(verbose=1).fit(X, y > y.mean())
    OnlineGPRegressor(verbose=1, random_state=0).fit(X, y)
    said = capsys.readouterr().out
    assert said.count("Matern52") >= 2 and "noise" in said


@pytest.mark.parametrize("seed", range(3))
def test_inputs_that_repeat_have_the_frequencies_of_their_labels(seed):
    """A run of equal labels at one input, then of the others, would end anywhere."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(600, 1)).astype(float)
    share = np.array([0.15, 0.4, 0.6, 0.85])[X[:, 0].astype(int)]
    y = (rng.uniform(size=600) < share).astype(int)
    found = OnlineGPClassifier(random_state=seed).fit(X, y).predict_proba(np.arange(4.0)[:, None])
    frequencies = [y[X[:, 0] == place].mean() for place in range(4)]
    assert np.abs(found[:, 1] - frequencies).max() < 0.06


@pytest.mark.parametrize("seed", range(3))
def test_inputs_that_repeat_have_the_mean_of_their_counts(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(600, 1)).astype(float)
    y = rng.poisson(np.array([0.5, 1.0, 2.0, 4.0])[X[:, 0].astype(int)])
    model = OnlineGPRegressor(likelihood="poisson", random_state=seed).fit(X, y)
    means = np.array([y[X[:, 0] == place].mean() for place in range(4)])
    assert_allclose(model.predict(np.arange(4.0)[:, None]), means, rtol=0.15)
