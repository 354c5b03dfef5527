"""What takes long: a long stream in flat memory, and default arguments on 20,000 rows."""

import pickle

import numpy as np
import pytest

from collegium import CommitteeRegressor, kernels
from collegium.datasets import make_robot_arm
from collegium.filter.sums import Sums
from collegium.metrics import coverage

pytestmark = pytest.mark.slow


def test_a_million_rows_pass_through_in_flat_memory():
    rng = np.random.default_rng(0)
    model = CommitteeRegressor(
        kernels.Matern32(1.3, 0.4), noise=0.04, learn=False, n_local=0, chunks=1000,
        anchors=np.linspace(-3, 3, 40)[:, None],
    )  # fmt: skip
    for _ in range(100):
        X = rng.uniform(-3, 3, size=(10_000, 1))
        model.partial_fit(X, np.sin(3 * X[:, 0]) + 0.2 * rng.normal(size=10_000))
        message = 8 * (40 * 40 + 40)  # bytes of one partial sum; at most 1 + log₂(chunks) of them
        assert len(pickle.dumps(model)) < (4 + np.log2(model.n_chunks_)) * message + 30_000
    assert model.n_chunks_ == 1000
    Xs = np.linspace(-2.9, 2.9, 50)[:, None]
    mean, std = model.predict(Xs, return_std=True, level="function")
    assert np.abs(mean - np.sin(3 * Xs[:, 0])).max() < 0.05
    assert (std > 0).all()


@pytest.mark.parametrize("inference", ["inductive", "transductive"])
def test_defaults_are_accurate_and_honest_on_a_robot_arm(inference):
    X, y = make_robot_arm(22_000, random_state=3)
    model = CommitteeRegressor(inference=inference, random_state=0, n_jobs=2)
    model.fit(X[:20_000], y[:20_000])
    mean = model.predict(X[20_000:])
    assert np.sqrt(np.mean((y[20_000:] - mean) ** 2)) < 0.14 * y.std()
    inside = coverage(y[20_000:], *model.predict_interval(X[20_000:], coverage=0.95))
    assert 0.92 < inside < 0.985


@pytest.mark.slow
def test_the_sums_of_a_filter_stay_accurate_over_ten_million_rows():
    """Row by row, in blocks, and long doubles added up anew: the same posterior of the weights,
    one direction of which is seen 1e-5 as well as the others.
    """
    k, n, block = 6, 10_000_000, 50_000
    rng = np.random.default_rng(0)
    mix = np.linalg.qr(rng.normal(size=(k, k)))[0] * np.array([1.0, 1.0, 0.3, 0.1, 1e-3, 1e-5])
    weights = rng.normal(size=(k, 1))
    by_row, blocks = Sums.start(k), Sums.start(k)
    G = np.zeros((k + 1, k + 1), dtype=np.longdouble)
    for _ in range(n // block):
        Phi = rng.normal(size=(block, k)) @ mix.T
        Y = Phi @ weights + 0.1 * rng.normal(size=(block, 1))
        by_row, blocks = by_row.add_rows(Phi, Y), blocks.add(Phi, Y)
        both = np.hstack([Phi, Y]).astype(np.longdouble)
        G += both.T @ both
    precision = np.eye(k) + (G[:k, :k] / 0.01).astype(float)
    mean = np.linalg.solve(precision, (G[:k, k:] / 0.01).astype(float))
    for sums in (by_row, blocks):
        T = sums.triangle
        found = np.linalg.lstsq(
            np.vstack([np.eye(k), T[:k, :k] / 0.1]),
            np.vstack([np.zeros((k, 1)), T[:k, k:] / 0.1]),
            rcond=None,
        )[0]
        assert sums.weight == n
        np.testing.assert_allclose(found, mean, rtol=1e-6)
