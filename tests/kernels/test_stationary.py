"""Columns of codes within stationary kernels: a mismatch adds 1/ℓ² to the squared distance."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import collegium
import reference
from collegium import CommitteeRegressor, kernels
from collegium.kernels import RBF, Leaf, Matern12, Matern32, Matern52
from collegium.kernels.stationary import Stationary
from collegium.rows.metric import Metric
from collegium.rows.nearest import Nearby

LENGTHS = np.array([0.7, 1.4, 0.9, 0.6])  # of columns 0 and 2, numbers, and 1 and 3, codes
FAMILIES = [cls for cls in Leaf.registry if issubclass(cls, Stationary) and cls.of_distance]
every_family = pytest.mark.parametrize("cls", FAMILIES, ids=lambda cls: cls.__name__)


def table(n, seed=0, levels=4):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, levels, (n, 2))
    return np.column_stack([rng.normal(size=n), codes[:, 0], rng.normal(size=n), 7.5 * codes[:, 1]])


def one_hot(X, levels=4):
    """Rows whose squared distances are those of the mixed columns with these length scales."""
    hot = [(X[:, k, None] == c * np.arange(levels)) / LENGTHS[k] for k, c in ((1, 1.0), (3, 7.5))]
    return np.hstack([X[:, [0, 2]] / LENGTHS[[0, 2]], *(one / np.sqrt(2.0) for one in hot)])


@every_family
def test_a_mismatch_is_a_step_between_one_hot_columns(cls):
    X, Z = table(12), table(9, 1)
    kernel, plain = cls(1.3, LENGTHS, categories=[1, 3]), cls(1.3, 1.0)
    assert_allclose(kernel.value(X), plain.value(one_hot(X)), rtol=1e-13)
    assert_allclose(kernel.value(X, Z), plain.value(one_hot(X), one_hot(Z)), rtol=1e-13)
    assert_array_equal(kernel.diag(X), plain.diag(X))
    for part, K in zip((Z, X), kernel.coarse_parts(X, [Z, X])):
        assert_allclose(K, kernel.value(X, part), rtol=1e-5)


@every_family
@pytest.mark.parametrize("lengths", [LENGTHS, 0.8], ids=["each", "one"])
def test_adjoints_are_derivatives(cls, lengths):
    X, Z, rng = table(12), table(9, 1), np.random.default_rng(2)
    kernel = cls(1.3, lengths, categories=[3, 1])
    K_bar, S_bar = rng.normal(size=(12, 9)), rng.normal(size=(12, 12))
    S_bar += S_bar.T
    for found, f in (
        (kernel.vjp(X, Z, K_bar), lambda k: (K_bar * k.value(X, Z)).sum()),
        (kernel.vjp(X, None, S_bar), lambda k: (S_bar * k.value(X)).sum()),
    ):
        numeric = reference.gradient(lambda theta, f=f: f(kernel.with_theta(theta)), kernel.theta)
        assert_allclose(found, numeric, rtol=1e-6, atol=1e-8)


@every_family
def test_covariance_is_positive_semidefinite(cls):
    X = table(60)
    X[7, 1], X[9, 3], X[11] = -1.0, np.nan, X[3]
    K = cls(1.3, LENGTHS, categories=(1, 3)).value(X)
    assert_array_equal(K, K.T)
    assert_array_equal(K.diagonal(), 1.3)
    assert np.linalg.eigvalsh(K).min() >= -1e-12 * len(X)


def test_every_kernel_of_a_distance_has_categories_and_no_other():
    assert {"RBF", "Matern12", "Matern32", "Matern52", "RationalQuadratic"} <= {
        cls.__name__ for cls in FAMILIES
    }
    with pytest.raises(ValueError, match="Hat takes none"):
        kernels.Hat(categories=0)


@pytest.mark.parametrize("unknown", [-1.0, np.nan, 99.0])
def test_an_unknown_level_is_a_mismatch_to_all(unknown):
    X, new = table(20), table(3, 5)
    new[:, 1] = unknown
    others = np.array([0, 2, 3])
    expected = RBF(1.3, np.append(LENGTHS[others], LENGTHS[1])).value(
        np.column_stack([new[:, [0, 2]], 100 * (new[:, 3]), np.ones(3)]),
        np.column_stack([X[:, [0, 2]], 100 * X[:, 3], np.zeros(20)]),
    )
    same = new[:, None, 3] == X[:, 3]
    found = RBF(1.3, LENGTHS, categories=[1, 3]).value(new, X)
    assert same.any()
    assert_allclose(found[same], expected[same], rtol=1e-12)


def test_codes_are_equal_or_not_however_large_they_are():
    X = np.array([[0.0], [1e9], [1e9 + 1.0], [2.0**52], [2.0**52 + 1.0]])
    kernel = Matern12(categories=0)
    assert_allclose(kernel.value(X), np.where(np.eye(5), 1.0, np.exp(-1.0)))
    assert_allclose(next(kernel.coarse_parts(X[:3], [X[:3]])), kernel.value(X[:3]), rtol=1e-5)
    short = replace(kernel, length_scale=1e-300)
    assert np.isfinite(short.value(X)).all() and np.isfinite(short.vjp(X, X, np.ones((5, 5)))).all()
    assert np.isfinite(next(short.coarse_parts(X, [X]))).all()


def test_reach_is_a_bound():
    kernel = Matern32(1.3, LENGTHS, categories=[1, 3])
    X, Z = table(15), table(15, 1)
    for x in X:
        gaps = np.abs(x - Z) * np.random.default_rng(3).uniform(0, 1, Z.shape)
        gaps[::2, 1] = 0.0
        assert (kernel.reach(gaps) >= kernel.value(x[None], Z)[0] - 1e-14).all()


# --- names, labels, files -------------------------------------------------------------------------


def test_categories_are_given_as_columns_are():
    X, names = table(10), ["a", "colour", "b", "cut"]
    expected = Matern32(1.0, 0.8, categories=(1, 3)).value(X)
    for kernel in (
        Matern32(1.0, 0.8, categories=["cut", "colour"]),
        Matern32(1.0, 0.8, columns=["cut", "b", "a", "colour"], categories=["colour", "cut"]),
        Matern32(1.0, 0.8, columns=[3, 1, 0, 2], categories=[1, 3]),
    ):
        found = kernel.on_columns(names)
        assert_allclose(found.value(X), expected, rtol=1e-13)
        assert repr(eval(repr(kernel))) == repr(kernel)
        assert_array_equal(pickle.loads(pickle.dumps(found)).value(X), found.value(X))
    kinds = dict((column, kind) for kind, column in found.for_width(4).labels[1:])
    assert kinds == {0: "length", 1: "mismatch", 2: "length", 3: "mismatch"}


def test_wrong_categories_are_refused():
    for wrong in (-1, 0.5, [1, 1], [None]):
        with pytest.raises(ValueError, match="categories of RBF"):
            RBF(categories=wrong)
    with pytest.raises(ValueError, match="categories of RBF: 2 is not in"):
        RBF(columns=[0, 1], categories=2)
    with pytest.raises(ValueError, match="categories of RBF.*among 2"):
        RBF(categories=2).for_width(2)
    with pytest.raises(ValueError, match="categories of RBF.*without names"):
        RBF(categories="cut").for_width(2)
    with pytest.raises(ValueError, match="no column 'cut'; it has 'a'"):
        RBF(categories="cut").on_columns(["a"])


def test_levels_that_matter_are_learnt_and_others_forgotten(tmp_path):
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"x": rng.uniform(-2, 2, 400)})
    X["shift"], X["nothing"] = rng.integers(0, 6, 400), rng.integers(0, 6, 400)
    shift = np.array([0.0, 3.0, -1.0, 2.0, -2.0, 1.0])[X["shift"]]
    f = np.sin(2 * X["x"].to_numpy() + shift)
    y = f + 0.1 * rng.normal(size=400)
    kernel = Matern52(categories=["shift", "nothing"])
    model = CommitteeRegressor(kernel, learn=True, chunks=100, random_state=0)
    model.fit(X[:300], y[:300])
    _, shift_length, nothing_length = model.kernel_.length_scale
    assert nothing_length > 5 * shift_length
    assert np.sqrt(np.mean((model.predict(X[300:]) - f[300:]) ** 2)) < 0.1
    model.save(tmp_path / "model.clg")
    loaded = collegium.load(tmp_path / "model.clg")
    assert_array_equal(loaded.predict(X[300:]), model.predict(X[300:]))
    assert loaded.kernel_.categories == (1, 2)
    sd = model.predict(X[300:], return_std=True)[1]
    new = model.predict(X[300:].assign(shift=-1), return_std=True)[1]
    assert (new > sd).mean() > 0.95 and np.median(new) > 3 * np.median(sd)


# --- nearest rows ---------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [5, 50, 5000])
@pytest.mark.parametrize("length", [0.1, 0.5, 2.0])
def test_nearest_rows_are_those_of_the_metric(levels, length):
    """That of the kernel; of many levels of few rows, those of the same level come before."""
    rng = np.random.default_rng(6)
    X = np.column_stack([rng.normal(size=(10_000, 2)), rng.integers(0, levels, 10_000)])
    kernel = Matern32(1.0, [1.0, 1.0, length], categories=2)
    metric, some = Metric.of(kernel, X), rng.permutation(10_000)[:70]  # more than ranked together
    near = Nearby.of(metric, X).nearest(X[some], 100)
    mismatch = metric.embeddings[0].inverse_square / metric.weights[0] ** 2
    if levels <= 50:
        assert_allclose(mismatch, length**-2.0)
    else:
        assert 0.999 * length**-2.0 <= mismatch <= 100.1 * length**-2.0
    away = ((X[some, None, :2] - X[None, :, :2]) ** 2).sum(axis=2)
    other = X[some, None, 2] != X[None, :, 2]
    best, plain = (
        np.argsort(away + other * more, axis=1, kind="stable")[:, :100]
        for more in (mismatch, length**-2.0)
    )
    assert np.mean([np.isin(b, n).mean() for b, n in zip(best, near)]) >= 0.98
    found = np.take_along_axis(away + other * mismatch, near, axis=1)
    assert (np.diff(found, axis=1) >= -1e-9).all()  # nearest first
    assert all(np.unique(one).size == 100 for one in near)
    same = [(X[at, 2] == X[some, None, 2]).sum() for at in (near, plain)]
    assert same[0] >= same[1]  # by the kernel's own distance there are no more of them


def test_terms_of_the_same_levels_add_up():
    X = table(40)
    one, two = Matern32(0.7, LENGTHS, categories=[1, 3]), RBF(2.0, 2 * LENGTHS, categories=[1, 3])
    metric = Metric.of(one + two, X)
    assert [e.columns for e in metric.embeddings] == [(1,), (3,)]
    ratio = [e.inverse_square / metric.weights[0] ** 2 for e in metric.embeddings]
    assert_allclose(ratio, (LENGTHS[0] / LENGTHS[[1, 3]]) ** 2, rtol=1e-12)
