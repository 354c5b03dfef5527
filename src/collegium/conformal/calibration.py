"""Calibration rows: what they are, not what a model says of them, which changes as it learns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numerics.records import record

Array = np.ndarray


@record("conformal.calibration/1", rows="X")
@dataclass(frozen=True, eq=False)
class CalibrationRows:
    """Rows that the model has never seen; scores are computed when an interval is asked for.

    So they stay valid while the model learns from other rows, forgets some or is merged.
    """

    X: Array  # columns of numbers, as the model's encoding has them  (n, d)
    y: Array  # in the units of the user (n, p); positions of classes (n, 1)
    log_exposure: Array  # of counts; else 0  (n,)
    group: Array | None = None  # codes of groups, which are covered one by one  (n,)

    @property
    def n(self) -> int:
        return self.X.shape[0]
