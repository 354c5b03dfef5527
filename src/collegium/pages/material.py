"""The material of a page: a model, the rows it is judged by, and names as they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..diagnostics.numbers import value_words
from ..diagnostics.predicted import count_rows, inputs_seen, take_rows
from ..explain.asking import AskedModel, decoded
from ..interface.frames.encoded import KnownColumns
from ..interface.frames.writing import Queries
from ..interface.words.effects import columns_together, rows_for, shares
from ..rows.partition import evenly_spaced
from ..sources.source import Source
from ..tables.reading import LEVELS, NUMBER
from .budget import Budget, budget_of
from .markup import visible

Array = np.ndarray
#: Digits by which rows of a model are recognised among those that it is judged by.
DIGITS = 9
#: Rows whose keys are made at a time.
ROWS_AT_ONCE = 50_000


@dataclass(frozen=True, eq=False)
class Material:
    """A fitted model, and a sample of the rows that it is judged by."""

    model: Any
    asked: AskedModel  # columns of the user's table, and a function of rows
    X: Array  # (n, d) as the model sees them
    y: Array  # (n,) as given
    position: Array  # where each row was given, from 0  (n,)
    n_given: int
    target: str
    exposure: Array | None
    groups: Any  # None, or a name and labels (n,)
    importance: Array  # of the columns of the table, adding up to one, or zeros
    show_rows: bool
    seed: int

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(visible(one.name) for one in self.asked.columns)

    @property
    def classes(self) -> Any:
        return getattr(self.model, "classes_", None)

    @property
    def budget(self) -> Budget:
        return budget_of(self.model)

    @property
    def rows(self) -> Any:
        """Rows as every method of the model takes them."""
        return self.X.view(KnownColumns)

    @property
    def numeric(self) -> list[int]:
        """Columns of numbers and dates that have two values, those that matter most first."""
        columns = self.asked.columns
        found = [j for j, one in enumerate(columns) if one.kind != LEVELS and np.ptp(self.X[:, j])]
        return sorted(found, key=lambda j: (-self.importance[j], j))

    @property
    def levelled(self) -> list[int]:
        """Columns of levels."""
        return [j for j, one in enumerate(self.asked.columns) if one.kind == LEVELS]

    @property
    def by_importance(self) -> list[int]:
        return sorted(range(len(self.names)), key=lambda j: (-self.importance[j], j))

    def say(self, j: int, value: float) -> str:
        """A number that the model sees, as a value of its column."""
        own = self.asked.columns[j]
        if own.kind == NUMBER:
            return value_words(value)
        return visible(value_words(decoded(own, np.array([value]))[0]))

    def cell(self, j: int, row: int, X: Array | None = None) -> str:
        """The value of column j in a row, in words."""
        X = self.X if X is None else X
        if self.asked.missing(j, X[row : row + 1])[0]:
            return "missing"
        return self.say(j, X[row, j])

    def given(self, rows: Any = slice(None)) -> dict[str, Any]:
        """The exposure of rows, where there is one."""
        return {} if self.exposure is None else {"exposure": self.exposure[rows]}


def seen_rows(model: Any, X: Any, some: Array, n: int) -> Array:
    """Rows at sorted positions among n, as a model sees them; no others are encoded  (k, d)."""
    if isinstance(X, Source):
        return rows_of_source(model, X, some, n)
    check_one_each(count_rows(X), n)
    if isinstance(X, KnownColumns):
        return inputs_seen(model, X)[some]
    return inputs_seen(model, X if len(some) == n else take_rows(X, some))


def rows_of_source(model: Any, X: Source, some: Array, n: int) -> Array:
    """Read those rows of files, one chunk in memory at a time."""
    asked = Queries.of(model, X)
    asked.check()
    found, start = [], 0
    for chunk in asked.source.chunks:
        part = asked.read(chunk)
        if part is not None:
            own = some[(some >= start) & (some < start + len(part))]
            found.append(part[own - start])
            start += len(part)
    check_one_each(start, n)
    return np.concatenate(found)


def check_one_each(rows: int, targets: int) -> None:
    if rows != targets:
        raise ValueError(f"X has {rows} rows and y has {targets}: give one value for each row")


def importance_of(model: Any, asked: AskedModel, X: Array) -> Array:
    """Shares of the variance of the mean that columns explain, over some rows  (d,)."""
    if getattr(model, "explains", False):
        found = np.asarray(model.feature_importances_, dtype=float)
        if found.size == len(asked.columns):
            return found
    groups = columns_together(X.shape[1], getattr(model, "encoding_", None))
    most = min(rows_for(len(groups), costly=True), budget_of(model).importance)
    some = evenly_spaced(len(X), most)
    return np.asarray(shares(lambda rows: asked.mean(rows)[:, None], X[some], groups))


def kept_rows(model: Any) -> tuple[Array, Array] | None:
    """Rows (X, y) that a model of one output keeps in memory, in the units of users."""
    own = model.model_
    if getattr(own, "stored", None) is not None or not hasattr(own, "rows"):
        return None
    if own.some_targets() is None or own.likelihoods[0].takes_exposure:
        return None
    rows = own.rows()
    return (rows.X, rows.y[:, 0]) if len(rows.y) >= 10 else None


def share_learnt(material: Material) -> float:
    """The share of the rows that the model has learnt from, as far as it keeps them."""
    kept = kept_rows(material.model) if material.classes is None else None
    if kept is None or kept[0].shape[1] != material.X.shape[1]:
        return 0.0
    return float(np.isin(row_keys(material.X, material.y.astype(float)), row_keys(*kept)).mean())


def row_keys(X: Array, y: Array) -> Array:
    """Numbers of 64 bits, equal for rows that are equal to so many digits  (n,).

    Σ_j c_j·bits(x_j) modulo 2⁶⁴, c_j odd and drawn by chance; block by block.
    """
    weight = np.random.default_rng(0).integers(1, 2**63, X.shape[1] + 1, dtype=np.uint64) | 1
    found = np.empty(len(y), dtype=np.uint64)
    for start in range(0, len(y), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        bits = rounded(np.column_stack([X[part], y[part]])).view(np.uint64)
        bits = (bits ^ (bits >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        found[part] = ((bits ^ (bits >> np.uint64(32))) * weight).sum(axis=1)
    return found


def rounded(values: Array) -> Array:
    """Values to so many digits; zero has no sign."""
    with np.errstate(divide="ignore"):
        power = np.where(values == 0.0, 0.0, np.floor(np.log10(np.abs(values))))
    unit = 10.0 ** (power - (DIGITS - 2))
    return np.asarray(np.round(values / unit) * unit + 0.0)


def listed_names(names: Sequence[str], most: int = 6) -> str:
    some = ", ".join(names[:most])
    return some if len(names) <= most else f"{some} and {len(names) - most} more"
