"""Levels with numbers: equal or not, and near or far."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import collegium
import reference
from collegium import CommitteeRegressor
from collegium.kernels import RBF, Linear, Matern12, Matern32, On, RationalQuadratic, Scored
from collegium.kernels.wrapped.scored import LevelScores
from collegium.rows.metric import Metric

CODES, VALUES = np.array([0.0, 2.0, 5.0, 7.0]), np.array([-1.2, 0.1, 0.3, 1.5])
GRADES = LevelScores(1, CODES, VALUES)
LENGTHS = np.array([0.8, 2.5, 1.3, 0.6])


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.normal(size=n), rng.choice(CODES, n), rng.normal(size=n)])


def scored(cls=Matern32, lengths=LENGTHS):
    return Scored(cls(1.4, lengths, categories=1), [GRADES])


def slow(X, Z, lengths=LENGTHS):
    """Squared distances pair by pair: a level without a number is 1 away in its column."""
    numbers, D = dict(zip(CODES, VALUES)), np.empty((len(X), len(Z)))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            known = x[1] in numbers and z[1] in numbers
            apart = known or x[1] == z[1]
            score = numbers.get(x[1], 0.0) - numbers.get(z[1], 0.0)
            D[i, j] = (x[0] - z[0]) ** 2 / lengths[0] ** 2 + (x[2] - z[2]) ** 2 / lengths[2] ** 2
            D[i, j] += (x[1] != z[1]) / lengths[1] ** 2
            D[i, j] += (score**2 + (not apart)) / lengths[3] ** 2
    return D


def test_values_are_those_of_the_distance():
    X, Z = table(9), table(7, 1)
    Z[0, 1], Z[1, 1], Z[2, 1] = 3.0, 3.0, -7e8  # levels without a number
    kernel = scored()
    for A, B, K in ((X, Z, kernel.value(X, Z)), (Z, Z, kernel.value(Z)), (X, X, kernel.value(X))):
        r = np.sqrt(3.0 * slow(A, B))
        assert_allclose(K, 1.4 * (1 + r) * np.exp(-r), rtol=1e-12)
    assert_array_equal(kernel.diag(X), np.full(9, 1.4))
    assert np.linalg.eigvalsh(kernel.value(np.vstack([X, Z[1:]]))).min() > 0.0
    for part, K in zip((Z, X), kernel.coarse_parts(X, [Z, X])):
        assert_allclose(K, kernel.value(X, part), rtol=1e-5)


@pytest.mark.parametrize("inner", [Matern12, RBF])
@pytest.mark.parametrize("lengths", [LENGTHS, 0.9], ids=["each", "one"])
@pytest.mark.parametrize("nested", [False, True], ids=["alone", "sum"])
def test_adjoints_are_derivatives(inner, lengths, nested):
    X, Z, rng = table(9), table(7, 1), np.random.default_rng(2)
    Z[:3, 1] = X[0, 1] = 3.0  # a level without a number
    X[1, 1] = 4.0
    kernel = scored(inner, lengths)
    if nested:
        other = RationalQuadratic(0.6, 2.0 * lengths, 1.5, categories=1)
        fixed = Matern12(0.8, LENGTHS, categories=1, fixed=("length_scale",))
        kernel = Scored(kernel.kernel + other * fixed, [GRADES])
    K_bar, S_bar = rng.normal(size=(9, 7)), rng.normal(size=(9, 9))
    S_bar += S_bar.T
    for found, f in (
        (kernel.vjp(X, Z, K_bar), lambda k: (K_bar * k.value(X, Z)).sum()),
        (kernel.vjp(X, None, S_bar), lambda k: (S_bar * k.value(X)).sum()),
    ):
        slow = reference.gradient(lambda theta, f=f: f(kernel.with_theta(theta)), kernel.theta)
        assert_allclose(found, slow, rtol=1e-6, atol=1e-8)


def test_labels_name_columns_of_x():
    kernel = Scored(Matern32(), [GRADES]).for_width(3)
    assert kernel.labels == (
        ("variance", 0), ("length", 0), ("length", 1), ("length", 2), ("mismatch", 1)
    )  # fmt: skip
    assert scored().labels[-3:] == (("mismatch", 1), ("length", 2), ("mismatch", 1))
    fixed = Scored(Matern32(fixed=("length_scale",)), [GRADES])
    assert fixed.labels == (("variance", 0),)
    with pytest.raises(ValueError, match="scores of Scored are of column 1, but X has 1 columns"):
        Scored(Matern32(), [GRADES]).for_width(1)
    with pytest.raises(ValueError, match="kernel='a' of Scored"):
        Scored("a", [GRADES])
    with pytest.raises(ValueError, match="give a stationary kernel"):
        Scored(Matern32() + Linear(), [GRADES])


def test_columns_by_name_and_further_levels():
    kernel = Scored(Matern32(categories="grade"), [GRADES]).on_columns(["a", "grade", "b"])
    assert kernel.kernel.categories == (1,)
    assert kernel.on_levels({2: "b"}).kernel.categories == (1, 2)
    inner = On(scored(), ["x", "grade", "z"])
    X = table(6)
    moved = inner.on_columns(["z", "grade", "x"])
    assert_array_equal(moved.value(X[:, [2, 1, 0]]), scored().value(X))
    total = scored() + Linear(columns=0)
    assert_allclose(total.value(X), scored().value(X) + np.outer(X[:, 0], X[:, 0]))


def test_the_metric_is_that_of_the_kernel():
    X = table(40)
    metric = Metric.of(scored(), X)
    S = metric.forward(X)
    D = ((S[:, None] - S[None]) ** 2).sum(axis=-1)
    meant = slow(X, X)
    assert_allclose(D, D[0, 1] / meant[0, 1] * meant, rtol=1e-9, atol=1e-12)
    assert_allclose(metric.backward(S), X, atol=1e-9)
    assert_array_equal(metric.column_of_coordinate(), [0, 1, 2, *[3] * 9, *[1] * 8])
    sizes = metric.sizes()
    assert_allclose(sizes / sizes[0], LENGTHS[0] / LENGTHS, rtol=1e-9)


def test_reach_is_a_bound():
    kernel, X, Z = scored(), table(30), table(20, 1)
    gaps = np.abs(X[:, None] - Z[None]).reshape(-1, 3)
    assert (kernel.reach(gaps) >= kernel.value(X, Z).ravel() - 1e-12).all()


def test_models_files_and_pickles_keep_scores(tmp_path):
    X = table(90)
    y = np.sin(X[:, 0]) + GRADES(X)
    how = {"learn": False, "chunks": 30, "random_state": 0}
    model = CommitteeRegressor(scored(), noise=0.01, **how).fit(X, y)
    model.save(tmp_path / "m.clg")
    for again in (collegium.load(tmp_path / "m.clg"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(again.predict(X), model.predict(X))
    fed = CommitteeRegressor(model.kernel_, noise=model.noise_, **how).fit(X, y)
    assert_allclose(fed.predict(X), model.predict(X), rtol=1e-10)
    assert "scores of columns [1]" in repr(model.kernel_)


def test_a_level_without_a_number_may_be_like_any_other():
    rng = np.random.default_rng(4)
    effect = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    own = rng.integers(0, 4, 300)
    X = np.column_stack([rng.uniform(-1, 1, 300), own])
    grades = LevelScores(1, np.arange(4.0), (effect / effect[:4].std())[:4])
    kernel = Scored(RBF(4.0, [1.0, 100.0, 1.5], categories=1), [grades])
    model = CommitteeRegressor(kernel, noise=0.01, learn=False)
    model.fit(X, np.sin(X[:, 0]) + effect[own] + 0.1 * rng.normal(size=300))
    new = np.column_stack([np.linspace(-1, 1, 30), np.full(30, 9.0)])
    mean, sd = model.predict(new, return_std=True)
    assert (np.abs(np.sin(new[:, 0]) + 2.0 - mean) < 2.5 * sd).all() and sd.min() > 0.5
    more = new[::6]
    model.partial_fit(more, np.sin(more[:, 0]) + 2.0)
    mean, sd = model.predict(new, return_std=True)
    assert np.abs(np.sin(new[:, 0]) + 2.0 - mean).max() < 0.3 and sd.max() < 0.3
