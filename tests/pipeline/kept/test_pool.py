"""Where learning from rows on disk gets its rows: at full density, as all of them have it."""

import numpy as np
from numpy.testing import assert_array_equal

from collegium.kernels import Matern32
from collegium.pipeline.kept.disk import OnDisk, ScaledTargets
from collegium.pipeline.kept.pool import StoredPool
from collegium.rows.metric import Metric
from collegium.rows.rows import Rows
from collegium.rows.scaling import Scaling
from collegium.rows.store.store import Store

KERNEL = Matern32(1.0, [0.4, 3.0])


def pool_of(tmp_path, n=3000, sample=200, w=None):
    rng = np.random.default_rng(1)
    X, y = rng.uniform(0, 1, size=(n, 2)), rng.normal(size=(n, 1))
    w = np.ones(n) if w is None else w
    store = Store.build(tmp_path / "p.rows", [(X, y, w, 0)], cell_rows=60)
    sees = ScaledTargets(Scaling(np.zeros(1), np.ones(1)))
    kept = OnDisk(store, sees, Metric(np.zeros(2), np.ones(2)))
    positions = store.sample(sample)
    return StoredPool(kept, positions, kept.take(positions)), X, y


def away(X, x):
    return (((X - x) / np.asarray(KERNEL.length_scale)) ** 2).sum(axis=1)


def test_clusters_are_the_nearest_of_all_rows(tmp_path):
    pool, X, y = pool_of(tmp_path)
    clusters = pool.clusters(KERNEL, 50, 6, np.random.default_rng(2))
    assert len(clusters) == 6 and pool.n == 3000 and pool.sample.w.size == 200
    for group in clusters:
        rows = pool.rows.take(group)
        found = {tuple(x) for x in rows.X}
        centres = [x for x in pool.sample.X if tuple(x) in found]
        balls = [{tuple(z) for z in X[np.argsort(away(X, x))[:50]]} for x in centres]
        assert found in balls
        where = [np.flatnonzero((X == x).all(axis=1))[0] for x in rows.X]
        assert_array_equal(rows.y, y[where])


def test_near_rows_leave_out_those_asked_for(tmp_path):
    pool, X, _ = pool_of(tmp_path)
    held = np.array([0, 7, 150])
    near = pool.near(KERNEL, held, 25)
    for own, others in zip(held, near):
        x = pool.sample.X[own]
        expected = np.argsort(away(X, x))[1:26]
        assert {tuple(z) for z in pool.rows.X[others]} == {tuple(z) for z in X[expected]}


def test_weights_are_those_to_learn_by(tmp_path):
    w = np.where(np.arange(3000) % 3 == 0, 4.0, 1.0)
    pool, X, _ = pool_of(tmp_path, w=w)
    pool.clusters(KERNEL, 50, 6, np.random.default_rng(2))
    where = [np.flatnonzero((X == x).all(axis=1))[0] for x in pool.rows.X]
    ratio = pool.rows.w / w[where]
    assert np.ptp(ratio) < 1e-12 and abs(pool.sample.w.mean() - 1.0) < 1e-12
    assert isinstance(pool.sample, Rows)
