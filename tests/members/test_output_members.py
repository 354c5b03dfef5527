"""Members as a model keeps them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression

from collegium.errors.decision import Gain
from collegium.members.boosting import grow_trees
from collegium.members.folds import folds_by
from collegium.members.latent import rates
from collegium.members.members import Members, OutputMember
from collegium.members.own import GivenMember
from collegium.members.weighing import Weight
from collegium.rows.rows import Prediction, Rows
from collegium.rows.scaling import Scaling
from collegium.transforms.targets import TargetTransform
from collegium.transforms.warping import Warping

WEIGHT = Weight(0.7, 0.4, -0.2, 0.8, -2.0, 1.5)


def member(k=3, ratio=1.3, shift=0.4):
    parts = tuple(lambda X, i=i: X[:, 0] + float(i) for i in range(k))
    return OutputMember(parts, k, WEIGHT, Gain(), 0.9, ratio, shift)


def test_other_units_of_y_move_answers_and_weights():
    own, X = member(), np.random.default_rng(0).normal(size=(30, 2))
    moved = own.moved(2.5, -0.7)
    assert_allclose(moved(X), 2.5 * own(X) - 0.7, rtol=1e-12)
    assert_allclose(moved.left_out(X), 2.5 * own.left_out(X) - 0.7, rtol=1e-12)
    log_sd = np.linspace(-2.5, 2.5, 30)
    assert_allclose(moved.weight(log_sd + np.log(2.5)), own.weight(log_sd), atol=1e-12)


@pytest.mark.parametrize("grouped", [True, False])
def test_rows_are_answered_by_the_part_that_has_not_seen_them(grouped):
    own, X = member(), np.random.default_rng(0).normal(size=(60, 2))
    group = np.repeat(np.arange(20), 3) if grouped else None
    want = 1.3 * (X[:, 0] + folds_by(X, group, 3)) + 0.4
    assert_allclose(own.left_out(X, group), want, rtol=1e-12)


def test_a_muted_member_changes_nothing():
    X, found = np.ones((4, 2)), Prediction(np.arange(4.0)[:, None], np.ones(4))
    muted = Members((member().muted(),)).beside(found, X, 0.1)
    assert_allclose(muted.mean, found.mean, atol=1e-12)
    assert (Members((member(),)).beside(found, X, 0.1).mean != found.mean).any()


def test_weights_are_no_part_of_the_identity():
    parts = member().parts
    one, two = (OutputMember(parts, 3, w, Gain(), 0.9) for w in (WEIGHT, WEIGHT.moved(2.0)))
    assert Members((one,)).identity() == Members((two,)).identity()
    assert Members((one,)).identity() != Members((one.moved(2.0, 0.0),)).identity()


def test_rates_are_per_unit_of_exposure_and_weighed_by_it():
    y, e, w = np.array([2.0, 0.0, 3.0]), np.array([0.5, 2.0, 3.0]), np.array([1.0, 2.0, 1.0])
    found = rates(Rows(np.zeros((3, 1)), np.column_stack([y, e]), w))
    assert_allclose(found.y[:, 0], [4.0, 0.0, 1.0])
    assert_allclose(found.w, [0.5, 4.0, 3.0])
    assert_allclose(np.average(found.y[:, 0], weights=found.w), (w @ y) / (w @ e))


def test_levels_of_noise_teach_trees_nothing():
    """Means of 300 levels are those of other folds: else a row would tell its own y."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 300, 1500), rng.normal(size=1500)]).astype(float)
    y, t = rng.normal(size=(2, 1500))
    grown = grow_trees(Rows(X, y[:, None], np.ones(1500)), (0,), 0)
    assert np.mean((t - grown(X)) ** 2) < 1.15 * t.var()


@pytest.mark.parametrize("loss, y", [("poisson", 0.0), ("gamma", 0.0), ("gamma", -1.0)])
def test_losses_that_are_not_defined_grow_nothing(loss, y):
    rows = Rows(np.arange(80.0)[:, None], np.full((80, 1), y), np.ones(80))
    assert grow_trees(rows, (), 0, loss=loss) is None


def test_the_scale_of_weights_does_not_matter():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(400, 2)), rng.integers(1, 4, 400).astype(float)
    y = np.sign(X[:, :1]) + 0.1 * rng.normal(size=(400, 1))
    one, two = (grow_trees(Rows(X, y, size * w), (), 0) for size in (1.0, 2.0**-30))
    assert_array_equal(one(X), two(X))


def test_a_fitted_regressor_below_all_y_still_has_a_logarithm():
    X = np.linspace(-3.0, 3.0, 50)[:, None]
    y = np.exp(X[:, 0])
    log = TargetTransform.of("log", y, np.ones(50))
    warping = Warping(None, (None, log))
    line = LinearRegression().fit(X, np.column_stack([X[:, 0], y]))
    scaling = Scaling(np.array([0.5, 1.0]), np.array([2.0, 3.0]))
    assert (line.predict(X)[:, 1] < 0.0).any()
    found = GivenMember(line, scaling, warping, 1, float(y.min()))(X)
    want = (log.forward(np.maximum(line.predict(X)[:, 1], y.min())) - 1.0) / 3.0
    assert_allclose(found, want, rtol=1e-12)
