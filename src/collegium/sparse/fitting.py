"""Fitting a sparse model: scale, learn, choose anchors, add up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..answers.transductive import Joint
from ..committee.arguments import Settings
from ..committee.fitting import choose_scaling, hyperparameters
from ..interface.progress import Progress
from ..kernels import Kernel
from ..learning.anchors import RULES, Selection, Stop, centres
from ..learning.dof import degrees_of_freedom
from ..learning.hyperparameters import learn_anchored
from ..messages.committee import Committee
from ..messages.experts import Expert
from ..rows.chunk import cut
from ..rows.metric import Metric
from ..rows.partition import chunk_groups
from ..rows.rows import Rows
from ..rows.scaling import Scaling, for_learning
from .methods import METHODS

Array = np.ndarray


#: Rows and anchors by which a method's own evidence is maximised.
REFINE_ROWS, REFINE_ANCHORS = 8000, 300


@dataclass(frozen=True, eq=False)
class Sparse:
    """A fitted model: records of arrays, numbers and strings."""

    committee: Committee
    scaling: Scaling
    method: str
    query_size: int  # 0: fixed anchors
    selection: Selection
    n_chunks: int
    total_weight: float
    dof: float

    def predictor(self) -> Any:
        if self.query_size:
            return Joint.of(self.committee, self.query_size)
        return METHODS[self.method].answer(self.committee)

    def add(self, rows: Rows, settings: Settings, rng: np.random.Generator) -> Sparse:
        scaled = Rows(rows.X, self.scaling.forward(rows.y), rows.w)
        groups = _groups(self.committee.basis.kernel, rows.X, None, settings, rng)
        chunks = cut(*scaled.fields(), groups, first_id=self.n_chunks)
        return replace(
            self,
            committee=self.committee.add(chunks, settings.engine, keep=self.keeps_rows),
            n_chunks=self.n_chunks + len(groups),
            total_weight=self.total_weight + float(rows.w.sum()),
        )

    @property
    def keeps_rows(self) -> bool:
        return METHODS[self.method].keeps_rows or self.query_size > 0


def sparse_settings(*, selection, transductive=False, **given) -> Settings:
    """The arguments of a sparse estimator as those of a committee."""
    if not isinstance(given["learn"], (bool, np.bool_)):
        raise ValueError(f"learn={given['learn']!r}: give True or False")
    by_rule = isinstance(selection, str)
    default = {"partition": "balanced", "chunk_size": "auto", "query_size": "auto"}
    fixed = {"combination": "bcm", "n_local": "auto", "n_starts": 1, "screening": 0.0}
    fixed |= {"refine": None, "refine_tol": 1e-3, "refine_max_iter": 1}
    fixed |= {"time_limit": None, "memory_limit": None}
    fixed["inference"] = "transductive" if transductive else "inductive"
    fixed |= {"selection": selection, "anchors": None}
    if not by_rule:
        fixed |= {"selection": "kmeans", "anchors": selection}
    return Settings.of(SimpleNamespace(**default | given | fixed), anchors_name="selection")


def build_sparse(
    rows: Rows, labels: Array | None, settings: Settings, method: str,
    rng: np.random.Generator, say: Progress,
) -> Sparse:  # fmt: skip
    """Rows in the units of the user -> model."""
    n, d = rows.X.shape
    size = settings.chunk_rows(n, streaming=True)
    settings.check_sizes(n, d, size if labels is None else int(np.bincount(labels).max()))
    scaling, expert = choose_scaling(rows, settings), METHODS[method].expert
    scaled = Rows(rows.X, scaling.forward(rows.y), rows.w)
    plain = replace(settings, transductive=False)  # the family by chunks and rows left out
    kernel, noise, _ = hyperparameters(scaled, scaling, plain, rng, say, None)
    if settings.learn:
        kernel, noise = _refined(kernel, noise, scaled, settings, expert, rng)
        say(f"by the evidence of {method}: {kernel!r}, noise {noise:.3g} (standardised targets)")
    dof = degrees_of_freedom(kernel, noise, scaled)
    if settings.transductive:
        chosen = _given(np.empty((0, d)))
    elif settings.anchors is not None:
        chosen = _given(settings.anchors)
    else:
        stop = Stop(min(settings.anchor_count(n, dof, most=500), n))
        chosen = RULES[settings.selection](kernel, noise, scaled, stop, rng)
    say(f"{n} rows, {len(chosen.Z)} anchors, about {dof:.0f} effective degrees of freedom")
    groups = _groups(kernel, rows.X, labels, settings, rng)
    model = Sparse(
        Committee.start(kernel, noise, chosen.Z, rows.y.shape[1], expert), scaling, method,
        settings.query_points(dof), chosen, len(groups), float(rows.w.sum()), dof,
    )  # fmt: skip
    chunks = cut(*scaled.fields(), groups)
    committee = model.committee.add(chunks, settings.engine, keep=model.keeps_rows)
    return replace(model, committee=committee)


def _given(Z: Array) -> Selection:
    return Selection(Z, np.empty(0, dtype=int), np.zeros(len(Z)), 0.0)


def _groups(
    kernel: Kernel, X: Array, labels: Array | None, settings: Settings, rng: np.random.Generator
) -> list[Array]:
    points = Metric.of(kernel, X).forward(X)
    size = settings.chunk_rows(X.shape[0], streaming=True)
    return chunk_groups(points, labels, settings.rule, size, rng)


def _refined(
    kernel: Kernel, noise: float, rows: Rows, settings: Settings, expert: type[Expert],
    rng: np.random.Generator,
) -> tuple[Kernel, float]:  # fmt: skip
    """Hyperparameters by the method's own evidence, on some of the rows."""
    n, rows = rows.X.shape[0], for_learning(rows)
    if n > REFINE_ROWS:
        rows = rows.take(np.sort(rng.choice(n, REFINE_ROWS, replace=False)))
    m = min(settings.anchor_count(n, most=500), REFINE_ANCHORS, rows.X.shape[0])
    Z = centres(kernel, noise, rows, Stop(m), rng).Z
    if settings.anchors is not None and len(settings.anchors) <= REFINE_ANCHORS:
        Z = settings.anchors
    found = learn_anchored(
        kernel, noise, Z, cut(*rows.fields(), _groups(kernel, rows.X, None, settings, rng)),
        settings.engine, noise_fixed=settings.noise is not None, expert=expert,
    )  # fmt: skip
    return found.kernel, found.noise
