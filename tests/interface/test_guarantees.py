"""Intervals and sets cover new rows as often as they say, whatever the model is."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import collegium
from collegium import (
    CommitteeClassifier,
    CommitteeRegressor,
    OnlineGPRegressor,
    RegressionFilter,
    RVCRegressor,
    SparseGPRegressor,
    kernels,
)
from collegium.interface.guarantees import FewInGroupWarning
from estimator_cases import GIVEN, committee, queries, rows

REPEATS, CALIBRATION, NEW = 500, 39, 8
KERNEL = kernels.RBF(variance=1.0, length_scale=[0.8, 2.5])
#: Noise of the rows: with heavy tails, and where the model takes far too little for it.
NOISES = {
    "heavy tails": lambda X, rng: rng.standard_cauchy(len(X)),
    "misspecified": lambda X, rng: rng.exponential(1.0 + 4.0 * (X[:, 1] > 0.5)) - 1.0,
}


def drawn(noise, n, rng):
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    return X, np.sin(2.0 * X[:, 0]) + NOISES[noise](X, rng)


def fitted(noise, n=60, **arguments):
    rng = np.random.default_rng(7)
    model = CommitteeRegressor(KERNEL, noise=0.05, learn=False, transforms=None, **arguments)
    return model.fit(*drawn(noise, n, rng)), rng


def within(interval, y):
    lower, upper = interval
    return (lower <= y) & (y <= upper)


def between_bounds(shares, coverage, n):
    """Whether the mean of shares is within three standard errors of [c, c + 1/(n + 1)]."""
    error = 3.0 * np.std(shares) / np.sqrt(len(shares))
    return coverage - error <= np.mean(shares) <= coverage + 1.0 / (n + 1) + error


@pytest.mark.parametrize("noise", NOISES)
def test_split_intervals_cover_as_promised_over_many_calibrations(noise):
    model, rng = fitted(noise)
    shares, plain = [], []
    for _ in range(REPEATS):
        X, y = drawn(noise, CALIBRATION + NEW, rng)
        model.calibrate(X[NEW:], y[NEW:])
        found = model.predict_interval(X[:NEW], 0.8, method="split")
        shares.append(within(found, y[:NEW]).mean())
        plain.append(within(model.predict_interval(X[:NEW], 0.8), y[:NEW]).mean())
    assert between_bounds(shares, 0.8, CALIBRATION)
    assert not between_bounds(plain, 0.8, CALIBRATION)


def test_every_group_is_covered_as_promised():
    """Group 1 has ten times the noise: all rows together cover too few of it."""
    rng = np.random.default_rng(3)

    def grouped(n):
        X, group = rng.uniform(-2.0, 2.0, size=(n, 2)), rng.permutation(n) % 2
        return X, np.sin(2.0 * X[:, 0]) + 0.1 * 10.0**group * rng.normal(size=n), group

    X, y, group = grouped(60)
    model = CommitteeRegressor(KERNEL, noise=0.05, learn=False).fit(X, y)
    each, together = [], []
    for _ in range(300):
        X, y, group = grouped(240)
        own, new = slice(16, None), slice(0, 16)
        model.calibrate(X[own], y[own], groups=np.array(["low", "high"])[group[own]])
        labels = np.array(["low", "high"])[group[new]]
        found = within(model.predict_interval(X[new], 0.9, method="split", groups=labels), y[new])
        whole = within(model.predict_interval(X[new], 0.9, method="split"), y[new])
        each.append([found[group[new] == k].mean() for k in (0, 1) if (group[new] == k).any()])
        together.append(whole[group[new] == 1].mean())
    each = np.array([one for one in each if len(one) == 2])
    assert between_bounds(each[:, 0], 0.9, 104) and between_bounds(each[:, 1], 0.9, 104)
    assert np.nanmean(together) < 0.85


def test_sets_cover_as_promised_and_are_never_empty():
    rng = np.random.default_rng(4)

    def labelled(n):
        X = rng.normal(size=(n, 2))
        score = 2.0 * X @ np.array([[1.0, -1.0, 0.0], [0.0, 0.5, -1.0]])
        return X, np.array(list("abc"))[(score + rng.gumbel(size=(n, 3)) * 2.0).argmax(axis=1)]

    X, y = labelled(90)
    kernel = kernels.RBF(25.0, [0.3, 0.3])  # far rougher than the classes are
    model = CommitteeClassifier(kernel, learn=False, transforms=None, members=None).fit(X, y)
    shares, plain = [], []
    for _ in range(200):
        X, y = labelled(57)
        model.calibrate(X[8:], y[8:])
        true = np.searchsorted(model.classes_, y[:8])
        sets = model.predict_set(X[:8], 0.8)
        assert sets.any(axis=1).all() and sets.shape == (8, 3)
        shares.append(sets[np.arange(8), true].mean())
        plain.append(model.predict_set(X[:8], 0.8, method="model")[np.arange(8), true].mean())
    assert between_bounds(shares, 0.8, 49)
    assert not between_bounds(plain, 0.8, 49)


def test_sets_of_groups_are_those_of_their_own_rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(420, 2))
    y = (X[:, 0] + rng.normal(size=420) * np.where(X[:, 1] > 0, 2.0, 0.3) > 0).astype(int)
    group = X[:, 1] > 0
    model = CommitteeClassifier(KERNEL, learn=False).fit(X[:100], y[:100])
    model.calibrate(X[100:], y[100:], groups=group[100:])
    sets = model.predict_set(X[:100], 0.85, groups=group[:100])
    for one in (True, False):
        part = np.flatnonzero(group[100:] == one) + 100
        alone = clone(model).fit(X[:100], y[:100]).calibrate(X[part], y[part])
        own = group[:100] == one
        assert_array_equal(sets[own], alone.predict_set(X[:100][own], 0.85))


@pytest.mark.parametrize("noise", NOISES)
def test_folds_cover_about_as_promised_where_the_model_does_not(noise):
    model, rng = fitted(noise, 300)
    X, y = drawn(noise, 2_000, rng)
    assert within(model.predict_interval(X, 0.9), y).mean() < 0.7
    assert 0.86 < within(model.predict_interval(X, 0.9, method="cv+"), y).mean() < 0.95
    again = model.predict_interval(X[:5], 0.9, method="cv+")
    assert_array_equal(again, np.array(model.predict_interval(X, 0.9, method="cv+"))[:, :5])


# -- as the model changes ---------------------------------------------------------------------


def calibrated(**arguments):
    X, y = rows(150, seed=2)
    labels = np.repeat(np.arange(10), 9)
    model = CommitteeRegressor(**GIVEN, chunks=labels, anchors=X[:6], n_local=9, **arguments)
    return model.fit(X[:90], y[:90]).calibrate(X[90:], y[90:])


def split(model):
    return np.array(model.predict_interval(queries(), 0.9, method="split"))


def test_scores_are_those_of_the_model_as_it_is_now():
    model, (X, y) = calibrated(), rows(150, seed=2)
    before = split(model)
    for change in (
        lambda: model.forget([3, 4]),
        lambda: model.partial_fit(*rows(30, seed=9), chunk_id="more"),
        lambda: model.merge(model.blank().partial_fit(*rows(20, seed=11), chunk_id="theirs")),
        model.relearn,
        lambda: model.set_params(n_local=4),
    ):
        change()
        after = split(model)
        assert not np.array_equal(before, after)
        assert_array_equal(after, split(deepcopy(model).calibrate(X[90:], y[90:])))
        before = after


def test_a_new_fit_drops_the_calibration_rows():
    model = calibrated()
    model.fit(*rows(90, seed=3))
    with pytest.raises(ValueError, match="call calibrate"):
        split(model)
    assert not hasattr(model, "conformal_")


def test_calibration_rows_are_stored_with_the_model(tmp_path):
    model = calibrated()
    model.save(tmp_path / "model.clg")
    for other in (collegium.load(tmp_path / "model.clg"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(split(other), split(model))
    assert not hasattr(clone(model), "conformal_")
    X, y = rows(150, seed=2)
    other = CommitteeRegressor(**GIVEN, anchors=X[:6], chunks=30, n_local=0).fit(X[:90], y[:90])
    other.calibrate(X[90:], y[90:]).save(tmp_path / "bare.clg", rows=False)
    assert not hasattr(collegium.load(tmp_path / "bare.clg"), "conformal_")
    assert hasattr(other, "conformal_")


def test_a_second_calibration_replaces_the_first():
    model, (X, y) = calibrated(), rows(150, seed=2)
    first = split(model)
    wide = split(model.calibrate(X[90:], y[90:] + 40.0))
    assert (wide[1] - wide[0] > first[1] - first[0] + 30.0).all()
    with pytest.raises(ValueError, match="y has shape"):
        model.calibrate(X[90:], y[91:])
    assert_array_equal(split(model), wide)


# -- streams ----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::collegium.StreamWarning")
def test_adaptive_intervals_cover_a_stream_that_changes():
    rng = np.random.default_rng(6)
    model = RegressionFilter(KERNEL, noise=0.05, learn=False, random_state=0)
    shares, plain = [], []
    for step in range(60):
        X = rng.uniform(-2.0, 2.0, size=(20, 2))
        y = np.sin(2.0 * X[:, 0]) + (0.2 if step < 30 else 0.8) * rng.normal(size=20)
        if step >= 35:
            found = model.predict_interval(X, 0.9, method="adaptive")
            shares.append(within(found, y).mean())
            plain.append(within(model.predict_interval(X, 0.9), y).mean())
        model.partial_fit(X, y)
    assert np.mean(plain) < 0.6
    assert 0.85 < np.mean(shares) < 0.97


def test_adaptive_intervals_need_a_stream():
    model = calibrated()
    with pytest.raises(ValueError, match="needs 100 rows of a stream"):
        model.predict_interval(queries(), method="adaptive")


# -- other models, outputs and targets --------------------------------------------------------

OTHERS = {
    "sparse": SparseGPRegressor(KERNEL, noise=0.05, learn=False, anchors=20, random_state=0),
    "online": OnlineGPRegressor(KERNEL, noise=0.05, learn=False),
    "filter": RegressionFilter(KERNEL, noise=0.05, learn=False, random_state=0),
    "rvc": RVCRegressor(random_state=0),
}


@pytest.mark.parametrize("name", OTHERS)
def test_every_regressor_can_be_calibrated(name):
    rng = np.random.default_rng(8)
    X, y = drawn("misspecified", 1_400, rng)
    model = clone(OTHERS[name]).fit(X[:200], y[:200]).calibrate(X[200:700], y[200:700])
    found = model.predict_interval(X[700:], 0.8, method="split")
    assert 0.74 < within(found, y[700:]).mean() < 0.86
    with pytest.raises(ValueError, match="'cv\\+' is not for this"):
        model.predict_interval(X, method="cv+")


def test_outputs_have_quantiles_of_their_own():
    X, y = rows(160, p=2, seed=4)
    y[60:, 1] += np.random.default_rng(0).normal(size=100) * 30.0
    model = committee(**GIVEN).fit(X[:60], y[:60]).calibrate(X[60:], y[60:])
    for method in ("split", "cv+"):
        lower, upper = model.predict_interval(queries(), 0.9, method=method)
        assert lower.shape == (11, 2)
    found = model.predict_interval(queries(), 0.9, method="split")
    first = committee(**{**GIVEN, "noise": [0.4, 0.4]}).fit(X[:60], y[:60])
    first.calibrate(X[60:], np.column_stack([y[60:, 0], y[60:, 0] * 0.0]))
    own = first.predict_interval(queries(), 0.9, method="split")
    assert_allclose(found[0][:, 0], own[0][:, 0], rtol=1e-9)


def test_intervals_of_a_transformed_target_are_moved_before_they_are_taken_back():
    rng = np.random.default_rng(9)
    X = rng.uniform(-2.0, 2.0, size=(700, 2))
    y = np.exp(X[:, 0] + rng.normal(size=700))
    model = CommitteeRegressor(KERNEL, noise=0.1, learn=False, transforms="log")
    model.fit(X[:200], y[:200]).calibrate(X[200:500], y[200:500])
    lower, upper = model.predict_interval(X[500:], 0.9, method="split")
    assert (lower > 0).all() and 0.82 < within((lower, upper), y[500:]).mean() < 0.97
    plain = CommitteeRegressor(KERNEL, noise=0.1, learn=False, transforms=None)
    plain.fit(X[:200], np.log(y[:200])).calibrate(X[200:500], np.log(y[200:500]))
    same = plain.predict_interval(X[500:], 0.9, method="split")
    assert_allclose(np.log([lower, upper]), same, rtol=1e-6)
    model.calibrate(X[200:500], np.where(np.arange(300) < 9, -1.0, y[200:500]))
    assert np.isfinite(model.predict_interval(X[500:], 0.9, method="split")).all()


def test_counts_have_whole_ends_for_their_exposure():
    rng = np.random.default_rng(10)
    X, e = rng.uniform(-2.0, 2.0, size=(500, 2)), rng.uniform(0.5, 4.0, size=500)
    y = rng.negative_binomial(2, 2 / (2 + e * np.exp(1 + 0.5 * X[:, 0]))).astype(float)
    model = CommitteeRegressor(KERNEL, likelihood="poisson", learn=False)
    model.fit(X[:150], y[:150], exposure=e[:150])
    model.calibrate(X[150:350], y[150:350], exposure=e[150:350])
    found = model.predict_interval(X[350:], 0.8, method="split", exposure=e[350:])
    plain = model.predict_interval(X[350:], 0.8, exposure=e[350:])
    assert_array_equal(found, np.round(found))
    assert (found[0] >= 0).all() and (found[0] <= found[1]).all()
    assert within(plain, y[350:]).mean() < 0.75 < within(found, y[350:]).mean()


@pytest.mark.parametrize("scale", [1e-120, 1e120])
def test_units_of_y_do_not_matter(scale):
    X, y = rows(150, seed=2)
    found = [
        CommitteeRegressor(KERNEL.scaled(u * u), noise=0.3 * u * u, learn=False)
        .fit(X[:90], y[:90] * u)
        .calibrate(X[90:], y[90:] * u)
        for u in (1.0, scale)
    ]
    for method in ("split", "cv+"):
        one, other = (m.predict_interval(queries(), 0.9, method=method) for m in found)
        assert_allclose(np.array(other) / scale, one, rtol=1e-6)


def test_a_column_of_a_frame_names_the_groups():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(11)
    X = rng.uniform(-2.0, 2.0, size=(500, 2))
    y, site = np.sin(X[:, 0]), rng.integers(2, size=500)
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    model = CommitteeRegressor(KERNEL, noise=0.1, learn=False).fit(frame[:100], y[:100])
    model.calibrate(frame[100:].assign(site=site[100:]), y[100:], groups="site")
    found = model.predict_interval(frame[:9].assign(site=site[:9]), method="split", groups="site")
    same = model.predict_interval(frame[:9], method="split", groups=site[:9])
    assert_array_equal(found, same)


# -- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"method": "jackknife"}, "give one of 'model', 'split', 'cv\\+', 'adaptive'"),
        ({"method": "split", "level": "function"}, "functions are never observed"),
        ({"method": "cv+", "groups": np.zeros(11)}, "groups mean nothing with method='cv\\+'"),
        ({"method": "cv+", "n_local": 3}, "n_local=3 means nothing"),
        ({"method": "split", "groups": np.zeros(11)}, "calibrate had none"),
        ({"method": "split", "coverage": 0.99}, "needs 99 calibration rows .* there are 60"),
        ({"method": "cv+", "coverage": 0.999}, "needs 999 rows, and there are 90"),
    ],
)
def test_what_cannot_be_answered_is_refused(asked, words):
    with pytest.raises(ValueError, match=words):
        calibrated().predict_interval(queries(), **asked)


def test_groups_need_rows_of_their_own():
    model, (X, y) = calibrated(), rows(150, seed=2)
    with pytest.warns(FewInGroupWarning, match="2 of 2 groups have fewer than 100"):
        model.calibrate(X[90:], y[90:], groups=np.arange(60) % 5 < 1)
    with pytest.raises(ValueError, match="labels without calibration rows, in 11 of 11"):
        model.predict_interval(queries(), method="split", groups=np.full(11, 7))
    with pytest.raises(ValueError, match="needs 19 calibration rows in each group"):
        model.predict_interval(queries(), method="split", groups=np.arange(11) < 4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_local": 0, "chunks": 30, "anchors": 5}, "rows in memory"),
        ({"inference": "transductive", "chunks": 30}, "inference='inductive'"),
        ({"likelihood": "student-t"}, "needs Gaussian noise"),
    ],
)
def test_folds_are_refused_where_rows_cannot_be_left_out(arguments, words):
    X, y = rows(90)
    model = CommitteeRegressor(KERNEL, noise=0.3, learn=False, **arguments).fit(X, y)
    with pytest.raises(ValueError, match=words):
        model.predict_interval(X, method="cv+")


def test_weights_of_folds_are_copies():
    X, y = rows(90)
    w = 1.0 + np.arange(90) % 3
    model = committee(**GIVEN).fit(X, y, sample_weight=w)
    copied = committee(**GIVEN).fit(
        np.repeat(X, w.astype(int), axis=0), np.repeat(y, w.astype(int))
    )
    found = [one.predict_interval(X, method="cv+", coverage=0.9) for one in (model, copied)]
    assert_array_equal(*found)
    assert sum(map(len, model._made.others["conformal scores 0.9"])) == w.sum()
    for weight in (w + 0.5, 100.0 * w):
        model.fit(X, y, sample_weight=weight)
        with pytest.raises(ValueError, match="counts rows"):
            model.predict_interval(X, method="cv+")


def test_sets_refuse_what_means_nothing():
    X, y = rows(60)
    model = CommitteeClassifier(KERNEL, learn=False).fit(X, y > y.mean())
    with pytest.raises(ValueError, match="call calibrate"):
        model.predict_set(X)
    with pytest.raises(ValueError, match="give 'split' or 'model'"):
        model.predict_set(X, method="cv+")
    with pytest.raises(ValueError, match="not among the classes"):
        model.calibrate(X, np.full(60, 3))
