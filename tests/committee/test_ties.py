"""Student-t noise where many targets are equal: a density without limit is no proof of no noise."""

import numpy as np
import pytest

from collegium import CommitteeRegressor
from collegium.laplace.calibration import covering_noise
from collegium.laplace.tuning import TUNING
from collegium.likelihoods.student import StudentT
from collegium.rows.rows import Prediction


def zeros_and_normals(rng, n):
    X = rng.normal(size=(n, 2))
    return X, np.where(rng.random(n) < 0.62, 0.0, X[:, 0] + 0.3 * rng.normal(size=n))


def never_below_zero(rng, n):
    X = rng.normal(size=(n, 2))
    return X, np.maximum(X[:, 0] - 0.3 + 0.2 * rng.normal(size=n), 0.0)


def zeros_and_ones(rng, n):
    X = rng.normal(size=(n, 1))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0.3).astype(float)


@pytest.mark.parametrize("make", [zeros_and_normals, never_below_zero, zeros_and_ones])
def test_intervals_cover_where_most_targets_are_equal(make):
    rng = np.random.default_rng(0)
    (X, y), (Xs, ys) = make(rng, 150), make(rng, 400)
    assert np.mean(y == 0.0) > 0.5
    model = CommitteeRegressor(likelihood="student-t", random_state=0).fit(X, y)
    low, high = model.predict_interval(Xs, 0.95)
    assert 0.90 <= np.mean((low <= ys) & (ys <= high)) <= 0.995
    assert model.score(Xs, ys) > 0.05


@pytest.mark.parametrize("seed", [0, 3])
def test_weights_over_many_orders_leave_means_where_targets_are(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 5))
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(float)
    w = 10.0 ** rng.uniform(-4, 4, 60)
    model = CommitteeRegressor(likelihood="student-t", chunks=10, random_state=0)
    model.fit(X, y, sample_weight=w)
    assert np.abs(model.predict(rng.normal(size=(300, 5))) - 0.5).max() < 2.5
    assert model.noise_ > 1e-3


def test_the_noise_that_covers_is_the_least():
    rng = np.random.default_rng(1)
    y, w = rng.standard_t(4.0, size=(400, 1)), np.ones(400)
    known = Prediction(np.zeros((400, 1)), np.full(400, 0.01))
    factor = covering_noise(StudentT(4.0, 0.1), y, w, known)
    assert 6.0 < factor < 16.0
    for change, covers in ((1.0, True), (0.8, False)):
        far = StudentT(4.0, 0.1 * factor * change).quantile(0.975, np.zeros(400), known.variance)
        assert (np.mean(np.abs(y[:, 0]) <= far) >= TUNING.calibration.covered) == covers
    assert covering_noise(StudentT(4.0, 3.0), y, w, known) == 1.0
