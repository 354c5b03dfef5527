"""More rows for a fitted committee with Gaussian noise, and anchors that follow them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...interface.watching import StreamCheck
from ...learning.hyperparameters import learn
from ...learning.optimise import Learnt
from ...messages.basis import Anchors
from ...messages.committee import Committee
from ...rows.chunk import Chunk, cut_rows
from ...rows.ids import ChunkIds
from ...rows.scaling import for_learning
from .errors import (
    checked_again,
    checked_first,
    kept_first,
    with_checked_errors,
    with_kept_errors,
)
from .following import Following
from ..job import Job
from ..model import CommitteeModel


def add_rows(model: CommitteeModel, job: Job, check: StreamCheck) -> CommitteeModel:
    """The model after more rows, in chunks of their own; `check`: how well they were predicted."""
    job = job.seen_by(model)
    committee, following, rows = model.committee, model.following, job.rows
    scaled = model.scaling.rows(rows)
    keep = job.settings.keeps_rows
    checked = (kept_first if keep else checked_first)(model, job, scaled)
    if following is not None:
        following, Z = following.with_rows(scaled).novel(committee.basis, rows.X)
        committee = committee.with_anchors(Z) if Z.size else committee
    basis = committee.basis
    groups = job.groups(basis.kernel)
    chunks, ids = job.more_chunks(groups, scaled, model.ids, None if keep else basis.m)
    committee = committee.add(chunks, job.settings.engine, keep=keep)
    fast = model.fast if model.rest is None else None
    model = replace(
        model,
        committee=committee,
        following=following,
        checked=checked,
        chunk_size=job.chunk_size,
        # the committee itself has all rows; refining has not
        **{**model._as_summed(), "fast": fast},
        ids=ids,
        n_chunks=model.n_chunks + len(chunks),
        total_weight=model.total_weight + float(rows.w.sum()),
    )
    model = model if following is None else followed(model, job, check)
    return with_kept_errors(model, job) if keep else with_checked_errors(model, job)


def chunks_of(job: Job, model: CommitteeModel) -> list[Chunk]:
    """The chunks that `add_rows` cuts rows into."""
    job = job.seen_by(model)
    rows = model.scaling.rows(job.rows)
    return job.more_chunks(job.groups(model.kernel), rows, ChunkIds(), None)[0]


def followed(model: CommitteeModel, job: Job, check: StreamCheck) -> CommitteeModel:
    """Within its budget of anchors, with hyperparameters learnt anew where it is time."""
    committee, own, s = model.committee, model.following, job.settings
    assert own is not None
    over = committee.basis.m - own.budget
    if over > 0:
        committee, own = committee.of_at_most(own.budget), own.without(over)
        model = replace(model, ids=model.ids.without_receipts())
    model = replace(model, committee=committee, following=own)
    if not (s.learn and own.due(check.checked, check.recent_square)):
        return model
    kept = s.noise is not None
    good, own = own.fits(committee.basis.kernel, committee.noise, noise_fixed=kept)
    if good:
        return replace(model, following=own)
    noise = committee.noise if kept else None
    found = learn(
        for_learning(own.sample.rows), committee.basis.kernel, noise, job.rng, s.engine,
        noise_start=committee.noise, say=job.say,
    )  # fmt: skip
    job.say(f"learnt anew from {own.sample.rows.w.size} rows: {found.kernel!r}")
    if own.misled(check.checked, check.recent_square):
        committee = of_sample(own, found, job)
    else:
        known = float(np.median(own.sample.rows.known()))
        committee = committee.with_prior(found.kernel, found.noise, known)
        committee = committee.spread_over(own.missing(committee.basis, found.noise), own.budget)
    own = own.relearnt(committee.basis, committee.noise)
    model = replace(
        model, committee=committee, following=own, learnt_at=own.sample.seen,
        ids=model.ids.without_receipts(),
    )  # fmt: skip
    return checked_again(model, job)


def of_sample(own: Following, found: Learnt, job: Job) -> Committee:
    """A committee of the rows of the sample alone."""
    rows, s = own.sample.rows, job.settings
    none = Anchors.at(found.kernel, rows.X[:0])
    start = Committee.start(
        found.kernel, found.noise, own.missing(none, found.noise), rows.y.shape[1]
    )
    groups = replace(job, rows=rows).groups(found.kernel)
    return start.add(cut_rows(rows, groups), s.engine, keep=False)
