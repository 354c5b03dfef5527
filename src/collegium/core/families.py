"""Which kernel family? Rows left out are asked, each given the rows nearest to it.

The evidence of chunks is that of data as sparse as a chunk, and prefers smoother kernels than
all rows together bear.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .basis import Anchors
from .calibration import Correction, calibrate
from .kernels import Kernel
from .local import Prediction, Rows, correct
from .message import Belief, normalise

Array = np.ndarray

#: The families tried when no kernel is given, roughest first.
FAMILIES = ("Matern12", "Matern32", "Matern52", "RBF")
#: A rougher family is taken where it is within so many standard errors of the best: to be too
#: rough costs less than to be too smooth.
ROUGHER = 1.0


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


def roughest_good(by_row: Array) -> int:
    """The first family whose log densities of rows left out  (families, rows)  are, on average,
    within `ROUGHER` standard errors, of paired differences, of the best."""
    best = int(np.argmax(by_row.mean(axis=1)))
    behind = by_row[best] - by_row
    error = behind.std(axis=1) / np.sqrt(max(1, by_row.shape[1] - 1))
    return int(np.flatnonzero(behind.mean(axis=1) <= ROUGHER * error)[0])


def _no_anchors(kernel: Kernel, rows: Rows) -> tuple[Anchors, Belief]:
    basis = Anchors.at(kernel, np.empty((0, rows.X.shape[1])))
    return basis, normalise(basis.prior(rows.y.shape[1]))
