"""Fitted committees with Gaussian noise, and of whole experts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..answers.cells import CellPredictor, Cells
from ..answers.conjugate_gradients import Refined
from ..answers.predictors import Exact, Local, Predictor, predictor
from ..answers.transductive import Joint
from ..averaging.averaged import Averaged
from ..averaging.predictor import AveragedPredictor
from ..combining.predictors import ExpertsPredictor, NestedKriging
from ..errors.checked import Checked
from ..errors.errors import ErrorPredictor, Errors
from ..interface.model import Model
from ..interface.stream import Waiting
from ..kernels import Kernel
from ..learning.dof import degrees_of_freedom
from ..likelihoods.base import Scalar
from ..likelihoods.gaussian import Gaussian
from ..likelihoods.units import Units
from ..messages.committee import Committee
from ..numerics.records import record
from ..rows.chunk import Chunk
from ..rows.ids import ChunkIds, Id, Owners
from ..rows.partition import evenly_spaced
from ..rows.rows import Rows
from ..transforms.warping import Warping
from .sums import Additive
from .answering import Fast, RefinedErrors
from .stream.following import Following
from .stream.follows import Follows
from .kept.disk import OnDisk, Stored, refuse_to_merge, without_stored

Array = np.ndarray
#: A stream is checked with so many of its last rows, and of these the nearest to each arriving
#: one: all rows would cost more than learning does.
LAST, WATCHED_NEAR = 500, 20
#: Rows of a store that means are looked at; nearest rows that these take, at most.
SOME_ROWS, NEAR_FOR_MEANS = 2_000, 100


@record("committee.model/1")
@dataclass(frozen=True, eq=False)
class CommitteeModel(Follows, Additive, Model):
    """Gaussian noise: messages add up once, and that is exact."""

    committee: Committee
    units: Units
    chunk_size: int
    n_local: int
    query_size: int  # 0: inductive
    screening: float
    combination: str | None  # a rule for whole experts; None: messages add up
    dof: float  # effective degrees of freedom of the rows; 0: not estimated
    weights: Array  # of the exact GP, where means were refined; else none  (n, p)
    rest: Committee | None  # of the targets minus the refined means; None: nothing was refined
    residuals: Array  # of that system, before each iteration and after the last
    n_chunks: int
    total_weight: float
    exact: bool  # all rows in one chunk; with more rows anchors are chosen
    learnt_at: int  # rows seen when hyperparameters were last learnt
    ids: ChunkIds
    owners: Owners | None = None  # of the rows of an exact GP, where ids were given
    following: Following | None = None  # None: anchors stay as they are
    sweeps: int = 1
    change: float = 0.0
    targets: Array | None = None  # of the rows of an exact GP, as they came  (n, p)
    errors: Errors | None = None  # None: y ~ N(m, var[f] + noise)
    averaged: tuple[Averaged, ...] = ()  # one an output, in place of the exact GP
    places: Array | None = None  # their inputs, where these are transformed  (n, d)
    warping: Warping | None = None  # by which rows and queries are transformed; None: they are not
    errors_at: int = 0  # rows kept when their scale was last looked for
    checked: Checked | None = None  # of a stream that keeps no rows
    stored: Stored | None = None  # where its rows are, if these are not in memory
    known_noise: bool = False  # whether rows came with noise variances of their own
    cells: Cells | None = None  # None: queries are answered from their own nearest rows
    fast: Fast | None = None  # how to answer within `answer_time`
    refined_errors: RefinedErrors | None = None  # of rows left out, where means were refined

    for_streams = ("following", "checked")

    @property
    def kernel(self) -> Kernel:  # type: ignore[override]
        return self.committee.basis.kernel

    @property
    def likelihoods(self) -> tuple[Scalar, ...]:  # type: ignore[override]
        return (Gaussian(self.committee.noise),) * self.scaling.scale.size

    @property
    def given(self) -> None:
        """The likelihood asked for; None: Gaussian noise."""
        return None

    @property
    def noise_in_units(self) -> float | Array | None:
        """Of an averaged model the mean over its parts."""
        if not self.averaged:
            return super().noise_in_units
        each = AveragedPredictor.of(self.averaged).noises() * self.scaling.scale**2
        return float(each[0]) if each.size == 1 else each

    @property
    def alone(self) -> bool:
        return self.exact

    @property
    def all_rows(self) -> bool:
        """Whether each answer is of all rows, whatever `n_local` is."""
        return self.exact or self.combination is not None

    @property
    def shares_rows(self) -> bool:
        return self.combination == "grbcm"

    def _at_rest(self) -> dict[str, Any]:
        return {"following": None, "checked": None, "stored": None}

    def _as_summed(self) -> dict[str, Any]:
        """Errors of refined and of averaged means are not those of the committee's own."""
        own = None if self.averaged or self.rest is not None else self.errors
        return {
            "weights": self.weights[:0],
            "rest": None,
            "residuals": np.empty(0),
            "errors": own,
            "averaged": (),
            "fast": None,
            "refined_errors": None,
        }

    def without_chunks(self, id: Id, chunks: Sequence[Chunk], engine: Any) -> CommitteeModel:
        if self.stored is not None:
            raise ValueError(f"rows of chunk {id!r} are in the store: leave out X and y")
        left = super().without_chunks(id, chunks, engine)
        if left.following is None:
            return left
        return replace(left, following=left.following.without_chunks(chunks))

    def on_disk(self) -> OnDisk:
        """The rows that are not in memory, as this model sees them."""
        assert self.stored is not None
        return OnDisk(self.stored.open(), self.scaling, self.warping, self.stored.metric)

    def merged(self, other: Any, engine: Any) -> CommitteeModel:
        if self.stored is not None or other.stored is not None:
            refuse_to_merge()
        return super().merged(other, engine)

    def not_kept(self, ids: Collection[Id]) -> list[Id]:
        return super().not_kept(ids) if self.stored is None else []

    def without(self, ids: Collection[Id], engine: Any) -> CommitteeModel:
        if self.stored is None:
            return super().without(ids, engine)
        return without_stored(self, ids, engine)

    @property
    def anchors(self) -> Array:
        """In the units of X."""
        Z, warping = self.committee.basis.Z, self.warping
        return Z if warping is None or warping.inputs is None else warping.inputs.backward(Z)

    @property
    def waiting(self) -> Waiting | None:
        return Waiting(self.rows(), 0, 0) if self.exact else None

    @property
    def effective_dof(self) -> float:
        if self.dof > 0.0:
            return self.dof
        return degrees_of_freedom(self.kernel, self.committee.noise, self.committee.rows())

    def rows(self) -> Rows:
        """Those that were kept, in the units of the user."""
        kept = self.committee.rows()
        found = self.scaling.rows_in_units(kept)
        if self.warping is not None:
            found = self.warping.rows_in_units(found)
        X = found.X if self.places is None else self.places
        return replace(found, X=X, y=found.y if self.targets is None else self.targets)

    def some_inputs(self) -> Array:
        if self.stored is not None:
            kept = self.on_disk()
            return kept.take(kept.store.sample(SOME_ROWS)).X
        if self.committee.arrived:
            return self.committee.rows().X
        return self._sample_or(self.committee.basis.Z)

    @property
    def costly_means(self) -> bool:
        return bool(self.averaged) or (self.n_local > 0 and not self.exact)

    def for_means(self) -> CommitteeModel:
        return replace(self, n_local=min(self.n_local, NEAR_FOR_MEANS), errors=None)

    def log_evidence(self) -> Array:
        return self.committee.log_evidence()

    def predictor(self, own: Any = None) -> Any:
        """`own`: who answers for f, if that is there already."""
        if own is None:
            own = (
                AveragedPredictor.of(self.averaged) if self.averaged else self.function_predictor()
            )
        if self.errors is None:
            return own
        noise = own.noises() if self.averaged else self.committee.noise
        if self.stored is not None:
            asked = self.n_local and self.errors.scale.needs_near
            near = replace(self.on_disk(), metric=self.errors.metric) if asked else None
            return ErrorPredictor(own, self.errors, near, noise)
        rows = self.committee.rows() if self.committee.arrived else None
        return ErrorPredictor.of(own, self.errors, rows, noise)

    def function_predictor(self) -> Predictor:
        """Who answers for the function f, without its noise."""
        if len(self.committee.sizes) > 1 and self.combination is not None:
            if self.combination == "npae":
                return NestedKriging.of(self.committee)
            return ExpertsPredictor.of(self.committee, self.combination)
        own = self.committee_predictor()
        refined = None
        if self.rest is not None:
            refined = Refined(own, self.kernel, self.committee.rows().X, self.weights)
        if self.cells is not None and isinstance(own, (Exact, Local)):
            more = None if refined is None else refined.expansion
            return CellPredictor.of(self.rest or self.committee, self.cells, own, more)
        return refined or own

    def committee_predictor(self) -> Predictor:
        """Who answers from messages and nearest rows: for y, or for what refined means leave."""
        if self.stored is not None and self.n_local:
            return self.on_disk().local(self.committee, self.n_local)
        return self.answerer(self.rest or self.committee, self.n_local)

    @property
    def n_kept(self) -> int:
        """Rows that answers can be made of."""
        return sum(self.committee.sizes) if self.stored is None else len(self.on_disk())

    def sample_of_rows(self, number: int) -> Array:
        """Numbers of some of the rows kept, ascending; of those whose refined errors are known."""
        if self.stored is not None:
            return np.sort(self.on_disk().store.sample(number))
        if self.refined_errors is not None:
            at = self.refined_errors.at
            return at[evenly_spaced(at.size, number)]
        return evenly_spaced(self.n_kept, number)

    def rows_at(self, numbers: Array) -> Rows:
        """Rows kept, as the committee sees them."""
        return (self.on_disk() if self.stored is not None else self.committee.rows()).take(numbers)

    def watcher(self) -> Any:
        """Who answers for arriving rows of a stream: anchors, and a few of the last rows kept."""
        near = min(self.n_local, WATCHED_NEAR)
        if self.committee.no_anchors or not (near and self.committee.arrived):
            return self.predictor()
        return Local.of(self.committee.of_last_rows(LAST), near, lasting=False)

    def prior_to_check(self) -> Committee:
        """Of committees of some rows, whose answers check the model: a joint one has no anchors."""
        c = self.committee
        if not self.query_size:
            return c
        return Committee.start(c.basis.kernel, c.noise, c.basis.Z[:0], c.messages.p)

    def answerer(self, committee: Committee, n_local: int) -> Predictor:
        """Who answers for a committee: its chunks jointly, or its anchors and nearest rows."""
        if self.query_size and len(committee.sizes) > 1:
            return Joint.of(committee, self.query_size, self.screening)
        return predictor(committee, n_local)
