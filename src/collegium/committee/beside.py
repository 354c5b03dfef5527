"""Members beside a classifier: log odds of boosted trees."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..members.classes import (
    ClassMembers,
    ClassOpinions,
    GrownClasses,
    grow_classes,
    hopeless_classes,
    judge_classes,
    log_sd_of,
)
from ..members.tuning import TUNING as MEMBERS
from ..pipeline.checks.beside import bagged, has_time
from ..pipeline.job import Job
from ..pipeline.swept.kept import HeldOutSites
from ..pipeline.swept.model import SweptModel
from ..rows.rows import Prediction, Rows
from .classes import codes_of, log_probabilities

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class OddsBeside:
    """Grow trees on rows of codes, weighed as the classes are; keep them if held-out rows gain."""

    rows: Rows
    classes: int

    def __call__(self, job: Job, model: SweptModel, held: HeldOutSites) -> SweptModel:
        likelihood, X = model.likelihoods[0], held.sites[0].X
        if not has_time(job, self.rows, forests=MEMBERS.folds.exact * self.classes):
            return model
        codes, own = codes_of(likelihood, held.y), log_probabilities(likelihood, held.latents)
        log_sd, w = log_sd_of(held.latents), held.w / held.w.mean()

        def opinions(t: Array, some: Array | slice = slice(None)) -> ClassOpinions:
            return ClassOpinions(codes[some], own[some], t, log_sd[some], w[some])

        def give_up(part: GrownClasses, some: Array) -> bool:
            return hopeless_classes(opinions(part(X[some]), some))

        def grow(rows: Rows, seed: int, *stop: object) -> GrownClasses | None:
            return grow_classes(rows, self.classes, job.settings.prior.levels, seed, *stop)  # type: ignore[arg-type]

        both = bagged(
            job, self.rows, X, grow, give_up, lambda t: judge_classes(opinions(t), X)
        )  # fmt: skip
        if both is None:
            return model
        parts, found = both
        sharp = float(np.exp(found.l))
        members = ClassMembers(parts, len(parts), found.weight, sharp, found.gain, found.ratio)
        return replace(model, members=members)


def log_probabilities_of(model: SweptModel, X: Array, found: list[Prediction]) -> Array:
    """Log probabilities of the classes at places X, with members where there are some."""
    own = log_probabilities(model.likelihoods[0], found)
    members = model.members
    return members.beside(own, X, found) if isinstance(members, ClassMembers) else own
