"""Models of some of the chunks: at a date, of a group, and without a source."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..pipeline.stream.assembling import NamedRows
from ..rows.ids import Id
from .models import Divided, Models, all_of
from .storage.chunks import ChunkEntry
from .storage.where import groups_of

Array = np.ndarray
#: Groups that `by` makes models of at most.
MOST_GROUPS = 1000


def copied(model: Any) -> Any:
    """Copy an estimator; the records of its model are never changed."""
    return copy(model)


def model_of(models: Models, entries: Sequence[ChunkEntry]) -> Any:
    """Make the model of some versions of chunks, by the shorter way to the sum of their messages:
    from zero, or from the present sum."""
    now = {one.key: one for one in models.state.entries.values()}
    wanted = {one.key: one for one in entries}
    gone = [one for key, one in now.items() if key not in wanted]
    new = [one for key, one in wanted.items() if key not in now]
    if len(gone) + len(new) < len(wanted):
        total = models.total_changed(all_of(gone), all_of(new))
    else:
        total = models.total(all_of(entries))
    return models.of(all_of(entries), total)


def models_by(models: Models, column: str, values: Any) -> dict[Any, Any]:
    """Make one model of the rows of each value of a column."""
    groups = groups_of(models.table.con, column, models.table.keep)
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
        own = Divided.by(models.state, group).inside
        found[value] = models.of(own, models.total(own))
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


def without_each(models: Models, model: Any, X: Any, by: str) -> LedgerExplanation:
    """Leave out the rows of each value of a column in turn."""
    groups = groups_of(models.table.con, by, models.table.keep)
    if len(groups) > MOST_GROUPS:
        raise ValueError(f"by={by!r} has {len(groups)} values, and {MOST_GROUPS} are possible")
    mean, std = predicted(model, X)
    rest = LeavingOut(models)
    rows, means, stds = [], [], list[Any]()
    for group in groups.values():
        own = Divided.by(models.state, group)
        rows.append(sum(one.n for one in own.inside))
        if own.rest or models.template.fitted:
            found = predicted(rest.model(own), X)
        else:
            found = np.full_like(mean, np.nan), None if std is None else np.full_like(std, np.nan)
        means.append(found[0])
        stds.append(found[1])
    size = [np.nan_to_num(np.abs(mean - one), nan=np.inf).max(initial=0.0) for one in means]
    order = sorted(range(len(means)), key=lambda k: -size[k])
    values = [*groups]
    return LedgerExplanation(
        tuple(values[k] for k in order), tuple(rows[k] for k in order), mean, std,
        np.array([means[k] for k in order]),
        None if std is None else np.array([stds[k] for k in order]),
    )  # fmt: skip


@dataclass(frozen=True)
class LeavingOut:
    """Makes models without groups of rows; rows in memory are read and cut once."""

    models: Models

    @cached_property
    def _named(self) -> dict[Id, NamedRows]:
        parts = self.models.parts(all_of(self.models.state.ordered()))
        return {id: self.models.template.named(id, rows) for id, rows in parts}

    def model(self, group: Divided) -> Any:
        """Make the model of all rows but those of a group."""
        models, template = self.models, self.models.template
        total = models.total_without(group)
        if not (template.fitted and models.in_memory(models.state.n)):
            return models.of(group.rest, total)
        some = {id: template.named(id, rows) for id, rows in models.parts(group.outside)}
        own = {**self._named, **some}
        return template.put_together([own[one.entry.id] for one in group.rest], total)


def predicted(model: Any, X: Any) -> tuple[Array, Array | None]:
    """Means and standard deviations of new observations, or probabilities of classes."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X), None
    return model.predict(X, return_std=True)
