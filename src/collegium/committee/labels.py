"""Models of labels: one latent function against the rest, or all classes at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..interface.progress import Progress
from ..laplace.learning import Problem
from ..likelihoods.softmax import Softmax
from ..likelihoods.units import Units, signs
from ..numerics.threads import single_threaded
from ..rows.ids import Id, Owners
from ..rows.rows import Rows
from ..rows.scaling import Scaling
from ..rows.store.store import Store
from ..pipeline.settings import Settings
from .classes import chosen_link, log_loss, of_weight, weighted
from ..pipeline.fitting import fit_model
from ..pipeline.job import fit_job, stream_job
from ..pipeline.swept.settings import sweeps_asked
from ..pipeline.swept.system import LatentSystem
from ..pipeline.swept.model import LatentModel
from ..pipeline.swept.adding import add_latent_rows
from ..pipeline.swept.stored import StoredLatentSystem, add_stored_sites, sample_job
from ..pipeline.swept.targets import Targets

Array = np.ndarray


def problems(likelihood: Any, n_classes: int, codes: Array) -> Sequence[Problem]:
    """What the latent functions are to explain; codes: positions among the classes  (n, 1)."""
    link = chosen_link(likelihood)
    if isinstance(link, Softmax):
        return [Problem(Softmax(classes=n_classes), codes)]
    return [Problem(link, sign) for sign in signs(codes, 1 if n_classes == 2 else n_classes)]


def model_of_labels(
    estimator: Any, settings: Settings, rows: Rows, labels: Array | None, *, learnable: bool,
    owners: Owners | None = None, **stream: Any,
) -> tuple[LatentModel, int]:  # fmt: skip
    """The model of rows whose classes count, and the number of rows that differ."""
    weights = estimator.class_weight_
    own = of_weight(rows, weights)
    if not own.any():
        raise ValueError(f"class_weight={estimator.class_weight!r} is zero for all of these rows")
    rows, labels = rows.take(own), None if labels is None else labels[own]
    owners = None if owners is None else owners.take(own)
    job = fit_job(estimator, settings, rows, labels, owners=owners, **stream)
    plain = job.rows
    targets = problems(estimator.likelihood, estimator.classes_.size, plain.y)
    system = LatentSystem(
        targets, Units(Scaling.none()), sweeps_asked(estimator.sweeps),
        loss=partial(log_loss, targets[0].likelihood) if settings.learn else None,
        plain=plain, learnable=learnable,
    )  # fmt: skip
    return fit_model(system, replace(job, rows=weighted(plain, weights))), plain.w.size


def model_of_stored_labels(
    estimator: Any, settings: Settings, store: Store, say: Progress, *, learnable: bool
) -> LatentModel:
    """The model of the rows of a store, whose y are positions among the classes."""
    job, positions = sample_job(estimator, settings, store, say)
    weights, plain, K = estimator.class_weight_, job.rows, estimator.classes_.size
    targets = problems(estimator.likelihood, K, plain.y)
    units, link = Units(Scaling.none()), targets[0].likelihood
    sees = Targets(units, K, isinstance(link, Softmax), weights)
    system = StoredLatentSystem(
        targets, units, sweeps_asked(estimator.sweeps),
        loss=partial(log_loss, link) if settings.learn else None, plain=plain,
        learnable=learnable, store=store, positions=positions, sees=sees,
    )  # fmt: skip
    with single_threaded():
        return fit_model(system, replace(job, rows=weighted(plain, weights)))


def add_labels(
    estimator: Any, settings: Settings, chunk_id: Id | None, model: LatentModel, rows: Rows
) -> LatentModel:
    """The model after rows in chunks of their own."""
    job, weights = stream_job(estimator, settings, rows, chunk_id), estimator.class_weight_
    if model.stored is not None:
        own = job.rows.take(of_weight(job.rows, weights))
        return add_stored_sites(model, replace(job, rows=own)) if own.w.size else model
    if model.following is not None:
        model = replace(model, following=model.following.with_rows(job.rows))
    rows = weighted(job.rows.take(of_weight(job.rows, weights)), weights)
    targets = problems(estimator.likelihood, estimator.classes_.size, rows.y)
    return add_latent_rows(model, replace(job, rows=rows), [one.y for one in targets])
