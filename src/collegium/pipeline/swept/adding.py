"""More rows for a fitted model of latent functions, and anchors that follow them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...laplace.committee import LaplaceCommittee
from ...likelihoods.targets.units import exposed
from ...messages.basis import Anchors
from ...messages.growing import appended, carried, dropped
from ...messages.message import Message
from ...rows.ids import ChunkIds
from ...rows.rows import Rows
from ..job import Job
from ..stream.following import Following
from ..tuning import TUNING
from .model import SweptModel
from .sweeping import check_modes

Array = np.ndarray


def add_swept_rows(model: SweptModel, job: Job) -> SweptModel:
    """Add more rows, in chunks that are approximated once."""
    job = job.seen_by(model)
    sees, own = model.sum.sees, model.stream.following
    if own is not None and sees.classes:
        model = _followed(model, own.with_rows(job.rows))
    job = replace(job, rows=sees.counting(job.rows))
    rows, kept = job.rows, model.kept
    if not rows.w.size:  # of classes that do not count: the chunk is known by its id
        named = ChunkIds() if job.chunk_id is None else ChunkIds.of([job.chunk_id])
        book = replace(model.chunks, ids=model.chunks.ids + named)
        return model if job.chunk_id is None else replace(model, chunks=book)
    groups, weighted = job.groups(model.kernel), sees.weighted(rows)
    model = with_novel_anchors(model, rows.X)
    keep = job.settings.answers.keeps_rows or not kept.in_memory
    grown, chunks, ids = [], list[Any](), model.chunks.ids
    for one, y in zip(model.committees, sees(rows.y)):
        chunks, ids = job.more_chunks(groups, Rows(rows.X, y, weighted.w), model.chunks.ids, None)
        grown.append(replace(one).add(chunks, keep=keep))
    check_modes(grown)
    committees, stored = kept.append(grown, chunks, rows.take(np.concatenate(groups)))
    uneven = not sees.classes and exposed(rows.y)
    model = replace(
        model,
        sum=replace(model.sum, committees=committees),
        units=replace(model.units, exposed=model.units.exposed or uneven),
        chunks=model.chunks.plus(ids, chunks, float(weighted.w.sum())),
        stored=stored,
    )
    return within_budget(model)


def swept_chunks(model: SweptModel, job: Job) -> list[list[Any]]:
    """Cut rows as `add_swept_rows` does, for each committee; none where no class of them counts."""
    job, sees = job.seen_by(model), model.sum.sees
    job = replace(job, rows=sees.counting(job.rows))
    rows = job.rows
    if not rows.w.size:
        return [[] for _ in model.committees]
    groups, w = job.groups(model.kernel), sees.weighted(rows).w
    each = [Rows(rows.X, y, w) for y in sees(rows.y)]
    return [job.more_chunks(groups, own, ChunkIds(), None)[0] for own in each]


def with_novel_anchors(model: SweptModel, X: Array) -> SweptModel:
    """Append anchors among rows that those so far see badly, where no rows are kept."""
    if model.stream.following is None:
        return model
    basis = model.sum.basis
    following, Z = model.stream.following.novel(basis, X)
    if Z.size:
        grown = appended(basis, Z)
        committees = tuple(replace(one).with_anchors(grown) for one in model.committees)
        model = replace(model, sum=replace(model.sum, committees=committees))
    return _followed(model, following)


def within_budget(model: SweptModel) -> SweptModel:
    """Keep as many anchors as the budget allows; the least informative are dropped."""
    own, basis = model.stream.following, model.sum.basis
    if own is None or basis.m <= own.budget:
        return model
    fresh = [replace(one) for one in model.committees]
    small, messages = dropped(basis, [m for one in fresh for m in one.total.parts], own.budget)
    kept = tuple(_shared_out(fresh, small, messages))
    model = replace(model, sum=replace(model.sum, committees=kept))
    return _followed(model, own.without(basis.m - own.budget))


def with_kernel_of(model: SweptModel, other: SweptModel) -> SweptModel:
    """Carry messages over to kernel, likelihoods and scale of a model learnt from a sample."""
    own, basis = model.stream.following, model.sum.basis
    assert own is not None
    moved = [
        carried(message, basis, other.kernel, 1.0)
        for one in model.committees
        for message in one.past.messages()
    ]
    new = moved[0][0]
    kept = _shared_out(model.committees, new, [message for _, message in moved])
    likelihoods = other.likelihoods
    committees = tuple(replace(one, likelihood=link) for one, link in zip(kept, likelihoods))
    noise = getattr(likelihoods[0], "noise", TUNING.sweeps.open * new.scale(new.Z))
    stream = replace(model.stream, learnt_at=own.sample.seen, following=own.relearnt(new, noise))
    carried_over = replace(model.sum, committees=committees, scale=other.sum.scale)
    return replace(model, sum=carried_over, stream=stream)


def _followed(model: SweptModel, own: Following) -> SweptModel:
    return replace(model, stream=replace(model.stream, following=own))


def _shared_out(
    committees: Sequence[LaplaceCommittee], basis: Anchors, messages: Sequence[Message]
) -> list[LaplaceCommittee]:
    """Give each committee its own of the messages, in their order."""
    found, at = [], 0
    for one in committees:
        count = len(one.past.parts)
        found.append(one.with_messages(basis, messages[at : at + count]))
        at += count
    return found
