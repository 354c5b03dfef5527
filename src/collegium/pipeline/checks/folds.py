"""Models without each of some folds of their rows, under one kernel, noise, basis and scaling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...conformal.cross import random_folds
from ...engines.local import Serial
from ...rows.rows import Rows
from ..kept.memory import InMemory
from ..model import CommitteeModel
from ..tuning import TUNING

Array = np.ndarray
#: Copies of a row, on average, beyond which weights are not taken for copies.
MOST_COPIES = 10


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows of a fold, in the units of the user, and the model of all others."""

    rows: Rows  # a row of weight w is w equal rows
    model: CommitteeModel

    def copied(self, values: Array) -> Array:
        """Values of the rows (n, p), as often as rows came."""
        return np.repeat(values, self.rows.w.astype(int), axis=0)

    def asking(self, engine: Any = None) -> Callable[[Array], Any]:
        """Prepare a predictor, which is not kept: answers to queries (n, d)."""
        model, engine = self.model, engine or Serial()
        own = model.answers_by(model.predictor())
        return lambda X: own(X, engine=engine, shift=model.units.shift)


def held_out_folds(model: Any, engine: Any) -> list[Fold]:
    """Deal the rows of a model to folds at random, across its chunks, and leave out each in turn.

    Means are those of the committee itself: members and refined or averaged means have seen all
    rows, and so have trees for the size of errors.
    """
    _refuse_other_models(model)
    rows, kept, scaled = model.rows(), model.kept, model.kept.rows
    w = scaled.w
    if (w != np.floor(w)).any() or w.sum() > MOST_COPIES * w.size:
        raise ValueError(
            "method='cv+' counts rows, and these have a sample_weight that is no small whole "
            "number: keep some rows for calibrate, and give method='split'"
        )
    fold = random_folds(len(kept), TUNING.checking.folds, scaled.group, np.random.default_rng(0))
    errors = None if model.errors is None or model.errors.trees is not None else model.errors
    own = replace(model._as_summed(), members=None, errors=errors)
    found = []
    for k in range(int(fold.max()) + 1):
        held = np.flatnonzero(fold == k)
        left = _without_rows(own, kept, held, engine)
        found.append(Fold(rows.take(held), left))
    return found


def _without_rows(model: CommitteeModel, kept: InMemory, held: Array, engine: Any) -> Any:
    """Subtract the messages of the chunks, and add those of their other rows."""
    if model.alone:
        stay = np.ones(len(kept), dtype=bool)
        stay[held] = False
        return replace(model, sum=model.sum.of_rows(stay, engine)[0])
    others = kept.but(held).cells()
    committee = model.committee.blank().add(others, engine, keep=True)
    return replace(model, sum=replace(model.sum, committee=committee))


def _refuse_other_models(model: Any) -> None:
    """Refuse models whose rows cannot be left out one fold at a time."""
    remedy = "keep some rows for calibrate, and give method='split'"
    if not isinstance(model, CommitteeModel):
        raise ValueError(f"method='cv+' needs Gaussian noise: {remedy}")
    if model.stored is not None or not model.sum.arrived():
        raise ValueError(f"method='cv+' needs rows in memory, and n_local above 0: {remedy}")
    if model.sizes.query_size or model.sizes.combination:
        raise ValueError(f"method='cv+' needs inference='inductive' or 'auto': {remedy}")
    if model.known_noise:
        raise ValueError(f"method='cv+': rows have noise_variance, new rows have none: {remedy}")
    if len(model.kept) < TUNING.checking.folds:
        raise ValueError(
            f"method='cv+' needs at least {TUNING.checking.folds} rows, one per fold: give more"
        )
