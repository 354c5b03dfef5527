"""The fitted model of latent functions, seen through likelihoods that are not Gaussian."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...answers.predictors import GlobalPredictor
from ...laplace.committee import LaplaceCommittee, latent_predictors
from ...laplace.transductive import JointLatents
from ...likelihoods.targets.units import Units
from ...members.classes import ClassMembers
from ...members.members import BesidePredictor, Members
from ...numerics.records import record
from ...rows.rows import Rows
from ...transforms.warping import Warping
from ..layers import Sizes, Stream
from ..model import Layered
from ..sums import ChunkBook
from ..tuning import TUNING
from .kept import SitesInMemory, SitesOnDisk
from .predictor import LatentPredictor, OneLatent
from .sites import StoredSites
from .sums import SweptSum

Array = np.ndarray


@record("pipeline.swept_model/1")
@dataclass(frozen=True, eq=False)
class SweptModel(Layered):
    """Latent functions seen through likelihoods that are not Gaussian."""

    sum: SweptSum
    units: Units
    sizes: Sizes
    chunks: ChunkBook
    stream: Stream = Stream()
    stored: StoredSites | None = None
    members: Members | ClassMembers | None = None  # other opinions; None: there are none
    warping: Warping | None = None  # by which inputs are transformed; None: they are not

    @property
    def committees(self) -> tuple[LaplaceCommittee, ...]:
        return self.sum.committees

    @property
    def likelihood_name(self) -> str:
        return "" if self.sum.sees.classes else type(self.sum.asked).__name__

    @property
    def effective_dof(self) -> float:
        raise AttributeError("effective_dof_ is of likelihood='gaussian' only")

    @property
    def kept(self) -> Any:
        fresh = tuple(replace(one) for one in self.committees)  # what they cache is not stored
        return SitesInMemory(fresh) if self.stored is None else SitesOnDisk(fresh, self.stored)

    def _units_of_sums(self) -> Units:
        return replace(self.units, exposed=False)

    def rows(self) -> Rows:
        """The rows that a regressor kept, in the units of the user."""
        if self.waiting is not None:
            return self.waiting.rows
        kept = self.kept.rows()
        return Rows(kept.X, self.units.backward(kept.y), kept.w)

    @property
    def costly_means(self) -> bool:
        return self.sizes.n_local > 0 and not self.alone

    def for_means(self) -> SweptModel:
        few = min(self.sizes.n_local, TUNING.near_for_means)
        return replace(self, sizes=replace(self.sizes, n_local=few))

    def keep_files(self) -> None:
        """Keep files on disk for a copy that is about to be made."""
        if self.stored is not None:
            self.stored.keep_files()

    def watcher(self) -> OneLatent:
        """Answer for arriving rows of a stream: from anchors, and a few of the last rows kept."""
        if self.alone or self.stored is not None:
            return self.beside(OneLatent(self.latents()))
        few = 1 + TUNING.stream.last // self.sizes.chunk_size
        latents = [replace(one, kept=one.kept[-few:]) for one in self.kept.latents()]
        near = min(self.sizes.n_local, TUNING.stream.near)
        each = latent_predictors(latents, near) if near else tuple(map(GlobalPredictor, latents))
        return self.beside(OneLatent(LatentPredictor(each, None, self.sum.scale)))

    def latents(self) -> LatentPredictor:
        """Answer for all latent functions."""
        kept, sizes, scale = self.kept, self.sizes, self.sum.scale
        if sizes.query_size and self.chunks.n > 1:
            s = self.sum.sweeping
            joint = JointLatents.of(
                kept.committees, sizes.query_size, s.most, s.tolerance, sequential=s.sequential,
                report=s.check,
            )  # fmt: skip
            return LatentPredictor((), joint, scale)
        return LatentPredictor(kept.predictors(sizes.n_local), None, scale)

    def predictor(self) -> Any:
        """Answer for the one latent function of a regressor, or for those of all classes."""
        if self.sum.sees.classes:
            return self.latents()
        return self.beside(OneLatent(self.latents()))

    def beside(self, own: OneLatent) -> Any:
        """Let members change the means of the one latent function of a regressor."""
        members = self.members
        return BesidePredictor(own, members, 0.0) if isinstance(members, Members) else own
