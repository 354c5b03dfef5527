"""Fitted committees of latent functions, seen through likelihoods that are not Gaussian."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ...answers.predictors import Global
from ...interface.model import Model
from ...interface.stream import Waiting
from ...kernels import Kernel
from ...laplace.calibration import LatentScale
from ...laplace.committee import LaplaceCommittee, latent_predictors
from ...laplace.transductive import JointLatents
from ...likelihoods.base import Observation, Scalar
from ...likelihoods.units import Units
from ...numerics.records import record
from ...rows.ids import ChunkIds, Owners
from ...rows.rows import Rows
from ..stream.following import Following
from ..stream.follows import Follows
from .sums import LatentAdditive
from .predictor import LatentPredictor, OneLatent
from ..model import LAST, NEAR_FOR_MEANS, SOME_ROWS, WATCHED_NEAR
from .sites import StoredSites
from .sweeping import Sweeping

Array = np.ndarray


@record("committee.latent/1")
@dataclass(frozen=True, eq=False)
class LatentModel(Follows, LatentAdditive, Model):
    """Latent functions seen through likelihoods that are not Gaussian."""

    committees: tuple[
        LaplaceCommittee, ...
    ]  # of one likelihood each, with the same rows and anchors
    units: Units
    given: Scalar | None  # the likelihood of a regressor as it was asked for
    chunk_size: int
    n_local: int
    query_size: int  # 0: inductive
    n_chunks: int
    total_weight: float
    waiting: Waiting | None  # all rows, where they are one chunk: more may ask for anchors
    learnt_at: int
    sweeping: Sweeping
    scale: LatentScale
    ids: ChunkIds
    owners: Owners | None = None  # of rows that wait, where ids were given
    following: Following | None = None  # None: anchors stay as they are
    warping: ClassVar[None] = None  # likelihoods see y as it is
    steady: bool = False  # a stream learns no hyperparameters anew: others share its basis
    stored: StoredSites | None = None  # where its rows are, if these are not in memory

    @property
    def kernel(self) -> Kernel:  # type: ignore[override]
        return self.committees[0].basis.kernel

    @property
    def likelihoods(self) -> tuple[Observation, ...]:  # type: ignore[override]
        return tuple(one.likelihood for one in self.committees)

    @property
    def all_rows(self) -> bool:
        return self.waiting is not None

    @property
    def anchors(self) -> Array:
        return self.committees[0].basis.Z

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

    @property
    def effective_dof(self) -> float:
        raise AttributeError("effective_dof_ is of likelihood='gaussian' only")

    @property
    def residuals(self) -> Array:
        return np.empty(0)

    @property
    def sizes(self) -> Sequence[int]:
        """Of the chunks whose rows were kept."""
        if self.waiting is not None:
            return [self.waiting.rows.X.shape[0]]
        return [one.chunk.load()[0].shape[0] for one in self.committees[0].states]

    def rows(self) -> Rows:
        """Those that a regressor kept, in the units of the user."""
        if self.waiting is not None:
            return self.waiting.rows
        parts = [Rows(*one.chunk.load()) for one in self.committees[0].states]
        kept = parts[0]
        for part in parts[1:]:
            kept = kept + part
        return Rows(kept.X, self.units.backward(kept.y), kept.w)

    def some_inputs(self) -> Array:
        if self.stored is not None:
            kept = self.stored.on_disk()
            return kept.take(kept.store.sample(SOME_ROWS)).X
        if self.waiting is not None:
            return self.waiting.rows.X
        parts = [one.chunk.load()[0] for one in self.committees[0].states]
        return np.concatenate(parts) if parts else self._sample_or(self.anchors)

    @property
    def costly_means(self) -> bool:
        return self.n_local > 0 and self.waiting is None

    def for_means(self) -> LatentModel:
        return replace(self, n_local=min(self.n_local, NEAR_FOR_MEANS))

    def log_evidence(self) -> float:
        return sum(replace(one).log_evidence for one in self.committees)

    def watcher(self) -> OneLatent:
        """Who answers for arriving rows of a stream: anchors, and a few of the last rows kept."""
        if self.waiting is not None or self.stored is not None:
            return OneLatent(self.latents())
        fresh, few = [replace(one) for one in self.committees], 1 + LAST // self.chunk_size
        latents = [one.latent(k) for one in fresh for k in range(one.likelihood.latents)]
        latents = [replace(one, kept=one.kept[-few:]) for one in latents]
        near = min(self.n_local, WATCHED_NEAR)
        each = latent_predictors(latents, near) if near else tuple(map(Global, latents))
        return OneLatent(LatentPredictor(each, None, self.scale))

    def latents(self) -> LatentPredictor:
        fresh = [replace(one) for one in self.committees]  # what it caches is not stored
        if self.stored is not None and self.n_local:
            each = self.stored.predictors(fresh, self.n_local)
            return LatentPredictor(each, None, self.scale)
        if self.query_size and self.n_chunks > 1:
            s = self.sweeping
            joint = JointLatents.of(
                fresh, self.query_size, s.most, s.tolerance, sequential=s.sequential, report=s.check
            )
            return LatentPredictor((), joint, self.scale)
        latents = [one.latent(k) for one in fresh for k in range(one.likelihood.latents)]
        return LatentPredictor(latent_predictors(latents, self.n_local), None, self.scale)

    def predictor(self) -> Any:
        """Of a regressor its one latent function, of a classifier those of all classes."""
        return self.latents() if self.given is None else OneLatent(self.latents())
