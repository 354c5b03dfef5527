"""Which kernel family? Evidence, chunks left out and rows left out are asked.

Rows left out, each given those nearest to it, are as dense as all rows are; chunks left out are
gaps to be carried across; the evidence of chunks is that of data as sparse as a chunk, and
prefers smoother kernels than all rows together bear.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..answers.local import Shared, correct
from ..kernels import Kernel
from ..messages.basis import Anchors
from ..messages.message import Belief, normalise
from ..numerics.linalg import LOG_2PI
from ..rows.rows import Prediction, Rows
from .calibration import Correction, calibrate

Array = np.ndarray

#: The families tried when no kernel is given, roughest first.
FAMILIES = ("Matern12", "Matern32", "Matern52", "RBF")
#: A rougher family is taken where its three log densities a row together are within so much of
#: the best: to be too rough costs less than to be too smooth.
ROUGHER = 0.2


def gap_density(
    kernel: Kernel, noise: float, rows: Rows, groups: Sequence[tuple[Array, Array]], engine: Any
) -> Array:
    """Mean log predictive density of each chunk left out, given the rows around it.

    `groups` are pairs (rows left out, rows given).
    """
    basis, belief = _no_anchors(kernel, rows)

    def density(group: tuple[Array, Array]) -> float:
        out, given = group
        found = Shared.of(basis, noise, rows.take(given)).predict(basis, belief, rows.X[out])
        return _log_density(found, noise, rows.y[out])

    return np.array(engine.map(density, groups))


def near_check(
    kernel: Kernel, noise: float, rows: Rows, asked: Array, neighbours: Array, engine: Any
) -> Correction:
    """Single rows left out, given those nearest to each: is the noise enough? See `calibrate`."""
    parts = np.array_split(np.arange(asked.size), max(1, asked.size // 50))

    def answer(ratio: float) -> tuple[Array, Array]:
        basis, belief = _no_anchors(kernel, rows)

        def predict(part: Array) -> Prediction:
            Xs = rows.X[asked[part]]
            found = correct(basis, noise * ratio, rows, Xs, neighbours[part])
            return found.predict(basis, belief, Xs)

        found = Prediction.joined(engine.map(predict, parts))
        return rows.y[asked] - found.mean, found.variance + noise * ratio

    return calibrate(answer)


def roughest_good(scores: Array) -> int:
    """The first family whose three log densities a row, added up, are near the best."""
    scores = np.nan_to_num(scores, nan=-np.inf)
    return int(np.flatnonzero(scores >= scores.max() - ROUGHER)[0])


def _no_anchors(kernel: Kernel, rows: Rows) -> tuple[Anchors, Belief]:
    basis = Anchors.at(kernel, np.empty((0, rows.X.shape[1])))
    return basis, normalise(basis.prior(rows.y.shape[1]))


def _log_density(found: Prediction, noise: float, y: Array) -> float:
    variance = (found.variance + noise)[:, None]
    z2 = (y - found.mean) ** 2 / variance
    return float(-0.5 * (LOG_2PI + np.log(variance) + z2).sum(axis=1).mean())
