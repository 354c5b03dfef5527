"""From labelled rows in arrays, files or a store to the model of CommitteeClassifier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from ..interface.classifier import distinct_labels
from ..interface.encoded import columns_of
from ..interface.progress import Progress
from ..interface.tables import (
    Blocks,
    arrays_of,
    encoded_source,
    fits_memory,
    origin_of,
    origin_of_rows,
    refuse_beyond_memory,
)
from ..interface.validation import check_weights
from ..numerics.fingerprint import fingerprint
from ..numerics.threads import single_threaded
from ..rows.rows import Rows
from ..rows.scaling import MOST_COPIES
from ..rows.store.records import Block
from ..rows.store.store import Store
from ..sources.source import Skipped, Source
from ..pipeline.settings import Settings
from .classes import class_weights, counts, kept_rows, of_weight, ripe, warn_of_ids
from .labels import model_of_labels, model_of_stored_labels
from ..pipeline.swept.model import LatentModel
from ..pipeline.kept.filling import filled_store

Array = np.ndarray
#: Classes of a file, at most: more are numbers to be predicted, or names.
MOST_CLASSES = 10_000


@dataclass(frozen=True, eq=False)
class Labelled:
    """Blocks with positions among the classes as y; rows of classes that do not count left out."""

    blocks: Iterable[Block]
    classes: Array
    weights: Array  # of the classes

    def __iter__(self) -> Iterator[Block]:
        first = 0
        for X, y, w, _ in self.blocks:
            codes = np.searchsorted(self.classes, np.asarray(y)[:, 0])
            used = self.weights[codes] > 0.0
            yield X[used], codes[used, None].astype(np.float64), w[used], first
            first += int(used.sum())


@dataclass(frozen=True, eq=False)
class Tally:
    """The labels of a source, and rows and weight of each."""

    classes: Array
    count: Array
    weight: Array

    @classmethod
    def of(cls, blocks: Iterable[Block]) -> Tally:
        known: dict[Any, list[float]] = {}
        for _, y, w, _ in blocks:
            check_weights(w, MOST_COPIES)
            labels = np.asarray(y)[:, 0]
            check_classification_targets(labels)
            found, codes = np.unique(labels, return_inverse=True)
            for label, n, weight in zip(found, np.bincount(codes), np.bincount(codes, w)):
                own = known.setdefault(label, [0, 0.0])
                own[0] += int(n)
                own[1] += float(weight)
            if len(known) > MOST_CLASSES:
                raise ValueError(
                    f"the target has more than {MOST_CLASSES} classes: is it a number to be "
                    "predicted? Then take CommitteeRegressor"
                )
        classes = np.array(sorted(known))
        count, weight = np.array([known[label] for label in classes]).T
        return cls(classes, count.astype(int), weight)


class FromLabelledRows:
    """Rows in arrays, in a `Source`, or in a store -> `model_`."""

    skipped_: list[Skipped]

    def _fit_source(self: Any, source: Source, settings: Settings) -> None:
        """The model of the rows of a source."""
        n = source.n_rows
        small = n <= settings.chunk_rows(n)
        if settings.store is not None and not small:
            self._fit_on_disk(source, settings)
        else:
            if not (small or fits_memory(source, settings.memory_limit)):
                refuse_beyond_memory(source, settings.memory_limit, "give store='some.rows'")
            self._fit_rows(settings, *arrays_of(self, source))
        self.skipped_ = list(source.skipped)

    def _fit_on_disk(self: Any, source: Source, settings: Settings) -> None:
        if len(source.target) > 1:
            raise ValueError(f"y has {len(source.target)} columns, and labels are one: name it")
        say, source = self._say(), encoded_source(self, source)
        blocks, say.task = Blocks(source, say), "counting classes"
        tally = Tally.of(blocks)
        if tally.classes.size < 2:
            raise ValueError("there is one class only: give rows of at least two")
        codes = np.arange(tally.classes.size)[:, None].astype(float)
        self._note_classes(tally.classes, Rows(codes, codes, tally.weight), tally.count)
        own = Labelled(blocks, self.classes_, self.class_weight_)
        origin = origin_of(source)
        origin = origin and fingerprint(origin, "labels", self.class_weight_ > 0.0)
        store = filled_store(settings, own, source.n_rows, origin, say)
        self._keep(self._made_of_store(settings, store, say))

    def _fit_rows(self: Any, settings: Settings, X: Any, y: Any, sample_weight: Any) -> None:
        """The model of rows in memory."""
        table, words = self._check(X, y, reset=True)
        labels = settings.labels(table.shape[0])
        w = self._weights(table, sample_weight)
        used = w > 0
        known = distinct_labels(words[used])
        rows, classes = self._coded(table[used], words[used], known, w[used])
        labels = None if labels is None else labels[used]
        self._note_classes(classes, rows, counts(rows, classes.size))
        with single_threaded():
            self._keep(self._made_of(settings, rows, labels))

    def _note_classes(self: Any, classes: Array, rows: Rows, count: Array) -> None:
        self.classes_ = classes
        self.class_weight_ = class_weights(self.class_weight, classes, rows)
        self.class_count_ = self.learnt_count_ = count
        warn_of_ids(count)

    def _made_of(self: Any, settings: Settings, rows: Rows, labels=None, **stream: Any) -> Any:
        """The model of rows. `earlier`: the same stream, some rows ago; None: learn anew."""
        n, streaming = rows.w.size, stream.get("streaming")
        if settings.store is not None:
            waits = streaming and n < settings.enough()
            if not waits and n > settings.chunk_rows(n):
                own = rows.take(of_weight(rows, self.class_weight_))
                origin, blocks = origin_of_rows(self, own), [(*own.fields(), 0)]
                say, ready = self._say(), self._ready(streaming)
                store = filled_store(settings, blocks, own.w.size, origin, say)
                return self._made_of_store(settings, store, say, learnable=ready)
            settings = replace(settings, store=None)
        ready = self._ready(streaming)
        model, n = model_of_labels(self, settings, rows, labels, learnable=ready, **stream)
        if model.learnt_at == n:
            self.learnt_count_ = self.class_count_
        return model

    def _ready(self: Any, streaming: bool | None) -> bool:
        return not streaming or ripe(self.class_count_)

    def _made_of_store(
        self: Any, settings: Settings, store: Store, say: Progress, *, learnable: bool = True
    ) -> LatentModel:
        """The model of the rows of a store, whose y are positions among the classes."""
        settings = settings.for_columns(columns_of(self))
        model = model_of_stored_labels(self, settings, store, say, learnable=learnable)
        if model.learnt_at == len(store):
            self.learnt_count_ = self.class_count_
        return model

    def _relearnt_on_disk(self: Any, settings: Settings, stored: Any) -> LatentModel:
        store = getattr(stored, "rows", stored).own()
        settings = replace(settings, store=str(store.path))
        return self._made_of_store(settings, store, self._say())

    def _counted(self: Any) -> Array:
        """Rows of each class that the model has kept."""
        model, n_classes = self.model_, self.classes_.size
        if model.stored is not None:
            total = np.zeros(n_classes, dtype=int)
            for chunk in model.stored.chunks(model.stored.open()):
                total += np.bincount(chunk.load()[1][:, 0].astype(int), minlength=n_classes)
            return total
        kept = kept_rows(model, self.class_weight_)
        return np.zeros(n_classes, dtype=int) if kept is None else counts(kept[0], n_classes)
