"""Units of columns that differ by powers of two, and the order of rows, change no bit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

import collegium
from collegium import (
    CommitteeClassifier,
    CommitteeOf,
    CommitteeRegressor,
    ExpertsRegressor,
    NystromRegressor,
    OnlineGPRegressor,
    RegressionFilter,
    RVCRegressor,
    SparseGPRegressor,
    kernels,
)
from collegium.learning.optimise import Scales
from estimator_cases import queries, rows

pytestmark = [
    pytest.mark.filterwarnings("ignore::collegium.sparse.nystrom.NystromWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
SCALES = np.array([2.0**9, 2.0**-7])
PARTS = {"chunks": 30, "anchors": 12, "random_state": 0}
MODELS = {
    "exact": CommitteeRegressor(random_state=0),
    "local": CommitteeRegressor(**PARTS, n_local=13),
    "transductive": CommitteeRegressor(chunks=30, inference="transductive", random_state=0),
    **{name: SparseGPRegressor(**PARTS, method=name) for name in ("sor", "fitc", "pic", "vfe")},
    "barycenter": ExpertsRegressor(combination="barycenter", chunks=30, random_state=0),
    "grbcm": ExpertsRegressor(combination="grbcm", chunks=30, random_state=0),
    "nystrom": NystromRegressor(anchors=12, random_state=0),
    "online": OnlineGPRegressor(random_state=0),
    "filter": RegressionFilter(n_basis=50, random_state=0),
    "local experts": RVCRegressor(max_experts=20, max_iter=4, random_state=0),
    "counts": CommitteeRegressor(**PARTS, likelihood="poisson"),
    "heavy tails": CommitteeRegressor(**PARTS, likelihood="student-t"),
    "classes": CommitteeClassifier(**PARTS),
}


def targets(name):
    X, y = rows(80)
    if name == "counts":
        y = np.floor(y / 8.0)
    return X, np.digitize(y, [50.0]) if name == "classes" else y


def answers(model, X, y, Xs):
    model.fit(X, y)
    if isinstance(model, CommitteeClassifier):
        return (model.predict_proba(Xs),)
    return model.predict(Xs, return_std=True)


@pytest.mark.diagonal
@pytest.mark.parametrize("name", MODELS)
def test_units_that_are_powers_of_two_change_no_bit(name):
    (X, y), Xs = targets(name), queries()
    plain = answers(MODELS[name], X, y, Xs)
    for one, other in zip(plain, answers(MODELS[name], X * SCALES, y, Xs * SCALES)):
        assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["local", "barycenter", "online", "filter", "local experts"])
def test_the_order_of_rows_changes_no_bit(name):
    (X, y), Xs = targets(name), queries()
    order = np.random.default_rng(3).permutation(len(y))
    plain = answers(MODELS[name], X, y, Xs)
    for one, other in zip(plain, answers(MODELS[name], X[order], y[order], Xs)):
        assert_array_equal(one, other)


def near_duplicates(n, d, rng):
    return np.repeat(rng.normal(size=(n // 3, d)), 3, axis=0) + 1e-6 * rng.normal(size=(n, d))


#: Rows, columns, and how far means may move in standard deviations: learning ends where a step
#: gains little, which rounding decides.
GIVEN = {"kernel": kernels.RBF(), "random_state": 0}
COLUMNS = {
    "anchors by k-means": (CommitteeRegressor(n_local=0, random_state=0), 200, 6, 1e-6),
    "random anchors": (NystromRegressor(**GIVEN, noise=0.1, learn=False, anchors=9), 60, 3, 1e-6),
    "a sample to learn from": (CommitteeRegressor(**GIVEN, learn=True), 560, 3, 1e-3),
    "averaged": (CommitteeRegressor(random_state=0), 12, 3, 1e-3),
    # where calibration is close to a decision, rounding decides
    "calibrated": (CommitteeRegressor(chunks=300, anchors=60, random_state=0), 1500, 3, 0.03),
    "filter": (RegressionFilter(random_state=0), 400, 3, 1e-3),
    "filter of waves": (RegressionFilter(basis="fourier", random_state=0), 200, 3, 1e-3),
    "experts in turn": (RVCRegressor(random_state=0), 120, 3, 1e-9),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_the_order_of_columns_makes_no_difference(name):
    model, n, d, most = COLUMNS[name]
    rng = np.random.default_rng(1)
    X = near_duplicates(n, d, rng) if name == "experts in turn" else rng.normal(size=(n, d))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    Xs, order = rng.normal(size=(30, d)), np.roll(np.arange(d), 1)
    mean, std = clone(model).fit(X, y).predict(Xs, return_std=True)
    other, wide = clone(model).fit(X[:, order], y).predict(Xs[:, order], return_std=True)
    assert (np.abs(other - mean) <= most * std).all()
    np.testing.assert_allclose(wide, std, rtol=most)


@pytest.mark.parametrize("combination", ["barycenter", "bcm"])
def test_members_see_their_rows_sorted(combination):
    (X, y), Xs = targets("exact"), queries()
    order = np.random.default_rng(3).permutation(len(y))
    gp = GaussianProcessRegressor(RBF() + WhiteKernel())
    model = CommitteeOf([("a", gp), ("b", gp)], combination=combination, random_state=0)
    plain = answers(model, X, y, Xs)
    for one, other in zip(plain, answers(model, X[order], y[order], Xs)):
        assert_array_equal(one, other)


def test_logs_are_relative_to_powers_of_two():
    X = np.random.default_rng(0).normal(size=(50, 2)) * [3.0, 1e-3]
    kernel = kernels.RBF(2.0, [5.0, 4e-3]) + kernels.Linear([1.0, 2.0]) * kernels.Periodic()
    prior = Scales.of(X).prior(kernel)
    moved = prior.kernel(kernel, prior.theta(kernel) + 0.5)
    np.testing.assert_allclose(moved.theta, kernel.theta + 0.5, rtol=1e-14)
    assert (np.log2(prior.units) % 1.0 == 0.0).all()


@pytest.mark.parametrize("way", [
    {"n_local": 9}, {"n_local": 0}, {"n_local": 0, "chunks": collegium.Chunks(8, "kmeans")},
    {"n_local": 9, "anchors": collegium.Select("kmeans", 6)}, {"likelihood": "student-t"},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("n, d, seed, shift", [(39, 3, 4, 0.0), (20, 3, 19, 1.0), (40, 1, 2, 0.0)])
def test_a_constant_column_beside_rounded_ones_changes_nothing_but_rounding(way, n, d, seed, shift):
    """Many distances are equal: a different rounding would order rows, or cut them, otherwise."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.uniform(-2.0, 2.0, (n, d))) + shift
    y = np.sin(X[:, 0]) + 0.3 * X[:, -1] + 0.1 * rng.normal(size=n)
    Xs = rng.uniform(-2.5, 2.5, (20, d)) + shift
    given = {"chunks": 8, "anchors": 6, "noise": 2.0, "learn": False, "random_state": 0, **way}
    found = []
    for more in (0, 1):
        model = CommitteeRegressor(kernels.Matern32(30.0, [1.5] * (d + more)), **given)
        column = np.full((60, more), 1.25)
        own, asked = np.hstack([X, column[:n]]), np.hstack([Xs, column[:20]])
        found.append(model.fit(own, y).predict(asked, return_std=True))
    for one, other in zip(*found):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-9)
