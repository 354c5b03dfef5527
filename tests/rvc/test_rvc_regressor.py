"""RVCRegressor: what it promises on batches, and on any rows."""

import contextlib
import copy
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rvc_cases import GRID, MODES, WAYS, assert_alike, assert_sound, model, wave
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from collegium import RVCRegressor
from collegium.rvc import stream as rvc_stream
from estimator_cases import assert_same_state, leaves, queries, rmse, rows, state


@parametrize_with_checks(
    [model(max_iter=2, max_experts=6), model(mode="paper", max_experts=3, width=1.0)]
)
def test_scikit_learn_conventions_hold(estimator, check):
    check(estimator)


# -- units ----------------------------------------------------------------------------------------


@pytest.mark.diagonal
@MODES
@WAYS
@pytest.mark.parametrize("of_X, shift, of_y, of_zero", [
    ([1e3, 1e-4], [7.0, -2.0], 1e6, -3.0), ([1e-6, 1e6], [0.0, 1e7], 1e-6, 1.0),
    ([1.0, 1.0], [0.0, 0.0], 1e6, 0.0), ([1e-120, 1e120], [0.0, 0.0], 1e120, 0.0),
])  # fmt: skip
def test_answers_follow_the_units(mode, way, of_X, shift, of_y, of_zero):
    (X, y), Xs = rows(100), queries()
    plain, other = model(mode=mode), model(mode=mode)
    getattr(plain, way)(X, y)
    getattr(other, way)(X * of_X + shift, of_y * (y + of_zero))
    for level in ("observation", "function"):
        mean, std = plain.predict(Xs, return_std=True, level=level)
        found, bars = other.predict(Xs * of_X + shift, return_std=True, level=level)
        assert_allclose(found / of_y - of_zero, mean, rtol=1e-6)
        assert_allclose(bars / of_y, std, rtol=1e-6)
    for one, two in zip(
        plain.predict_gradient(Xs, return_std=True),
        other.predict_gradient(Xs * of_X + shift, return_std=True),
    ):
        assert_allclose(two / of_y * of_X, one, rtol=1e-5, atol=1e-6 * np.abs(one).max())
    assert_allclose(other.width_, plain.width_, rtol=1e-12)
    one, two = plain.experts_, other.experts_
    assert_allclose((two["centre"] - shift) / of_X, one["centre"], rtol=1e-6, atol=1e-6)
    assert_allclose(two["value"] / of_y - of_zero, one["value"], rtol=1e-6)
    assert_allclose(two["noise"] / of_y, one["noise"], rtol=1e-6)
    assert_allclose(two["reach"] / of_X, one["reach"], rtol=1e-6)
    assert_allclose(two["slope"] / of_y * of_X, one["slope"], rtol=1e-5, atol=1e-6)


def line(n=600):
    """Without noise, in odd units: X, y less 1e6, and the slopes."""
    X = np.random.default_rng(0).normal(size=(n, 2)) * [1e3, 1e-2] + [5.0, 7.0]
    slope = np.array([2e-3, -40.0])
    return X, X @ slope, slope


@WAYS
@pytest.mark.parametrize("width", ["auto", 0.5])
def test_a_line_is_found_in_its_own_units(way, width):
    X, y, slope = line()
    found = getattr(model(width=width, max_iter=20, max_experts=50), way)(X, 1e6 + y)
    near = X[np.abs((X - X.mean(axis=0)) / X.std(axis=0)).max(axis=1) < 1]
    assert_allclose(found.predict(near) - 1e6, near @ slope, atol=1e-5 * y.std())
    slopes = found.predict_gradient(near)
    assert_allclose(slopes, np.broadcast_to(slope, slopes.shape), rtol=1e-5)
    for j, h in enumerate(np.diag([10.0, 1e-4])):
        difference = (found.predict(near + h) - found.predict(near - h)) / (2 * h[j])
        assert_allclose(slopes[:, j], difference, rtol=1e-4)
    experts = found.experts_
    known = experts["rows"] > 20
    assert known.any()
    at = experts["centre"][known]
    assert_allclose(experts["value"][known] - 1e6, at @ slope, atol=1e-4 * y.std())
    assert_allclose(experts["slope"][known], np.broadcast_to(slope, at.shape), rtol=1e-3)
    assert (experts["noise"][known] < 0.01 * y.std()).all()
    assert experts["reach"].shape == experts["centre"].shape == (found.n_experts_, 2)
    assert experts["bandwidth"].shape == (found.n_experts_, 3)


@MODES
@WAYS
def test_what_one_expert_knows_is_the_answer_at_its_centre(mode, way):
    X, y, _ = line()
    found = getattr(model(mode=mode, max_experts=1), way)(X, 1e6 + y + np.sin(1e-3 * X[:, 0]))
    expert = found.experts_
    at = expert["centre"]
    mean, std = found.predict(at, return_std=True)
    assert_allclose(expert["value"], mean, rtol=1e-12)
    assert_allclose(expert["slope"], found.predict_gradient(at), rtol=1e-9)
    inner = found.predict(at, return_std=True, level="function")[1]
    bars = found.model_.committees[0].factor_of_bars
    noise = expert["noise"] ** 2
    if mode == "local":  # rows show the wandering of levels as noise
        noise = noise + found.scaling_.scale**2 / expert["bandwidth"][:, -1]
    assert_allclose(noise * bars, std**2 - inner**2, rtol=1e-9)
    assert expert["rows"] == 600 if mode == "paper" else 0 < expert["rows"] < 600


# -- answers --------------------------------------------------------------------------------------


@WAYS
def test_bars_follow_the_noise(way):
    rng = np.random.default_rng(0)

    def draw(n):
        X = rng.uniform(-3, 3, (n, 1))
        return X, np.sin(2 * X[:, 0]) + np.where(X[:, 0] > 0, 0.4, 0.05) * rng.normal(size=n)

    found = getattr(model(max_experts=100, max_iter=20), way)(*draw(15_000))
    Xs, ys = draw(4_000)
    lower, upper = found.predict_interval(Xs)
    held, right = (ys > lower) & (ys < upper), Xs[:, 0] > 0
    for half in (right, ~right):
        assert 0.9 < held[half].mean() < 0.99
    _, std = found.predict([[-1.5], [1.5]], return_std=True)
    assert_allclose(std, [0.05, 0.4], rtol=0.2)


@MODES
@WAYS
def test_bars_widen_in_a_gap(mode, way):
    X, y = wave(800)
    apart = np.abs(X[:, 0]) > 1
    found = getattr(model(mode=mode, max_experts=40, width=0.3), way)(X[apart], y[apart])
    for level in ("observation", "function"):
        _, std = found.predict([[0.0], [-2.0], [2.0]], return_std=True, level=level)
        assert std[0] > 1.25 * std[1:].max()
    assert std[0] > 1.5 * std[1:].max()


@MODES
@pytest.mark.parametrize("p", [None, 2])
def test_levels_and_covariances(mode, p):
    X, y = rows(300, p=p)
    found, Xs = model(mode=mode).fit(X, y), np.repeat(queries(), 2, axis=0)
    bars = {}
    for level in ("function", "observation"):
        mean, std = found.predict(Xs, return_std=True, level=level)
        again, cov = found.predict(Xs, return_cov=True, level=level)
        assert_array_equal(mean, again)
        assert_array_equal(mean, found.predict(Xs))
        assert_allclose(np.einsum("ii...->i...", cov), std**2, rtol=1e-12)
        for C in np.moveaxis(cov.reshape(22, 22, -1), -1, 0):
            assert_allclose(C, C.T, rtol=1e-9)
            assert np.linalg.eigvalsh(C).min() > -1e-10 * np.trace(C)
        if level == "function":  # the same line at the same place
            assert_allclose(cov[0, 1], std[0] ** 2, rtol=1e-9)
        draws = found.sample_y(Xs, 6_000, random_state=1, level=level)
        assert_allclose(draws.mean(axis=-1), mean, atol=0.08 * std.max())
        assert_allclose(draws.std(axis=-1), std, rtol=0.06)
        assert_allclose(np.cov(draws.reshape(22, -1, 6_000)[:, 0]), cov.reshape(22, 22, -1)[..., 0],
                        atol=0.1 * std.max() ** 2)  # fmt: skip
        bars[level] = std
    assert (bars["function"] < bars["observation"]).all()


@WAYS
def test_gradients_are_slopes_of_the_function(way):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (4_000, 2))
    y = np.sin(X[:, 0]) * X[:, 1] + 0.02 * rng.normal(size=4_000)
    found, Xs = getattr(model(max_experts=150, width=0.3), way)(X, y), 0.8 * queries(40)
    truth = np.column_stack([np.cos(Xs[:, 0]) * Xs[:, 1], np.sin(Xs[:, 0])])
    slopes, std = found.predict_gradient(Xs, return_std=True)
    assert slopes.shape == std.shape == (40, 2)
    assert rmse(slopes, truth) < 0.08
    assert np.mean(np.abs(slopes - truth) < 3 * std) > 0.9
    assert_array_equal(slopes, found.predict_gradient(Xs))


@MODES
@WAYS
def test_several_outputs_are_each_by_itself(mode, way):
    X, y = rows(260, p=3)
    both = getattr(model(mode=mode), way)(X, y)
    Xs = queries()
    mean, std = both.predict(Xs, return_std=True)
    slopes = both.predict_gradient(Xs)
    assert slopes.shape == (11, 2, 3) and len(both.experts_) == len(both.width_) == 3
    for j in range(3):
        alone = getattr(model(mode=mode), way)(X, y[:, j])
        for one, other in zip(alone.predict(Xs, return_std=True), (mean, std), strict=True):
            assert_allclose(other[:, j], one, rtol=1e-7)
        assert_allclose(slopes[..., j], alone.predict_gradient(Xs), rtol=1e-6)
        assert both.n_experts_[j] == alone.n_experts_


# -- experts --------------------------------------------------------------------------------------


@MODES
def test_experts_grow_to_their_limit_and_are_pruned(mode):
    X, y = wave(1_500)

    def grown(**given):
        found = model(mode=mode, **{"max_experts": 40, "width": 0.05, **given})
        return found.partial_fit(X, y)

    assert grown(max_experts=7).n_experts_ == 7 and grown(max_experts=1).n_experts_ == 1
    many = grown(prune=0.0)
    assert 7 < many.n_experts_ <= 40
    centres = many.experts_["centre"][:, 0]
    assert np.abs(centres[:, None] - X[:, 0]).min(axis=1).max() < 1e-9  # rows
    given = {"mode": mode, "max_experts": 40, "width": 0.2, "b": "auto", "start_rows": 100}
    noisy = X[:, 0] + 5 * (y - np.sin(X[:, 0]))
    counts = [model(**given, prune=share).partial_fit(X, noisy).n_experts_ for share in (0, 0.95)]
    assert counts[1] < counts[0]
    if mode == "local":
        assert grown(width=0.2, prune=0.0).n_experts_ < many.n_experts_
    else:
        assert grown(add_below=-3.0, prune=0.0).n_experts_ < many.n_experts_
    assert rmse(many.predict(GRID), np.sin(GRID[:, 0])) < 0.2


@MODES
@WAYS
def test_centres_given_and_on_a_grid(mode, way):
    X, y = rows(300)
    X = X * [1e3, 1.0]
    centres = np.array([[-1e3, 0.0], [5.0, 1.0], [2e3, -1.0]])
    found = getattr(model(mode=mode, centres=centres, max_experts=2), way)(X, y)
    assert_allclose(found.experts_["centre"], centres, atol=1e-9)
    grid = getattr(model(mode=mode, centres="grid", max_experts=30), way)(X, y)
    at = grid.experts_["centre"]
    assert at.shape == (25, 2)
    assert_allclose(at.min(axis=0), X.min(axis=0))
    assert_allclose(at.max(axis=0), X.max(axis=0))
    with pytest.raises(ValueError, match="centres has 2 columns, X has 1"):
        getattr(model(centres=centres), way)(X[:, :1], y)
    with pytest.raises(ValueError, match="grid.*max_experts of at least 1024"):
        getattr(model(centres="grid"), way)(np.tile(X, 5), y)


@MODES
def test_bounds_climb(mode, monkeypatch):
    found, fit = [], rvc_stream.fit
    monkeypatch.setattr(rvc_stream, "fit", lambda *a: found.append(fit(*a)) or found[-1])
    X, y = rows(300)
    stopped = contextlib.nullcontext
    if mode == "paper":
        stopped = partial(pytest.warns, ConvergenceWarning, match="max_iter=")
    with stopped():
        last = model(mode=mode, max_iter=12, tol=0.0, width=0.6, b=0.05).fit(X, y)
    traces = [climb.bounds for climb in found[0].climbs]
    assert len(traces) == last.n_experts_ and max(map(len, traces)) > 8
    assert min(np.diff(trace).min() for trace in traces if len(trace) > 1) > -1e-8
    assert_allclose(last.bound_, sum(trace[-1] for trace in traces))
    with stopped():
        sooner = model(mode=mode, max_iter=3, tol=0.0, width=0.6, b=0.05).fit(X, y)
    assert sooner.bound_ < last.bound_ and sooner.n_iter_ == 3


def test_experts_as_published_converge_by_default():
    """More sweeps, and another start of the order, change nothing that can be seen."""
    X, y = wave(150, noise=0.2)
    centres = np.linspace(-3, 3, 7)[:, None]
    chosen = {"mode": "paper", "centres": centres, "width": 0.1, "b": 0.05}
    found = RVCRegressor(**chosen, random_state=0).fit(X, y)
    assert 5 < found.n_iter_ < 1000
    more = RVCRegressor(**chosen, random_state=1, tol=1e-10, max_iter=20_000).fit(X, y)
    for one, other in zip(
        found.predict(GRID, return_std=True), more.predict(GRID, return_std=True), strict=True
    ):
        assert_allclose(one, other, atol=2e-3)


@MODES
def test_answers_do_not_depend_on_n_jobs(mode):
    X, y = wave(250)
    one, two = (model(mode=mode, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    assert_alike(one, two, GRID, rtol=0)


# -- nasty rows -----------------------------------------------------------------------------------


LINE = np.linspace(0.0, 1.0, 30)
NASTY = {
    "one row": (np.zeros((1, 2)), np.array([3.0])),
    "two rows": (np.eye(2), np.array([3.0, 4.0])),
    "equal inputs": (np.full((30, 2), 3.0), np.arange(30.0)),
    "one column constant": (np.column_stack([LINE, np.ones(30)]), np.arange(30.0)),
    "collinear": (np.column_stack([LINE, 2 * LINE]), np.sin(5 * LINE)),
    "constant y": (rows(30)[0], np.full(30, 5.0)),
    "two rows far apart": (np.array([[0.0, 0.0], [1e9, -1e9]]), np.array([0.0, 1.0])),
    "tiny": (1e-120 * rows(30)[0], 1e-120 * rows(30)[1]),
    "huge": (1e60 * rows(30)[0], 1e60 * rows(30)[1]),
    "outlier": (np.vstack([rows(30)[0], [[1e8, 1e8]]]), np.append(rows(30)[1], 1e8)),
    "copies": (np.repeat(rows(5)[0], 20, axis=0), np.repeat(rows(5)[1], 20)),
    "many columns": rows(20, d=30),
}


@pytest.mark.diagonal
@pytest.mark.parametrize("arguments", [
    {}, {"mode": "paper"}, {"forgetting": 0.9, "sweeps": 3}, {"centres": "grid"},
    {"mode": "paper", "forgetting": 0.9, "width": "auto", "b": "auto"},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("name", NASTY)
def test_finite_rows_give_finite_answers(name, arguments):
    X, y = NASTY[name]
    if name == "many columns" and "centres" in arguments:
        return
    Xs = np.vstack([X[:3], X[:1] + 1.0, 50.0 * X[-1:], np.full((1, X.shape[1]), 1e300)])
    for found in (
        model(**arguments).fit(X, y),
        model(**arguments).partial_fit(X[:1], y[:1]).partial_fit(X, y),
        model(start_rows=5, **arguments).partial_fit(X, y).partial_fit(X, y),
    ):
        assert_sound(found, Xs)
        if name in ("constant y", "one row"):
            assert_allclose(found.predict(X[:3]), y[:3], rtol=1e-9)


@MODES
@WAYS
def test_equal_inputs_and_a_constant_column(mode, way):
    y = np.random.default_rng(0).normal(7.0, 2.0, 300)
    found = getattr(model(mode=mode, max_iter=20), way)(np.full((300, 2), 3.0), y)
    mean, std = found.predict([[3.0, 3.0]], return_std=True)
    assert abs(mean[0] - y.mean()) < 0.5
    if mode == "local":  # as published many experts at one place seem to know more than one
        assert abs(np.log(std[0] / 2.0)) < np.log(1.3)
    X, y = wave(300)
    narrow = getattr(model(mode=mode), way)(X, y)
    wide = getattr(model(mode=mode), way)(np.column_stack([X, np.full(300, 1e3)]), y)
    truth, Xs = np.sin(GRID[:, 0]), np.column_stack([GRID, np.full(9, 1e3)])
    assert rmse(wide.predict(Xs), truth) < 2 * rmse(narrow.predict(GRID), truth) + 0.05


@MODES
@pytest.mark.parametrize("start_rows", [40, 100])
def test_spoilt_rows_are_refused_and_nothing_changes(mode, start_rows):
    X, y = rows(60)
    found = model(mode=mode, start_rows=start_rows).partial_fit(X, y)
    before, said = leaves(state(found)), found.predict(queries(), return_std=True)
    spoilt = np.where(np.arange(60)[:, None] == 59, np.nan, X)
    for bad, message in (
        ((spoilt, y), "NaN"), ((np.where(np.isnan(spoilt), np.inf, X), y), "infinity"),
        ((X, np.append(y[:-1], np.nan)), "NaN"), ((X[:1], [-np.inf]), "infinite"),
        ((X[:, :1], y), "features"), ((np.hstack([X, X]), y), "features"),
        ((X, np.column_stack([y, y])), "outputs"), ((X, y[:-1]), "inconsistent"),
        ((1e160 * X, y), "beyond"), ((X, 1e160 * y), "beyond"),
        ((X, y, -np.ones(60)), "sample_weight"), ((X, y, np.zeros(60)), "(?i)sample.weight"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            found.partial_fit(*bad)
        assert_same_state(before, found)
    assert_array_equal(found.predict(queries(), return_std=True), said)
    for ask in (found.predict, found.predict_gradient, found.sample_y):
        for Xs, message in ((spoilt, "NaN"), (X[:, :1], "features"), (X[0], "2D")):
            with pytest.raises(ValueError, match=message):
                ask(Xs)
    with pytest.raises(ValueError, match="level="):
        found.predict(X, level="model")
    with pytest.raises(ValueError, match="exclude each other"):
        found.predict(X, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="n_samples="):
        found.sample_y(X, 0)


# -- arguments, containers, copies ----------------------------------------------------------------

NO_SIZES = [0, -1, 2.5, "many", "auto", None, True, [3]]
BAD = {
    "mode": ["batch", None, 1, ["local"]], "max_experts": NO_SIZES, "sweeps": NO_SIZES,
    "centres": ["rows", None, 3.0, [1.0, 2.0], np.zeros((0, 2)), [["a", "b"]], [[1.0], [2.0, 3.0]],
                np.full((2, 2), np.nan), 1j * np.ones((2, 2)), np.zeros((3, 3))],
    "width": [0.0, -1.0, np.inf, np.nan, "wide", None, True, [1.0]],
    "b": [0.0, -1.0, np.inf, np.nan, "large", None, True, [1.0]],
    "max_iter": [0, -1, 2.5, "many", None, True, [3]],
    "tol": [-1e-3, np.inf, np.nan, "small", None, True], "n_jobs": [0, 1.5, "all", True, [2]],
    "forgetting": [0.0, -0.1, 1.5, np.nan, "slow", None, True, (), (0.9, 1.0), (1.0, 0.0)],
    "add_below": [np.inf, np.nan, "auto", None, True],
    "prune": [-0.1, 1.0, np.nan, "auto", None, True], "start_rows": NO_SIZES,
    "verbose": ["loud", -1, 0.5, None],
    "random_state": ["seed", -1, [0.5]],
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_named(name):
    X, y = rows(20)
    assert set(BAD) == set(RVCRegressor().get_params())
    for value in BAD[name]:
        for way in ("fit", "partial_fit") if name != "random_state" else ("fit",):
            bad = RVCRegressor(**{name: value})
            with pytest.raises(ValueError, match=name):
                getattr(bad, way)(X, y)
            assert vars(bad).keys() == bad.get_params().keys()


@pytest.mark.diagonal
@MODES
@WAYS
def test_containers_and_copies_answer_alike(mode, way):
    (X, y), given = rows(30), {"mode": mode, "width": 0.5, "max_iter": 2}
    found = getattr(model(**given), way)(X, y)
    Xs = queries()
    read_only = X.copy()
    read_only.flags.writeable = False
    for same in (X.tolist(), np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], read_only):
        assert_alike(found, getattr(model(**given), way)(same, y), Xs, rtol=0)
    names = [pd.DataFrame(each, columns=["a", "b"]) for each in (X, Xs)]
    framed = getattr(model(**given), way)(names[0], pd.Series(y))
    assert_array_equal(framed.predict(names[1]), found.predict(Xs))
    with pytest.raises(ValueError, match="feature names"):
        framed.predict(names[1][["b", "a"]])
    column = getattr(model(**given), way)(X, y[:, None])
    assert_array_equal(column.predict(Xs), found.predict(Xs)[:, None])
    again = getattr(clone(found), way)(X, y)
    for other in (again, pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        before = leaves(state(found))
        assert_alike(found, other, Xs, rtol=0)
        other.partial_fit(X, y)
        assert_same_state(before, found)
        assert rmse(other.predict(Xs), found.predict(Xs)) > 0
