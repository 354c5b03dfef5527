"""Effects of columns: averages of predictions, and the posterior of these averages."""

import datetime

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium import CommitteeClassifier, CommitteeOf, CommitteeRegressor, OnlineGPClassifier
from collegium.explain.effects import effect, effect2
from collegium.kernels import RBF, Linear

rng = np.random.default_rng(3)
X = rng.uniform(-2, 2, size=(90, 3))
Y = np.sin(2 * X[:, 0]) + 0.7 * X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=90)


@pytest.fixture(scope="module")
def gp():
    kernel = RBF(1.3, [0.8, 1.5, 2.0])
    return CommitteeRegressor(kernel, noise=0.02, learn=False).fit(X, Y)


def lone(model, rows, j, value):
    moved = rows.copy()
    moved[:, j] = value
    return moved


def test_partial_dependence_is_the_mean_of_predictions_with_the_posterior_of_that_mean(gp):
    grid, some = [-1.0, 0.2, 1.7], X[:40]
    found = effect(gp, some, 1, grid=grid)
    for k, value in enumerate(grid):
        mean, C = gp.predict(lone(gp, some, 1, value), return_cov=True, level="function")
        assert_allclose(found.mean[k], mean.mean(), rtol=1e-10)
        assert_allclose(found.sd[k], np.sqrt(C.mean()), rtol=1e-8)
    assert_allclose(found.base, gp.predict(some).mean(), rtol=1e-12)
    assert found.joint and found.rows == 40 and found.column == "x1"
    near = np.abs(some[:, 1, None] - grid).argmin(axis=1)
    assert_allclose(found.share, np.bincount(near, minlength=3) / 40)


def test_the_sd_of_an_average_is_less_than_the_mean_of_sds(gp):
    found = effect(gp, X, 0, grid=[0.0])
    sd = gp.predict(lone(gp, X, 0, 0.0), return_std=True, level="function")[1]
    assert found.sd[0] < 0.8 * sd.mean()


def slow_accumulated(f, x, z):
    """Differences of predictions at the ends of bins, one row at a time: Apley & Zhu, eq. 15."""
    steps = []
    for k in range(z.size - 1):
        inside = [i for i in range(len(x)) if z[k] < x[i] <= z[k + 1] or (k == 0 and x[i] == z[0])]
        steps.append(np.mean([f(i, z[k + 1]) - f(i, z[k]) for i in inside]))
    return np.array([0.0, *np.cumsum(steps)])


def test_accumulated_effects_are_sums_of_mean_differences_within_bins(gp):
    z = np.array([-2.0, -0.9, 0.1, 0.8, 2.0])
    found = effect(gp, X, 0, kind="accumulated", grid=z)

    def f(i, value):
        return gp.predict(lone(gp, X[i : i + 1], 0, value))[0]

    curve = slow_accumulated(f, X[:, 0], z)
    near = np.bincount(np.abs(X[:, 0, None] - z).argmin(axis=1), minlength=5) / len(X)
    assert_allclose(found.mean, curve - near @ curve, atol=1e-10)
    draws = gp.sample_y(  # the sd, by functions drawn from the posterior
        np.concatenate([lone(gp, X, 0, value) for value in z]), 4000, level="function"
    ).reshape(5, len(X), -1)
    each = np.stack([slow_accumulated(lambda i, value, s=s: draws[list(z).index(value), i, s],
                                      X[:, 0], z) for s in range(400)])  # fmt: skip
    each = each - (each @ near)[:, None]
    assert_allclose(found.sd, each.std(axis=0), rtol=0.2)


def test_rows_at_an_end_of_two_bins_are_in_the_lower_one(gp):
    """As Apley and Zhu's bins (z, z′]; the first has its lower end too."""
    some, z = X.copy(), np.array([-1.5, -0.3, 0.8, 1.9])
    some[:, 0] = z[np.arange(90) % 4]
    found = effect(gp, some, 0, kind="accumulated")
    assert_allclose(found.grid, z)
    steps = []
    for k in range(3):
        inside = (some[:, 0] == z[k + 1]) | ((some[:, 0] == z[0]) & (k == 0))
        high, low = (gp.predict(lone(gp, some[inside], 0, end)) for end in (z[k + 1], z[k]))
        steps.append((high - low).mean())
    assert_allclose(np.diff(found.mean), steps, rtol=1e-8)


def test_effects_of_a_linear_function_are_lines_whatever_the_rows():
    """Where columns go together, partial dependence and accumulated effects of a line agree."""
    Z = X.copy()
    Z[:, 1] = 0.95 * Z[:, 0] + 0.05 * Z[:, 1]
    model = CommitteeRegressor(Linear(1.0), noise=1e-4, learn=False).fit(Z, Z @ [1.0, -2.0, 0.5])
    for kind in ("partial", "accumulated"):
        found = effect(model, Z, "x1", kind=kind, grid=7)
        slope = np.diff(found.mean) / np.diff(found.grid)
        own = np.diff(model.predict([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))[0]
        assert -2.5 < own < -1.5
        assert_allclose(slope, own, rtol=1e-6)


def test_two_columns(gp):
    found = effect2(gp, X, (2, "x0"), grid=([-1.0, 1.0, 1.5], [0.0, 0.5]), n_rows=20)
    assert found.mean.shape == found.sd.shape == found.share.shape == (3, 2)
    assert found.rows == 20 and found.column == ("x2", "x0")
    everywhere = effect2(gp, X, (0, 2), grid=([0.5], [1.5]))
    moved = lone(gp, lone(gp, X, 0, 0.5), 2, 1.5)
    chosen = np.sort(np.random.default_rng(0).choice(90, 50, replace=False))
    mean, C = gp.predict(moved[chosen], return_cov=True, level="function")
    assert_allclose(everywhere.mean, mean.mean(), rtol=1e-10)
    assert_allclose(everywhere.sd, np.sqrt(C.mean()), rtol=1e-8)
    assert_allclose(found.share.sum(), 1.0)


def test_rows_are_sampled_by_their_seed(gp):
    one, two = (effect(gp, X, 0, n_rows=30, random_state=s) for s in (0, 0))
    other = effect(gp, X, 0, n_rows=30, random_state=1)
    assert_array_equal(one.mean, two.mean)
    assert one.rows == 30 and np.abs(one.mean - other.mean).max() > 0


def frame(n=120):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    size = rng.uniform(0, 4, n)
    city = rng.choice(["Lima", "Oslo", "Rome"], n)
    day = [datetime.datetime(2021, 1, 1) + datetime.timedelta(days=int(k)) for k in
           rng.integers(0, 700, n)]  # fmt: skip
    size[::9] = np.nan
    y = np.nan_to_num(size) + 2.0 * (city == "Oslo") + 0.1 * rng.normal(size=n)
    y += 0.002 * np.array([(one - datetime.datetime(2021, 1, 1)).days for one in day])
    table = pandas.DataFrame({"size": size, "city": city, "day": day})
    table.loc[::17, "city"] = None
    return table, y


@pytest.fixture(scope="module")
def tabled():
    table, y = frame()
    return CommitteeRegressor(random_state=0).fit(table, y), table


def test_levels_dates_and_gaps_count_as_their_columns(tabled):
    model, table = tabled
    found = effect(model, table, "city")
    assert list(found.grid) == ["Lima", "Oslo", "Rome"]
    moved = table.assign(city="Oslo")
    assert_allclose(found.mean[1], model.predict(moved).mean(), rtol=1e-8)
    assert_allclose(found.share, [(table.city == one).mean() for one in found.grid])
    assert_allclose(found.missing[0], model.predict(table.assign(city=None)).mean(), rtol=1e-8)
    assert_allclose(found.missing[2], table.city.isna().mean())
    assert 1.5 < found.mean[1] - found.mean[0] < 2.5

    found = effect(model, table, "size", grid=[1.0, 3.0])
    assert_allclose(found.mean[0], model.predict(table.assign(size=1.0)).mean(), rtol=1e-8)
    assert_allclose(found.missing[0], model.predict(table.assign(size=np.nan)).mean(), rtol=1e-8)
    assert_allclose(found.share.sum() + found.missing[2], 1.0)

    days = np.array(["2021-03-01", "2022-06-01"], "M8[s]")
    found = effect(model, table, "day", grid=days)
    assert_array_equal(found.grid, days)
    assert_allclose(found.mean[1], model.predict(table.assign(day=days[1])).mean(), rtol=1e-8)
    assert effect(model, table, "day", kind="accumulated").grid.dtype.kind == "M"


def test_accumulated_effects_of_levels(tabled):
    model, table = tabled
    found = effect(model, table, "city", kind="accumulated")
    steps = []
    for one, other in (("Lima", "Oslo"), ("Oslo", "Rome")):
        some = table[table.city.isin([one, other])]
        steps.append((model.predict(some.assign(city=other))
                      - model.predict(some.assign(city=one))).mean())  # fmt: skip
    assert_allclose(np.diff(found.mean), steps, atol=1e-8)


@pytest.mark.parametrize("level", ["probability", "log odds"])
def test_classes(level):
    label = np.array(["no", "yes"])[(X[:, 0] + 0.3 * rng.normal(size=90) > 0).astype(int)]
    model = CommitteeClassifier(random_state=0).fit(X, label)
    found = effect(model, X, 0, grid=[-1.0, 0.0, 1.0], level=level)
    for k, value in enumerate((-1.0, 0.0, 1.0)):
        p = model.predict_proba(lone(model, X, 0, value))
        own = p[:, 1] if level == "probability" else np.log(p[:, 1] / p[:, 0])
        assert_allclose(found.mean[k], own.mean(), rtol=1e-9)
    assert found.words == f"{level} of yes" and (found.sd > 0).all()
    other = effect(model, X, 0, grid=[-1.0, 0.0, 1.0], level=level, output="no")
    total = 1.0 if level == "probability" else 0.0
    assert_allclose(found.mean + other.mean, total, atol=1e-9)
    assert_allclose(found.sd, other.sd, rtol=1e-5)


def test_several_classes_of_a_stream():
    label = np.digitize(X[:, 0], [-0.7, 0.7])
    model = OnlineGPClassifier(random_state=0).fit(X, label)
    found = [effect(model, X, 0, grid=3, output=k, n_rows=20) for k in range(3)]
    assert_allclose(sum(one.mean for one in found), 1.0)
    with pytest.raises(ValueError, match="output=None: give the label of a class"):
        effect(model, X, 0)


def test_models_without_covariances_have_the_mean_of_sds(gp):
    parts = [("a", CommitteeRegressor(RBF(1.0, 1.0), noise=0.1, learn=False)),
             ("b", CommitteeRegressor(RBF(1.0, 0.5), noise=0.1, learn=False))]  # fmt: skip
    model = CommitteeOf(parts, combination="rbcm").fit(X, Y)
    found = effect(model, X, 0, grid=[0.5])
    mean, sd = model.predict(lone(model, X, 0, 0.5), return_std=True, level="function")
    assert not found.joint
    assert_allclose([found.mean[0], found.sd[0]], [mean.mean(), sd.mean()], rtol=1e-10)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"column": "nowhere"}, "column='nowhere': give one of 'x0'"),
        ({"column": 3}, "column=3"),
        ({"kind": "local"}, "kind='local'"),
        ({"grid": 1}, "grid=1: give at least two points"),
        ({"grid": []}, "grid is empty"),
        ({"grid": [np.nan]}, "grid has missing values"),
        ({"n_rows": 0}, "n_rows=0"),
        ({"level": "mean"}, "level='mean'"),
        ({"output": 1}, "output=1: the model has 1 output"),
        ({"random_state": "x", "n_rows": 5}, "random_state='x'"),
    ],
)
def test_bad_arguments_are_named(gp, given, word):
    with pytest.raises(ValueError, match=word):
        effect(gp, X, **{"column": 0, **given})


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"columns": 1}, "columns=1: give two columns"),
        ({"columns": (0, 0)}, "give two different columns"),
        ({"grid": 2.5}, "grid: give a number, or a pair"),
        ({"grid": ([0.0],)}, "grid: give a number, or a pair"),
    ],
)
def test_bad_arguments_of_two_columns_are_named(gp, given, word):
    with pytest.raises(ValueError, match=word):
        effect2(gp, X, **{"columns": (0, 1), **given})


def test_models_of_others_are_refused():
    with pytest.raises(ValueError, match="give a fitted regressor or classifier of collegium"):
        effect(object(), X, 0)
