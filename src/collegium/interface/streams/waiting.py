"""Shell of a stream: validate rows, keep the first until they are enough, add later ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ...numerics.records import record
from ...numerics.threads import single_threaded
from ...rows.rows import Rows
from ...rows.scaling import merged
from ..checks.rows import check_outputs, check_rows


@record("stream.waiting/1")
@dataclass(frozen=True, eq=False)
class Waiting:
    """First rows of a stream, in the user's units, kept until there are enough."""

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
    """Add rows to the model of a stream; before its first rows the model is None.

    `absorb(model, rows)` adds rows. While the model has rows that wait, `begin(rows, model)`
    remakes it from all of them, each time these are due.
    """
    if model is None:
        return begin(rows, None)
    if model.waiting is None:
        return absorb(model, rows)
    kept = replace(model.waiting, rows=model.waiting.rows + rows)
    if kept.due:
        return begin(kept.rows, model)
    return replace(absorb(model, rows), waiting=kept)


def arriving_rows(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Rows:
    """Validate rows of a stream; the first ones set columns and outputs for all later calls."""
    model = getattr(estimator, "model_", None)
    rows, y_ndim = check_rows(estimator, X, y, sample_weight, reset=model is None)
    if model is None:
        estimator.y_ndim_ = y_ndim
    else:
        check_outputs(rows, model.scaling)
    return rows


def condensed(rows: Rows, *, in_order: bool) -> Rows:
    """Drop rows of weight zero; merge equal ones unless their order has a meaning."""
    rows = rows.take(rows.w > 0)
    return rows if in_order else merged(rows, None, in_order=True)[0]


def lengthened(
    model: Any, rows: Rows, n: int, begin: Callable[[Rows], Any], enough: int
) -> Any:  # fmt: skip
    """Add rows to a model by `model.with_rows`; `n`: rows that came, before copies were merged.

    Until `enough` rows have come they are kept, and `begin(rows)` remakes the model from all of
    them each time they have doubled.
    """

    def start(rows: Rows, earlier: Any) -> Any:
        return replace(begin(rows), waiting=waiting(rows, enough))

    seen = 0 if model is None else model.n_seen
    with single_threaded():
        grown = grow(model, rows, start, lambda model, rows: model.with_rows(rows))
    return replace(grown, n_seen=seen + n)
