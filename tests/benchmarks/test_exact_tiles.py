"""The exact GP in tiles, which benchmarks are compared with, is the exact GP."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.peers.regression import exact_gp
from collegium.kernels import Matern32

KERNEL, NOISE = Matern32(variance=1.7, length_scale=np.array([0.6, 1.4, 0.9])), 0.03


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(203, 3))
    return X, np.sin(X.sum(axis=1)) + 5.0 + 0.1 * rng.normal(size=203), rng.normal(size=(31, 3))


@pytest.mark.parametrize(
    ("n", "tile"), [(23, 1), (60, 10), (203, 64), (203, 203), (203, 500)]
)  # even, with a rest, one tile
def test_tiles_are_the_cholesky_factor(rows, n, tile):
    X = rows[0][:n]
    tiles = exact_gp.Tiles.of(KERNEL, NOISE, X, tile)
    L = np.zeros((n, n))
    for i, own in enumerate(tiles.cuts):
        for j, other in enumerate(tiles.cuts[: i + 1]):
            L[own, other] = tiles.rows[i][j]
    assert_allclose(L, np.linalg.cholesky(KERNEL.value(X) + NOISE * np.eye(n)), atol=1e-11)


@pytest.mark.parametrize("tile", [10, 64, 500])
def test_solves_are_in_place_and_right(rows, tile):
    X, _, _ = rows
    A = KERNEL.value(X) + NOISE * np.eye(203)
    tiles = exact_gp.Tiles.of(KERNEL, NOISE, X, tile)
    B = np.random.default_rng(0).normal(size=(203, 7))
    given = B.copy()
    assert tiles.solve_lower(given) is given
    assert_allclose(given, np.linalg.solve(np.linalg.cholesky(A), B), atol=1e-10)
    assert_allclose(tiles.solve_upper(given), np.linalg.solve(A, B), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("tile, batch", [(10, 7), (64, 100)])
def test_predictions_are_those_of_the_textbook(rows, tile, batch):
    X, y, Xs = rows
    mean, std = exact_gp.ExactGP(KERNEL, NOISE, tile=tile).fit(X, y).predict(Xs, batch)
    A, Ks = KERNEL.value(X) + NOISE * np.eye(203), KERNEL.value(Xs, X)
    variance = KERNEL.diag(Xs) - np.einsum("qn,nq->q", Ks, np.linalg.solve(A, Ks.T)) + NOISE
    assert_allclose(mean, y.mean() + Ks @ np.linalg.solve(A, y - y.mean()), rtol=1e-8)
    assert_allclose(std, np.sqrt(variance), rtol=1e-8)


def test_learning_finds_the_noise_and_what_matters(rows):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, 2))
    learnt = exact_gp.learn(X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=600), rng, rows=400)
    assert 0.006 < learnt.noise < 0.016
    assert learnt.kernel.length_scale[1] > 5 * learnt.kernel.length_scale[0]
