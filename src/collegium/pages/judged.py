"""Every figure of a page that several sections need, computed once."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..diagnostics.baselines import baseline_predictions, crossed_baselines
from ..diagnostics.coverage import (
    CoveredShare,
    coverage_by_group,
    coverage_by_size,
    coverage_by_third,
    covers,
)
from ..diagnostics.predicted import Predicted, predicted_rows
from ..diagnostics.regions import Slab, coverage_by_region, split_regions, worst_slab
from ..interface.frames.encoded import KnownColumns
from .markup import visible
from .material import Material, kept_rows

Array = np.ndarray
#: The level at which parts of the rows are compared.
LEVEL = 0.9
#: Columns that regions are cut by; levels of a column that are worth a look; slabs beyond.
REGION_COLUMNS, MOST_GROUPS = 3, 12
#: Shares below which a difference is not worth a warning, however sure it is.
SMALL = 0.02
#: Rows of a stream that are predicted together, before they are learnt from.
BATCH = 100


@dataclass(frozen=True, eq=False)
class Parts:
    """Coverage of parts of the rows, which were cut in one way."""

    title: str
    shares: tuple[CoveredShare, ...]


class Judged:
    """Predictions of rows, and coverage by part of them."""

    def __init__(self, material: Material, inside: Array, level: float | Array) -> None:
        self.material, self.inside, self.level = material, inside, level

    @cached_property
    def regions(self) -> Parts:
        """Parts of the inputs, cut by the columns that matter most."""
        own = self.material
        columns = [j for j in own.numeric if own.importance[j] > 0.01][:REGION_COLUMNS]
        depth = 3 if own.n >= 400 else 2 if own.n >= 100 else 1
        cut = split_regions(own.X, columns, depth)
        found = coverage_by_region(self.inside, self.level, cut, own.names, own.say)
        return Parts("by region", found if len(found) > 1 else ())

    @cached_property
    def groups(self) -> list[Parts]:
        """Levels of columns of words, and groups that were asked for."""
        own, found = self.material, []
        if own.groups is not None:
            name, labels = own.groups
            labels = [visible(one) for one in labels]
            found.append((visible(name), labels))
        for j in own.levelled:
            codes = own.X[:, j]
            if 2 <= len(np.unique(codes)) <= MOST_GROUPS:
                words = {code: own.say(j, code) for code in np.unique(codes)}
                found.append((own.names[j], [words[code] for code in codes]))
        return [
            Parts(f"by {name}", coverage_by_group(self.inside, self.level, labels))
            for name, labels in found
        ]

    @cached_property
    def slab(self) -> Slab | None:
        own = self.material
        some = [j for j in own.numeric if own.X[:, j].std() > 0]
        if not some:
            return None
        return worst_slab(own.X[:, some], self.inside, self.level, seed=own.seed)

    @property
    def slab_columns(self) -> list[int]:
        return [j for j in self.material.numeric if self.material.X[:, j].std() > 0]

    @property
    def parts(self) -> list[Parts]:
        """All ways in which rows are cut."""
        return [one for one in [*self.sizes, *self.groups, self.regions] if one.shares]

    @property
    def sizes(self) -> list[Parts]:
        return []

    @property
    def odd_parts(self) -> list[CoveredShare]:
        """Parts whose coverage is further off than chance allows, and worth a word."""
        found = [one for part in self.parts for one in part.shares if is_odd(one)]
        return sorted(found, key=lambda one: (one.share - one.level, one.label))


def is_odd(one: CoveredShare) -> bool:
    """Whether a share is off by more than chance, and by more than two percent of the rows."""
    return one.sign != 0 and abs(one.share - one.level) > SMALL


class JudgedNumbers(Judged):
    """Rows of numbers or counts with their predictions."""

    def __init__(self, material: Material, predicted: Predicted, batch: int = 0) -> None:
        super().__init__(material, covers(predicted.pit, LEVEL), LEVEL)
        self.predicted, self.batch = predicted, batch

    @cached_property
    def baselines(self) -> tuple[dict[str, Array], bool]:
        """Plain predictions of the rows, and whether they learnt from the rows of the model."""
        own, kept = self.material, None if self.batch else kept_rows(self.material.model)
        if own.exposure is not None:
            rates = crossed_baselines(own.X, own.y / own.exposure, own.levelled, seed=own.seed)
            return {name: one * own.exposure for name, one in rates.items()}, False
        if kept is not None and kept[0].shape[1] == own.X.shape[1]:
            return baseline_predictions(*kept, own.X, own.levelled), True
        return crossed_baselines(own.X, own.y, own.levelled, seed=own.seed), False

    @property
    def sizes(self) -> list[Parts]:
        sd, mean = self.predicted.sd, self.predicted.mean
        each: tuple[CoveredShare, ...] = ()
        if np.ptp(sd) > 1e-6 * sd.max(initial=0.0):
            parts = 10 if self.material.n >= 500 else 5
            each = coverage_by_size(self.inside, LEVEL, sd, parts)
        thirds = coverage_by_third(self.inside, LEVEL, mean) if np.ptp(mean) else ()
        return [Parts("by predicted standard deviation", each), Parts("by prediction", thirds)]


class JudgedClasses(Judged):
    """Rows of labels with the probabilities of classes."""

    def __init__(self, material: Material, codes: Array, probability: Array, batch: int) -> None:
        top = probability.argmax(axis=1)
        super().__init__(material, top == codes, probability.max(axis=1))
        self.codes, self.probability, self.top, self.batch = codes, probability, top, batch

    @property
    def own_probability(self) -> Array:
        """That of the class which came  (n,)."""
        return self.probability[np.arange(len(self.codes)), self.codes]

    @cached_property
    def baselines(self) -> dict[str, Array]:
        """Probabilities by shares of classes; scores of classes by the nearest row and a ridge."""
        own = self.material
        exact = np.eye(self.probability.shape[1])[self.codes]
        return crossed_baselines(own.X, exact, own.levelled, seed=own.seed)

    @property
    def sizes(self) -> list[Parts]:
        own = self.material
        some = np.unique(self.top)[:MOST_GROUPS]
        labels = [visible(own.classes[k]) for k in self.top]
        found = coverage_by_group(self.inside, self.level, labels) if some.size > 1 else ()
        return [Parts("by the class that was predicted", found)]


def judged(material: Material, stream: bool) -> JudgedNumbers | JudgedClasses:
    """Predict the rows; of a stream by a copy of the model that learns from each afterwards."""
    if material.classes is None:
        if not stream:
            found = predicted_rows(
                material.model, material.rows, material.y, seed=material.seed, **material.given()
            )
            return JudgedNumbers(material, found)
        return JudgedNumbers(material, _stream_of_numbers(material), BATCH)
    codes = class_codes(material.y, material.classes)
    if not stream:
        return JudgedClasses(material, codes, _probabilities(material.model, material.X), 0)
    return JudgedClasses(material, codes, _stream_of_classes(material), BATCH)


def class_codes(y: Array, classes: Array) -> Array:
    """Positions of labels among the classes of a model."""
    known = {label: k for k, label in enumerate(classes.tolist())}
    try:
        return np.array([known[label] for label in np.asarray(y).tolist()])
    except KeyError as error:
        raise ValueError(
            f"y has the label {error.args[0]!r}, which the model does not know: leave such rows "
            f"out, or give labels among {list(known)[:6]}"
        ) from error


def _probabilities(model: Any, X: Array, block: int = 10_000) -> Array:
    parts = [X[k : k + block].view(KnownColumns) for k in range(0, len(X), block)]
    return np.concatenate([model.predict_proba(part) for part in parts])


def _batches(n: int) -> list[slice]:
    return [slice(k, k + BATCH) for k in range(0, n, BATCH)]


def _stream_of_numbers(material: Material) -> Predicted:
    model, parts = copy(material.model), []
    for part in _batches(material.n):
        X, y, given = material.X[part].view(KnownColumns), material.y[part], material.given(part)
        parts.append(predicted_rows(model, X, y, seed=material.seed + part.start, **given))
        model.partial_fit(X, y, **given)
    first = parts[0]
    each = {
        name: np.concatenate([getattr(one, name) for one in parts])
        for name in ("y", "mean", "sd", "pit", "log_density")
    }
    return replace(first, X=material.X, **each)


def _stream_of_classes(material: Material) -> Array:
    model, parts = copy(material.model), []
    for part in _batches(material.n):
        X = material.X[part].view(KnownColumns)
        parts.append(model.predict_proba(X))
        model.partial_fit(X, material.y[part])
    return np.concatenate(parts)
