"""Fitting a sparse model: the pipeline of committees, with the experts of a method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..answers.predictors import GlobalPredictor
from ..answers.transductive import Joint
from ..errors.checked import Checked
from ..errors.errors import ErrorPredictor, Errors
from ..errors.features import ScaleInputs
from ..interface.model import Model
from ..kernels.base import told
from ..learning.anchors import Selection, Stop, kmeans_anchors
from ..learning.dof import degrees_of_freedom
from ..learning.hyperparameters import learn_anchored
from ..likelihoods.targets.units import Units
from ..messages.committee import Committee
from ..numerics.records import record
from ..pipeline.asked import AnswersAsked
from ..pipeline.checks.bars import HeldOut
from ..pipeline.checks.errors import inputs_held_out, learnt
from ..pipeline.fitting import (
    Draft,
    anchors_for,
    given_anchors,
    hyperparameters,
    scaled_draft,
)
from ..pipeline.job import Job
from ..pipeline.kept.memory import CommitteeRows
from ..pipeline.layers import Stream
from ..pipeline.stream.errors import checked_first, with_stream_errors
from ..pipeline.sums import Additive, ChunkBook, GaussianSum
from ..pipeline.tuning import TUNING
from ..rows.chunk import cut_rows
from ..rows.metric import Metric
from ..rows.scaling import for_learning
from .methods import METHODS, Method

Array = np.ndarray
#: Rows and anchors by which a method's own evidence is maximised; anchors by default, at most.
LEARN_ROWS, LEARN_ANCHORS, MOST_ANCHORS = 8000, 300, 500


@record("sparse.model/2")
@dataclass(frozen=True, eq=False)
class SparseModel(Additive, Model):  # type: ignore[override]
    """Messages of a method's experts about its anchors."""

    sum: GaussianSum
    units: Units
    chunks: ChunkBook
    method: str
    query_size: int  # 0: fixed anchors
    selection: Selection
    errors: Errors | None = None  # None: y ~ N(m, var[f] + noise)
    stream: Stream = Stream()

    @property
    def committee(self) -> Committee:
        return self.sum.committee

    @property
    def kept(self) -> CommitteeRows:
        return CommitteeRows(self.committee)

    @property
    def keeps_rows(self) -> bool:
        return METHODS[self.method].keeps_rows or self.query_size > 0

    def some_inputs(self) -> Array:
        if self.committee.arrived:
            return self.committee.rows().X
        checked = self.stream.checked
        return self.sum.basis.Z if checked is None else checked.rows.X

    def rows_words(self) -> str:
        n = self.chunks.n
        text = f" in {n:,} chunks" if n > 1 else ""
        return f"{text}, seen through {len(self.selection.Z):,} anchors"

    def without_rows(self) -> SparseModel:
        """Drop rows that answers do not need."""
        return replace(self, stream=replace(self.stream, checked=None))

    def for_means(self) -> SparseModel:
        return replace(self, errors=None)

    def predictor(self) -> Any:
        own = self.function_predictor()
        if self.errors is None:
            return own
        rows = self.committee.rows() if self.committee.arrived else None
        return ErrorPredictor.of(own, self.errors, rows, self.sum.noise)

    def function_predictor(self) -> Any:
        """Answer for the function f, without its noise."""
        return self.answerer(self.committee)

    def answerer(self, committee: Committee) -> Any:
        """Answer for a committee of this method."""
        if self.keeps_rows and not committee.arrived:
            return GlobalPredictor(committee)
        if self.query_size:
            return Joint.of(committee, self.query_size)
        return METHODS[self.method].answer(committee)

    def add(self, job: Job) -> SparseModel:
        """Add more rows, in chunks of their own."""
        m = None if self.keeps_rows else self.sum.basis.m
        rows, settings = job.rows, job.settings
        scaled = self.scaling.rows(rows)
        checked = None if self.query_size else checked_first(self, job, scaled)
        chunks, ids = job.more_chunks(job.groups(self.kernel), scaled, self.chunks.ids, m)
        committee = self.committee.add(chunks, settings.engine, keep=self.keeps_rows)
        model = replace(
            self,
            sum=replace(self.sum, committee=committee),
            chunks=self.chunks.plus(ids, chunks, float(rows.w.sum())),
            stream=replace(self.stream, checked=checked),
        )
        return with_stream_errors(model, job)


@dataclass(frozen=True)
class SparseSteps:
    """The steps of the pipeline for a method; chunks are cut as in a stream."""

    name: str

    @property
    def method(self) -> Method:
        return METHODS[self.name]

    def scale(self, job: Job) -> Draft:
        return scaled_draft(job)

    def learn(self, job: Job, draft: Draft) -> Draft:
        """On clusters of rows, then by the method's own evidence."""
        s = job.settings
        plain = replace(job, settings=replace(s, answers=replace(s.answers, joint=None)))
        draft = hyperparameters(plain, draft)
        if job.settings.learning.on:
            draft = self._by_own_evidence(job, draft)
        return replace(draft, dof=degrees_of_freedom(draft.kernel, draft.noise, draft.rows))

    def choose(self, job: Job, draft: Draft) -> Draft:
        s, (n, d), dof = job.settings, draft.rows.X.shape, draft.dof
        if s.answers.transductive:
            selection = given_anchors(np.empty((0, d)))
        else:
            m = min(s.anchor_count(n, dof, most=MOST_ANCHORS), n)
            selection = anchors_for(job, draft.rows, draft, m, near=False)
        job.say(
            f"{n} rows, {len(selection.Z)} anchors, about {dof:.0f} effective degrees of freedom"
        )
        return replace(draft, selection=selection, kept=job.cut(draft.kept, draft.kernel))

    def add_up(self, job: Job, draft: Draft) -> SparseModel:
        assert draft.selection is not None
        s, p, chunks = job.settings, draft.rows.y.shape[1], draft.kept.cells()
        start = Committee.start(draft.kernel, draft.noise, draft.Z, p, self.method.expert)
        known, n = draft.rows.extra is not None, len(chunks)
        model = SparseModel(
            GaussianSum(start, draft.dof, known), draft.units,
            ChunkBook(job.ids(draft.kept.ids), n, float(job.rows.w.sum())), self.name,
            s.answers.query_points(draft.dof), draft.selection,
        )  # fmt: skip
        if not model.keeps_rows:
            ids = model.chunks.ids.with_receipts(chunks, model.sum.basis.m)
            model = replace(model, chunks=replace(model.chunks, ids=ids))
        committee = model.committee.add(chunks, s.engine, keep=model.keeps_rows)
        return replace(model, sum=replace(model.sum, committee=committee))

    def finish(self, job: Job, draft: Draft, model: SparseModel) -> SparseModel:
        """Learn errors at held-out rows, answered by committees of the others."""
        rows, s = draft.rows, job.settings
        if not s.scale_wanted or model.query_size:
            return model
        job.say.task = "learning the scale of errors"
        s = replace(s, answers=AnswersAsked(None if model.keeps_rows else 0))
        parts = HeldOut.tenths(draft.kept, s, job.rng, TUNING.checking.error_rows)
        if not parts:
            return model
        metric, each = Metric.of(model.kernel, rows.X), []
        for left in parts:
            answers = model.answerer(left.whole_committee(model.committee))
            found = answers.predict(rows.X[left.held], s.engine)
            each.append(inputs_held_out(model, left, metric, found))
        held, at = np.concatenate([left.held for left in parts]), ScaleInputs.joined(each)
        model = learnt(job, model, rows, held, at, metric)
        checked = Checked.of(rows.take(held), at)
        return replace(model, stream=replace(model.stream, checked=checked))

    def _by_own_evidence(self, job: Job, draft: Draft) -> Draft:
        """Hyperparameters by the method's evidence, on some of the rows."""
        s, rng, kernel, noise = job.settings, job.rng, draft.kernel, draft.noise
        n, rows = draft.rows.X.shape[0], for_learning(draft.rows)
        if n > LEARN_ROWS:
            rows = rows.take(np.sort(rng.choice(n, LEARN_ROWS, replace=False)))
        m = min(s.anchor_count(n, most=MOST_ANCHORS), LEARN_ANCHORS, rows.X.shape[0])
        Z = kmeans_anchors(kernel, noise, rows, Stop(m), rng).Z
        if s.anchors.Z is not None and len(s.anchors.Z) <= LEARN_ANCHORS:
            Z = s.anchors.Z
        groups = replace(job, rows=rows, labels=None, owners=None).groups(kernel)
        found = learn_anchored(
            kernel, noise, Z, cut_rows(rows, groups), s.engine,
            noise_fixed=s.prior.noise is not None, expert=self.method.expert,
        )  # fmt: skip
        job.say(
            f"by the evidence of {self.name}: {told(job.say, found.kernel)}, noise "
            f"{found.noise:.3g} (standardised y)"
        )
        return replace(draft, kernel=found.kernel, noise=found.noise)
