"""Columns of a source as the arrays that estimators take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..interface.frames.encoded import KnownColumns
from ..interface.frames.sources import fits_memory, keep_encoding, refuse_beyond_memory
from ..sources.plain import SEPARATORS
from ..sources.reference import HELD_NUMBERS, Reference
from ..sources.source import Source
from ..tables.encoding import Encoding
from ..tables.reading import LEVELS, NUMBER, Found
from .data import Data, Roles
from .failures import of_data

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Observed:
    """Inputs as a model sees them, and what was observed."""

    X: Array
    y: Array
    weight: Array | None
    exposure: Array | None

    def take(self, rows: Array) -> Observed:
        w, e = (None if one is None else one[rows] for one in (self.weight, self.exposure))
        return Observed(self.X[rows], self.y[rows], w, e)

    @property
    def n(self) -> int:
        return len(self.y)

    def arguments(self) -> dict[str, Array]:
        """Weights and exposures, where there are some, for `fit` and `partial_fit`."""
        own = {"sample_weight": self.weight, "exposure": self.exposure}
        return {name: values for name, values in own.items() if values is not None}


def learnt_rows(
    model: Any, data: Data, source: Source, columns: tuple[str, ...], roles: Roles, *,
    labels: bool, limit: float,
) -> Observed:  # fmt: skip
    """Read all rows; a new estimator learns the encoding of its columns."""
    own = source.with_roles(columns)
    if not fits_memory(own, limit):
        refuse_beyond_memory(own, limit, "give --store FOLDER")
    with of_data(data):
        parts = list(_parts(source, columns, roles, labels=labels))
        inputs = [X for _, X, _ in parts]
        encoding = Encoding.of_parts(lambda: inputs, list(columns), model.categorical_features)
        keep_encoding(model, own, encoding)
    each = [_observed(encoding, X, others) for _, X, others in parts]
    return _joined(each)


def known_rows(
    model: Any, data: Data, source: Source, columns: tuple[str, ...], roles: Roles
) -> Iterator[Observed]:
    """Read rows for a fitted model, one chunk in memory at a time."""
    labels = hasattr(model, "classes_")
    encoding = getattr(model, "encoding_", None)
    with of_data(data):
        for chunk, X, others in _parts(source, columns, roles, labels=labels):
            for k, one in enumerate(X):
                if encoding is None or encoding.columns[k].kind == NUMBER:
                    if one.kind != NUMBER:
                        raise chunk.not_number(one, HELD_NUMBERS)
            yield _observed(encoding, X, others)


def all_rows(parts: Iterator[Observed]) -> Observed:
    """Join the rows of all chunks."""
    return _joined(list(parts))


def _parts(
    source: Source, columns: tuple[str, ...], roles: Roles, *, labels: bool
) -> Iterator[tuple[Reference, list[Found], dict[str, Array]]]:
    d, places = len(columns), {"y": roles.y, "weight": roles.weight, "exposure": roles.exposure}
    for chunk, X, _, _ in source.found():
        others = {one.name: one for one in X[d:]}
        found = dict[str, Array]()
        for role, name in places.items():
            if name is not None:
                one = others[name]
                found[role] = labels_of(one) if labels and role == "y" else _numbers(one, chunk)
        yield chunk, X[:d], found


def _numbers(found: Found, chunk: Reference) -> Array:
    if found.kind != NUMBER:
        raise chunk.not_number(found, f": {SEPARATORS}; labels are learnt with --classes")
    return found.values


def labels_of(found: Found) -> Array:
    """Labels as they are written: words, true and false, or numbers."""
    if found.kind == LEVELS:
        texts = np.array([text for _, text in found.keys], dtype=object)
        return texts[found.values.astype(int)]
    if found.boolean:
        return found.values != 0.0
    whole = bool((found.values == np.round(found.values)).all())
    return found.values.astype(np.int64) if whole else found.values


def _observed(encoding: Encoding | None, X: list[Found], others: dict[str, Array]) -> Observed:
    values = (
        np.stack([one.values for one in X], axis=1) if encoding is None else encoding.encoded(X)
    )
    n = len(values)
    y = others.get("y", np.empty(n))
    return Observed(values.view(KnownColumns), y, others.get("weight"), others.get("exposure"))


def _joined(parts: list[Observed]) -> Observed:
    columns = list(zip(*((one.X, one.y, one.weight, one.exposure) for one in parts)))
    X, y, w, e = (None if one[0] is None else np.concatenate(one) for one in columns)
    assert X is not None and y is not None
    return Observed(X.view(KnownColumns), y, w, e)
