"""Chunks that are skipped move no prediction by more than the tolerance."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium.answers import local
from collegium.answers.screening import ChunkBoxes
from collegium.kernels import RBF, Constant, Hat, Linear, Matern12, Matern32, Periodic, White
from collegium.messages.basis import Anchors
from collegium.messages.experts import Block
from collegium.messages.message import normalise
from collegium.rows.chunk import Chunk

NOISE = 0.03


def chunks(d=2, count=40, n=15, spread=60.0, p=2):
    """Small clusters strewn over a wide square, with weights."""
    rng = np.random.default_rng(4)
    found = []
    for i in range(count):
        X = rng.uniform(-spread, spread, size=d) + rng.uniform(-1, 1, size=(n, d))
        y = np.column_stack([np.sin(X[:, 0]), 3.0 * np.cos(X[:, -1])])[:, :p]
        found.append(Chunk(i, X, y, rng.uniform(0.5, 3.0, n)))
    return found


def answers(kernel, members, Q):
    basis = Anchors.at(kernel, Q)
    belief = normalise(sum((Block(NOISE).send(basis, c) for c in members), start=basis.prior(2)))
    return basis, local.predict_global(basis, belief, Q)


QUERIES = np.random.default_rng(1).uniform(-4, 4, size=(25, 2))
KERNELS = {
    "matern12": Matern12(1.4, [0.9, 1.3]),
    "matern32": Matern32(2.0, [1.5, 2.0]),
    "rbf": RBF(1.0, [2.0, 3.0]),
    "hat": Hat(1.0, [22.0, 27.0]),
    "sum": Matern32(0.7, 1.0) + RBF(0.5, 2.5) + White(0.1),
    "product": Matern32(1.0, 2.0) * Periodic(period=5.0),
}


@pytest.mark.parametrize("tolerance", [1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("name", KERNELS)
def test_no_answer_moves_by_more_than_the_tolerance(name, tolerance):
    kernel, members = KERNELS[name], chunks()
    basis, whole = answers(kernel, members, QUERIES)
    used = ChunkBoxes.of(members).matter(basis, NOISE, tolerance)
    assert 0 < used.size < len(members)  # there is something to see
    _, fewer = answers(kernel, [members[i] for i in used], QUERIES)
    moved = np.abs(fewer.mean - whole.mean) / np.sqrt(whole.variance)[:, None]
    assert moved.max() <= tolerance + 1e-12
    assert_allclose(fewer.variance, whole.variance, rtol=tolerance + 1e-10)


def test_a_looser_tolerance_uses_fewer():
    members, basis = chunks(), Anchors.at(Matern32(2.0, [1.5, 2.0]), QUERIES)
    boxes = ChunkBoxes.of(members)
    counts = [boxes.matter(basis, NOISE, t).size for t in (0.0, 1e-12, 1e-6, 1e-3, 0.5)]
    assert counts[0] == len(members)
    assert counts == sorted(counts, reverse=True) and counts[-1] < counts[1]


@pytest.mark.parametrize("kernel", [
    Constant(0.2) + RBF(), Linear() + RBF(), Linear() * RBF(), Periodic(period=2.0)
])  # fmt: skip
def test_a_kernel_that_reaches_everywhere_uses_every_chunk(kernel):
    members, basis = chunks(), Anchors.at(kernel, QUERIES)
    assert_array_equal(ChunkBoxes.of(members).matter(basis, NOISE, 1e-3), np.arange(len(members)))


def test_without_noise_every_chunk_is_used():
    members, basis = chunks(), Anchors.at(Matern32(), QUERIES)
    assert ChunkBoxes.of(members).matter(basis, 0.0, 1e-3).size == len(members)


def test_one_chunk_is_always_used():
    members = chunks(count=1)
    basis = Anchors.at(Matern32(), QUERIES + 1e5)
    assert ChunkBoxes.of(members).matter(basis, NOISE, 1e-3).size == 1


@pytest.mark.parametrize("name", KERNELS)
def test_reach_bounds_the_kernel_beyond_a_gap(name):
    kernel = KERNELS[name]
    rng = np.random.default_rng(3)
    gaps = rng.uniform(0, 6, size=(50, 2)) * rng.integers(0, 2, size=(50, 2))
    bound = kernel.reach(gaps)
    for gap, most in zip(gaps, bound):
        away = (gap + rng.exponential(1.0, size=(40, 2))) * rng.choice([-1, 1], size=(40, 2))
        origin = rng.normal(size=(1, 2))
        assert np.abs(kernel.value(origin, origin + away)).max() <= most * (1 + 1e-12)


@pytest.mark.diagonal
@pytest.mark.parametrize("noise", [1.0, 1e-3, 30.0])
def test_the_bound_is_nearly_reached_and_never_passed(noise):
    """Prior variance far below the noise, all rows pull one way: nothing is lost in the proof."""
    tolerance, closest, Z = 0.1, 0.0, np.zeros((1, 1))
    y, w = np.array([[0.0, 10.0]]) * np.sqrt(noise), np.array([50.0])
    members = [Chunk(i, np.ones((1, 1)), y, w) for i in range(4)]

    def answer(basis, used):
        messages = [Block(noise).send(basis, members[i]) for i in used]
        belief = normalise(sum(messages, start=basis.prior(2)))
        return local.predict_global(basis, belief, Z)

    for variance in np.geomspace(1e-12, 1e-1, 160) * noise:
        basis = Anchors.at(RBF(variance, 1.0), Z)
        used = ChunkBoxes.of(members).matter(basis, noise, tolerance)
        whole, fewer = answer(basis, range(4)), answer(basis, used)
        moved = np.abs(fewer.mean - whole.mean) / np.sqrt(whole.variance)[:, None]
        assert moved.max() <= tolerance * (1 + 1e-9)
        assert np.abs(fewer.variance / whole.variance - 1.0).max() <= tolerance
        closest = max(closest, moved.max() / tolerance)
    assert closest > 0.9


@pytest.mark.parametrize("gap", [1e-3, 0.3])
def test_what_is_bounded_is_what_near_equal_queries_make_of_far_rows(gap):
    """δ = ‖K(Z, Z)⁻¹‖ Σ_z k(z, x)² w/σ²: the inverse and the sum over queries both count."""
    kernel, rng = Matern32(1.0, 1.0), np.random.default_rng(0)
    Z = np.array([[0.0], [gap], [5.0]])
    for distance in np.linspace(6.0, 60.0, 40):
        X = np.full((1, 1), distance)
        members = [Chunk(i, X, rng.normal(size=(1, 1)), np.array([2.0])) for i in range(2)]
        basis = Anchors.at(kernel, Z)
        trace = np.trace(np.linalg.inv(kernel.value(Z)))
        delta = trace * (kernel.value(Z, X) ** 2).sum() * 2.0 / NOISE
        size = np.sqrt(2.0 * sum(c.y[0, 0] ** 2 for c in members) / NOISE)
        least = 1e-3
        fits = [np.sqrt(k * delta) * (1 + np.sqrt(k * delta)) * size <= least and k * delta <= least
                for k in (1, 2)]  # fmt: skip
        assert ChunkBoxes.of(members).matter(basis, NOISE, least).size == 2 - sum(fits)


def test_a_product_with_compact_support_screens_whatever_the_other_factor():
    members, basis = chunks(), Anchors.at(Hat(1.0, [22.0, 27.0]) * Linear(2.0), QUERIES)
    assert 0 < ChunkBoxes.of(members).matter(basis, NOISE, 1e-3).size < len(members)
