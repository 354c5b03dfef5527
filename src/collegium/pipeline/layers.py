"""Layers of a fitted model: small records, each of one idea, that `model.py` stacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np

from ..answers.cells.cells import Cells
from ..errors.checked import Checked
from ..errors.errors import Errors
from ..messages.committee import Committee
from ..numerics.records import record
from .stream.following import Following
from .tuning import TUNING

Array = np.ndarray


@record("pipeline.sizes/1")
@dataclass(frozen=True)
class Sizes:
    """How rows are cut, and how many answer a query."""

    chunk_size: int
    n_local: int
    query_size: int = 0  # 0: inductive
    screening: float = 0.0
    combination: str = ""  # a rule for whole experts; "": messages add up


@record("pipeline.refined_errors/1")
@dataclass(frozen=True, eq=False)
class RefinedErrors:
    """Errors of the refined part (K + Ψ)w at held-out rows, predicted from the other rows."""

    at: Array  # numbers of rows, ascending  (h,)
    wrong: Array  # (h, p)


@record("pipeline.refinement/1")
@dataclass(frozen=True, eq=False)
class Refinement:
    """Means on the way to those of the exact GP: y = (K + Ψ)w + r."""

    weights: Array  # w  (n, p)
    rest: Committee  # of the residual r
    residuals: Array  # relative size of r, before each iteration and after the last
    errors: RefinedErrors | None = None
    plain: Any = None  # errors of y around means that are not refined: a stream goes on with these


@record("pipeline.fast/1")
@dataclass(frozen=True, eq=False)
class Fast:
    """A way of answering that was chosen by the density of held-out rows."""

    asked: float  # milliseconds per row
    memory: float  # bytes of cells that are kept
    rows: int  # of the model when it was chosen
    n_local: int
    cells: Cells | None
    errors: Errors | None
    averaged: bool  # whether it averages over hyperparameters, where the model does
    words: str
    tried: tuple[tuple[str, float, float], ...]  # words, milliseconds, mean log density

    def holds(self, asked: float, memory: float, rows: int) -> bool:
        """Whether it is what is asked for, for about as many rows."""
        return (self.asked, self.memory) == (
            asked,
            memory,
        ) and rows <= TUNING.stream.doubled * self.rows


@record("pipeline.answering/1")
@dataclass(frozen=True, eq=False)
class Answering:
    """Cells and ways that are prepared for answers."""

    cells: Cells | None = None  # None: queries are answered from their own nearest rows
    fast: Fast | None = None  # how to answer within `AnswerTime`
    rows: int = 0  # checksum of the inputs that cells are for; 0: of any

    def cells_for(self, X: Array) -> Cells | None:
        """The cells, if rows are those that they were chosen for."""
        if self.cells is None or self.rows in (0, inputs_checksum(X)):
            return self.cells
        return None


def inputs_checksum(X: Array) -> int:
    """A positive number that tells inputs of rows apart."""
    return 1 + crc32(np.ascontiguousarray(X, dtype=float).data)


@record("pipeline.stream/1")
@dataclass(frozen=True, eq=False)
class Stream:
    """Memory of a model that follows a stream."""

    learnt_at: int = 0  # rows seen when hyperparameters were last learnt
    errors_at: int = 0  # rows kept when their scale was last looked for
    following: Following | None = None  # None: anchors stay as they are
    checked: Checked | None = None  # rows predicted before they were learnt from
    steady: bool = False  # hyperparameters are not relearnt: other models share the basis

    def at_rest(self) -> Stream:
        """Keep anchors and hyperparameters as they are."""
        return replace(self, following=None, checked=None, steady=True)

    def without_chunks(self, chunks: Sequence[Any]) -> Stream:
        """Forget the rows of chunks that were sampled."""
        if self.following is None:
            return self
        return replace(self, following=self.following.without_chunks(chunks))
