"""Models of some of the chunks: at a date, of a group, and without a source."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..messages.total import Total
from ..rows.ids import Id
from .state import State
from .storage.chunks import ChunkEntry, ChunkTable
from .storage.where import groups_of
from .table import GivenRows
from .template import Template

Array = np.ndarray
#: Groups that `by` makes models of at most.
MOST_GROUPS = 1000
Parts = list[tuple[Id, GivenRows]]
#: Positions of rows by key of chunk; None: all of them.
Group = dict[int, list[int] | None]


def copied(model: Any) -> Any:
    """Copy an estimator; the records of its model are never changed."""
    return copy(model)


def model_of(
    template: Template, state: State, table: ChunkTable, entries: Sequence[ChunkEntry]
) -> Any:
    """Make the model of some versions of chunks, by the shorter way to the sum of their messages:
    from zero, or from the present sum."""
    now = {one.key: one for one in state.entries.values()}
    wanted = {one.key: one for one in entries}
    parts = by_id(table.parts(entries))
    if not template.exact:
        return template.model(parts, None)
    gone = [one for key, one in now.items() if key not in wanted]
    new = [one for key, one in wanted.items() if key not in now]
    if len(gone) + len(new) < len(wanted):
        total = template.minus(state.total, table.parts(gone))
        total = template.plus(total, table.parts(new))
    else:
        total = template.plus(template.zero(), parts)
    return template.model(parts, total)


def by_id(parts: Parts) -> Parts:
    """Sort rows by the ids of their chunks: numbers first."""
    return sorted(parts, key=lambda part: (isinstance(part[0], str), part[0]))


def split(table: ChunkTable, state: State, group: Group) -> tuple[Parts, Parts, Parts]:
    """Rows of the chunks that a group touches: all of them, those in the group, and the others."""
    entries = {one.key: one for one in state.entries.values()}
    whole, inside, outside = Parts(), Parts(), Parts()
    for key, at in group.items():
        if key not in entries:  # an earlier version
            continue
        id, rows = entries[key].id, table.rows(entries[key])
        whole.append((id, rows))
        if at is None or len(at) == rows.n:
            inside.append((id, rows))
            continue
        some = np.zeros(rows.n, dtype=bool)
        some[at] = True
        inside.append((id, rows.take(np.flatnonzero(some))))
        outside.append((id, rows.take(np.flatnonzero(~some))))
    return whole, inside, outside


def models_by(
    template: Template, state: State, table: ChunkTable, column: str, values: Any
) -> dict[Any, Any]:
    """Make one model of the rows of each value of a column."""
    groups = groups_of(table.con, column, table.keep)
    if values is not None:
        unknown = [one for one in values if one not in groups]
        if unknown:
            raise ValueError(f"values: {unknown[:5]} are not in the column {column!r}")
        groups = {one: groups[one] for one in values}
    if len(groups) > MOST_GROUPS:
        raise ValueError(
            f"the column {column!r} has {len(groups)} values: choose at most {MOST_GROUPS} by "
            "values=[…]"
        )
    found = {}
    for value, group in groups.items():
        _, inside, _ = split(table, state, group)
        own = by_id(inside)
        found[value] = template.model(own, template.plus(template.zero(), own))
    return found


@dataclass(frozen=True, eq=False)
class LedgerExplanation:
    """Predictions of queries with all rows, and without those of each source."""

    values: tuple[Any, ...]  # of the column; the one that moves predictions most comes first
    rows: tuple[int, ...]  # of each value
    mean: Array  # with all rows (n,); of several outputs or classes (n, p)
    std: Array | None  # of a new observation; None for classes
    means: Array  # without the rows of each value  (k, n, …)
    stds: Array | None

    @property
    def changes(self) -> Array:
        """By how much the rows of each value move each prediction  (k, n, …)."""
        return self.mean - self.means

    def __str__(self) -> str:
        lines = [f"{'left out':20} {'rows':>9} {'change of the mean':>19} {'std, of all':>12}"]
        for k, value in enumerate(self.values):
            change = float(self.changes[k].ravel()[np.abs(self.changes[k]).argmax()])
            ratio = ""
            if self.std is not None and self.stds is not None:
                ratio = f"{float(np.mean(self.stds[k] / self.std)):.3f}"
            lines.append(f"{value!s:20.20} {self.rows[k]:9} {change:19.5g} {ratio:>12}")
        return "\n".join(lines)


def without_each(
    template: Template, state: State, table: ChunkTable, model: Any, X: Any, by: str
) -> LedgerExplanation:
    """Leave out the rows of each value of a column in turn."""
    groups = groups_of(table.con, by, table.keep)
    if len(groups) > MOST_GROUPS:
        raise ValueError(f"by={by!r} has {len(groups)} values, and {MOST_GROUPS} are possible")
    mean, std = predicted(model, X)
    everything = dict(table.parts(state.ordered()))
    named = {id: template.named(id, own) for id, own in everything.items() if template.fitted}
    rows, means, stds = [], [], list[Any]()
    for group in groups.values():
        whole, inside, outside = split(table, state, group)
        rows.append(sum(part.n for _, part in inside))
        touched = {id for id, _ in whole}
        left = [(id, part) for id, part in everything.items() if id not in touched] + outside
        if template.fitted:
            total = _without(template, state, whole, outside)
            rest = {**named, **{id: template.named(id, part) for id, part in outside}}
            cut = [rest[id] for id, _ in by_id(left)]
            own = predicted(template.put_together(cut, total), X)
        elif left:
            own = predicted(template.fit(by_id(left)), X)
        else:
            own = np.full_like(mean, np.nan), None if std is None else np.full_like(std, np.nan)
        means.append(own[0])
        stds.append(own[1])
    size = [np.nan_to_num(np.abs(mean - one), nan=np.inf).max(initial=0.0) for one in means]
    order = sorted(range(len(means)), key=lambda k: -size[k])
    values = [*groups]
    return LedgerExplanation(
        tuple(values[k] for k in order), tuple(rows[k] for k in order), mean, std,
        np.array([means[k] for k in order]),
        None if std is None else np.array([stds[k] for k in order]),
    )  # fmt: skip


def _without(template: Template, state: State, whole: Parts, outside: Parts) -> Total | None:
    return template.plus(template.minus(state.total, whole), outside)


def predicted(model: Any, X: Any) -> tuple[Array, Array | None]:
    """Means and standard deviations of new observations, or probabilities of classes."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X), None
    return model.predict(X, return_std=True)
