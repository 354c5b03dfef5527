"""The beginning of a stream: rows that wait until there are enough to learn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..numerics.records import record
from ..rows.rows import Rows


@record("stream.waiting/1")
@dataclass(frozen=True, eq=False)
class Waiting:
    """The first rows of a stream, in the units of the user, kept until there are enough."""

    rows: Rows
    learnt_at: int  # rows when hyperparameters were last learnt
    enough: int  # rows that end the waiting

    @property
    def due(self) -> bool:
        """Whether to learn: at first, when the rows have doubled, and when they are enough."""
        return self.rows.X.shape[0] >= min(2 * self.learnt_at, self.enough)


def waiting(rows: Rows, enough: int) -> Waiting | None:
    """Keep rows that a model was just learnt from, unless they are enough: then None."""
    n = rows.X.shape[0]
    return None if n >= enough else Waiting(rows, n, enough)


def grow(
    model: Any, rows: Rows, begin: Callable[[Rows, Any], Any], absorb: Callable[[Any, Rows], Any]
) -> Any:
    """Add rows to the model of a stream; a stream that begins has the model None.

    `absorb(model, rows)` adds rows. While the model has rows that wait, `begin(rows, model)`
    makes it anew from all of them, each time these are due.
    """
    if model is None:
        return begin(rows, None)
    if model.waiting is None:
        return absorb(model, rows)
    kept = replace(model.waiting, rows=model.waiting.rows + rows)
    if kept.due:
        return begin(kept.rows, model)
    return replace(absorb(model, rows), waiting=kept)
