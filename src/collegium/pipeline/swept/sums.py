"""Sums of messages that depend on each other: chunks are approximated again as others change.

Where chunks come or go, those that are kept are approximated again until their messages rest: then
the order does not matter, to the tolerance of the sweeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ...laplace.calibration import LatentScale
from ...laplace.committee import LaplaceCommittee, settle_together, sorted_states
from ...laplace.stack import Totals
from ...likelihoods.base import Observation
from ...messages.basis import Anchors
from ...numerics.records import record
from ...rows.chunk import Chunk
from ...rows.ids import Id, Receipt
from ..sums import unlike
from .sweeping import Sweeping
from .targets import Targets

Array = np.ndarray


@record("pipeline.swept_sum/1")
@dataclass(frozen=True, eq=False)
class SweptSum:
    """One or several generalised committees of the same chunks."""

    committees: tuple[LaplaceCommittee, ...]  # one per likelihood, with the same rows and anchors
    asked: Observation  # the likelihood as the user asked for it
    sweeping: Sweeping
    sees: Targets  # from y of rows to targets of the likelihoods
    scale: LatentScale = LatentScale()

    known_noise: ClassVar[bool] = False

    @property
    def basis(self) -> Anchors:
        return self.committees[0].basis

    @property
    def likelihoods(self) -> tuple[Observation, ...]:
        return tuple(one.likelihood for one in self.committees)

    @property
    def count(self) -> int:
        """Number of committees."""
        return len(self.committees)

    @property
    def sweeps(self) -> int:
        return max(one.sweeps for one in self.committees)

    @property
    def change(self) -> float:
        return max(one.change for one in self.committees)

    @property
    def calibration(self) -> tuple[float, float]:
        """Factors of latent means and of latent variances, by held-out rows."""
        return self.scale.mean, self.scale.mean**2 * self.scale.variance

    def prior(self) -> dict[str, Any]:
        first = self.committees[0]
        named = tuple((type(one).__name__, one.theta) for one in self.likelihoods)
        return {
            "kernel": first.basis.kernel, "likelihood": named,
            "kind of expert": type(first.expert).__name__,
        }  # fmt: skip

    def arrived(self) -> list[tuple[Any, int]]:
        return [(state.id, state.chunk.n) for state in self.committees[0].states]

    def log_evidence(self) -> float:
        return sum(replace(one).log_evidence for one in self.committees)

    def with_committees(self, committees: Sequence[LaplaceCommittee]) -> SweptSum:
        """Take other committees; what these cache is not stored."""
        return replace(self, committees=tuple(replace(one) for one in committees))

    def blank(self) -> SweptSum:
        none = (
            replace(
                one, past=Totals.zero(one.basis.m, one.likelihood.latents), states=(),
                past_found=True, sweeps=0, change=0.0,
            )
            for one in self.committees
        )  # fmt: skip
        return replace(self, committees=tuple(none))

    def of_chunks(self, chunks: Sequence[Sequence[Chunk]], engine: Any) -> SweptSum:
        """Approximate these chunks of each committee, and no others, from zero until they rest."""
        starts = [one.join(own) for one, own in zip(self.blank().committees, chunks)]
        return self.at_rest(starts, engine)

    def plus(self, other: SweptSum, engine: Any) -> SweptSum:
        both = [
            replace(
                a, past=a.past + b.past, states=sorted_states((*a.states, *b.states)),
                past_found=a.past_found and b.past_found,
            )
            for a, b in zip(self.committees, other.committees)
        ]  # fmt: skip
        return self.at_rest(both, engine)

    def without(self, gone: Sequence[Any], engine: Any) -> SweptSum:
        ids = {chunk.id for chunk in gone}
        left = [
            replace(one, states=tuple(s for s in one.states if s.id not in ids))
            for one in self.committees
        ]
        return self.at_rest(left, engine)

    def of_rows(self, stay: Array, engine: Any) -> tuple[SweptSum, float]:
        chunks = [[value[stay] for value in one.states[0].chunk.load()] for one in self.committees]
        none = [replace(one, states=(), sweeps=0) for one in self.committees]
        starts = [one.join([Chunk(0, *chunk)]) for one, chunk in zip(none, chunks)]
        return self.at_rest(starts, engine, most=1), float(chunks[0][2].sum())

    def less(self, receipt: Receipt | None, id: Id, chunks: Any, engine: Any) -> SweptSum:
        raise ValueError(
            f"chunk {id!r} cannot be forgotten: with this likelihood a message depends on those "
            "before it, and rows were not kept. Give n_local > 0"
        )

    def unlike(self, other: SweptSum) -> list[str]:
        return unlike(self.basis, other.basis) if self.basis.m == other.basis.m else ["anchors"]

    def at_rest(
        self, committees: list[LaplaceCommittee], engine: Any, most: int | None = None
    ) -> SweptSum:
        """Sweep until no message moves, where chunks were kept."""
        s = self.sweeping
        if not committees[0].states:
            return replace(self, committees=tuple(committees))
        found = settle_together(
            [replace(one, change=np.inf) for one in committees], engine, sequential=s.sequential,
            tolerance=s.tolerance, max_sweeps=most or s.most,
        )  # fmt: skip
        if most is None:
            s.check(found)
        return self.with_committees(found)

    def without_rows(self) -> SweptSum:
        """Keep the sums of messages and drop the chunks."""
        return replace(self, committees=tuple(map(dropped_chunks, self.committees)))


def dropped_chunks(committee: LaplaceCommittee) -> LaplaceCommittee:
    """Keep the sum of messages and drop the chunks."""
    found = committee.modes_found
    return replace(committee, past=committee.totals, states=(), past_found=found)
