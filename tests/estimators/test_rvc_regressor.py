"""RVCRegressor: what it promises on batches, streams, merged streams and nasty rows."""

import copy
import pickle

import numpy as np
import pytest
from estimator_cases import assert_same_state, leaves, queries, rmse, rows, state
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from collegium import RVCRegressor
from collegium.core.rvc import race as racing
from collegium.core.rvc.choosing import Choice, begin
from collegium.core.rvc.committee import Habits
from collegium.estimators import rvc_stream

SMALL = {"max_experts": 12, "max_iter": 4, "random_state": 0}
MODES = pytest.mark.parametrize("mode", ["local", "paper"])
WAYS = pytest.mark.parametrize("way", ["fit", "partial_fit"])
GRID = np.linspace(-2.5, 2.5, 9)[:, None]


def model(**given):
    return RVCRegressor(**{**SMALL, **given})


def wave(n, seed=0, noise=0.1):
    """One column in [-3, 3], y = sin x."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(X[:, 0]) + noise * rng.normal(size=n)


def assert_alike(one, other, Xs, rtol):
    """The same means, bars and slopes; rtol = 0: to the last bit."""
    for a, b in zip(one.predict(Xs, return_std=True), other.predict(Xs, return_std=True)):
        assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(a).max())
    slopes = one.predict_gradient(Xs)
    atol = rtol * np.abs(slopes).max()
    assert_allclose(slopes, other.predict_gradient(Xs), rtol=rtol, atol=atol)


def assert_sound(found, Xs):
    for level in ("function", "observation"):
        mean, std = found.predict(Xs, return_std=True, level=level)
        assert np.isfinite(mean).all() and np.isfinite(std).all() and (std >= 0).all()
        _, cov = found.predict(Xs, return_cov=True, level=level)
        assert np.isfinite(cov).all()
    assert (std > 0).all()
    slopes, bars = found.predict_gradient(Xs, return_std=True)
    assert np.isfinite(slopes).all() and np.isfinite(bars).all() and (bars >= 0).all()
    assert np.isfinite(found.sample_y(Xs, 2)).all()
    experts = found.experts_ if isinstance(found.experts_, list) else [found.experts_]
    assert all(np.isfinite(values).all() for each in experts for values in each.values())


@parametrize_with_checks([model(), model(mode="paper")])
def test_scikit_learn_conventions_hold(estimator, check):
    check(estimator)


# -- units ----------------------------------------------------------------------------------------


@MODES
@WAYS
@pytest.mark.parametrize("of_X, shift, of_y, of_zero", [
    ([1e3, 1e-4], [7.0, -2.0], 1e6, -3.0), ([1e-6, 1e6], [0.0, 1e7], 1e-6, 1.0),
    ([1.0, 1.0], [0.0, 0.0], 1e6, 0.0), ([1e-120, 1e120], [0.0, 0.0], 1e120, 0.0),
])  # fmt: skip
def test_answers_follow_the_units(mode, way, of_X, shift, of_y, of_zero):
    (X, y), Xs = rows(200), queries()
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


@MODES
@WAYS
def test_a_line_is_known_in_its_own_units(mode, way):
    X = np.random.default_rng(0).normal(size=(600, 2)) * [1e3, 1e-2] + [5.0, 7.0]
    slope = np.array([2e-3, -40.0])
    y = 1e6 + X @ slope
    found = getattr(model(mode=mode, max_iter=20), way)(X, y)
    rtol = 1e-4 if mode == "local" else 0.4  # as published slopes are found by and by
    near = X[np.abs((X - [5.0, 7.0]) / [1e3, 1e-2]).max(axis=1) < 1]
    steps = np.diag([10.0, 1e-4])
    differences = [
        (found.predict(near + h) - found.predict(near - h)) / (2 * h.sum()) for h in steps
    ]
    if mode == "local":
        assert_allclose(found.predict_gradient(near), np.tile(slope, (len(near), 1)), rtol=rtol)
        assert_allclose(np.column_stack(differences), found.predict_gradient(near), rtol=1e-5)
    assert_allclose(found.predict(near) - 1e6, near @ slope, atol=rtol * y.std())
    experts = found.experts_
    heard = experts["rows"] > 20
    assert heard.any()
    gap = experts["value"] - 1e6 - experts["centre"] @ slope
    assert_allclose(gap[heard], 0.0, atol=2 * rtol * y.std())
    if mode == "local":
        assert_allclose(experts["slope"][heard], np.tile(slope, (heard.sum(), 1)), rtol=rtol)
    assert experts["reach"].shape == experts["centre"].shape == (found.n_experts_, 2)
    assert experts["bandwidth"].shape == (found.n_experts_, 3)
    assert mode == "paper" or (experts["noise"] < 0.01 * y.std()).all()


# -- streams --------------------------------------------------------------------------------------


@MODES
@pytest.mark.parametrize("p", [None, 2])
def test_a_stream_in_many_calls_is_the_stream(mode, p):
    X, y = rows(900, p=p)
    one = model(mode=mode, start_rows=100, forgetting=0.999, sweeps=2).partial_fit(X, y)
    many = model(mode=mode, start_rows=100, forgetting=0.999, sweeps=2)
    for part in np.split(np.arange(900), [1, 2, 30, 99, 100, 101, 150, 420]):
        many.partial_fit(X[part], y[part])
    assert_alike(one, many, queries(), rtol=0)
    assert one.n_seen_ == many.n_seen_ == 900
    assert one.width_ == many.width_ and one.n_experts_ == many.n_experts_
    for a, b in zip(one.stream_.races, many.stream_.races, strict=True):
        assert (a.laps, a.lap_rows, a.lap_length, a.leader) == (
            b.laps, b.lap_rows, b.lap_length, b.leader,
        )  # fmt: skip
        assert_allclose(a.gains, b.gains, rtol=1e-10)
    for kept in (one.stream_.waiting, many.stream_.waiting):
        assert kept is None


@MODES
def test_the_first_rows_are_answered_for(mode):
    X, y = wave(130)
    found = model(mode=mode, start_rows=100)
    for i in range(130):
        found.partial_fit(X[[i]], y[[i]])
        assert_sound(found, X[:3])
        assert found.n_seen_ == i + 1
        assert (found.stream_.waiting is None) == (i + 1 >= 100)
        if i == 0:
            assert_allclose(found.predict(X[:5]), y[0], rtol=1e-12)
    assert rmse(found.predict(GRID), np.sin(GRID[:, 0])) < 0.35


@MODES
def test_fit_goes_on_as_a_stream(mode):
    X, y = wave(1200)
    found = model(mode=mode, max_experts=40).fit(X[:300], y[:300])
    assert found.bound_ and 1 <= found.n_iter_ <= 4 and found.n_seen_ == 300
    before = rmse(found.predict(GRID), np.sin(GRID[:, 0]))
    found.partial_fit(X[300:], y[300:])
    assert found.n_seen_ == 1200
    assert rmse(found.predict(GRID), np.sin(GRID[:, 0])) < max(before, 0.03)
    stream = model(mode=mode).partial_fit(X, y)
    assert stream.n_iter_ == 0 and not hasattr(stream, "bound_")


@MODES
def test_forgetting_follows_a_jump(mode):
    X, y = wave(2500)
    y[1500:] *= -1
    errors = {}
    for forgetting in (1.0, 0.95):
        found = model(mode=mode, forgetting=forgetting, max_experts=30, width=0.3)
        found.partial_fit(X, y)
        errors[forgetting] = rmse(found.predict(GRID), -np.sin(GRID[:, 0]))
    assert errors[0.95] < 0.1 < 0.5 < errors[1.0]
    faded, still = (
        model(mode=mode, forgetting=f, width=0.3, max_experts=30).fit(X, y) for f in (0.99, 1.0)
    )
    errors = [rmse(each.predict(GRID), -np.sin(GRID[:, 0])) for each in (faded, still)]
    assert errors[0] < 0.1 < 0.5 < errors[1]


# -- bars -----------------------------------------------------------------------------------------


@WAYS
def test_bars_follow_the_noise(way):
    rng = np.random.default_rng(0)

    def draw(n):
        X = rng.uniform(-3, 3, (n, 1))
        return X, np.sin(2 * X[:, 0]) + np.where(X[:, 0] > 0, 0.4, 0.05) * rng.normal(size=n)

    found = getattr(model(max_experts=100, max_iter=20), way)(*draw(30_000))
    Xs, ys = draw(8_000)
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
    assert std[0] > 2 * std[1:].max()


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


# -- weights --------------------------------------------------------------------------------------


@MODES
def test_weights_are_repetitions(mode):
    X, y = rows(150)
    w = np.random.default_rng(0).integers(0, 4, 150)
    again = np.repeat(np.arange(150), w)
    weighed = model(mode=mode).fit(X, y, w)
    assert_alike(weighed, model(mode=mode).fit(X[again], y[again]), queries(), rtol=0)
    assert weighed.n_seen_ == (w > 0).sum()
    plain = model(mode=mode).fit(X, y)
    assert rmse(plain.predict(queries()), weighed.predict(queries())) > 1e-3


@MODES
def test_weights_on_a_stream(mode):
    X, y = rows(1_000)
    w = np.random.default_rng(0).integers(0, 3, 1_000)
    streams = {"w": (X, y, w), "without": (X[w > 0], y[w > 0], w[w > 0])}
    again = np.repeat(np.arange(1_000), w)
    streams["twice"] = X[again], y[again]
    given = {"mode": mode, "start_rows": 200, "width": 0.8}
    found = {name: model(**given).partial_fit(*each) for name, each in streams.items()}
    assert_alike(found["w"], found["without"], queries(), rtol=0)
    assert found["w"].n_seen_ == (w > 0).sum()
    one, two = (found[name].predict(queries(), return_std=True) for name in ("w", "twice"))
    assert rmse(one[0], two[0]) < 0.1 * y.std()
    assert_allclose(one[1], two[1], rtol=0.4)


# -- merging --------------------------------------------------------------------------------------


def streams(n=3, **given):
    """A model that has settled, and copies of it that went on with rows of their own."""
    X, y = wave(400 + 600 * n)
    first = model(start_rows=200, **{"width": 0.3, **given}).partial_fit(X[:400], y[:400])
    copies = []
    for part in np.split(np.arange(400, len(y)), n):
        copies.append(copy.deepcopy(first).partial_fit(X[part], y[part]))
    return first, copies, copy.deepcopy(first).partial_fit(X[400:], y[400:])


@MODES
@pytest.mark.parametrize("centres", ["given", "grow"])
def test_merged_streams_are_one_stream(mode, centres):
    centres = "grow" if centres == "grow" else np.linspace(-3, 3, 9)[:, None]
    first, copies, whole = streams(mode=mode, centres=centres)
    merged = copy.deepcopy(copies[0]).merge(*copies[1:], common=first)
    assert merged.n_seen_ == whole.n_seen_ == 2_200
    mean, std = merged.predict(GRID, return_std=True)
    expected, bars = whole.predict(GRID, return_std=True)
    assert rmse(mean, expected) < 0.02
    assert_allclose(std, bars, rtol=0.25)
    truth = np.sin(GRID[:, 0])
    errors = [rmse(each.predict(GRID), truth) for each in (first, *copies)]
    assert rmse(mean, truth) < errors[0] and rmse(mean, truth) < 1.1 * np.mean(errors[1:])
    if not isinstance(centres, str):
        assert merged.n_experts_ == 9
        heard = sum(each.experts_["rows"] for each in copies) - 2 * first.experts_["rows"]
        assert_allclose(merged.experts_["rows"], heard)
        assert_allclose(merged.experts_["rows"], whole.experts_["rows"])
    for order in ([2, 0, 1], [1, 2, 0]):
        one, *others = (copy.deepcopy(copies[i]) for i in order)
        assert_alike(merged, one.merge(*others, common=first), GRID, rtol=1e-7)
    X, y = wave(300, seed=5)
    merged.partial_fit(X, y)  # and goes on
    assert merged.n_seen_ == 2_500 and rmse(merged.predict(GRID), truth) < 0.15


@MODES
def test_merging_nothing_new_changes_nothing(mode):
    centres = np.append(np.linspace(-3, 3, 5), 0.0)[:, None]  # one of them twice
    for given in ("grow", centres):
        _, (one, *_), _ = streams(1, mode=mode, centres=given)
        same = copy.deepcopy(one)
        assert_alike(one, same.merge(copy.deepcopy(one), common=one), GRID, rtol=1e-6)
        assert same.n_seen_ == one.n_seen_
        assert_alike(one, copy.deepcopy(one).merge(), GRID, rtol=1e-6)


def test_models_that_do_not_belong_together_are_not_merged():
    first, (one, other), _ = streams(2)
    before = leaves(state(one))
    X, y = wave(400)
    wider = copy.deepcopy(one.stream_.races[0].committees[0].assumed)
    assert wider.unit == one.width_
    strangers = {
        "scale X and y differently": [
            model(width=0.3).partial_fit(2 * X, y), model(width=0.3).partial_fit(X, y),
            model(width=0.3).fit(np.hstack([X, X]), y), model().fit(X, np.column_stack([y, y])),
        ],
        "different widths": [
            model(width=0.4, start_rows=200).partial_fit(*wave(1_600)),
            model(width=0.3, start_rows=200, mode="paper").partial_fit(*wave(1_600)),
        ],
        "fitted RVCRegressors": ["model", None],
        "not fitted": [model()],
    }  # fmt: skip
    for message, models in strangers.items():
        for stranger in models:
            for arguments, common in (((stranger,), None), ((other, stranger), first)):
                with pytest.raises(ValueError, match=message):
                    one.merge(*arguments, common=common)
            if stranger is not None:
                with pytest.raises(ValueError, match=message):
                    one.merge(other, common=stranger)
            assert_same_state(before, one)
    with pytest.raises(NotFittedError):
        model().merge(one)


# -- experts: how many, where, how wide -----------------------------------------------------------


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
    assert grown(prune=0.9).n_experts_ < many.n_experts_
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


def test_the_width_that_foretells_best_leads_and_wider_ones_leave():
    X, y = rows(2_000)
    y, w = (y - y.mean()) / y.std(), np.random.default_rng(0).uniform(0.5, 1.5, 2_000)
    choice = Choice(True, Habits(max_experts=15), None, None, None, 3, 1e-4)
    race, start, kept = begin(choice, X, y, w, 60), 0, []
    assert len(race.committees) == 9 and race.leader == 4
    while race.laps:
        part = slice(start, start + race.lap_length)
        gains = []
        for committee in race.committees:
            _, mean, v = committee.heard(X[part], y[part], w[part])
            gains.append(np.sum(w[part] * (-((y[part] - mean) ** 2) / v - np.log(2 * np.pi * v))))
        few, most = slice(start, start + 49), slice(start, start + race.lap_length - 1)
        assert race.heard(X[few], y[few], w[few]).leader == race.before
        late = race.heard(X[most], y[most], w[most])
        assert late.leader == np.argmax(late.gains) and len(late.committees) == len(gains)
        after, best = race.heard(X[part], y[part], w[part]), int(np.argmax(gains))
        first = max(best - racing.NARROWER, 0) if race.laps > 1 else best
        units = [committee.assumed.unit for committee in race.committees]
        assert units == sorted(units)
        assert [c.assumed.unit for c in after.committees] == units[first : best + 1]
        assert after.best.assumed.unit == units[best]
        kept.append(len(after.committees))
        race, start = after, part.stop
    assert start == 60 * 31 and kept[-1] == 1 and kept == sorted(kept, reverse=True)
    _, mean, v = race.best.heard(X[start:], y[start:], w[start:])
    assert race.heard(X[start:], y[start:], w[start:]).committees[0].assumed is race.best.assumed


@MODES
def test_memory_does_not_grow_with_the_rows(mode):
    found, sizes = model(mode=mode, start_rows=50), {}
    for seed in range(10):
        found.partial_fit(*wave(10_000, seed))
        sizes[found.n_seen_] = len(pickle.dumps(found))
    flat = [sizes[n] for n in range(20_000, 100_001, 10_000)]
    assert max(flat) - min(flat) < 100
    assert max(flat) < 20_000


@MODES
def test_bounds_climb(mode, monkeypatch):
    found, fit = [], rvc_stream.fit
    monkeypatch.setattr(rvc_stream, "fit", lambda *a: found.append(fit(*a)) or found[-1])
    X, y = rows(300)
    last = model(mode=mode, max_iter=12, tol=0.0, width=0.6, b=0.05).fit(X, y)
    traces = found[0].bounds
    assert len(traces) == last.n_experts_ and max(map(len, traces)) > 8
    assert min(np.diff(trace).min() for trace in traces if len(trace) > 1) > -1e-8
    assert_allclose(last.bound_, sum(trace[-1] for trace in traces))
    sooner = model(mode=mode, max_iter=3, tol=0.0, width=0.6, b=0.05).fit(X, y)
    assert sooner.bound_ < last.bound_ and sooner.n_iter_ == 3
