"""Rows of a store that belongs to another, such as a ledger: they are read, and never changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...numerics.records import record
from ...rows.metric import Metric
from ...rows.rows import Rows
from ...rows.store.distance import Distance
from ...rows.store.folder import manifest_bytes
from ...rows.store.records import LARGEST
from ...rows.store.segment import DamagedRows
from ...rows.store.store import Store
from ..tuning import TUNING
from .disk import OnDisk, Runs

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class View:
    """Some rows of a store, by their numbers: all but the hidden ones, some with other weights."""

    store: Store
    mark: str  # sha256 of the manifest that was opened
    hidden: Array  # ascending
    changed: Array  # ascending
    weights: Array  # of those that are changed


@record("pipeline.lent/1")
@dataclass(frozen=True, eq=False)
class Lent:
    """Names the rows of a store that a model has learnt from, targets scaled.

    The files stay open with this object, so that a model outlives a change of the store. One that
    is loaded or copied to another process needs the store as it was.
    """

    path: str
    mark: str  # sha256 of the manifest
    metric: Metric  # in which rows are near
    weight: float  # of all rows
    hidden: Array
    changed: Array
    weights: Array

    runs: ClassVar[Runs] = ()

    @classmethod
    def of(cls, view: View, kernel: Any, weight: float) -> Lent:
        """Lend rows to a model with this kernel, whose metric is that of a sample of them."""
        store = view.store.without(view.hidden) if view.hidden.size else view.store
        metric = Metric.of(kernel, store.inputs(store.sample(TUNING.disk.sample)))
        parts = view.hidden, view.changed, view.weights
        found = cls(str(view.store.path), view.mark, metric, weight, *parts)
        vars(found)["_opened"] = store
        return found

    def open(self) -> Store:
        """Open the store as it was when the model was made."""
        if "_opened" not in vars(self):
            path = Path(self.path)
            if mark_of(path) != self.mark:
                raise ValueError(
                    f"{path} has other rows than this model has learnt from, since its owner has "
                    "changed it: ask that ledger for its model again"
                )
            vars(self)["_opened"] = Store.open(path).without(self.hidden)
        return vars(self)["_opened"]

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @cached_property
    def order(self) -> tuple[Array, Array]:
        """Places of rows on disk in the order of their numbers, and the rank of each place.

        Ranks stand for rows in answers, so that these round alike wherever rows are on disk.
        """
        places = np.argsort(self.open().numbers(), kind="stable")
        places = places.astype(np.int32 if places.size < 2**31 else np.int64)
        ranks = np.empty_like(places)
        ranks[places] = np.arange(places.size, dtype=places.dtype)
        return places, ranks

    def __deepcopy__(self, memo: Any) -> Lent:
        return self

    def seen(self, sees: Any) -> LentRows:
        """Give the rows as the model sees them: they are stored so."""
        return LentRows(self.open(), unchanged_targets, self.metric, self)  # type: ignore[arg-type]

    def own(self) -> Store:
        raise ValueError(
            f"the rows of this model, in {self.path}, belong to a ledger: change them there (add, "
            "forget, replace), and ask it for its model again"
        )

    after = add = forget = without = lambda self, *_: self.own()

    def given(self) -> Runs:
        return ()

    def differs(self, earlier: Any) -> bool:
        """Whether rows were added or forgotten by this model: never."""
        return False


def mark_of(path: Path) -> str:
    """Hash the manifest of a store, which tells it from what it was and will be; "": none."""
    return hashlib.sha256(manifest_bytes(path) or b"").hexdigest()


def unchanged_targets(y: Array) -> Array:
    """Targets are scaled already."""
    return y


class LentRows(OnDisk):
    """Rows of a store, of which some are hidden and some have other weights.

    Positions are ranks by row number.
    """

    def take(self, positions: Array) -> Rows:
        own: Any = self.stored
        with _remedied():
            at = own.order[0][positions]
            found = super().take(at)
            if not own.changed.size:
                return found
            numbers = self.store.ids(at)
        at = np.minimum(np.searchsorted(own.changed, numbers), own.changed.size - 1)
        w = np.where(own.changed[at] == numbers, own.weights[at], found.w)
        return Rows(found.X, found.y, w)

    def nearest(self, Xs: Array, k: int) -> Array:
        """Find the nearest rows, exactly in any number of columns."""
        queries = np.clip(Xs, -LARGEST, LARGEST)
        with _remedied():
            found = self.store.nearest(queries, k, Distance.of(self.metric))[0]
        own: Any = self.stored
        return own.order[1][found].astype(np.int64)

    def sample(self, k: int) -> Array:
        own: Any = self.stored
        return np.sort(own.order[1][self.store.sample(k)].astype(np.int64))

    def inputs(self, most: int) -> Array:
        return self.take(self.sample(most)).X

    def total_weight(self) -> float:
        own: Any = self.stored
        return own.weight


@contextmanager
def _remedied() -> Iterator[None]:
    try:
        yield
    except DamagedRows as error:
        said = str(error).partition(" Put back")[0]
        raise DamagedRows(
            f"{said} Call verify() of the ledger, which builds it again, and ask for its model "
            "again"
        ) from error
