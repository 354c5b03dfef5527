"""Predicts by cells: queries near each other share the rows around the centre of their cell.

The cell of a query depends on the query and the rows alone, so its answer does not depend on what
else is asked. Cells are made when first needed and kept in a cache of bounded size. Queries whose
nearest rows are not in their cell are answered from their own nearest rows, where cells ask for
that (`Cells.own`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from ...engines.local import here
from ...messages.expansion import Expansion, RowByRow
from ...numerics import linalg
from ...numerics.cache import Cache
from ...rows.metric import Metric
from ...rows.nearest import Nearby
from ...rows.partition import blocks, evenly_spaced
from ...rows.rows import Prediction, Rows
from ..local import Shared, expansion_around
from ..predictors import ExactPredictor, Informed, LocalPredictor, Predictor
from ..tuning import TUNING
from .cell import Cell, factor_of, single_factor, weights_of
from .cells import Cells
from .places import AroundRows, Boxes, Name

Array = np.ndarray
NOTHING = np.empty(0, dtype=int)


@dataclass(frozen=True, eq=False)
class HeldOutAnswers:
    """Answers at held-out rows, each given all others."""

    own: Array  # numbers of the rows  (h,)
    error: Array  # y − m  (h, p); zero where means are not by cells
    variance: Array  # of f  (h,)

    def __add__(self, other: HeldOutAnswers) -> HeldOutAnswers:
        each = zip(astuple(self), astuple(other))
        return HeldOutAnswers(*(np.concatenate(pair) for pair in each))


@dataclass(frozen=True, eq=False)
class CellAnswers:
    """Answers at rows of a cell as it would be without them."""

    own: Array  # numbers of the rows  (h,)
    mean: Array  # (h, p)
    variance: Array  # of f, given all rows of the cell and the anchors  (h,)
    given: Array  # of f, given some numbers of rows of the cell  (·, h)
    rows: Array  # numbers of the rows of the cell  (k,)


@dataclass(frozen=True, eq=False)
class CellPredictor(Predictor):
    """Predicts from the anchors and the rows around the centre of a query's cell."""

    committee: Informed
    cells: Cells
    accurate: Any  # LocalPredictor or ExactPredictor, for covariances
    rows: Rows
    near: Nearby
    places: Any  # AroundRows or Boxes
    everywhere: RowByRow | None  # added to means
    cache: Cache = field(repr=False)

    @classmethod
    def of(
        cls, committee: Informed, cells: Cells, accurate: LocalPredictor | ExactPredictor,
        everywhere: Expansion | None = None,
    ) -> CellPredictor:  # fmt: skip
        """`everywhere`: sum over all rows that is added to means (refined means, an exact GP)."""
        rows = committee.rows()
        assert isinstance(rows, Rows)
        if isinstance(accurate, LocalPredictor):
            near = accurate.near
        else:
            near = Nearby.of(Metric.of(committee.basis.kernel, rows.X), rows.X)
            everywhere = accurate.expansion
        where: Any = (
            AroundRows.of(near.metric, cells.centres)
            if cells.centres.size
            else Boxes.of(near.metric, near.tree, min(cells.near, rows.w.size))
        )
        more = None if everywhere is None else everywhere.row_by_row()
        return cls(committee, cells, accurate, rows, near, where, more, Cache(cells.memory))

    def mean(self, Xs: Array, engine: Any) -> Array:
        base = self._everywhere(Xs, engine)
        if not self.cells.k:
            return base

        def answer(cell: Cell, X: Array) -> tuple[Any]:
            return (cell.mean(X),)

        mean, own = self._each(answer, Xs, engine)
        found = base + mean
        own = own | self._others(Xs, found)
        if own.any():
            found[own] = self._by_rows(Xs[own], engine).mean
        return found

    def predict(self, Xs: Array, engine: Any) -> Prediction:
        mean, given, own = self._each(Cell.predict, Xs, engine)
        mean, variance = self._everywhere(Xs, engine) + mean, self.cells.variance(given)
        own = own | self._others(Xs, mean, variance)
        if own.any():
            right = self._by_rows(Xs[own], engine)
            mean[own], variance[own] = right.mean, right.variance
        return Prediction(mean, variance)

    def joint(self, Xs: Array, engine: Any) -> tuple[Prediction, Array]:
        """Predict from the nearest rows of each query: cells have no covariance in common."""
        found, C = self.accurate.joint(Xs, engine)
        return self._refined(Xs, found, engine), C

    def _refined(self, Xs: Array, found: Prediction, engine: Any) -> Prediction:
        """Add the refined means to a prediction from nearest rows."""
        if self.everywhere is None or isinstance(self.accurate, ExactPredictor):
            return found
        return Prediction(self._everywhere(Xs, engine) + found.mean, found.variance)

    def _by_rows(self, Xs: Array, engine: Any) -> Prediction:
        return self._refined(Xs, self.accurate.predict(Xs, engine), engine)

    def _others(self, Xs: Array, *found: Array) -> Array:
        """Whether queries need their own nearest rows: no centre near them has their levels, or
        they are so far out that sums overflow  (q,)."""
        finite = [np.isfinite(part).all(axis=tuple(range(1, part.ndim))) for part in found]
        far = ~np.logical_and.reduce(finite)
        return far if self.cells.own else self.places.strange(Xs) | far

    def _everywhere(self, Xs: Array, engine: Any) -> Array:
        """Sum over all rows  (q, p)."""
        if self.everywhere is None:
            return np.zeros((Xs.shape[0], self.rows.y.shape[1]))
        return self.everywhere.mean(Xs, engine)

    def _each(self, answer: Any, Xs: Array, engine: Any) -> list[Array]:
        """Arrays with one row per query, computed cell by cell, and at last whether the cell lacks
        its nearest rows."""
        names, number = self._names(Xs, engine)
        order = np.argsort(number, kind="stable")
        ends = np.cumsum(np.bincount(number, minlength=len(names)))
        parts = list(zip(names, np.split(order, ends[:-1])))

        def work(some: Sequence[tuple[Name, Array]]) -> list[tuple[Array, ...]]:
            found = []
            for name, at in some:
                cell, X = self.cell(name), Xs[at]
                found.append((*answer(cell, X), self._lacks(cell, X)))
            return found

        found = [one for some in here(engine).map(work, list(_batches(parts))) for one in some]
        if not found:
            return [np.zeros((0, self.rows.y.shape[1])), np.zeros(0), np.zeros(0, dtype=bool)]
        back = np.argsort(order)
        return [self._in_order(each, order, back) for each in zip(*found)]

    def _lacks(self, cell: Cell, X: Array) -> Array:
        """Whether a cell lacks one of the nearest rows of each query  (q,)."""
        own = min(self.cells.own, self.rows.w.size)
        return ~cell.has(self.near.nearest(X, own)) if own else np.zeros(X.shape[0], dtype=bool)

    def _names(self, Xs: Array, engine: Any) -> tuple[list[Name], Array]:
        """Find the cells of queries, some queries at a time; see `AroundRows.names`."""
        parts = [Xs[part] for part in blocks(Xs.shape[0], TUNING.cells.named)]
        if len(parts) < 2:
            return self.places.names(Xs)
        all_names: dict[Name, int] = {}
        numbers = []
        for names, number in here(engine).map(self.places.names, parts):
            own = [all_names.setdefault(name, len(all_names)) for name in names]
            numbers.append(np.array(own)[number])
        return list(all_names), np.concatenate(numbers)

    @staticmethod
    def _in_order(each: Sequence[Any], order: Array, back: Array) -> Array:
        return np.concatenate(each)[back] if isinstance(each[0], np.ndarray) else np.zeros((1, 1))

    def prepare(self, engine: Any, stop: Callable[[], bool] = lambda: False) -> int:
        """Make the cells that hold rows, as many as fit the memory, until `stop()` is true; return
        their number. The others are made when they are first asked for."""
        if self.cells.centres.size:
            names = [(i,) for i in range(self.cells.centres.shape[0])]
        else:
            names, _ = self.places.names(self.rows.X)
        most = int(self.cells.memory // max(self.cell(names[0]).nbytes, 1)) if names else 0
        size = TUNING.cells.at_once
        batches = [names[i : i + size] for i in range(0, min(len(names), most), size)]

        def make(some: list[Name]) -> None:
            for name in some if not stop() else ():
                self.cell(name)

        here(engine).map(make, batches)
        return len(self.cache)

    def with_weights(self) -> Cells:
        """Keep the weights of means in the record, for cells around rows."""
        if not (self.cells.centres.size and self.cells.k):
            return self.cells
        each = [self.cell((i,)).weights for i in range(self.cells.centres.shape[0])]
        return replace(self.cells, weights=np.stack(each))

    def cell(self, name: Name) -> Cell:
        return self.cache.get(name, lambda: self._made(name))

    def _around(self, name: Name, without: Array = NOTHING) -> Array:
        """Numbers of the rows of a cell, as if rows `without` were not in it."""
        k = min(max(self.cells.k, self.cells.near), self.rows.w.size)
        if not self.cells.shared:
            return self.places.nearest(self.near, name, k)
        return self.places.shared(self.near, name, k, self.cells.shared, without)

    def _made(self, name: Name) -> Cell:
        at = self._around(name)
        made = self._cell(at, self._means(name, at))
        return replace(made, rows=np.sort(at).astype(np.int32)) if self.cells.own else made

    def _means(self, name: Name, at: Array) -> Expansion | None:
        c, known = self.committee, self.cells.weights
        if not self.cells.k:
            return None
        weights = self._weights(at) if known is None else known[name[0]]
        if weights is None:
            return self._shared(at).expansion(c.basis, c.belief)
        return expansion_around(c.basis, c.belief, self.rows.X[at], weights)

    def _weights(self, at: Array) -> Array | None:
        """Weights of means in single precision; None where that is not enough."""
        c = self.committee
        if not self.cells.single:
            return None
        return weights_of(c.basis, c.belief, c.noise, self.rows.take(at), self._design(at))

    def _design(self, at: Array) -> Array:
        """Vᵀ of some rows  (k, m)."""
        design = getattr(self.accurate, "design", None)
        return self.committee.basis.design(self.rows.X[at]).T if design is None else design[at]

    def _cell(self, at: Array, means: Expansion | None, near: int | None = None) -> Cell:
        c, first = self.committee, at[: self.cells.near if near is None else near]
        if self.cells.anchored and c.basis.m:
            return Cell.given_anchors(c.basis, c.belief, self._shared(first), means)
        return Cell.of(c.basis, c.noise, self.rows.take(first), means, single=self.cells.single)

    def _shared(self, at: Array) -> Shared:
        design = getattr(self.accurate, "design", None)
        V = None if design is None else design[at].T
        return Shared.of(self.committee.basis, self.committee.noise, self.rows.take(at), V)

    def _quickly_shared(self, at: Array) -> Shared:
        """`_shared`, factorised in single precision where cells are."""
        c, back = self.committee, at[::-1]
        rows, VT = self.rows.take(back), self._design(back)
        L = single_factor(c.basis, c.noise, rows, VT) if self.cells.single else None
        return self._shared(at) if L is None else Shared(rows, VT.T, np.tril(L).astype(float))

    def all_bytes(self, X: Array) -> float:
        """Estimate the bytes of all cells that hold rows; X: random rows."""
        names, number = self.places.names(X)
        each = self.cell(names[0]).nbytes
        if self.cells.centres.size:
            return each * self.cells.centres.shape[0]
        own = np.array([self._in_cell(name).size for name in names])
        return each * self.rows.w.size * float((1.0 / np.maximum(own, 1))[number].mean())

    def left_out(self, names: Sequence[Name], only: Array | None = None) -> HeldOutAnswers:
        """Predict some rows of cells, each given the others; `only`: among these (ascending).

        For rows that a cell uses, y − m = (C⁻¹r)ᵢ/(C⁻¹)ᵢᵢ and var y = 1/(C⁻¹)ᵢᵢ (Rasmussen &
        Williams 2006, eqs 5.10–5.12). The belief about the anchors has seen the row, as one
        among all.
        """
        found = [self._left_out(name, only) for name in names]
        nothing = HeldOutAnswers(np.empty(0, int), self.rows.y[:0], np.empty(0))
        return reduce(add, found, nothing)

    def _left_out(self, name: Name, only: Array | None) -> HeldOutAnswers:
        c, near = self.committee, self.cells.near
        own = self._in_cell(name)
        own = own if only is None else np.intersect1d(own, only)
        own = own[evenly_spaced(own.size, TUNING.cells.held_out)]
        at = self._around(name, own)
        rows, queries = self.rows.take(at), self.rows.take(own)
        shared = self._shared(at) if self.cells.k else None
        means = None if shared is None else shared.expansion(c.basis, c.belief)
        mean, variance = self._cell(at, means).predict(queries.X)
        place = np.argmax(at == own[:, None], axis=1)  # among the rows of the cell
        inside = at[place] == own
        error = queries.y - mean
        if shared is None:
            error[:] = 0.0
        else:
            r = rows.y - shared.V.T @ c.belief.mean
            error[inside] = _left_out(shared.factor, r, place[inside])[0]
        inside &= place < near
        some = rows.take(slice(near))
        if self.cells.anchored and c.basis.m:
            L = self._shared(at[:near]).factor
        else:
            L = factor_of(c.basis.kernel, c.noise, some)
        alone = _left_out(L, some.y, place[inside])[1] - some.psi(c.noise)[place[inside]]
        variance[inside] = np.maximum(alone, 0.0)
        return HeldOutAnswers(own, error, variance)

    def without_rows(
        self, names: Sequence[Name], number: int, nears: Sequence[int]
    ) -> list[CellAnswers]:
        """Predict up to `number` rows of each cell as it would be without them; variances of a cell
        for several numbers of its first rows."""
        return [self._without_rows(name, number, nears) for name in names]

    def _without_rows(self, name: Name, number: int, nears: Sequence[int]) -> CellAnswers:
        c, own = self.committee, self._in_cell(name)
        own = own[evenly_spaced(own.size, number)]
        at = self._around(name, own)
        at, X = at[~np.isin(at, own)], self.rows.X[own]
        found = self._quickly_shared(at).predict(c.basis, c.belief, X)
        given = [self._cell(at, None, near).predict(X)[1] for near in nears]
        return CellAnswers(own, found.mean, found.variance, np.stack(given), at)

    def _in_cell(self, name: Name) -> Array:
        """Numbers of the rows in a cell, ascending, excluding the centre."""
        if self.cells.centres.size:
            most = min(TUNING.cells.around, self.rows.w.size)
            at = self.places.nearest(self.near, name, most)[1:]
        else:
            at = self._around(name)
        at = at[self.places.inside(name, self.rows.X[at])]
        return np.sort(at if self.cells.own else at[~self.places.strange(self.rows.X[at])])


def _left_out(L: Array, y: Array, i: Array) -> tuple[Array, Array]:
    """(A⁻¹y)ᵢ/(A⁻¹)ᵢᵢ and 1/(A⁻¹)ᵢᵢ for some i, A = LLᵀ  (h, p), (h,)."""
    unit = np.zeros((L.shape[0], i.size))
    unit[i, np.arange(i.size)] = 1.0
    columns = linalg.solve_posdef(L, unit)  # columns of A⁻¹
    precision = columns[i, np.arange(i.size)]
    return (columns.T @ y) / precision[:, None], 1.0 / precision


def _batches(parts: list[tuple[Name, Array]]) -> Iterable[list[tuple[Name, Array]]]:
    """Split cells into tasks: so many cells, or fewer with many queries."""
    some: list[tuple[Name, Array]] = []
    count = 0
    for name, at in parts:
        some.append((name, at))
        count += at.size
        if len(some) == TUNING.cells.at_once or count >= TUNING.cells.queries:
            yield some
            some, count = [], 0
    if some:
        yield some
