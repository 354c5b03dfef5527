"""Collect the errors of a filter from rows that it has not learnt from.

Rows of a stream are predicted before they are learnt from. Rows of one `fit` are held out in
turn: v | all rows ~ N(v̂, S), and without the row y = V(x)ᵀv + noise, of variance s,

    a(x)ᵀv ~ N(aᵀv̂ − c e/(s − h), aᵀSa + c²/(s − h))     c = aᵀSV, h = VᵀSV, e = y − Vᵀv̂
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors.checked import Checked, relearnt_errors
from ..errors.errors import Errors
from ..errors.features import ScaleInputs
from ..errors.tuning import TUNING as ERRORS
from ..rows.partition import blocks, evenly_spaced
from ..rows.rows import Prediction, Rows
from .model import FilterModel, Posterior
from .tuning import TUNING

Array = np.ndarray


def checked_before(stream: Any, rows: Rows, predictor: Any) -> Any:
    """Predict some arriving rows before the stream learns from them, and keep their errors.

    They are predicted as far ahead as by a user who predicts a call's rows before learning.
    """
    if stream.checked is None:
        return stream
    some = rows.take(evenly_spaced(rows.w.size, TUNING.checked))
    return _with_checked(stream, some, predictor.predict(some.X, None))


def checked_in_fit(stream: Any, rows: Rows, *, in_order: bool) -> Any:
    """Keep the errors of held-out rows of one `fit`.

    Rows are held out in turn; where their order matters, the last ones are predicted block by
    block from those before.
    """
    if stream.checked is None:
        return stream
    n = rows.w.size
    if not in_order:
        some = rows.take(evenly_spaced(n, ERRORS.stream.kept))
        scaled = replace(some, y=stream.scaling.forward(some.y))
        found = held_out_predictions(stream.model, stream.posterior(), scaled)
        return _with_checked(stream, some, found)
    first = max(n - ERRORS.stream.kept, n // 3)
    again = emptied(stream).absorbed(rows.take(slice(first)))
    for part in blocks(n - first, TUNING.checked):
        own = rows.take(slice(first + part.start, first + part.stop))
        again = checked_before(again, own, again.predictor()).absorbed(own)
    return replace(stream, checked=again.checked)


def with_learnt_errors(stream: Any, say: Callable[[str], None]) -> Any:
    """Learn the scale of the last rows' errors, where that is due."""
    own = stream.checked
    if own is None:
        return stream
    errors, checked = relearnt_errors(
        stream.errors, own, stream.kernel, always=stream.always, say=say
    )
    return replace(stream, errors=errors, checked=checked)


def with_deviations(stream: Any) -> Any:
    """Update the standard deviations of kept errors after basis or prior has changed.

    The errors stay: the present means have learnt from these rows and are not predictions.
    """
    own = stream.checked
    if own is None or not own.rows.w.size:
        return stream
    found = stream.posterior().of_function(stream.model, own.rows.X)
    return replace(stream, checked=own.with_variance(found.variance + stream.model.noise))


def held_out_predictions(model: FilterModel, posterior: Posterior, rows: Rows) -> Prediction:
    """Predict f at rows of the posterior, each held out; y scaled."""
    a, left = model.conditional(rows.X)
    V = model.columns(rows.X) @ model.weights
    spread, own = a @ posterior.root, V @ posterior.root
    with np.errstate(divide="ignore"):
        s = model.row_noise / (rows.w * model.covered(rows.X))  # ∞ outside the density
    h, c = (own * own).sum(axis=1), (spread * own).sum(axis=1)
    rest = np.maximum(s - h, TUNING.least_rest * s)
    mean = a @ posterior.mean - (c / rest)[:, None] * (rows.y - V @ posterior.mean)
    return Prediction(mean, (spread * spread).sum(axis=1) + c * c / rest + left)


def emptied(stream: Any) -> Any:
    """Empty the filter of rows; basis and hyperparameters stay."""
    old, p = stream.state, stream.scaling.scale.size
    state = type(old).start(stream.model, p, drifting=old.drifting is not None)
    return replace(stream, state=state, n_seen=0)


def _with_checked(stream: Any, rows: Rows, found: Prediction) -> Any:
    """Keep the errors of rows, in the user's units, that were predicted before learning."""
    errors: Errors | None = stream.errors
    checked: Checked = stream.checked
    scaled = replace(rows, y=stream.scaling.forward(rows.y))
    place = rows.X if errors is None else errors.metric.forward(rows.X)
    at = ScaleInputs.of(found.mean, found.variance + stream.model.noise, place, None)
    return replace(stream, checked=checked.add(scaled, at, errors))
