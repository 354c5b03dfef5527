"""Members beside latent functions: trees for the logs of rates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...likelihoods.base import Scalar
from ...members.boosting import Grown, grow_trees
from ...members.latent import LatentOpinions, judge_latent, rates
from ...members.members import Members, OutputMember
from ...members.tuning import TUNING as MEMBERS
from ...rows.rows import Rows
from ..checks.beside import bagged, has_time
from ..job import Job
from .kept import HeldOutSites
from .model import SweptModel

Array = np.ndarray


def members_wanted(job: Job) -> bool:
    """Whether trees are to be tried beside latent functions."""
    s = job.settings
    asked = s.members
    if not asked.auto or not asked.on:
        return asked.on
    free = s.prior.kernel is None and s.prior.trend is None and s.anchors.Z is None
    few = job.n < MEMBERS.fewest
    return free and s.learning.on and s.answers.corrected and not (few or job.streaming)


def rates_beside(job: Job, model: SweptModel, held: HeldOutSites) -> SweptModel:
    """Grow trees with the loss that matches the likelihood; keep them if held-out rows gain."""
    likelihood: Any = model.likelihoods[0]
    if not isinstance(likelihood, Scalar) or not likelihood.tree_loss:
        return model
    rows = rates(as_seen(model, job.rows))
    if not has_time(job, rows, forests=MEMBERS.folds.exact):
        return model
    (found,), (sites,), y = held.latents, held.sites, held.y[0]
    w = held.w / held.w.mean()

    def opinions(t: Array, some: Array | slice = slice(None)) -> LatentOpinions:
        return LatentOpinions(
            likelihood, y[some], found.mean[some, 0], found.variance[some], t, w[some]
        )

    def give_up(part: Grown, some: Array) -> bool:
        """Whether E[y] errs much more than that of the committee."""
        at = opinions(part(sites.X[some]), some)
        return at.squared_error(at.other) > MEMBERS.weighing.hopeless**2 * at.squared_error(at.mean)

    levels, loss = job.settings.prior.levels, likelihood.tree_loss

    def grow(own: Rows, seed: int, *stop: Any) -> Grown | None:
        return grow_trees(own, levels, seed, *stop, loss=loss)

    both = bagged(
        job, rows, sites.X, grow, give_up, lambda t: judge_latent(opinions(t), sites.X)
    )  # fmt: skip
    if both is None:
        return model
    parts, verdict = both
    member = OutputMember(parts, len(parts), verdict.weight, verdict.gain, verdict.ratio)
    return replace(model, members=Members((member,)))


def as_seen(model: SweptModel, rows: Rows) -> Rows:
    """Rows with targets as the likelihood sees them."""
    return replace(rows, y=model.units.forward(rows.y))
