"""Predict rows of a stream, then learn from them: its honest score."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...numerics.threads import single_threaded
from ..checks.arguments import whole_number
from ..checks.rows import check_rows
from ..frames.encoded import KnownColumns
from .watching import Progressive

#: Rows of a new stream that are learnt from before any is predicted.
FIRST_BATCH = 10


def progressive(
    estimator: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, batch: int
) -> Progressive:
    """See `Regressor.progressive`."""
    if not hasattr(estimator, "partial_fit"):
        raise ValueError(f"{type(estimator).__name__} has no partial_fit: it learns by fit alone")
    size = whole_number(batch, "batch")
    rows, _ = check_rows(estimator, X, y, sample_weight, reset=not hasattr(estimator, "model_"))
    mean, std = np.full((2, *rows.y.shape), np.nan)
    missed, density = np.full((2, rows.w.size), np.nan)
    start = 0
    while start < rows.w.size:
        known = hasattr(estimator, "model_")
        part = slice(start, start + (size if known else min(size, FIRST_BATCH)))
        own = rows.take(part)
        if known:
            shift = np.full(own.w.size, estimator.model_.units.shift)
            with single_threaded():
                answers = estimator._answers_at(own.X, shift)
                mean[part], std[part] = answers.moments("observation")
                arrived = answers.arrived(own.y)
            missed[part], density[part] = arrived.missed, arrived.log_density
        if (own.w > 0).any():
            y_own = own.y if rows.y.shape[1] > 1 else own.y[:, 0]
            estimator.partial_fit(own.X.view(KnownColumns), y_own, own.w)
        start = part.stop
    mean, std = estimator._shaped(mean), estimator._shaped(std)
    return Progressive.scored(mean, std, rows.y, missed, density)
