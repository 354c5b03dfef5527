"""What models share whose anchors may follow a stream."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...interface.watching import FEW
from ...numerics.tiles import TILE
from .following import Following

Array = np.ndarray


class Follows:
    """A model whose anchors may follow a stream."""

    for_streams: ClassVar[tuple[str, ...]] = ("following",)

    following: Following | None
    n_local: int

    @property
    def few_checked(self) -> int:
        """Rows of a call that are checked at first: few, where raw rows correct predictions."""
        return FEW if self.n_local else TILE

    @property
    def n_dropped(self) -> int:
        return 0 if self.following is None else self.following.n_dropped

    @property
    def n_relearnt(self) -> int:
        return 0 if self.following is None else self.following.n_relearnt

    def _sample_or(self, Z: Array) -> Array:
        """Inputs of the stream's sample, or anchors where there is none."""
        own = self.following
        return Z if own is None or not own.sample.rows.w.size else own.sample.rows.X
