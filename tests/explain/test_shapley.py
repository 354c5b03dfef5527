"""Contributions of columns: theorems of Shapley values, and the posterior of their parts."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium import (
    CommitteeClassifier,
    CommitteeOf,
    CommitteeRegressor,
    OnlineGPClassifier,
    RegressionFilter,
    RVCRegressor,
)
from collegium.explain.asking import AskedModel
from collegium.explain.explaining import Question, parts_of_bar
from collegium.explain.products import KernelSums, factors
from collegium.explain.shapley import (
    Orders,
    all_coalitions,
    by_coalitions,
    by_orders,
    distinct_points,
)
from collegium.explain.tuning import TUNING
from collegium.kernels import RBF, Constant, Linear, Matern32, Periodic
from collegium.messages.expansion import Expansion
from collegium.tables.encoding import Column
from collegium.tables.reading import NUMBER

rng = np.random.default_rng(8)
X = rng.uniform(-2, 2, size=(70, 4))
Y = np.sin(2 * X[:, 0]) + 0.7 * X[:, 1] * X[:, 2] + 0.05 * rng.normal(size=70)
ALONE = tuple((j,) for j in range(4))


def brute(f, x, background):
    """Shapley values by their definition, one coalition at a time."""
    d = x.size

    def v(S):
        mixed = background.copy()
        mixed[:, list(S)] = x[list(S)]
        return f(mixed).mean()

    found = np.zeros(d)
    for j in range(d):
        others = [k for k in range(d) if k != j]
        for size in range(d):
            w = math.factorial(size) * math.factorial(d - size - 1) / math.factorial(d)
            for S in itertools.combinations(others, size):
                found[j] += w * (v((*S, j)) - v(S))
    return found


def mixed(Z):
    """A function of four columns with interactions of all of them."""
    return np.exp(0.3 * Z[:, 0] * Z[:, 1]) + Z[:, 2] * np.tanh(Z[:, 3] - Z[:, 0]) + Z[:, 1]


# -- the algorithms ---------------------------------------------------------------------------


def test_all_coalitions_are_the_definition():
    found = by_coalitions(mixed, X[:3], X[10:17], ALONE, most=30)
    assert_allclose(found, [brute(mixed, x, X[10:17]) for x in X[:3]], rtol=1e-11)


def test_orders_are_unbiased_and_know_their_error():
    exact = by_coalitions(mixed, X[:2], X[10:22], ALONE, most=10**4)
    wrong, claimed = [], []
    for seed in range(150):
        orders = Orders.drawn(4, 12, 2, np.random.default_rng(seed))
        found, error = by_orders(mixed, X[:2], X[10:22], ALONE, orders, most=100)
        assert_allclose(found.sum(axis=1), mixed(X[:2]) - mixed(X[10:22]).mean(), atol=1e-12)
        wrong.append(found - exact)
        claimed.append(error)
    mse, said = np.mean(np.square(wrong), axis=0), np.mean(np.square(claimed), axis=0)
    assert_allclose(np.mean(wrong, axis=0), 0.0, atol=1e-12 + 0.3 * np.sqrt(mse.max()))
    assert_allclose((mse / said)[:, [0, 2, 3]].mean(), 1.0, atol=0.25)
    assert_allclose(mse[:, 1], 0.0, atol=1e-24)  # column 1 is alone, or in a pair


def test_reversed_orders_are_exact_for_pairs_of_columns():
    """An order and its reverse share an interaction of two columns equally."""

    def pairs(Z):
        return Z[:, 0] * Z[:, 1] - 2.0 * Z[:, 1] * Z[:, 3] + Z[:, 2] ** 3

    exact = by_coalitions(pairs, X[:4], X[10:15], ALONE, most=10**4)
    orders = Orders.drawn(4, 5, 1, np.random.default_rng(0))
    found, error = by_orders(pairs, X[:4], X[10:15], ALONE, orders, most=10**4)
    assert_allclose(found, exact, atol=1e-12)
    assert np.isfinite(error).all()


def test_errors_of_single_pairs_are_rather_too_large():
    exact = by_coalitions(mixed, X[:2], X[10:13], ALONE, most=10**4)
    wrong, claimed = [], []
    for seed in range(150):
        orders = Orders.drawn(4, 3, 1, np.random.default_rng(seed))
        found, error = by_orders(mixed, X[:2], X[10:13], ALONE, orders, most=10**4)
        wrong.append(found - exact)
        claimed.append(error)
    mse, said = np.mean(np.square(wrong), axis=0), np.mean(np.square(claimed), axis=0)
    assert (said[:, [0, 2, 3]] > mse[:, [0, 2, 3]]).all() and said.max() < 20.0 * mse.max()


def test_a_design_is_the_linear_map_of_its_method():
    orders = Orders.drawn(4, 6, 2, np.random.default_rng(1))
    by_paths, _ = by_orders(mixed, X[:1], X[10:16], ALONE, orders, most=10**4)
    for design, expected in (
        (orders.design(), by_paths[0]),
        (all_coalitions(4, 6), brute(mixed, X[0], X[10:16])),
    ):
        points = design.points(X[0], X[10:16], ALONE)
        assert_allclose(design.A @ mixed(points), expected, rtol=1e-10)
        fewer, A = distinct_points(design, points)
        assert len(fewer) < len(points)
        assert_allclose(A @ mixed(fewer), expected, rtol=1e-10)


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(1.4, [0.7, 1.0, 1.6, 2.0]),
        RBF(0.5, 1.2) + RBF(1.4, [0.7, 1.0, 1.6, 2.0]) + Constant(0.3),
        Linear([0.5, 1.0, 2.0, 0.7]) + RBF(1.0, 0.8, columns=[0, 3]),
        Matern32(0.8, 0.9, columns=2) * (RBF(1.0, 1.5) + Linear(1.3, columns=[0, 1])),
        Periodic(1.1, 1.0, 2.5, columns=1) * Matern32(1.0, 1.0, columns=3),
    ],
    ids=["ARD", "sum", "linear", "product of sums", "columns"],
)
@pytest.mark.parametrize("groups", [ALONE, ((0, 2), (1,), (3,))], ids=["alone", "together"])
def test_sums_of_products_are_the_definition(kernel, groups):
    points, weights = X[20:45], rng.normal(size=(25, 2))
    expansion = Expansion(kernel, points, weights)
    found = KernelSums(((expansion, 1),), 3.0).contributions(X[:3], X[50:56], groups)

    def f(Z):
        return 3.0 * (kernel.value(Z, points) @ weights)[:, 1]

    assert_allclose(found, by_coalitions(f, X[:3], X[50:56], groups, 10**4), atol=1e-11)


def test_kernels_of_distances_do_not_factor():
    assert factors(Matern32(1.0, [1.0, 2.0, 1.0, 1.0]), ALONE, 4) is None
    assert factors(RBF(1.0, 1.0) * Matern32(1.0, 1.0, columns=[0, 1]), ALONE, 4) is None
    assert len(factors(RBF(1.0, 1.0) + Linear(1.0), ALONE, 4)) == 5


# -- models -----------------------------------------------------------------------------------


def rbf(**more):
    return CommitteeRegressor(RBF(1.3, [0.8, 1.5, 2.0, 3.0]), noise=0.01, learn=False, **more)


@pytest.fixture(scope="module")
def gp():
    return rbf().fit(X, Y)


def rough():
    return CommitteeRegressor(Matern32(1.3, [0.8, 1.5, 2.0, 3.0]), noise=0.01, learn=False)


def models():
    """One of each way of answering, with rows enough to be that way."""
    label = np.array(["a", "b"])[(Y > 0).astype(int)]
    three = np.digitize(Y, [-0.5, 0.5])
    counts = np.random.default_rng(0).poisson(np.exp(0.5 * Y))
    parts = [("a", rbf()), ("b", rough())]
    return {
        "exact": (gp_of(rbf(), Y), {}),
        "not factored": (gp_of(rough(), Y), {}),
        "averaged": (gp_of(CommitteeRegressor(random_state=0), Y), {}),
        "anchors": (gp_of(rbf(chunks=3, anchors=X[::4], n_local=0), Y), {}),
        "nearest": (gp_of(rbf(chunks=3, anchors=X[::4], n_local=20), Y), {}),
        "two outputs": (gp_of(rbf(), np.column_stack([Y, 2 - Y**2])), {"output": 1}),
        "counts": (
            gp_of(CommitteeRegressor(RBF(1.0, 1.5), likelihood="poisson", learn=False), counts), {}
        ),
        "experts": (gp_of(CommitteeOf(parts, combination="rbcm"), Y), {"background": X[:20]}),
        "filter": (
            gp_of(RegressionFilter(random_state=0), Y), {"background": X[:20], "error": False}
        ),
        "rvc": (gp_of(RVCRegressor(random_state=0), Y), {"background": X[:20]}),
        "probability": (gp_of(CommitteeClassifier(random_state=0), label), {}),
        "log odds": (
            gp_of(CommitteeClassifier(random_state=0), label), {"level": "log odds", "output": "a"}
        ),
        "three classes": (
            gp_of(OnlineGPClassifier(random_state=0), three),
            {"output": 2, "background": X[:20]},
        ),
    }  # fmt: skip


def gp_of(model, y):
    return model.fit(X, y)


@pytest.fixture(scope="module")
def many():
    return models()


def predicted(name, model, some):
    if name == "two outputs":
        return model.predict(some)[:, 1]
    if name in ("probability", "three classes"):
        return model.predict_proba(some)[:, -1]
    if name == "log odds":
        p = model.predict_proba(some)
        return np.log(p[:, 0] / p[:, 1])
    return model.predict(some)


NAMES = (
    "exact", "not factored", "averaged", "anchors", "nearest", "two outputs", "counts", "experts",
    "filter", "rvc", "probability", "log odds", "three classes",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_contributions_add_up_to_the_prediction(many, name):
    model, given = many[name]
    some = np.concatenate([X[:3], 2.5 * X[3:5]])
    found = model.explain(some, **{"n_background": 12, **given})
    prediction = predicted(name, model, some)
    scale = np.abs(prediction).max() + np.abs(found.values).max()
    assert_allclose(found.base + found.values.sum(axis=1), prediction, atol=1e-10 * scale)
    assert_allclose(found.prediction, prediction, atol=1e-10 * scale)
    assert_allclose(found.shares.sum(axis=1), 1.0)
    assert (found.shares >= 0.0).all() and (found.sd >= 0.0).all()
    if given.get("error", True):
        assert (found.error > 0).all()


@pytest.mark.parametrize("name", ["exact", "not factored", "anchors", "nearest", "averaged"])
def test_models_are_explained_by_the_definition(many, name):
    model, background = many[name][0], X[30:38]
    found = model.explain(X[:2], background)
    assert_allclose(found.values, [brute(model.predict, x, background) for x in X[:2]], atol=1e-9)
    assert (found.sampling == 0).all()
    exact = "factors" if name in ("exact", "anchors") else "coalitions"
    assert exact in found.method


def test_errors_are_those_of_a_linear_function_of_the_posterior(gp):
    background = X[30:34]
    found = gp.explain(X[:2], background)
    assert "errors: exact" in found.method
    design = all_coalitions(4, 4)
    for i in range(2):
        points = design.points(X[i], background, ALONE)
        C = gp.predict(points, return_cov=True, level="function")[1]
        assert_allclose(found.error[i], np.sqrt(np.diag(design.A @ C @ design.A.T)), rtol=1e-6)


def test_a_linear_model_gives_its_slopes_times_the_distance_from_the_mean():
    beta = np.array([1.0, -2.0, 0.5, 0.0])
    model = CommitteeRegressor(Linear(0.1), noise=1e-6, learn=False).fit(X, X @ beta + 1.0)
    background = X[5:60]
    found = model.explain(X[:5], background)
    assert_allclose(found.values, (X[:5] - background.mean(axis=0)) * beta, atol=0.01)


def test_a_column_without_influence_gets_nothing():
    kernel = RBF(1.3, [0.8, 1.5], columns=[0, 2])
    exact = CommitteeRegressor(kernel, noise=0.01, learn=False).fit(X, Y)
    found = exact.explain(X[:5])
    assert_allclose(found.values[:, [1, 3]], 0.0, atol=1e-12)
    assert (np.abs(found.values[:, [0, 2]]).max(axis=0) > 0.1).all()
    wide = np.column_stack([X, rng.normal(size=(70, 4))])  # eight columns: random orders
    model = CommitteeRegressor(Matern32(1.0, 1.5, columns=[0, 1, 2]), noise=0.01, learn=False)
    found = model.fit(wide, Y).explain(wide[:3], n_background=10)
    assert "orders" in found.method
    assert_allclose(found.values[:, 3:], 0.0, atol=1e-12)
    assert_allclose(found.sampling[:, 3:], 0.0, atol=1e-12)
    assert_allclose(found.error[:, 3:], 0.0, atol=1e-6)


def test_columns_in_another_order_have_the_same_contributions(gp):
    order = [2, 0, 3, 1]
    other = CommitteeRegressor(RBF(1.3, np.array([0.8, 1.5, 2.0, 3.0])[order]), noise=0.01,
                               learn=False).fit(X[:, order], Y)  # fmt: skip
    one, two = gp.explain(X[:4], X[20:40]), other.explain(X[:4, order], X[20:40][:, order])
    assert_allclose(one.values[:, order], two.values, atol=1e-9)
    assert two.columns == ("x0", "x1", "x2", "x3")


def test_columns_that_act_alike_share_alike():
    """Two copies of a column have equal contributions, whose sum is about that of the one."""
    model = CommitteeRegressor(RBF(1.0, 1.5), noise=0.01, learn=False)
    twice = np.column_stack([X[:, :2], X[:, 1]])
    found = model.fit(twice, Y).explain(twice[:6], twice[20:50])
    assert_allclose(found.values[:, 1], found.values[:, 2], atol=1e-9)
    assert_allclose(found.error[:, 1], found.error[:, 2], rtol=1e-3)


def test_columns_that_nothing_distinguishes_share_what_they_do(gp):
    same = X[:1].copy()
    found = gp.explain(same, np.tile(same, (3, 1)))
    assert_allclose(found.values, 0.0, atol=1e-12)


def test_random_orders_agree_with_all_coalitions(monkeypatch, many):
    model = many["not factored"][0]
    exact = model.explain(X[:3], X[20:40], error=False)
    object.__setattr__(TUNING, "coalitions", 8)
    try:
        found = model.explain(X[:3], X[20:40], error=False, n_orders=4, random_state=3)
    finally:
        object.__setattr__(TUNING, "coalitions", 64)
    assert "160 random orders" in found.method
    assert (np.abs(found.values - exact.values) <= 5 * found.sampling + 1e-9).all()
    assert np.abs(found.values - exact.values).max() > 1e-6


def test_shap_agrees_on_the_same_background(many):
    shap = pytest.importorskip("shap")
    model, background = many["not factored"][0], X[20:40]
    masker = shap.maskers.Independent(background, max_samples=20)
    theirs = shap.explainers.Permutation(model.predict, masker, seed=0)(X[:3], max_evals=90 * 20)
    found = model.explain(X[:3], background, error=False)
    assert_allclose(theirs.base_values, found.base, rtol=1e-9)
    assert_allclose(found.values, theirs.values, atol=0.05 * np.abs(found.values).max())


def test_words_dates_and_gaps_are_one_column_each():
    """By the definition, with values of the user's table moved from row to row."""
    pandas = pytest.importorskip("pandas")
    r = np.random.default_rng(5)
    table = pandas.DataFrame({
        "size": np.where(r.random(80) < 0.2, np.nan, r.uniform(0, 3, 80)),
        "city": pandas.Series(r.choice(["Lima", "Oslo"], 80), dtype=object).where(
            r.random(80) > 0.1, None
        ),
        "day": pandas.to_datetime("2021-01-01") + pandas.to_timedelta(r.integers(0, 400, 80), "D"),
    })  # fmt: skip
    y = table["size"].fillna(5) * (1 + (table["city"] == "Oslo")) + 0.1 * r.normal(size=80)
    model = CommitteeRegressor(random_state=0).fit(table, y)
    background, n = table.iloc[40:46], 6

    def v(S, x):
        return model.predict(background.assign(**{name: [x[name]] * n for name in S})).mean()

    found = model.explain(table.iloc[:10], background)
    assert found.columns == ("size", "city", "day")
    for i in range(3):
        x = table.iloc[i]
        for j, name in enumerate(found.columns):
            one, two = (other for other in found.columns if other != name)
            steps = [v((*S, name), x) - v(S, x) for S in ((), (one,), (two,), (one, two))]
            assert_allclose(found.values[i, j], np.dot([2, 1, 1, 2], steps) / 6, atol=1e-8)
        gone = [x.isna().tolist()[k] for k in range(3)]
        assert [value is None for value in found.data[i]] == gone
    assert found.data[0, 2] == np.datetime64(table["day"][0])
    assert {*found.data[:, 1]} <= {"Lima", "Oslo", None}
    assert found.nearest.data.shape == (10, 5, 3)


# -- rows and error bars ----------------------------------------------------------------------


def test_rows_that_moved_a_prediction_by_their_weights(gp):
    """Without anchors the mean is wᵀy, w = (K + noise)⁻¹k*, y centred."""
    found = gp.explain(X[:2]).nearest
    kernel, centre = gp.kernel_, Y.mean()
    for i in range(2):
        w = np.linalg.solve(kernel.value(X) + gp.noise_ * np.eye(70), kernel.value(X, X[i : i + 1]))
        moved = w[:, 0] * (Y - centre)
        most = np.argsort(-np.abs(moved))[:5]
        assert_allclose(found.moved[i], moved[most], rtol=1e-6)
        assert_allclose(found.weight[i], w[most, 0], rtol=1e-6)
        assert_allclose(found.y[i], Y[most], rtol=1e-9)
        assert_allclose(found.data[i].astype(float), X[most], rtol=1e-9)


def test_rows_that_moved_a_prediction_of_transformed_y_in_its_units():
    """Medians are exp(wᵀ log y): a row i moves them by its factor, and its weight is the
    derivative by yᵢ."""
    y = np.exp(2.0 * Y)
    model = rbf(transforms="log").fit(X, y)
    assert model.model_.warping.target_kinds == "log"
    logs = CommitteeRegressor(model.kernel_, noise=model.noise_, learn=False).fit(X, np.log(y))
    found = model.explain(X[:3]).nearest
    median = np.exp(logs.predict(X[:3]))
    object.__setattr__(TUNING, "rows_near", 70)
    try:
        plain = logs.explain(X[:3]).nearest
    finally:
        object.__setattr__(TUNING, "rows_near", 5)
    for i in range(3):
        k = [np.argmin(np.abs(plain.y[i] - np.log(own))) for own in found.y[i]]
        assert_allclose(found.moved[i], median[i] * (1.0 - np.exp(-plain.moved[i, k])), rtol=1e-6)
        assert_allclose(found.weight[i], plain.weight[i, k] * median[i] / found.y[i], rtol=1e-6)
    assert (np.diff(np.abs(found.moved), axis=1) <= 0.0).all()


def test_rows_near_a_prediction_of_a_committee(many):
    """The weight of a row is how much the prediction changes with its y, anchors left as they
    are; what nearest rows add to the prediction of the anchors is the sum of what they moved."""
    model = many["nearest"][0]
    object.__setattr__(TUNING, "rows_near", 20)
    try:
        found = model.explain(X[:3]).nearest
    finally:
        object.__setattr__(TUNING, "rows_near", 5)
    alone = rbf(chunks=3, anchors=X[::4], n_local=0).fit(X, Y)
    assert_allclose(found.moved.sum(axis=1), model.predict(X[:3]) - alone.predict(X[:3]), atol=1e-8)
    assert found.moved.shape == (3, 20) and found.data.shape == (3, 20, 4)


def test_error_bars_in_parts(gp):
    """Far away almost all is extrapolation; among many rows almost all is noise."""
    far = np.array([[0.0, 0.0, 0.0, 30.0]])
    shares = gp.explain(np.concatenate([X[:1], far])).shares
    assert shares[1, 2] > 0.5 and shares[0, 2] == 0.0
    sd = gp.predict(X[:1], return_std=True)[1][0]
    assert_allclose(shares[0, 0], gp.noise_ / sd**2, rtol=1e-6)


@pytest.mark.parametrize("level", ["probability", "log odds"])
def test_error_bars_of_classes_are_those_of_their_covariances(many, level):
    """√diag of the covariance, by another way; and the slope of log odds by p is 1/p(1 − p)."""
    model = many["probability"][0]
    found = model.explain(X[:6], level=level)
    asked = model._asked(X[:6], level, None)[1]
    assert_allclose(found.sd, np.sqrt(asked.joint(X[:6]).diagonal()), rtol=1e-6)
    p = model.explain(X[:6])
    slope = 1.0 if level == "probability" else 1.0 / (p.prediction * (1.0 - p.prediction))
    assert_allclose(found.sd, p.sd * slope, rtol=1e-3)
    assert_array_equal(found.shares[:, 0], 0.0)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_shares_are_those_of_any_unit(gp, unit):
    far = np.array([[0.0, 0.0, 0.0, 30.0], *X[:2]])
    scale = Constant(unit**2) * RBF(1.3, [0.8, 1.5, 2.0, 3.0])
    other = CommitteeRegressor(scale, noise=0.01 * unit**2, learn=False).fit(X, Y * unit)
    assert_allclose(other.explain(far).shares, gp.explain(far).shares, rtol=1e-6, atol=1e-9)


def test_an_infinite_error_bar_is_noise():
    columns = (Column("a", NUMBER),)

    def asked(size):
        return AskedModel(
            columns, ((0,),), lambda X: (np.zeros(len(X)), np.full(len(X), size)),
            lambda X: None, lambda X: np.zeros(len(X)),
        )  # fmt: skip

    rows, box = np.zeros((2, 1)), (np.zeros(1), np.ones(1))
    sd, shares = parts_of_bar(Question(asked(np.inf), asked(1.0), rows, rows, box))
    assert np.isinf(sd).all()
    assert_array_equal(shares, [[1.0, 0.0, 0.0]] * 2)


def test_the_seed_decides(many):
    model = many["exact"][0]
    one, two = (model.explain(X[:2], n_background=9, random_state=4) for _ in range(2))
    other = model.explain(X[:2], n_background=9, random_state=5)
    assert_array_equal(one.values, two.values)
    assert_array_equal(one.error, two.error)
    assert np.abs(one.values - other.values).max() > 0


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"background": X[:0]}, "0 sample|no rows"),
        ({"background": X[:, :2]}, "2 features"),
        ({"n_background": 0}, "n_background=0"),
        ({"n_orders": 0}, "n_orders=0"),
        ({"output": 3}, "output=3"),
        ({"error": 2}, "error=2"),
        ({"level": "mean"}, "level='mean'"),
    ],
)
def test_bad_arguments_of_explain_are_named(gp, given, word):
    with pytest.raises(ValueError, match=word):
        gp.explain(X[:2], **given)


def test_models_without_rows_ask_for_a_background(many):
    with pytest.raises(ValueError, match="RVCRegressor keeps no rows to compare with"):
        many["rvc"][0].explain(X[:2])
