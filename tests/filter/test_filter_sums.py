"""Sums over rows: any order and batches, small directions, fading."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium.filter.sums import Sums


def test_any_order_and_any_batches_give_the_same_sums():
    rng = np.random.default_rng(0)
    Phi, Y, w = rng.normal(size=(700, 6)), rng.normal(size=(700, 2)), rng.uniform(0, 3, 700)
    slow = np.hstack([Phi, Y]).T @ (w[:, None] * np.hstack([Phi, Y]))
    order = rng.permutation(700)
    whole = Sums.start(6, 2).add(Phi, Y, w)
    by_row = Sums.start(6, 2).add_rows(Phi[order], Y[order], w[order])
    parts = Sums.start(6, 2)
    for part in np.array_split(np.arange(700), [1, 2, 5, 250, 300]):
        parts = parts.add(Phi[part], Y[part], w[part])
    merged = Sums.start(6, 2).add(Phi[:300], Y[:300], w[:300])
    merged = merged + Sums.start(6, 2).add(Phi[300:], Y[300:], w[300:])
    for sums in (whole, by_row, parts, merged):
        assert_allclose(sums.triangle.T @ sums.triangle, slow, rtol=1e-12, atol=1e-10)
        assert_allclose(sums.triangle, np.triu(sums.triangle))
        assert_allclose(sums.weight, w.sum())


@pytest.mark.parametrize("gap", [1e-6, 1e-5, 1e-4])
@pytest.mark.parametrize("block", [1, 100, 5_000])
def test_small_directions_survive_many_rows(block, gap):
    """Columns that differ little: sums of squares in double precision lose many digits of the
    difference, their square root does not. Against long doubles.
    """
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("no extended precision here")
    rng = np.random.default_rng(0)
    x = rng.normal(size=20_000) + 10.0
    Phi = np.column_stack([x, x + gap * rng.normal(size=x.size), np.ones(x.size)])
    Y = np.zeros((x.size, 0))
    sums = Sums.start(3, 0)
    for i in range(0, x.size, block):
        sums = sums.add(Phi[i : i + block], Y[i : i + block])
    Q, R = Phi.astype(np.longdouble), np.zeros((3, 3), dtype=np.longdouble)
    for j in range(3):  # Gram–Schmidt in extended precision, each column twice
        for _ in range(2):
            for i in range(j):
                share = Q[:, i] @ Q[:, j]
                R[i, j] += share
                Q[:, j] -= share * Q[:, i]
        R[j, j] = np.sqrt(Q[:, j] @ Q[:, j])
        Q[:, j] /= R[j, j]
    expected = np.abs(R.astype(float))
    found = np.abs(sums.triangle)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert abs(found[1, 1] / expected[1, 1] - 1.0) < 1e-14 / gap
    plain = np.linalg.cholesky(Phi.T @ Phi).T
    assert abs(plain[1, 1] / expected[1, 1] - 1.0) > 1e-16 / gap**2


def test_a_faded_past_counts_less():
    rng = np.random.default_rng(0)
    Phi, Y = rng.normal(size=(9, 3)), rng.normal(size=(9, 1))
    sums = Sums.start(3).add(Phi, Y)
    assert_allclose(sums.faded(0.3).triangle, np.sqrt(0.3) * sums.triangle)
    assert_allclose(sums.faded(0.3).weight, 2.7)
