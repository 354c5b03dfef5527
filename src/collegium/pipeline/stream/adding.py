"""More rows for a fitted committee with Gaussian noise, and anchors that follow them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...interface.streams.watching import StreamCheck
from ...kernels.base import told
from ...learning.hyperparameters import learn
from ...learning.optimise import Learnt
from ...messages.basis import Anchors
from ...messages.committee import Committee
from ...rows.chunk import Chunk, cut_rows
from ...rows.ids import ChunkIds, digest
from ...rows.scaling import for_learning
from ..job import Job
from ..model import CommitteeModel
from .errors import (
    checked_again,
    checked_first,
    kept_first,
    with_kept_errors,
    with_stream_errors,
)
from .following import Following


def add_rows(model: CommitteeModel, job: Job, check: StreamCheck) -> CommitteeModel:
    """Add more rows, in chunks of their own; `check`: how well they were predicted."""
    came = job.rows
    job = job.seen_by(model)
    committee, following, rows = model.committee, model.stream.following, job.rows
    scaled, kept = model.scaling.rows(rows), model.kept
    keep = job.settings.answers.keeps_rows or not kept.in_memory
    checked = (kept_first if keep else checked_first)(model, job, scaled)
    if following is not None:
        following, Z = following.with_rows(scaled).novel(committee.basis, rows.X)
        committee = committee.with_anchors(Z) if Z.size else committee
    groups, m = job.groups(committee.basis.kernel), committee.basis.m
    chunks, ids = job.more_chunks(groups, scaled, model.chunks.ids, None if keep else m)
    committee = committee.add(chunks, job.settings.engine, keep=keep and kept.in_memory)
    fast = model.answering.fast if model.refined is None else None
    model = model._as_summed()  # the committee itself has all rows; refining has not
    order = np.concatenate(groups)
    stored = kept.append(replace(rows.take(order), y=came.y[order]), chunks)
    model = replace(
        model,
        sum=replace(model.sum, committee=committee),
        sizes=replace(model.sizes, chunk_size=kept.cell_rows or job.chunk_size),
        chunks=model.chunks.plus(ids, chunks, float(rows.w.sum())),
        stream=replace(model.stream, following=following, checked=checked),
        answering=replace(model.answering, fast=fast),
        stored=stored,
    )
    model = model if following is None else followed(model, job, check)
    return with_kept_errors(model, job) if keep else with_stream_errors(model, job)


def chunks_of(job: Job, model: CommitteeModel) -> list[Chunk]:
    """Cut rows as `add_rows` does; not at all, if they are those of one label in `fit`."""
    job = job.seen_by(model)
    rows, known = model.scaling.rows(job.rows), model.chunks.ids.receipt(job.chunk_id)
    chunks = job.more_chunks(job.groups(model.kernel), rows, ChunkIds(), None)[0]
    if known is None or known.digest == digest(chunks):
        return chunks
    return job.more_chunks([np.arange(rows.w.size)], rows, ChunkIds(), None)[0]


def followed(model: CommitteeModel, job: Job, check: StreamCheck) -> CommitteeModel:
    """Keep to the budget of anchors, and relearn hyperparameters where it is time."""
    committee, own, s = model.committee, model.stream.following, job.settings
    assert own is not None
    over = committee.basis.m - own.budget
    if over > 0:
        committee, own = committee.of_at_most(own.budget), own.without(over)
        model = _on_another_basis(model)
    model = _with(model, committee, own)
    if not (s.learning.on and own.due(check.checked, check.recent_square)):
        return model
    kept = s.prior.noise is not None
    good, own = own.fits(committee.basis.kernel, committee.noise, noise_fixed=kept)
    if good:
        return _with(model, committee, own)
    noise = committee.noise if kept else None
    found = learn(
        for_learning(own.sample.rows), committee.basis.kernel, noise, job.rng, s.engine,
        noise_start=committee.noise, say=job.say,
    )  # fmt: skip
    job.say(f"relearnt from {own.sample.rows.w.size} rows: {told(job.say, found.kernel)}")
    if own.misled(check.checked, check.recent_square):
        committee = of_sample(own, found, job)
    else:
        known = float(np.median(own.sample.rows.known()))
        committee = committee.with_prior(found.kernel, found.noise, known)
        committee = committee.spread_over(own.missing(committee.basis, found.noise), own.budget)
    own = own.relearnt(committee.basis, committee.noise)
    model = _on_another_basis(_with(model, committee, own))
    stream = replace(model.stream, learnt_at=own.sample.seen)
    return checked_again(replace(model, stream=stream), job)


def _with(model: CommitteeModel, committee: Committee, own: Following) -> CommitteeModel:
    stream = replace(model.stream, following=own)
    return replace(model, sum=replace(model.sum, committee=committee), stream=stream)


def _on_another_basis(model: CommitteeModel) -> CommitteeModel:
    """Drop receipts: no earlier message can be subtracted any more."""
    return replace(model, chunks=replace(model.chunks, ids=model.chunks.ids.without_receipts()))


def of_sample(own: Following, found: Learnt, job: Job) -> Committee:
    """Add up the rows of the sample alone."""
    rows, s = own.sample.rows, job.settings
    none = Anchors.at(found.kernel, rows.X[:0])
    start = Committee.start(
        found.kernel, found.noise, own.missing(none, found.noise), rows.y.shape[1]
    )
    groups = replace(job, rows=rows).groups(found.kernel)
    return start.add(cut_rows(rows, groups), s.engine, keep=False)
