"""Trees for the size of errors."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from collegium import CommitteeRegressor
from collegium.members.folds import folds_of
from collegium.members.scale import ScaleMembers, grow_scale, log_squares
from collegium.members.tuning import TUNING
from collegium.rows.rows import Rows


def test_scales_are_grown_on_errors_of_parts_that_have_not_seen_a_row():
    """Part k answers fold k; the scale's part k is grown without fold k."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    rows, fold, seen = Rows(X, rng.normal(size=(400, 1)), np.ones(400)), folds_of(X, 3), []
    parts = tuple(lambda X, k=k: np.full(X.shape[0], 2.0 * k) for k in range(3))

    def grow(own, seed):
        seen.append((seed, own))
        return lambda X: np.full(X.shape[0], 10.0 + seed)

    own = grow_scale(parts, rows, fold, grow, lambda f, some: [f(i) for i in some])
    want = log_squares(rows.y[:, 0] - 2.0 * fold)
    assert [seed for seed, _ in seen] == [0, 1, 2]
    for k, some in seen:
        assert_array_equal(some.X, X[fold != k])
        assert_allclose(some.y[:, 0], want[fold != k], rtol=1e-12)
    found = ScaleMembers((own, ()))
    assert_allclose(found(X), np.tile([11.0, 0.0], (400, 1)))
    assert_allclose(found.left_out(X), np.column_stack([10.0 + fold, np.zeros(400)]))


def test_logs_are_bounded_by_a_share_of_the_median():
    errors = np.array([0.0, 1.0, -1.0, 2.0, 3.0])
    assert_allclose(log_squares(errors), np.log(errors**2 + TUNING.scale_floor), rtol=1e-12)
    assert np.isfinite(log_squares(np.zeros(5))).all()


def test_steps_in_the_size_of_errors_are_found():
    """Errors are four times as large in some cells of a chessboard; means have steps too."""

    def board(n, seed):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1.0, 1.0, (n, 4))
        big = np.sign(X[:, 0]) * np.sign(X[:, 1]) > 0
        f = 2.0 * (X[:, 2] > 0.0) * (X[:, 3] < 0.5)
        return X, f + np.where(big, 0.8, 0.2) * rng.normal(size=n), big

    X, y, _ = board(1800, 0)
    model = CommitteeRegressor(random_state=0).fit(X, y)
    assert model.model_.errors.trees is not None
    Q, t, big = board(2000, 1)
    lower, upper = model.predict_interval(Q)
    for own in (big, ~big):
        assert 0.92 < np.mean((t >= lower)[own] & (t <= upper)[own]) < 0.99
    assert np.median((upper - lower)[big]) > 2.0 * np.median((upper - lower)[~big])
