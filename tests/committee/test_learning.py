"""What is learnt from data, end to end."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from collegium import CommitteeRegressor, Learn, kernels
from collegium.learning.optimise import Learnt
from collegium.metrics import coverage
from collegium.rows.rows import Rows
from collegium.rows.scaling import for_learning


def draw(kernel, noise, n, seed, d=1, width=10.0):
    """Rows of a function drawn from a GP."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, width, size=(n, d))
    K = kernel.value(X) + 1e-9 * np.eye(n)
    f = np.linalg.cholesky(K) @ rng.normal(size=n)
    return X, f + np.sqrt(noise) * rng.normal(size=n)


@pytest.mark.parametrize("family", ["Matern12", "RBF"])
def test_the_family_that_made_the_data_is_recognised(family):
    X, y = draw(getattr(kernels, family)(3.0, 1.2), 0.003, 400, seed=1)
    model = CommitteeRegressor(random_state=0).fit(X, 5.0 + 20.0 * y)
    smooth = {"Matern12": ("Matern12",), "RBF": ("RBF", "Matern52")}[family]
    assert type(model.kernel_).__name__ in smooth


def test_noise_and_length_scales_are_found_in_the_units_of_the_data():
    X, y = draw(kernels.Matern52(1.0, [0.5, 4.0]), 0.04, 900, seed=2, d=2, width=4.0)
    X, y = X * [1e3, 1e-3], 7e4 * y
    kernel = kernels.Matern52(1e9, [300.0, 3e-3])
    model = CommitteeRegressor(kernel, chunks=150, random_state=0).fit(X, y)
    assert 0.5 < model.noise_ / (0.04 * 7e4**2) < 2.0
    assert np.all(np.abs(np.log(model.kernel_.length_scale / [500.0, 4e-3])) < np.log(2.5))


@pytest.mark.slow
def test_an_irrelevant_column_gets_a_long_length_scale():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 3))
    y = np.sin(2.0 * X[:, 1]) + 0.05 * rng.normal(size=500)
    length = CommitteeRegressor(random_state=0).fit(X, y).kernel_.length_scale
    assert min(length[0], length[2]) > 5.0 * length[1]


def test_the_anchored_evidence_rises_when_it_is_what_is_learnt_by():
    X, y = draw(kernels.Matern32(2.0, 0.9), 0.05, 600, seed=4)
    arguments = dict(chunks=20, anchors=5, n_local=0, noise=0.05, random_state=0)
    kernel = kernels.Matern32(1.0, 2.0)
    plain = CommitteeRegressor(kernel, **arguments).fit(X, y)
    fed = dict(arguments, anchors=plain.anchors_)
    more = CommitteeRegressor(kernel, learn="anchored", **fed).fit(X, y)
    assert more.log_evidence_ > plain.log_evidence_ + 0.5
    assert more.noise_ == pytest.approx(0.05)


def test_bars_hold_where_the_model_is_wrong():
    """Rows from a rough function, a smooth kernel insisted upon: the noise has to grow."""
    X, y = draw(kernels.Matern12(1.0, 1.0), 1e-4, 1500, seed=5)
    model = CommitteeRegressor(
        kernels.RBF(1.0, 1.0), chunks=100, anchors=30, n_local=30, random_state=0
    ).fit(X[:1200], y[:1200])
    inside = coverage(y[1200:], *model.predict_interval(X[1200:], coverage=0.9))
    assert 0.83 < inside < 0.97


@pytest.mark.slow
def test_pure_noise_is_taken_for_noise():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(400, 2)), rng.normal(size=400)
    model = CommitteeRegressor(random_state=0).fit(X, y)
    mean, std = model.predict(rng.normal(size=(200, 2)), return_std=True)
    assert np.abs(mean - y.mean()).mean() < 0.3
    assert np.all((0.85 < std) & (std < 1.3))


def test_more_starts_are_never_worse():
    X, y = draw(kernels.RBF(1.0, 0.7), 0.1, 150, seed=7)
    start = kernels.RBF(0.01, 9.0)
    one = CommitteeRegressor(start, random_state=0).fit(X, y)
    more = CommitteeRegressor(start, learn=Learn(n_starts=4), random_state=0).fit(X, y)
    assert more.log_evidence_ >= one.log_evidence_ - 0.05


def test_what_has_not_settled_is_said_with_the_remedy():
    with pytest.warns(ConvergenceWarning, match="kernel=model.kernel_"):
        Learnt(kernels.RBF(), 0.1, 0.0, converged=False).warn_if_not_converged()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Learnt(kernels.RBF(), 0.1, 0.0).warn_if_not_converged()


@pytest.mark.diagonal
@pytest.mark.parametrize("weights", ["all two", "one to three", "bootstrap"])
def test_copies_of_rows_do_not_say_that_there_is_no_noise(weights):
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, size=(150, 2))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 5.0 + 0.1 * rng.normal(size=150)
    w = {"all two": np.full(150, 2), "one to three": 1 + np.arange(150) % 3}.get(weights)
    if w is None:
        w = np.bincount(rng.integers(0, 150, 150), minlength=150)
    for arguments in ({}, {"chunks": 40, "anchors": 30}):
        model = CommitteeRegressor(random_state=0, **arguments).fit(X, y, sample_weight=w)
        assert 0.004 < model.noise_ < 0.03
        again = CommitteeRegressor(random_state=0, **arguments)
        again.fit(np.repeat(X, w, axis=0), np.repeat(y, w, axis=0))
        assert again.noise_ == model.noise_


def test_inputs_with_several_targets_keep_their_counts():
    rows = Rows(np.array([[0.0], [0.0], [1.0], [2.0]]), np.zeros((4, 1)), np.array([3, 5, 2, 6.0]))
    assert_allclose(for_learning(rows).w, [3.0, 5.0, 0.5, 1.5])
