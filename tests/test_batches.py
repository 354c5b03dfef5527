"""A query has the same answer, to the last bit, alone and in any batch, with error bars or not."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from collegium import (
    CommitteeClassifier,
    CommitteeRegressor,
    ExpertsRegressor,
    NystromRegressor,
    OnlineGPClassifier,
    OnlineGPRegressor,
    RegressionFilter,
    RVCRegressor,
    SparseGPRegressor,
    kernels,
)
from collegium.numerics.tiles import TILE, by_tiles, tiles
from estimator_cases import rows
from processors import assert_same_bits

pytestmark = [
    pytest.mark.filterwarnings("ignore::collegium.sparse.nystrom.NystromWarning"),
    pytest.mark.filterwarnings("ignore::collegium.numerics.linalg.JitterWarning"),
]
KERNEL = kernels.Matern32(variance=30.0, length_scale=[0.7, 1.9])
SMOOTH = kernels.RBF(30.0, [1.5, 2.5]) + kernels.Linear(2.0) * kernels.Periodic(period=3.0)
GIVEN = {"kernel": KERNEL, "noise": 0.4, "learn": False, "random_state": 0}
SMALL = {**GIVEN, "kernel": SMOOTH, "noise": 1e-6}
PARTS = {"chunks": 30, "anchors": 14}
LATENT = {"kernel": kernels.RBF(1.0, [0.9, 1.9]), "learn": False, "random_state": 0}

REGRESSORS = {
    "exact": CommitteeRegressor(**GIVEN),
    "exact, little noise": CommitteeRegressor(**SMALL),
    "local": CommitteeRegressor(**GIVEN, **PARTS, n_local=13),
    "local, little noise": CommitteeRegressor(**SMALL, **PARTS, n_local=13),
    "global": CommitteeRegressor(**GIVEN, **PARTS, n_local=0),
    "refined": CommitteeRegressor(**GIVEN, **PARTS, n_local=13, inference="cg"),
    **{name: SparseGPRegressor(**GIVEN, **PARTS, method=name)
       for name in ("sor", "dtc", "fitc", "pitc", "pic", "vfe")},
    **{name: ExpertsRegressor(**GIVEN, chunks=30, combination=name)
       for name in ("poe", "gpoe", "rbcm", "grbcm", "barycenter", "npae")},
    "nystrom": NystromRegressor(**GIVEN, anchors=14),
    "online": OnlineGPRegressor(**GIVEN),
    "online counts": OnlineGPRegressor(**LATENT, likelihood="poisson"),
    "filter": RegressionFilter(**GIVEN),
    "filter, fourier": RegressionFilter(**GIVEN, basis="fourier", n_basis=40),
    "filter, splines": RegressionFilter(**GIVEN, basis="splines", n_basis=36),
    "filter, harmonics": RegressionFilter(**GIVEN, basis="harmonics", n_basis=36),
    "local experts": RVCRegressor(random_state=0),
    "local experts, as published": RVCRegressor(mode="paper", width=0.5, b=0.1, random_state=0),
    "counts": CommitteeRegressor(**LATENT, likelihood="poisson"),
    "counts, local": CommitteeRegressor(**LATENT, **PARTS, likelihood="poisson", n_local=13),
    "waiting times": CommitteeRegressor(**LATENT, **PARTS, likelihood="exponential", n_local=0),
    "heavy tails": CommitteeRegressor(**GIVEN, **PARTS, likelihood="student-t", n_local=13),
    "normal scores": CommitteeRegressor(**GIVEN, transforms="rank"),
    "powers": CommitteeRegressor(**GIVEN, **PARTS, n_local=13, transforms="yeo-johnson"),
}  # fmt: skip
CLASSIFIERS = {
    "logit": CommitteeClassifier(**LATENT),
    "logit, local": CommitteeClassifier(**LATENT, **PARTS, n_local=13),
    "softmax": CommitteeClassifier(**LATENT, **PARTS, likelihood="softmax", n_local=13),
    "probit, online": OnlineGPClassifier(**LATENT),
}


def fitted(model, p=None):
    X, y = rows(90, p=p)
    likelihood = getattr(model, "likelihood", "gaussian")
    if likelihood in ("poisson", "exponential"):
        y = np.floor(np.abs(y) / 8.0) + 1.0
    if type(model).__name__.endswith("Classifier"):
        y = np.digitize(y, [46.0, 53.0])
    return model.fit(X, y)


def queries():
    """A row and a half of tiles: some rows, near, far and very far."""
    X = np.random.default_rng(1).uniform(-2.5, 2.5, size=(TILE + TILE // 2 + 1, 2))
    X[3], X[40], X[7] = 30.0, -1e4, rows(90)[0][5]
    return X


def assert_batches_do_not_matter(ask, X):
    whole = ask(X)
    order = np.random.default_rng(2).permutation(len(X))
    parts = [ask(X[:1]), ask(X[1:2]), ask(X[2:9]), ask(X[9 : TILE + 10]), ask(X[TILE + 10 :])]
    for k, found in enumerate(whole):
        assert_same_bits(np.concatenate([part[k] for part in parts]), found)
        assert_same_bits(ask(X[order])[k], found[order])


@pytest.mark.diagonal
@pytest.mark.parametrize("level", ["observation", "function"])
@pytest.mark.parametrize("name", REGRESSORS)
def test_predictions_do_not_depend_on_the_batch(name, level):
    model, X = fitted(REGRESSORS[name]), queries()
    assert_batches_do_not_matter(lambda X: model.predict(X, True, level=level), X)
    assert_batches_do_not_matter(lambda X: (model.predict(X, level=level),), X)
    assert_same_bits(model.predict(X, level=level), model.predict(X, True, level=level)[0])


@pytest.mark.parametrize("name", ["exact", "local", "global", "fitc", "pic", "grbcm", "filter"])
def test_predictions_of_several_outputs_do_not_depend_on_the_batch(name):
    model, X = fitted(REGRESSORS[name], p=3), queries()
    assert_batches_do_not_matter(lambda X: model.predict(X, True), X)
    assert_same_bits(model.predict(X), model.predict(X, True)[0])


@pytest.mark.parametrize("seed", [0, 1])
def test_mixtures_of_an_averaged_model_do_not_depend_on_the_batch(seed):
    given, X = rows(30, seed=seed), queries()
    model = CommitteeRegressor(learn="average", random_state=seed).fit(*given)
    assert model.model_.averaged  # several Gaussians a query
    y = np.resize(given[1], len(X))
    for level in ("observation", "function"):
        ask = partial(model.predict, return_std=True, level=level)
        assert_batches_do_not_matter(ask, X)
        ask = partial(model.predict_interval, coverage=0.8, level=level)
        assert_batches_do_not_matter(ask, X)
    for ask in (model.cdf, model.log_density):
        whole = ask(X, y)
        for part in (slice(1), slice(1, 8), slice(8, None)):
            assert_same_bits(ask(X[part], y[part]), whole[part])


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_probabilities_do_not_depend_on_the_batch(name):
    model, X = fitted(CLASSIFIERS[name]), queries()
    assert_batches_do_not_matter(lambda X: (model.predict_proba(X),), X)


@pytest.mark.parametrize("n", [1, TILE - 1, TILE, TILE + 1])
def test_tiles_have_one_size(n):
    X = np.arange(2.0 * n).reshape(n, 2)
    assert {len(tile) for tile in tiles(X)} == {TILE}
    twice, total = by_tiles(lambda tile: (2.0 * tile, tile.sum(axis=1)), X)
    assert_array_equal(twice, 2.0 * X)
    assert_array_equal(total, X.sum(axis=1))
