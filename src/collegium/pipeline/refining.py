"""Refining a committee's means towards those of the exact GP."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..answers.conjugate_gradients import Solution, refined, with_targets
from ..interface.options import CG
from .job import Job
from .layers import Refinement
from .model import CommitteeModel
from .planning.plan import Plan

Array = np.ndarray


def with_weights(
    job: Job, model: CommitteeModel, plan: Plan, held: Array | None
) -> tuple[CommitteeModel, Solution]:
    """Refine means towards those of the exact GP by conjugate gradients.

    `held`: numbers of rows of the committee, whose held-out errors are estimated too.
    """
    s = job.settings
    asked = s.answers.refine or CG()
    found = refined(
        model.committee, s.engine, tolerance=asked.tol, max_iter=asked.max_iter,
        enough=plan.enough, say=job.say, held=held,
    )  # fmt: skip
    if found.residuals[-1] > asked.tol and plan.enough():
        job.say(f"time is up: refined to a residual of {found.residuals[-1]:.1e}")
    elif s.answers.refine and found.residuals[-1] > asked.tol:
        warnings.warn(
            f"inference='cg' stopped after {asked.max_iter} iterations with a residual of "
            f"{found.residuals[-1]:.1e}: give inference=collegium.CG(tol, max_iter) with a larger "
            "max_iter or tol, or larger chunks",
            ConvergenceWarning,
            stacklevel=2,
        )
    rest = with_targets(model.committee, found.rest, s.engine)
    return replace(model, refined=Refinement(found.weights, rest, found.residuals)), found
