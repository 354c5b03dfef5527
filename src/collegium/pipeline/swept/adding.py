"""More rows for a fitted committee of latent functions, and anchors that follow them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...interface.watching import StreamCheck
from ...laplace.committee import LaplaceCommittee
from ...likelihoods.units import exposed
from ...messages.basis import Anchors
from ...messages.growing import appended, carried, dropped
from ...messages.message import Message
from ...rows.rows import Rows
from ..job import Job
from .system import OPEN
from .model import LatentModel
from .sweeping import check_modes

Array = np.ndarray


def add_latent_rows(model: LatentModel, job: Job, targets: Sequence[Array]) -> LatentModel:
    """The model after more rows, in chunks that are approximated once."""
    rows, keep = job.rows, job.settings.keeps_rows
    groups, ids, chunks = job.groups(model.kernel), model.ids, []
    model = with_novel_anchors(model, rows.X)
    for y in targets:
        own, ids = job.more_chunks(groups, Rows(rows.X, y, rows.w), model.ids, None)
        chunks.append(own)
    committees = tuple(
        replace(  # what it caches is not stored
            replace(one).add(own, keep=keep)
        )
        for one, own in zip(model.committees, chunks)
    )
    check_modes(committees)
    model = replace(
        model, committees=committees, ids=ids, n_chunks=model.n_chunks + len(chunks[0]),
        total_weight=model.total_weight + float(rows.w.sum()),
    )  # fmt: skip
    return within_budget(model)


def with_novel_anchors(model: LatentModel, X: Array) -> LatentModel:
    """With anchors among rows that those so far see badly, where no rows are kept."""
    if model.following is None:
        return model
    basis = model.committees[0].basis
    following, Z = model.following.novel(basis, X)
    if Z.size:
        grown = appended(basis, Z)
        committees = tuple(replace(one).with_anchors(grown) for one in model.committees)
        model = replace(model, committees=committees)
    return replace(model, following=following)


def within_budget(model: LatentModel) -> LatentModel:
    """With as many anchors as the budget allows, those that say least dropped."""
    own, basis = model.following, model.committees[0].basis
    if own is None or basis.m <= own.budget:
        return model
    fresh = [replace(one) for one in model.committees]
    small, messages = dropped(basis, [m for one in fresh for m in one.total.parts], own.budget)
    kept = tuple(_shared_out(fresh, small, messages))
    return replace(model, committees=kept, following=own.without(basis.m - own.budget))


def with_kernel_of(model: LatentModel, other: LatentModel) -> LatentModel:
    """The messages of a model, with kernel, likelihoods and scale of one learnt from a sample."""
    own, basis = model.following, model.committees[0].basis
    assert own is not None
    moved = [
        carried(message, basis, other.kernel, 1.0)
        for one in model.committees
        for message in one.past.messages()
    ]
    new = moved[0][0]
    kept = _shared_out(model.committees, new, [message for _, message in moved])
    likelihoods = other.likelihoods
    committees = tuple(replace(one, likelihood=own) for one, own in zip(kept, likelihoods))
    noise = getattr(likelihoods[0], "noise", OPEN * new.scale(new.Z))
    return replace(
        model, committees=committees, scale=other.scale, learnt_at=own.sample.seen,
        following=own.relearnt(new, noise),
    )  # fmt: skip


def _shared_out(
    committees: Sequence[LaplaceCommittee], basis: Anchors, messages: Sequence[Message]
) -> list[LaplaceCommittee]:
    """Each committee with its own of the messages, in their order."""
    found, at = [], 0
    for one in committees:
        count = len(one.past.parts)
        found.append(one.with_messages(basis, messages[at : at + count]))
        at += count
    return found


def add_regression_rows(model: LatentModel, job: Job, check: StreamCheck) -> LatentModel:
    """The model of a regressor after more rows."""
    units = replace(model.units, exposed=model.units.exposed or exposed(job.rows.y))
    targets = [model.units.forward(job.rows.y)]
    return add_latent_rows(replace(model, units=units), job, targets)
