"""The sparse methods by name: expert and predictor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..answers.predictors import GlobalPredictor, OwnChunkPredictor
from ..messages.committee import Committee
from ..messages.experts.base import Expert
from ..messages.experts.block import Block
from ..messages.experts.projected import Projected
from .nystrom import Nystrom

Array = np.ndarray


@dataclass(frozen=True)
class Method:
    """Expert, predictor, and whether rows are kept."""

    expert: type[Expert]
    answer: Callable[[Committee], Any]
    keeps_rows: bool = False


#: Every expert that has a name, answering with its anchors; and those that answer otherwise.
METHODS = {
    "sor": Method(Projected, partial(GlobalPredictor, degenerate=True)),
    **{
        expert.method: Method(expert, GlobalPredictor)
        for expert in Expert.registry
        if expert.method
    },
    "pic": Method(Block, OwnChunkPredictor.of, keeps_rows=True),
    "nystrom": Method(Projected, Nystrom.of, keeps_rows=True),
}
#: Those for which the queries of a call may be the anchors.
TRANSDUCTIVE = ("sor", "dtc", "pitc")
