"""Small committees, and predictors by cells."""

from dataclasses import replace

import numpy as np

from collegium.answers.cells.cells import Cells
from collegium.answers.cells.predictor import CellPredictor
from collegium.answers.predictors import ExactPredictor, LocalPredictor
from collegium.engines import Serial
from collegium.kernels import Matern32
from collegium.messages.committee import Committee
from collegium.rows.chunk import chunk_of
from collegium.rows.rows import Rows

KERNEL = Matern32(1.7, [0.8, 1.9, 1.3, 0.9])


def committee_of(n=160, d=4, chunks=3, anchors=9, kernel=None, p=2, noise=0.07, seed=3):
    rng = np.random.default_rng(seed)
    kernel = kernel or replace(KERNEL, length_scale=KERNEL.length_scale[:d])
    X = rng.uniform(-2, 2, (n, d))
    y = np.stack([np.sin(2 * X[:, 0]) + X[:, -1], X[:, 0] ** 2], axis=1)[:, :p]
    rows = Rows(X, y + 0.2 * rng.normal(size=y.shape), rng.uniform(0.4, 3.0, n))
    start = Committee.start(kernel, noise, X[:anchors] + 0.1, p)
    parts = [rows.take(own) for own in np.array_split(np.arange(n), chunks)]
    own = [chunk_of(i, part) for i, part in enumerate(parts)]
    return start.add(own, Serial(), keep=True), rng.uniform(-2.5, 2.5, (45, d))


def cells_of(committee, k, near, memory=1e8, n_local=20, **more):
    own = Cells.of(committee.basis.kernel, committee.rows().X, k, near, memory)
    accurate = (
        LocalPredictor.of(committee, n_local) if committee.basis.m else ExactPredictor.of(committee)
    )
    return CellPredictor.of(committee, replace(own, **more), accurate)
