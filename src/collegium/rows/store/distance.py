"""The squared distance of a search: numbers, levels that are equal or not, places on a globe."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...kernels.embedding import Globe, Levels
from ..metric import Metric

Array = np.ndarray
#: Smaller weights belong to columns without a length scale, which `Metric` keeps above zero.
NOTHING = 1e-250
#: Larger weights are reduced to this, so that squared distances are finite.
MOST = 1e300


@dataclass(frozen=True, eq=False)
class Distance:
    """Σ w (x − z)² over numbers, + w where levels differ, + w · chord² of places."""

    weights: Array  # (d,)
    levels: Array = field(default_factory=lambda: np.zeros(0, np.int64))  # columns of codes  (l,)
    mismatch: Array = field(default_factory=lambda: np.zeros(0))  # added where codes differ  (l,)
    #: Columns of longitudes and latitudes  (g, 2), and weights of squared chords in degrees  (g,).
    places: Array = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    chords: Array = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, metric: Metric) -> Distance:
        """Take the distance of a metric, with levels and places instead of their embeddings."""
        weights = np.minimum(metric.weights**2, MOST)
        weights[weights < NOTHING] = 0.0
        levels = [one for one in metric.embeddings if isinstance(one, Levels)]
        globes = [one for one in metric.embeddings if isinstance(one, Globe)]
        return cls(
            weights,
            np.array([one.columns[0] for one in levels], np.int64),
            _weights_of(levels),
            np.array([one.columns for one in globes], np.int64).reshape(-1, 2),
            _weights_of(globes),
        )

    def parts(self) -> tuple[Array, ...]:
        """Arguments of `search_segment`."""
        return self.weights, self.levels, self.mismatch, self.places, self.chords


def _weights_of(embeddings: list[Any]) -> Array:
    return np.array([min(one.inverse_square, MOST) for one in embeddings], np.float64)
