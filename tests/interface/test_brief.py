"""The repr of a fitted model: scikit-learn's, and a line about what was found."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from collegium import (
    CommitteeClassifier,
    CommitteeOf,
    CommitteeRegressor,
    OnlineGPClassifier,
    RegressionFilter,
    RVCRegressor,
)
from collegium.kernels import RBF, Linear, Matern32

GIVEN = {"learn": False, "random_state": 3}
RNG = np.random.default_rng(2)
X = RNG.normal(size=(50, 2))
Y = 3.0 * np.sin(X[:, 0])
KERNEL = Matern32(0.8, 0.7) * Linear(0.5) + RBF(2.0, 1.5)


def of_scikit_learn(model):
    """The repr of a class with these arguments that derives from scikit-learn alone."""
    kind = type(model)
    plain = type(kind.__name__, (BaseEstimator,), {"__init__": kind.__init__})
    return repr(plain(**model.get_params(deep=False)))


@pytest.mark.parametrize(
    ("model", "y", "found"),
    [
        (CommitteeRegressor(KERNEL, noise=0.25, **GIVEN), Y,
         "50 rows of 2 columns: Matern32 * Linear + RBF, noise sd 0.5"),
        (CommitteeRegressor(RBF(), noise=0.04, chunks=10, anchors=5, **GIVEN), np.c_[Y, 2 * Y],
         "50 rows of 2 columns: RBF, noise sd 0.2"),
        (CommitteeRegressor(RBF(), noise=0.04, transforms="log", **GIVEN), np.exp(Y),
         "50 rows of 2 columns: RBF, noise sd 0.2, y by its logarithm"),
        (CommitteeRegressor(RBF(), likelihood="poisson", **GIVEN), RNG.poisson(np.exp(Y)),
         "50 rows of 2 columns: RBF, likelihood Poisson"),
        (CommitteeClassifier(RBF(), **GIVEN), np.arange(50) % 3,
         "50 rows of 2 columns: 3 classes, RBF"),
        (OnlineGPClassifier(RBF(), **GIVEN), Y > 0, "50 rows of 2 columns: 2 classes, RBF"),
        (RegressionFilter(RBF(), noise=0.04, n_basis=9, **GIVEN), Y,
         "50 rows of 2 columns: RBF, noise sd 0.2"),
        (RVCRegressor(width=0.7), Y, "50 rows of 2 columns"),
        (CommitteeOf([(k, CommitteeRegressor(RBF(), noise=0.04, learn=False)) for k in "ab"]), Y,
         "2 columns: 2 members, noise sd 0.2"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, BaseEstimator) else "",
)  # fmt: skip
def test_a_fitted_model_says_what_it_is(model, y, found):
    before = repr(model)
    assert before == of_scikit_learn(model)
    model = clone(model).fit(X, y)
    assert repr(model) == f"{before}\n  fitted to {found}"
    assert repr(clone(model)) == before


def test_long_lines_are_broken_as_scikit_learn_breaks_them():
    model = CommitteeRegressor(RBF(1.0, [0.5, 2.5]), noise=0.04, n_local=33, chunks=20, **GIVEN)
    assert len(repr(model).splitlines()) > 1
    fitted = clone(model).fit(X, Y)
    steps = make_pipeline(StandardScaler(), fitted)
    assert repr(steps) == repr(make_pipeline(StandardScaler(), model))
    search = GridSearchCV(fitted, {"n_local": [5, 9]})
    assert "fitted to" not in repr(search) and "n_local=33" in repr(search)
    for one in (model, fitted, steps):
        assert "CommitteeRegressor" in one._repr_html_()
