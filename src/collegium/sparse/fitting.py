"""Fitting a sparse model: the pipeline of committees, with the experts of a method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..answers.predictors import Global
from ..answers.transductive import Joint
from ..committee.additive_model import Additive
from ..committee.checking import LeftOut
from ..committee.errors_fitting import ERROR_ROWS, inputs_left_out, learnt
from ..committee.errors_stream_fitting import checked_first, with_checked_errors
from ..committee.fitting import (
    Draft,
    anchors_for,
    given_anchors,
    hyperparameters,
    scaled_draft,
)
from ..committee.job_fitting import Job
from ..errors.checked import Checked
from ..errors.errors import ErrorPredictor, Errors
from ..errors.features import ScaleInputs
from ..interface.model import Model
from ..kernels import Kernel
from ..learning.anchors import Selection, Stop, kmeans_anchors
from ..learning.dof import degrees_of_freedom
from ..learning.hyperparameters import learn_anchored
from ..likelihoods.base import Scalar
from ..likelihoods.gaussian import Gaussian
from ..likelihoods.units import Units
from ..messages.committee import Committee
from ..numerics.records import record
from ..rows.chunk import cut_rows
from ..rows.ids import ChunkIds
from ..rows.metric import Metric
from ..rows.scaling import for_learning
from .methods import METHODS, Method

Array = np.ndarray
#: Rows and anchors by which a method's own evidence is maximised; anchors by default, at most.
LEARN_ROWS, LEARN_ANCHORS, MOST_ANCHORS = 8000, 300, 500


@record("sparse.model/1")
@dataclass(frozen=True, eq=False)
class SparseModel(Additive, Model):
    """Messages of a method's experts about its anchors."""

    committee: Committee
    units: Units
    method: str
    query_size: int  # 0: fixed anchors
    selection: Selection
    n_chunks: int
    total_weight: float
    dof: float
    ids: ChunkIds
    errors: Errors | None = None  # None: y ~ N(m, var[f] + noise)
    checked: Checked | None = None
    known_noise: bool = False  # whether rows came with noise variances of their own

    for_streams = ("checked",)

    @property
    def kernel(self) -> Kernel:  # type: ignore[override]
        return self.committee.basis.kernel

    @property
    def likelihoods(self) -> tuple[Scalar, ...]:  # type: ignore[override]
        return (Gaussian(self.committee.noise),) * self.scaling.scale.size

    @property
    def keeps_rows(self) -> bool:
        return METHODS[self.method].keeps_rows or self.query_size > 0

    def log_evidence(self) -> Array:
        return self.committee.log_evidence()

    def some_inputs(self) -> Array:
        if self.committee.arrived:
            return self.committee.rows().X
        return self.committee.basis.Z if self.checked is None else self.checked.rows.X

    def for_means(self) -> SparseModel:
        return replace(self, errors=None)

    def predictor(self) -> Any:
        own = self.function_predictor()
        if self.errors is None:
            return own
        rows = self.committee.rows() if self.committee.arrived else None
        return ErrorPredictor.of(own, self.errors, rows, self.committee.noise)

    def function_predictor(self) -> Any:
        """Who answers for the function f, without its noise."""
        return self.answerer(self.committee)

    def answerer(self, committee: Committee) -> Any:
        """Who answers for a committee of this method."""
        if self.keeps_rows and not committee.arrived:
            return Global(committee)
        if self.query_size:
            return Joint.of(committee, self.query_size)
        return METHODS[self.method].answer(committee)

    def _at_rest(self) -> dict[str, Any]:
        return {"checked": None}

    def add(self, job: Job) -> SparseModel:
        """The model after more rows, in chunks of their own."""
        m = None if self.keeps_rows else self.committee.basis.m
        rows, settings = job.rows, job.settings
        scaled = self.scaling.rows(rows)
        checked = None if self.query_size else checked_first(self, job, scaled)
        chunks, ids = job.more_chunks(job.groups(self.kernel), scaled, self.ids, m)
        model = replace(
            self,
            ids=ids,
            checked=checked,
            committee=self.committee.add(chunks, settings.engine, keep=self.keeps_rows),
            n_chunks=self.n_chunks + len(chunks),
            total_weight=self.total_weight + float(rows.w.sum()),
        )
        return with_checked_errors(model, job)


@dataclass(frozen=True)
class SparseSystem:
    """What a method does in the steps of the pipeline; chunks are cut as in a stream."""

    name: str

    @property
    def method(self) -> Method:
        return METHODS[self.name]

    def scale(self, job: Job) -> Draft:
        return scaled_draft(job.rows, job.settings)

    def learn(self, job: Job, draft: Draft) -> Draft:
        """On clusters of rows, then by the method's own evidence."""
        plain = replace(job, settings=replace(job.settings, inference=None))
        draft = hyperparameters(plain, draft)
        if job.settings.learn:
            draft = self._by_own_evidence(job, draft)
        return replace(draft, dof=degrees_of_freedom(draft.kernel, draft.noise, draft.rows))

    def choose(self, job: Job, draft: Draft) -> Draft:
        s, (n, d), dof = job.settings, draft.rows.X.shape, draft.dof
        if s.transductive:
            selection = given_anchors(np.empty((0, d)))
        else:
            m = min(s.anchor_count(n, dof, most=MOST_ANCHORS), n)
            selection = anchors_for(job, draft, m, near=False)
        job.say(
            f"{n} rows, {len(selection.Z)} anchors, about {dof:.0f} effective degrees of freedom"
        )
        groups, ids = job.chunks(draft.kernel)
        return replace(draft, selection=selection, groups=tuple(groups), ids=tuple(ids))

    def add_up(self, job: Job, draft: Draft) -> SparseModel:
        assert draft.selection is not None
        s, p = job.settings, draft.rows.y.shape[1]
        model = SparseModel(
            Committee.start(draft.kernel, draft.noise, draft.Z, p, self.method.expert),
            draft.units, self.name, s.query_points(draft.dof), draft.selection,
            len(draft.groups), float(job.rows.w.sum()), draft.dof, job.ids(len(draft.groups)),
            known_noise=draft.rows.extra is not None,
        )  # fmt: skip
        chunks = cut_rows(draft.rows, draft.groups, draft.ids)
        if not model.keeps_rows:
            model = replace(model, ids=model.ids.with_receipts(chunks, model.committee.basis.m))
        committee = model.committee.add(chunks, s.engine, keep=model.keeps_rows)
        return replace(model, committee=committee)

    def finish(self, job: Job, draft: Draft, model: SparseModel) -> SparseModel:
        """With the errors at rows that committees of the others answer for."""
        rows, s = draft.rows, job.settings
        if not s.scale_wanted or model.query_size:
            return model
        job.say.task = "learning the scale of errors"
        s = replace(s, n_local=None if model.keeps_rows else 0)
        parts = LeftOut.tenths(rows, list(draft.groups), s, job.rng, ERROR_ROWS)
        if not parts:
            return model
        metric, each = Metric.of(model.kernel, rows.X), []
        for left in parts:
            answers = model.answerer(left.committee(model.committee))
            found = answers.predict(rows.X[left.held], s.engine)
            each.append(inputs_left_out(model, left, metric, found))
        held, at = np.concatenate([left.held for left in parts]), ScaleInputs.joined(each)
        model = learnt(job, model, rows, held, at, metric)
        return replace(model, checked=Checked.of(rows.take(held), at))

    def _by_own_evidence(self, job: Job, draft: Draft) -> Draft:
        """Hyperparameters by the method's evidence, on some of the rows."""
        s, rng, kernel, noise = job.settings, job.rng, draft.kernel, draft.noise
        n, rows = draft.rows.X.shape[0], for_learning(draft.rows)
        if n > LEARN_ROWS:
            rows = rows.take(np.sort(rng.choice(n, LEARN_ROWS, replace=False)))
        m = min(s.anchor_count(n, most=MOST_ANCHORS), LEARN_ANCHORS, rows.X.shape[0])
        Z = kmeans_anchors(kernel, noise, rows, Stop(m), rng).Z
        if s.anchors is not None and len(s.anchors) <= LEARN_ANCHORS:
            Z = s.anchors
        groups = replace(job, rows=rows, labels=None, owners=None).groups(kernel)
        found = learn_anchored(
            kernel, noise, Z, cut_rows(rows, groups), s.engine,
            noise_fixed=s.noise is not None, expert=self.method.expert,
        )  # fmt: skip
        job.say(f"by the evidence of {self.name}: {found.kernel!r}, noise {found.noise:.3g} "
                "(standardised y)")  # fmt: skip
        return replace(draft, kernel=found.kernel, noise=found.noise)
