"""Labels: the system that fits them, and labels of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from ..interface.checks.rows import check_weights
from ..interface.frames.sources import Blocks, origin_of
from ..laplace.inputs import choose_inputs
from ..laplace.learning import Problem
from ..likelihoods.base import Observation
from ..likelihoods.labels.softmax import Softmax
from ..likelihoods.targets.units import Units, signs
from ..numerics.fingerprint import fingerprint
from ..pipeline.fitting import fit_model, warped
from ..pipeline.job import Job
from ..pipeline.settings import Settings
from ..pipeline.swept import adding
from ..pipeline.swept.model import SweptModel
from ..pipeline.swept.steps import SweptSteps, relearning_is_due
from ..pipeline.swept.sweeping import Sweeping
from ..pipeline.swept.targets import Targets
from ..pipeline.systems import SystemBase
from ..rows.rows import Rows
from ..rows.scaling import MOST_COPIES, Scaling
from ..rows.store.records import Block
from ..transforms.warping import Warping
from .beside import OddsBeside
from .classes import codes_of, log_loss

Array = np.ndarray
#: Classes of a file, at most: more are numbers to be predicted, or names.
MOST_CLASSES = 10_000


def problems(link: Observation, n_classes: int, codes: Array) -> Sequence[Problem]:
    """Targets of the latent functions; codes: positions among the classes  (n, 1)."""
    if isinstance(link, Softmax):
        return [Problem(Softmax(classes=n_classes), codes)]
    return [Problem(link, sign) for sign in signs(codes, 1 if n_classes == 2 else n_classes)]


@dataclass(frozen=True, eq=False)
class Labels(SystemBase):
    """The system of a classifier: one latent function against the rest, or all classes at once."""

    link: Observation
    weights: Array  # of the classes
    sweeping: Sweeping
    learnable: bool = True  # False: too few rows of two classes to learn from

    @property
    def sees(self) -> Targets:
        coupled = isinstance(self.link, Softmax)
        return Targets(Units(Scaling.none()), self.weights.size, coupled, self.weights)

    def counting(self, rows: Rows) -> Rows:
        return self.sees.counting(rows)

    def rows_of(self, model: SweptModel) -> Rows:
        """The rows that a model kept, as they came; y are positions among the classes."""
        if model.waiting is not None:
            return model.waiting.rows
        kept = model.kept
        each = [kept.rows(k) for k in range(len(model.committees))]
        codes = codes_of(model.likelihoods[0], [one.y for one in each])
        rows = Rows(each[0].X, codes[:, None].astype(float), each[0].w / self.weights[codes])
        return rows if model.warping is None else model.warping.rows_in_units(rows)

    def fit(self, job: Job) -> SweptModel:
        """Fit rows whose classes count."""
        own = self.weights[job.rows.y[:, 0].astype(int)] > 0.0
        if not own.any():
            raise ValueError("class_weight is zero for all of these rows")
        job = replace(
            job,
            labels=None if job.labels is None else job.labels.take(own),
            owners=None if job.owners is None else job.owners.take(own),
            rows=job.rows.take(own),
        )
        if self.learnable:
            due = job.earlier is None or relearning_is_due(job.earlier, job.n, job.settings)
            job = warped(job, self.choose, still=not due)
        plain = job.rows
        job = replace(job, rows=self.sees.weighted(plain))
        targets = problems(self.link, self.weights.size, plain.y)
        steps = SweptSteps(
            targets, self.sees, self.link, self.sweeping,
            loss=partial(log_loss, targets[0].likelihood) if job.settings.learning.on else None,
            plain=plain, learnable=self.learnable,
            beside=OddsBeside(replace(plain, w=job.rows.w), self.weights.size),
        )  # fmt: skip
        return fit_model(steps, job)

    def choose(
        self, rows: Rows, settings: Settings, say: Any, stop: Callable[[], bool], *, more: bool
    ) -> Warping:
        """Choose transforms of inputs by the log loss of held-out rows."""
        s = settings
        found = choose_inputs(rows, s.transforms.X, s.engine, say, s.prior.levels, stop)
        return Warping(found, (None,))

    def add(self, model: SweptModel, job: Job, check: Any) -> SweptModel:
        return adding.add_swept_rows(model, job)

    def blocks(self, estimator: Any, blocks: Blocks) -> tuple[Labels, Iterable[Block], str]:
        """Count the classes of a source, then prepare its rows for a store."""
        targets = blocks.source.target
        if len(targets) > 1:
            raise ValueError(f"y has {len(targets)} columns, and labels are one: name it")
        blocks.say.task = "counting classes"
        tally = Tally.of(blocks)
        if tally.classes.size < 2:
            raise ValueError("there is one class only: give rows of at least two")
        codes = np.arange(tally.classes.size)[:, None].astype(float)
        estimator._note_classes(tally.classes, Rows(codes, codes, tally.weight), tally.count)
        own = replace(self, weights=estimator.class_weight_)
        origin = origin_of(blocks.source)
        origin = origin and fingerprint(origin, "labels", own.weights > 0.0)
        return own, Labelled(blocks, tally.classes, own.weights), origin


@dataclass(frozen=True, eq=False)
class Labelled:
    """Blocks with positions among the classes as y; rows of classes that do not count left out."""

    blocks: Iterable[Block]
    classes: Array
    weights: Array  # of the classes

    def __iter__(self) -> Iterator[Block]:
        first = 0
        for X, y, w, _ in self.blocks:
            codes = np.searchsorted(self.classes, np.asarray(y)[:, 0])
            used = self.weights[codes] > 0.0
            yield X[used], codes[used, None].astype(np.float64), w[used], first
            first += int(used.sum())


@dataclass(frozen=True, eq=False)
class Tally:
    """The labels of a source, and rows and weight of each."""

    classes: Array
    count: Array
    weight: Array

    @classmethod
    def of(cls, blocks: Iterable[Block]) -> Tally:
        known: dict[Any, list[float]] = {}
        for _, y, w, _ in blocks:
            check_weights(w, MOST_COPIES)
            labels = np.asarray(y)[:, 0]
            check_classification_targets(labels)
            found, codes = np.unique(labels, return_inverse=True)
            for label, n, weight in zip(found, np.bincount(codes), np.bincount(codes, w)):
                own = known.setdefault(label, [0, 0.0])
                own[0] += int(n)
                own[1] += float(weight)
            if len(known) > MOST_CLASSES:
                raise ValueError(
                    f"the target has more than {MOST_CLASSES} classes: is it a number to be "
                    "predicted? Then take CommitteeRegressor"
                )
        classes = np.array(sorted(known))
        count, weight = np.array([known[label] for label in classes]).T
        return cls(classes, count.astype(int), weight)
