"""Kernels of levels that have an order: beside being equal or not, each level is a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ..numerics.records import record
from .base import Kernel
from .columns import Wrapped
from .embedding import Embedding

Array = np.ndarray


@record("kernels.level_scores/1")
@dataclass(frozen=True, eq=False)
class LevelScores:
    """A number for each level of one column, 0 for levels that it does not know."""

    column: int
    codes: Array  # ascending  (L,)
    values: Array  # (L,)

    def __call__(self, X: Array) -> Array:
        """Of the levels of rows  (n,)."""
        own = X[:, self.column]
        at = np.minimum(np.searchsorted(self.codes, own), self.codes.size - 1)
        return np.where(self.codes[at] == own, self.values[at], 0.0)


@record("kernels.scores/1")
@dataclass(frozen=True, eq=False)
class Scores(Embedding):
    """Levels of one column at the numbers that they have."""

    width = 1

    scores: LevelScores | None = None

    def forward(self, X: Array) -> Array:
        assert self.scores is not None
        return replace(self.scores, column=self.columns[0])(X)[:, None]

    def backward(self, P: Array) -> Array:
        assert self.scores is not None
        nearest = np.abs(P - self.scores.values[None, :]).argmin(axis=1)
        return self.scores.codes[nearest][:, None]


@dataclass(frozen=True, eq=False, repr=False)
class Scored(Wrapped):
    """k of x with the scores of some of its columns behind it.

    Levels are equal or not; scores say in addition which of them are alike. Learning finds them
    (`learning.scores`), where held-out rows are better for them.

    Parameters
    ----------
    kernel : Kernel
        Of the columns of X and, behind them, one column for each of the scores.
    scores : sequence of LevelScores
        By position of their columns in X.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium.kernels import Matern32, Scored
    >>> from collegium.kernels.scored import LevelScores
    >>> grades = LevelScores(0, codes=np.array([0.0, 1.0, 2.0]), values=np.array([-1.0, -0.9, 2.0]))
    >>> kernel = Scored(Matern32(length_scale=[5.0, 1.0], categories=0), [grades])
    >>> kernel.value(np.array([[0.0], [1.0], [2.0]])).round(2)
    array([[1.  , 0.94, 0.03],
           [0.94, 1.  , 0.04],
           [0.03, 0.04, 1.  ]])
    """

    scores: Any  # made a tuple

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel={self.kernel!r} of Scored: give one of collegium.kernels")
        object.__setattr__(self, "scores", tuple(self.scores))

    def seen(self, X: Array) -> Array:
        return np.column_stack([X, *(one(X) for one in self.scores)])

    @property
    def labels(self) -> tuple[tuple[str, int], ...]:  # type: ignore[override]
        """Lengths of scores are as those between levels: both have the unit 1."""
        inner = self.kernel.labels
        d = 1 + max((column for _, column in inner), default=0) - len(self.scores)
        return tuple(
            ("mismatch", self.scores[column - d].column)
            if kind == "length" and 0 < d <= column
            else (kind, column)
            for kind, column in inner
        )

    def for_width(self, d: int) -> Self:
        wrong = [one.column for one in self.scores if one.column >= d]
        if wrong:
            raise ValueError(f"scores of Scored are of column {wrong[0]}, but X has {d} columns")
        return replace(self, kernel=self.kernel.for_width(d + len(self.scores)))

    def on_columns(self, names: Sequence[str]) -> Self:
        more = [f"{names[one.column]} as a number" for one in self.scores]
        return replace(self, kernel=self.kernel.on_columns([*names, *more]))

    def on_levels(self, levels: Mapping[int, str]) -> Self:
        return replace(self, kernel=self.kernel.on_levels(levels))

    def inverse_squares(self, d: int) -> Array:
        return self.kernel.inverse_squares(d + len(self.scores))[:d]

    def embeddings(self, d: int) -> tuple[Embedding, ...]:
        """Scores before levels: of a point between levels the level is the nearest one."""
        own = self.kernel.inverse_squares(d + len(self.scores))[d:]
        scores = tuple(
            Scores((one.column,), float(square), appended=i, scores=one)
            for i, (one, square) in enumerate(zip(self.scores, own))
        )
        return scores + self.kernel.embeddings(d + len(self.scores))

    def reach(self, gaps: Array) -> Array:
        """As if all levels had one number."""
        return self.kernel.reach(np.pad(gaps, [(0, 0), (0, len(self.scores))]))

    def __repr__(self) -> str:
        columns = [one.column for one in self.scores]
        return f"Scored({self.kernel!r}, scores of columns {columns})"
