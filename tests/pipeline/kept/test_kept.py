"""Rows in memory and rows on disk keep the same promises."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium.engines import Serial
from collegium.kernels import Matern32
from collegium.messages.committee import Committee
from collegium.pipeline.kept.disk import OnDisk, ScaledTargets, Stored
from collegium.pipeline.kept.kept import Kept
from collegium.pipeline.kept.memory import CommitteeRows, InMemory
from collegium.pipeline.sums import GaussianSum
from collegium.rows.metric import Metric
from collegium.rows.rows import Rows
from collegium.rows.scaling import Scaling
from collegium.rows.store.store import Store

N, SIZE, NOISE = 230, 50, 0.07
RNG = np.random.default_rng(3)
X = RNG.uniform(-1, 1, (N, 2))
Y = 5.0 + 2.0 * np.sin(3.0 * X[:, :1])
W = RNG.integers(1, 4, N).astype(float)
SCALING = Scaling(np.array([5.0]), np.array([2.0]))
ROWS = Rows(X, SCALING.forward(Y), W)
METRIC = Metric(X.mean(axis=0), np.ones(2))
KERNEL = Matern32(0.8, [0.5, 0.9])


def in_memory(tmp_path):
    groups = tuple(np.array_split(np.arange(N), 5))
    return InMemory(ROWS, groups, tuple(range(5)))


def on_disk(tmp_path):
    store = Store.build(tmp_path / "kept.rows", [(X, Y, W, 0)], cell_rows=SIZE)
    positions = store.sample(N)
    kept = OnDisk(store, ScaledTargets(SCALING), METRIC, Stored.of(store, METRIC))
    first = kept.take(positions)
    return OnDisk(store, ScaledTargets(SCALING), METRIC, kept.stored, first, positions)


KINDS = pytest.mark.parametrize("make", [in_memory, on_disk])


def ordered(rows):
    order = np.lexsort(rows.X.T)
    return [part[order] for part in rows.fields()]


@pytest.mark.parametrize("kind", [InMemory, OnDisk])
def test_both_kinds_have_all_of_the_protocol(kind):
    wanted = {name for name in vars(Kept) if not name.startswith("_")}
    assert wanted > {"take", "nearest", "sample", "cells", "held_out", "append", "without"}
    for name in wanted:
        own, asked = getattr(kind, name), getattr(Kept, name)
        if inspect.isfunction(asked):
            assert [*inspect.signature(own).parameters] == [*inspect.signature(asked).parameters]


@KINDS
def test_rows_are_all_there_once_as_the_model_sees_them(make, tmp_path):
    kept = make(tmp_path)
    assert len(kept) == N
    assert_allclose(kept.total_weight(), W.sum(), rtol=1e-14)
    for found, right in zip(ordered(kept.take(np.arange(N))), ordered(ROWS)):
        assert_allclose(found, right, rtol=1e-14)
    cells = [Rows(*cell.load()) for cell in kept.cells()]
    assert len(cells) > 3 and sum(cell.n for cell in kept.cells()) == N
    total = cells[0]
    for cell in cells[1:]:
        total = total + cell
    for found, right in zip(ordered(total), ordered(ROWS)):
        assert_allclose(found, right, rtol=1e-14)
    assert_allclose(sum(map(kept.weight, kept.cells())), W.sum())
    assert kept.chunk_ids().listed() == [cell.id for cell in kept.cells()]


@KINDS
def test_nearest_rows_are_those_of_slow_code(make, tmp_path):
    kept, Q = make(tmp_path), RNG.uniform(-1, 1, (7, 2))
    near = kept.nearest(Q, 11)
    assert near.shape == (7, 11)
    for q, own in zip(Q, near):
        far = np.sort(np.linalg.norm(X - q, axis=1))[:11]
        found = np.linalg.norm(kept.take(own).X - q, axis=1)
        assert_allclose(found, far, rtol=1e-12)


@KINDS
def test_held_out_rows_are_not_among_the_others(make, tmp_path):
    kept = make(tmp_path)
    rows, held, others = kept.held_out(1000, np.random.default_rng(0))
    assert held.size == N // 10
    gone = {tuple(x) for x in rows.X[held]}
    left = [tuple(x) for cell in others.cells() for x in cell.load()[0]]
    assert len(gone) == N // 10 and len(left) == N - N // 10 and gone.isdisjoint(left)


@KINDS
def test_messages_of_forgotten_chunks_are_taken_out_to_the_last_bit(make, tmp_path):
    kept = make(tmp_path)
    start = Committee.start(KERNEL, NOISE, X[:9], 1)
    whole = GaussianSum(start.add(kept.cells(), Serial(), keep=False))
    gone = kept.chunks_of([1, 3])
    assert {chunk.id for chunk in gone} == {1, 3}
    left, stored = kept.without(gone, whole, Serial())
    never = start.add([c for c in kept.cells() if c.id not in (1, 3)], Serial(), keep=False)
    assert_array_equal(left.committee.belief.mean, never.belief.mean)
    assert (stored is None) == kept.in_memory
    if not kept.in_memory:
        assert len(stored.open()) == N - sum(chunk.n for chunk in gone)
        with pytest.raises(ValueError, match="no more"):
            OnDisk(stored.open(), kept.sees, METRIC, stored).chunks_of([1])


def test_rows_of_a_committee_are_not_put_together_to_be_counted(monkeypatch):
    kept = in_memory(None)
    committee = Committee.start(KERNEL, NOISE, X[:9], 1).add(kept.cells(), Serial(), keep=True)
    monkeypatch.setattr(Committee, "rows", lambda self: pytest.fail("rows were put together"))
    rows = CommitteeRows(committee)
    assert len(rows) == N and rows.in_memory and not rows.cell_rows
    assert rows.append(ROWS, []) is None
