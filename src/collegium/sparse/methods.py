"""The sparse methods by name: who speaks for a chunk, and who answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..answers.predictors import Global, OwnChunk
from ..messages.committee import Committee
from ..messages.experts import Block, Diagonal, Expert, Projected, Variational
from .nystrom import Nystrom

Array = np.ndarray


@dataclass(frozen=True)
class Method:
    """Who speaks for a chunk, who answers, and whether that needs the rows."""

    expert: type[Expert]
    answer: Callable[[Committee], Any]
    keeps_rows: bool = False


METHODS = {
    "sor": Method(Projected, partial(Global, degenerate=True)),
    "dtc": Method(Projected, Global),
    "fitc": Method(Diagonal, Global),
    "pitc": Method(Block, Global),
    "pic": Method(Block, OwnChunk.of, keeps_rows=True),
    "vfe": Method(Variational, Global),
    "nystrom": Method(Projected, Nystrom.of, keeps_rows=True),
}
#: Those for which the queries of a call may be the anchors.
TRANSDUCTIVE = ("sor", "dtc", "pitc")
