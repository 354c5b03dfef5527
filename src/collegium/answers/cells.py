"""Answers by cells: queries near each other share the rows around the centre of their cell.

The cell of a query depends on the query and the rows alone, so its answer does not depend on what
else is asked. Cells are made when first asked for and kept in a cache of bounded size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from ..engines.local import here
from ..kernels import Kernel, Sum
from ..messages.expansion import Expansion, RowByRow
from ..numerics import linalg
from ..numerics.cache import Cache
from ..numerics.records import record
from ..rows.metric import Metric
from ..rows.nearest import Nearby
from ..rows.partition import blocks, evenly_spaced
from ..rows.rows import Prediction, Rows
from . import places
from .cell import Cell, factor_of
from .local import Shared, around
from .places import AroundRows, Boxes, Name
from .predictors import Exact, Informed, Local, Predictor

Array = np.ndarray
#: Cells that a worker answers for at a time, or at least so many queries.
AT_ONCE, QUERIES = 16, 512
#: Queries whose cells are looked for at a time.
NAMED = 16_384
#: Rows of one cell that are left out, and the nearest to a centre among which they are looked for.
LEFT_OUT, AROUND = 4, 1000


@record("answers.cells/1")
@dataclass(frozen=True, eq=False)
class Cells:
    """How a model answers by cells."""

    k: int  # rows that means are made of; 0: the model has them without cells
    near: int  # of these, rows that variances are made of
    centres: Array  # rows (c, d); none: cells are boxes
    memory: float  # most bytes of cells that are kept
    prior: float = 0.0  # variance of what fades with distance: see `local_variance`
    anchored: bool = False  # whether there are other terms, which anchors know from all rows
    power: float = 1.0  # of variances over that; see `scaled_variance`
    weights: Array | None = None  # of means, cell by cell (c, m + k, p); None: solved for if asked

    @classmethod
    def of(cls, kernel: Kernel, X: Array, k: int, near: int, memory: float) -> Cells:
        """Of rows X."""
        metric, prior = Metric.of(kernel, X), local_variance(kernel, X)
        own = X[:0] if places.few_coordinates(metric) else places.centres(metric, X)
        others = float(kernel.diag(X).max(initial=0.0)) > prior * (1.0 + 1e-9)
        return cls(k, near, own, memory, prior, others)

    def anew(self, kernel: Kernel, X: Array) -> Cells:
        """The same of other rows."""
        found = Cells.of(kernel, X, self.k, self.near, self.memory)
        return replace(found, power=self.power)

    def variance(self, given: Array) -> Array:
        """That of a mean of more rows, where `given` is of few; the power is learnt."""
        return scaled_variance(given, self.prior, self.power)


def scaled_variance(given: Array, prior: float, power: float) -> Array:
    """prior·(given/prior)^power, and what is above the prior as it is.

    Far from all rows it is `given`: the prior's, or more where the kernel grows without bound.
    """
    if prior <= 0.0:
        return given
    return prior * (np.minimum(given, prior) / prior) ** power + np.maximum(given - prior, 0.0)


def local_variance(kernel: Kernel, X: Array) -> float:
    """Prior variance of the terms of a kernel that are alike everywhere and fade with distance."""
    terms = kernel.parts if isinstance(kernel, Sum) else (kernel,)
    far = 1e9 * (np.ptp(X, axis=0, keepdims=True) + 1.0)
    total = 0.0
    for term in terms:
        each, rest = term.diag(X), float(term.reach(far)[0])
        if each.size and np.ptp(each) == 0.0 and rest <= 1e-3 * each[0]:
            total += float(each[0])
    return total


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Answers at rows, each as if it were not among them."""

    own: Array  # numbers of the rows  (h,)
    error: Array  # y − m  (h, p); zero where means are not made by cells
    variance: Array  # of f  (h,)

    def __add__(self, other: LeftOut) -> LeftOut:
        each = zip(astuple(self), astuple(other))
        return LeftOut(*(np.concatenate(pair) for pair in each))


@dataclass(frozen=True, eq=False)
class CellPredictor(Predictor):
    """Predicts from the anchors and the rows around the centre of a query's cell."""

    committee: Informed
    cells: Cells
    accurate: Any  # Local or Exact, for covariances
    rows: Rows
    near: Nearby
    places: Any  # AroundRows or Boxes
    everywhere: RowByRow | None  # added to means
    cache: Cache = field(repr=False)

    @classmethod
    def of(
        cls, committee: Informed, cells: Cells, accurate: Local | Exact,
        everywhere: Expansion | None = None,
    ) -> CellPredictor:  # fmt: skip
        """`everywhere`: of all rows, where means were refined; those of an exact GP are its own."""
        rows = committee.rows()
        assert isinstance(rows, Rows)
        if isinstance(accurate, Local):
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

        found = base + self._each(answer, Xs, engine)[0]
        own = self._others(Xs, found)
        if own.any():
            found[own] = self._by_rows(Xs[own], engine).mean
        return found

    def predict(self, Xs: Array, engine: Any) -> Prediction:
        mean, given = self._each(Cell.predict, Xs, engine)
        mean, variance = self._everywhere(Xs, engine) + mean, self.cells.variance(given)
        return self._with_others(Xs, Prediction(mean, variance), engine)

    def joint(self, Xs: Array, engine: Any) -> tuple[Prediction, Array]:
        """By the nearest rows of each query: cells know nothing of each other."""
        found, C = self.accurate.joint(Xs, engine)
        return self._refined(Xs, found, engine), C

    def _refined(self, Xs: Array, found: Prediction, engine: Any) -> Prediction:
        """What nearest rows say, with means that were refined."""
        if self.everywhere is None or isinstance(self.accurate, Exact):
            return found
        return Prediction(self._everywhere(Xs, engine) + found.mean, found.variance)

    def _by_rows(self, Xs: Array, engine: Any) -> Prediction:
        return self._refined(Xs, self.accurate.predict(Xs, engine), engine)

    def _others(self, Xs: Array, *found: Array) -> Array:
        """Queries that are answered from their own nearest rows: of levels that no centre near
        them has, or so far out that sums overflow  (q,)."""
        finite = [np.isfinite(part).all(axis=tuple(range(1, part.ndim))) for part in found]
        return self.places.strange(Xs) | ~np.logical_and.reduce(finite)

    def _with_others(self, Xs: Array, found: Prediction, engine: Any) -> Prediction:
        own = self._others(Xs, found.mean, found.variance)
        if own.any():
            right = self._by_rows(Xs[own], engine)
            found.mean[own], found.variance[own] = right.mean, right.variance
        return found

    def _everywhere(self, Xs: Array, engine: Any) -> Array:
        """(q, p)."""
        if self.everywhere is None:
            return np.zeros((Xs.shape[0], self.rows.y.shape[1]))
        return self.everywhere.mean(Xs, engine)

    def _each(self, answer: Any, Xs: Array, engine: Any) -> list[Array]:
        """Arrays of one row a query, cell by cell."""
        names, number = self._names(Xs, engine)
        order = np.argsort(number, kind="stable")
        ends = np.cumsum(np.bincount(number, minlength=len(names)))
        parts = list(zip(names, np.split(order, ends[:-1])))

        def work(some: Sequence[tuple[Name, Array]]) -> list[tuple[Array, ...]]:
            return [answer(self.cell(name), Xs[at]) for name, at in some]

        found = [one for some in here(engine).map(work, list(_batches(parts))) for one in some]
        if not found:
            return [np.zeros((0, self.rows.y.shape[1])), np.zeros(0)]
        back = np.argsort(order)
        return [self._in_order(each, order, back) for each in zip(*found)]

    def _names(self, Xs: Array, engine: Any) -> tuple[list[Name], Array]:
        """The cells of queries, some of these at a time; see `AroundRows.names`."""
        parts = [Xs[part] for part in blocks(Xs.shape[0], NAMED)]
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

    def prepare(self, engine: Any) -> int:
        """Make the cells that rows are in, as many as can be kept; their number."""
        if self.cells.centres.size:
            names = [(i,) for i in range(self.cells.centres.shape[0])]
        else:
            names, _ = self.places.names(self.rows.X)
        most = int(self.cells.memory // max(self.cell(names[0]).nbytes, 1)) if names else 0
        batches = [names[i : i + AT_ONCE] for i in range(0, min(len(names), most), AT_ONCE)]
        here(engine).map(lambda some: [self.cell(name) for name in some] and None, batches)
        return len(self.cache)

    def with_weights(self) -> Cells:
        """Cells whose means need not be solved for again; where they are around rows."""
        if not (self.cells.centres.size and self.cells.k):
            return self.cells
        each = [self.cell((i,)).weights for i in range(self.cells.centres.shape[0])]
        return replace(self.cells, weights=np.stack(each))

    def cell(self, name: Name) -> Cell:
        return self.cache.get(name, lambda: self._made(name))

    def _around(self, name: Name) -> Array:
        k = min(max(self.cells.k, self.cells.near), self.rows.w.size)
        return self.places.nearest(self.near, name, k)

    def _made(self, name: Name) -> Cell:
        at = self._around(name)
        return self._cell(at, self._means(name, at))

    def _means(self, name: Name, at: Array) -> Expansion | None:
        c, known = self.committee, self.cells.weights
        if not self.cells.k:
            return None
        if known is None:
            return self._shared(at).expansion(c.basis, c.belief)
        return around(c.basis, c.belief, self.rows.X[at], known[name[0]])

    def _cell(self, at: Array, means: Expansion | None) -> Cell:
        c, near = self.committee, at[: self.cells.near]
        if self.cells.anchored and c.basis.m:
            return Cell.given_anchors(c.basis, c.belief, self._shared(near), means)
        return Cell.of(c.basis, c.noise, self.rows.take(near), means)

    def _shared(self, at: Array) -> Shared:
        design = getattr(self.accurate, "design", None)
        V = None if design is None else design[at].T
        return Shared.of(self.committee.basis, self.committee.noise, self.rows.take(at), V)

    def all_bytes(self, X: Array) -> float:
        """About how many all cells with rows take; X: some of these, drawn at random."""
        names, number = self.places.names(X)
        each = self.cell(names[0]).nbytes
        if self.cells.centres.size:
            return each * self.cells.centres.shape[0]
        own = np.array([self._in_cell(name).size for name in names])
        return each * self.rows.w.size * float((1.0 / np.maximum(own, 1))[number].mean())

    def left_out(self, names: Sequence[Name], only: Array | None = None) -> LeftOut:
        """Answers at some rows of cells, `only` these (ascending), each given the others.

        Of rows among those of the cell y − m = (C⁻¹r)ᵢ/(C⁻¹)ᵢᵢ, var y = 1/(C⁻¹)ᵢᵢ (Rasmussen &
        Williams 2006, eqs 5.10–5.12). The belief about the anchors has seen the row, as one
        among all.
        """
        found = [self._left_out(name, only) for name in names]
        nothing = LeftOut(np.empty(0, int), self.rows.y[:0], np.empty(0))
        return reduce(add, found, nothing)

    def _left_out(self, name: Name, only: Array | None) -> LeftOut:
        c, at, near = self.committee, self._around(name), self.cells.near
        own = self._in_cell(name)
        own = own if only is None else np.intersect1d(own, only)
        own = own[evenly_spaced(own.size, LEFT_OUT)]
        rows, queries = self.rows.take(at), self.rows.take(own)
        shared = self._shared(at) if self.cells.k else None
        means = None if shared is None else shared.expansion(c.basis, c.belief)
        mean, variance = self.cache.get(name, lambda: self._cell(at, means)).predict(queries.X)
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
        return LeftOut(own, error, variance)

    def _in_cell(self, name: Name) -> Array:
        """Numbers of rows in a cell, ascending; the centre is no row like others."""
        if self.cells.centres.size:
            at = self.places.nearest(self.near, name, min(AROUND, self.rows.w.size))[1:]
        else:
            at = self._around(name)
        X = self.rows.X[at]
        return np.sort(at[self.places.inside(name, X) & ~self.places.strange(X)])


def _left_out(L: Array, y: Array, i: Array) -> tuple[Array, Array]:
    """(A⁻¹y)ᵢ/(A⁻¹)ᵢᵢ and 1/(A⁻¹)ᵢᵢ of some i, A = LLᵀ  (h, p), (h,)."""
    unit = np.zeros((L.shape[0], i.size))
    unit[i, np.arange(i.size)] = 1.0
    columns = linalg.solve_posdef(L, unit)  # of A⁻¹
    precision = columns[i, np.arange(i.size)]
    return (columns.T @ y) / precision[:, None], 1.0 / precision


def _batches(parts: list[tuple[Name, Array]]) -> Iterable[list[tuple[Name, Array]]]:
    """Cells of one task: AT_ONCE, or fewer with many queries."""
    some: list[tuple[Name, Array]] = []
    count = 0
    for name, at in parts:
        some.append((name, at))
        count += at.size
        if len(some) == AT_ONCE or count >= QUERIES:
            yield some
            some, count = [], 0
    if some:
        yield some
