"""The fitted model of a committee: a sum of messages, and the layers on top of it.

    Sum ◄ Refinement ◄ Members ◄ Errors ◄ Answering      Averaged in place of the sum for few rows
                                                         Stream beside it

Each predictor is made of that of the layer below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..answers.arrived import FEW
from ..answers.cells.predictor import CellPredictor
from ..answers.conjugate_gradients import Refined
from ..answers.outside import Ranges, little_known
from ..answers.predictors import ExactPredictor, LocalPredictor, Predictor
from ..answers.transductive import Joint
from ..answers.tuning import TUNING as ANSWERS
from ..averaging.averaged import Averaged
from ..averaging.predictor import AveragedPredictor
from ..combining.predictors import ExpertsPredictor, NestedKriging
from ..errors.errors import ErrorPredictor, Errors
from ..interface.model import Model
from ..learning.dof import degrees_of_freedom
from ..likelihoods.targets.units import Units
from ..members.members import BesidePredictor, Members
from ..messages.committee import Committee
from ..numerics.records import record
from ..numerics.tiles import TILE
from ..rows.metric import Metric
from ..rows.partition import evenly_spaced
from ..rows.rows import Rows
from ..transforms.warping import WarpedAnswers, Warping
from .kept.disk import ScaledTargets, Stored
from .kept.kept import Kept
from .kept.lent import Lent
from .kept.memory import CommitteeRows
from .layers import Answering, Refinement, Sizes, Stream
from .sums import Additive, ChunkBook, GaussianSum
from .tuning import TUNING

Array = np.ndarray


class Layered(Additive, Model):  # type: ignore[override]
    """A model of a committee, whatever its likelihood: what all layers share."""

    sizes: Sizes
    members: Any = None

    def _prior(self) -> dict[str, Any]:
        own = super()._prior()
        return own if self.members is None else {**own, "members": self.members.identity()}

    @property
    def all_rows(self) -> bool:
        """Whether each answer is of all rows, whatever `n_local` is."""
        return self.alone or bool(self.sizes.combination)

    @property
    def shares_rows(self) -> bool:
        return self.sizes.combination == "grbcm"

    @property
    def anchors(self) -> Array:
        """Anchors in the units of X."""
        Z, warping = self.sum.basis.Z, self.warping
        return Z if warping is None or warping.inputs is None else warping.inputs.backward(Z)

    @property
    def few_checked(self) -> int:
        """Rows of a call that are checked at first: few, where raw rows correct predictions."""
        return FEW if self.sizes.n_local else TILE

    @property
    def residuals(self) -> Array:
        """Relative residuals of refined means; none where they are not refined."""
        return np.empty(0)

    @property
    def n_dropped(self) -> int:
        return 0 if self.stream.following is None else self.stream.following.n_dropped

    @property
    def n_relearnt(self) -> int:
        return 0 if self.stream.following is None else self.stream.following.n_relearnt

    def some_inputs(self) -> Array:
        if self.stored is not None or self.sum.arrived():
            return self.kept.inputs(TUNING.some_rows)
        own = self.stream.following
        return self.sum.basis.Z if own is None or not own.sample.rows.w.size else own.sample.rows.X

    def box(self) -> Ranges:
        """Ranges of rows as the predictor sees them; where none are in memory, of anchors."""
        X = self.some_inputs() if self.stored is None else self.sum.basis.Z
        codes = [k for k in Metric.of(self.kernel, X).level_columns() if k < X.shape[1]]
        if X is self.sum.basis.Z:
            return Ranges.of_anchors(X, codes)
        return Ranges.of(X, ANSWERS.outside.margin, codes)

    def outside(self, X: Array, variance: Array, box: Ranges) -> Array:
        """Whether queries, as the predictor sees them, with variances of f are extrapolations
        (n,)."""
        wide = variance if variance.ndim == 2 else variance[:, None]
        return little_known(self.kernel, wide, X).any(axis=1) | box.leaves(X)

    def places(self, X: Array) -> Array:
        """Queries as the predictor sees them."""
        return X if self.warping is None else self.warping.places(X)

    def rows_words(self) -> str:
        sizes, n = self.sizes, self.chunks.n
        text = f" in {n:,} chunks" if n > 1 else ""
        if len(self.anchors) and n > 1:
            text += f" that meet at {len(self.anchors):,} anchors"
            if sizes.n_local and not sizes.query_size:
                text += f"; the {sizes.n_local} nearest rows correct each answer"
                text += self._way_words()
        else:
            text += super().rows_words()
        return text if self.stored is None else f"{text}; on disk in {self.stored.path}"

    def _way_words(self) -> str:
        return ""

    def answers_by(self, predictor: Any) -> Callable[..., Any]:
        own, warping = super().answers_by(predictor), self.warping
        if warping is None:
            return own
        return lambda X, **asked: WarpedAnswers(own(warping.places(X), **asked), warping)

    def without_rows(self) -> Any:
        """Drop rows that answers do not need: those that a stream learns from again."""
        stream = replace(self.stream, following=None, checked=None)
        return replace(self, stream=stream)  # type: ignore[type-var]


@record("pipeline.model/1")
@dataclass(frozen=True, eq=False)
class CommitteeModel(Layered):
    """A committee with Gaussian noise, or of whole experts."""

    sum: GaussianSum
    units: Units
    sizes: Sizes
    chunks: ChunkBook
    stream: Stream = Stream()
    stored: Stored | Lent | None = None  # rows on disk
    warping: Warping | None = None  # by which rows and queries are transformed; None: they are not
    refined: Refinement | None = None
    averaged: tuple[Averaged, ...] = ()  # one per output, in place of the exact GP
    members: Members | None = None  # other opinions about the mean; None: there are none
    errors: Errors | None = None  # None: y ~ N(m, var[f] + noise)
    answering: Answering = Answering()

    @property
    def committee(self) -> Committee:
        return self.sum.committee

    @property
    def residuals(self) -> Array:
        return np.empty(0) if self.refined is None else self.refined.residuals

    @property
    def noise_in_units(self) -> float | Array | None:
        """The noise variance in the units of y; of an averaged model the mean over its parts."""
        if not self.averaged:
            return super().noise_in_units
        each = AveragedPredictor.of(self.averaged).noises() * self.scaling.scale**2
        return float(each[0]) if each.size == 1 else each

    @property
    def likelihood_in_units(self) -> Any:
        raise AttributeError("likelihood_ is of likelihoods other than 'gaussian': see noise_")

    def _as_summed(self) -> CommitteeModel:
        """Errors of refined and of averaged means are not those of the committee's own."""
        own = self.errors if self.refined is None else self.refined.plain
        own = None if self.averaged else own
        answering = replace(self.answering, fast=None)
        return replace(self, refined=None, averaged=(), errors=own, answering=answering)

    def _way_words(self) -> str:
        fast, cells = self.answering.fast, self.answering.cells
        if fast is None and cells is not None:
            return f" (by cells of {cells.k} rows, where that is as good)"
        return "" if fast is None else f" (within {fast.asked:g} ms per row: {fast.words})"

    @property
    def kept(self) -> Any:
        if self.stored is None:
            return CommitteeRows(self.committee)
        return self.stored.seen(ScaledTargets(self.scaling, self.warping))

    @property
    def effective_dof(self) -> float:
        if self.sum.dof > 0.0:
            return self.sum.dof
        return degrees_of_freedom(self.kernel, self.sum.noise, self.committee.rows())

    def some_targets(self) -> Rows | None:
        if self.stored is not None or self.sum.arrived():
            rows = self.kept.take(self.kept.sample(TUNING.some_rows))
        elif self.stream.following is not None:
            rows = self.stream.following.sample.rows
        else:
            return None
        found = self.scaling.rows_in_units(rows)
        return found if self.warping is None else self.warping.rows_in_units(found)

    def rows(self) -> Rows:
        """The rows that were kept, in the units of the user."""
        if self.waiting is not None:
            return self.waiting.rows
        found = self.scaling.rows_in_units(self.committee.rows())
        return found if self.warping is None else self.warping.rows_in_units(found)

    @property
    def costly_means(self) -> bool:
        return bool(self.averaged) or (self.sizes.n_local > 0 and not self.alone)

    def for_means(self) -> CommitteeModel:
        few = min(self.sizes.n_local, TUNING.near_for_means)
        rows = replace(self.answering, cells=None)
        sizes = replace(self.sizes, n_local=few)
        return replace(self, sizes=sizes, errors=None, answering=rows)

    # -- predictors, from the sum up ----------------------------------------------------------

    def answerer(self, committee: Committee, n_local: int, kept: Kept | None = None) -> Predictor:
        """Answer for a committee: its chunks jointly, or its anchors and nearest rows."""
        if self.sizes.query_size and len(committee.sizes) > 1:
            return Joint.of(committee, self.sizes.query_size, self.sizes.screening)
        own = self.kept if kept is None else kept
        return own.local(committee, n_local)

    def committee_predictor(self) -> Predictor:
        """Answer for y, or for the residual of refined means, from messages and nearest rows."""
        rest = self.committee if self.refined is None else self.refined.rest
        return self.answerer(rest, self.sizes.n_local)

    def beside(self, own: Any) -> Any:
        """Let members change the means of a predictor of f."""
        return own if self.members is None else BesidePredictor(own, self.members, self.sum.noise)

    def function_predictor(self) -> Any:
        """Answer for the function f, without its noise."""
        return self.beside(self.summed_predictor())

    def summed_predictor(self) -> Predictor:
        """Answer for f by messages and rows alone, without members."""
        rule, refined = self.sizes.combination, None
        if len(self.committee.sizes) > 1 and rule:
            if rule == "npae":
                return NestedKriging.of(self.committee)
            return ExpertsPredictor.of(self.committee, rule)
        own = self.committee_predictor()
        if self.refined is not None:
            refined = Refined(own, self.kernel, self.committee.rows().X, self.refined.weights)
        if self.answering.cells is None or not isinstance(own, (ExactPredictor, LocalPredictor)):
            return refined or own
        cells = self.answering.cells_for(self.committee.rows().X)
        if cells is not None:
            rest = self.committee if self.refined is None else self.refined.rest
            return CellPredictor.of(
                rest, cells, own, None if refined is None else refined.expansion
            )
        return refined or own

    def predictor(self, own: Any = None) -> Any:
        """Answer for y; `own`: the predictor of f without members, if it is there already."""
        if own is None:
            own = AveragedPredictor.of(self.averaged) if self.averaged else self.summed_predictor()
        own = self.beside(own)
        if self.errors is None:
            return own
        noise = own.noises() if self.averaged else self.sum.noise
        return ErrorPredictor(own, self.errors, self._neighbours(self.errors), noise)

    def _neighbours(self, errors: Errors) -> Any:
        """Rows near a query, where the scale of errors asks for them and there are some."""
        if not errors.scale.needs_near or (self.stored is not None and not self.sizes.n_local):
            return None
        return self.kept.neighbours(errors.metric)

    def watcher(self) -> Any:
        """Answer for arriving rows of a stream: from anchors, and a few of the last rows kept."""
        near, c = min(self.sizes.n_local, TUNING.stream.near), self.committee
        if c.no_anchors or not (near and c.arrived):
            return self.predictor()
        own = LocalPredictor.of(c.of_last_rows(TUNING.stream.last), near, lasting=False)
        return self.beside(own)

    # -- rows that answers are checked with ---------------------------------------------------

    def sample_of_rows(self, number: int) -> Array:
        """Choose some of the rows kept, ascending; of those whose refined errors are known."""
        if self.refined is not None and self.refined.errors is not None:
            at = self.refined.errors.at
            return at[evenly_spaced(at.size, number)]
        return self.kept.sample(number)

    def prior_to_check(self) -> Committee:
        """The prior of committees of some rows, which check the model; without anchors if joint."""
        c = self.committee
        if not self.sizes.query_size:
            return c
        return Committee.start(c.basis.kernel, c.noise, c.basis.Z[:0], c.messages.p)
