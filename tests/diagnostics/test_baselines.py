"""Plain predictions against scikit-learn's and against loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from collegium.diagnostics import baseline_errors, baseline_predictions
from collegium.diagnostics.baselines import PENALTIES, crossed_baselines, dummied


def table(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.logspace(-2, 3, d)
    return X, X[:, 0] * 50 + np.sin(X[:, 1]) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("d", [3, 14])
def test_nearest_row_and_ridge(d):
    X, y = table(120, d)
    train, test = slice(0, 90), slice(90, 120)
    found = baseline_predictions(X[train], y[train], X[test])
    assert_allclose(found["mean"], np.full(30, y[train].mean()))
    Z = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    slow = [y[train][min(range(90), key=lambda i: ((Z[i] - z) ** 2).sum())] for z in Z[test]]
    assert_allclose(found["nearest row"], slow)
    each, losses = [], []
    for penalty in PENALTIES:
        model = Ridge(alpha=90 * penalty).fit(Z[train], y[train])
        A = np.column_stack([np.ones(90), Z[train]])
        P = np.diag([0.0] + [90 * penalty] * d)
        hat = A @ np.linalg.solve(A.T @ A + P, A.T)
        residual = y[train] - model.predict(Z[train])
        losses.append((residual**2).sum() / (1 - np.trace(hat) / 90) ** 2)
        each.append(model.predict(Z[test]))
    assert_allclose(found["ridge regression"], each[int(np.argmin(losses))], rtol=1e-6)


def test_levels_become_columns_of_their_own():
    X = np.array([[0.0, 1.0], [2.0, 5.0], [0.0, 3.0], [1.0, 7.0]])
    A, As = dummied(X, np.array([[9.0, 4.0], [2.0, 4.0]]), [0])
    assert A.shape == (4, 4)
    assert_allclose(A.mean(axis=0), 0.0, atol=1e-15)
    assert_allclose(A.std(axis=0), 1.0)
    assert_allclose(As[:, 3], (4.0 - X[:, 1].mean()) / X[:, 1].std())
    assert (As[0, :3] < 0).all()  # an unknown level is none of them


def test_folds_do_not_see_their_own_rows():
    X, y = table(50, 2)
    found = crossed_baselines(X, y, folds=5, seed=3)
    fold = np.random.default_rng(3).permutation(50) % 5
    for k in range(5):
        assert_allclose(found["mean"][fold == k], y[fold != k].mean())
    assert not np.isclose(found["nearest row"], y).any()


def test_errors():
    y = np.array([0.0, 1.0, 3.0])
    (found,) = baseline_errors({"zero": np.zeros(3)}, y)
    assert found.name == "zero"
    assert_allclose(found.rmse, np.sqrt(10 / 3))
    assert_allclose(found.mae, 4 / 3)


@pytest.mark.parametrize("unit", [2.0**-600, 2.0**600])
def test_plain_predictions_are_those_of_any_unit(unit):
    X, y = table(80, 3)
    scale = np.array([1.0, unit, unit])
    one = baseline_predictions(X[:60], y[:60], X[60:])
    other = baseline_predictions(X[:60] * scale, y[:60], X[60:] * scale)
    for name, found in other.items():
        assert_allclose(found, one[name], rtol=1e-9)
