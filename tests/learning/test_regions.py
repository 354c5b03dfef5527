"""Regions that are held out with all their rows."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.vq import kmeans2

import reference
from collegium.engines import Serial
from collegium.kernels import Matern32
from collegium.learning.regions import Contrasts, Region, Regions, cut_regions
from collegium.learning.tuning import TUNING
from collegium.rows.rows import Rows

KERNEL, NOISE = Matern32(1.3, [0.5, 1.2]), 0.2


def draw(n, p=2, seed=0, weights=False):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    w = rng.integers(1, 4, n).astype(float) if weights else np.ones(n)
    K = KERNEL.value(X, X) + np.diag(NOISE / w)
    return Rows(X, np.linalg.cholesky(K) @ rng.normal(size=(n, p)), w)


def test_a_region_is_predicted_by_the_gp_of_the_rows_around_it():
    rows = draw(60, weights=True)
    region = Region(rows.take(np.arange(7)), rows.take(np.arange(7, 60)))
    e, C = region.errors(KERNEL, NOISE)
    around = region.around
    mean, cov, _ = reference.gp(KERNEL, NOISE, around.X, around.y, around.w, region.inner.X)
    assert_allclose(e, region.inner.y - mean, atol=1e-9)
    assert_allclose(C, cov, atol=1e-9)


def test_errors_along_directions_are_independent_with_the_variances_that_are_told():
    """In the mean over many draws from the prior, at another noise than that of the directions."""
    rows = draw(400, p=3000, seed=3)
    region = Region(rows.take(np.arange(30)), rows.take(np.arange(30, 400)))
    seen = Contrasts.of(region, KERNEL, 3.0 * NOISE).seen(KERNEL, NOISE)
    assert seen.errors.shape == (TUNING.regions.directions, 3000)
    covariance = seen.errors @ seen.errors.T / 3000
    scale = np.sqrt(np.outer(*[seen.function + seen.noise] * 2))
    assert_allclose(covariance / scale, np.eye(len(scale)), atol=0.1)


def test_noise_along_directions_is_that_of_their_rows():
    rows = draw(60, weights=True)
    rows.w[:3] = 40.0, 0.2, 9.0
    contrasts = Contrasts.of(Region(rows.take(np.arange(7)), rows.take(np.arange(7, 60))), KERNEL,
                             NOISE)  # fmt: skip
    seen, D = contrasts.seen(KERNEL, 3.0 * NOISE), contrasts.directions
    _, cov, _ = reference.gp(KERNEL, 3.0 * NOISE, rows.X[7:], rows.y[7:], rows.w[7:], rows.X[:7])
    _, vectors = np.linalg.eigh(D.T @ cov @ D)
    U = D @ vectors
    assert_allclose(seen.noise, (U.T @ np.diag(3.0 * NOISE / rows.w[:7]) @ U).diagonal(), rtol=1e-8)


def test_directions_that_the_noise_hides_are_not_looked_at():
    rows = draw(200)
    region = Region(rows.take(np.arange(30)), rows.take(np.arange(30, 200)))
    t, found = TUNING.regions, []
    for noise in (1e-3, 0.5, 3.0, 300.0):
        D = Contrasts.of(region, KERNEL, noise).directions
        C = reference.gp(KERNEL, noise, rows.X[30:], rows.y[30:], rows.w[30:], rows.X[:30])[1]
        assert D.shape[1] == min((np.linalg.eigvalsh(C) >= t.least * noise).sum(), t.directions)
        found.append(D.shape[1])
    assert found[0] == t.directions and found[-1] == 0


def test_regions_are_looked_at_with_any_ratio_of_the_noise():
    regions = Regions.of(KERNEL, NOISE, draw(400), Serial())
    for found, kind in zip(regions.look(3.0), (regions.inside, regions.edge)):
        each = [one.seen(KERNEL, 3.0 * NOISE) for one in kind]
        assert_allclose(found.errors, np.concatenate([one.errors for one in each]), atol=1e-10)
        assert_allclose(found.noise, np.concatenate([one.noise for one in each]), rtol=1e-10)


def test_regions_have_several_sizes_and_half_lie_at_an_edge():
    rows = draw(900)
    found = cut_regions(KERNEL, rows)
    assert len(found) == TUNING.regions.number
    variance = [Region.errors(one, KERNEL, NOISE)[1].diagonal().mean() for one in found]
    inside, edge = np.array(variance[::2]), np.array(variance[1::2])
    assert inside[-1] > 3.0 * inside[0]
    assert edge.mean() > 1.3 * inside.mean()
    for one in found:
        gap = ((one.inner.X[:, None] - one.around.X) ** 2).sum(axis=2)
        assert gap.min() > 0.0  # no row is on both sides
        reach = np.abs(one.inner.X - one.inner.X[0]) / [0.5, 1.2]
        far = np.abs(one.around.X - one.inner.X[0]) / [0.5, 1.2]
        assert (reach**2).sum(axis=1).max() <= (far**2).sum(axis=1).min() * (1.0 + 1e-9)


@pytest.mark.parametrize("spread", [True, False], ids=["patients", "wells"])
def test_rows_around_a_region_are_of_other_groups(spread):
    rows = draw(900)
    _, places = kmeans2(rows.X, 30, seed=1)
    group = np.random.default_rng(3).integers(30, size=900) if spread else places
    rows = replace(rows, group=group)
    for one in cut_regions(KERNEL, rows):
        assert not np.isin(one.inner.group, one.around.group).any()
        assert one.inner.w.size >= 8 and one.around.w.size > 100
    for kind in Regions.of(KERNEL, NOISE, rows, Serial()).look(1.0):
        sizes = np.bincount(kind.group)  # errors of a region may be alike
        assert sizes.sum() == len(kind.errors) and sizes.max() <= TUNING.regions.directions
    alone = replace(rows, group=np.zeros(900, dtype=int))
    assert all(one.around.w.size == 0 for one in cut_regions(KERNEL, alone))
    assert np.isfinite(Regions.of(KERNEL, NOISE, alone, Serial()).look(1.0)[0].squares).all()


def test_few_rows_have_no_regions():
    rows = draw(TUNING.regions.fewest - 1)
    found = Regions.of(KERNEL, NOISE, rows, Serial())
    assert len(found) == 0
    assert [one.errors.shape for one in found.look(1.0)] == [(0, 2)] * 2


@pytest.mark.parametrize("size", [0.25, 1.0, 4.0])
def test_regions_show_the_size_of_the_kernel(size):
    rows = draw(2_000, p=3, seed=5)
    regions = Regions.of(KERNEL.scaled(1.0 / size), NOISE / size, rows, Serial())
    for one in regions.look(1.0):
        assert one.errors.shape[0] > 30
        assert_allclose(one.squares.mean(), size, rtol=0.35)


def centres(X, lengths):
    """Rows in the middle of the regions at edges."""
    rows = Rows(X, X[:, :1], np.ones(len(X)))
    return np.array([one.inner.X[0] for one in cut_regions(Matern32(1.0, lengths), rows)[1::2]])


def test_regions_do_not_depend_on_the_order_of_columns():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=700), rng.uniform(size=700), rng.gamma(2.0, size=700)])
    lengths, plain = np.array([0.5, 0.7, 1.1]), None
    for order in map(list, permutations(range(3))):
        found = centres(X[:, order], lengths[order])[:, np.argsort(order)]
        plain = found if plain is None else plain
        assert_array_equal(found, plain)


def test_a_row_far_away_in_a_column_that_does_not_matter_is_no_more_than_the_last():
    """It is the centre of few regions, and of the same ones however far away it is."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-2.0, 2.0, size=(900, 2)), rng.normal(size=900)])
    found = []
    for far in (5.0, 5e3):
        X[7, 2] = far
        found.append(centres(X, [0.5, 0.5, 1e9])[:, :2])
    assert_array_equal(*found)
    alone = np.column_stack([X[:, :2], np.arange(900) == 7])  # all others are equal there
    here = [(centres(one, [0.5, 0.5, 1e9])[:, :2] == X[7, :2]).all(axis=1) for one in (X, alone)]
    assert max(np.mean(one) for one in here) < 0.2
