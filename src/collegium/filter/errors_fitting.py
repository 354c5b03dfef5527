"""Rows of a filter that are predicted without having been learnt from: what its errors are.

Those of a stream are predicted before they are learnt from. Of one `fit`, rows are left out in
turn: v | all rows ~ N(v̂, S), and without the row y = V(x)ᵀv + noise, of variance s,

    a(x)ᵀv ~ N(aᵀv̂ − c e/(s − h), aᵀSa + c²/(s − h))     c = aᵀSV, h = VᵀSV, e = y − Vᵀv̂
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..errors.checked import Checked, with_checked_errors
from ..errors.errors import Errors
from ..errors.features import ScaleInputs
from ..errors.tuning import TUNING
from ..interface.progress import Progress
from ..interface.watching import CHECKED
from ..rows.partition import blocks, evenly_spaced
from ..rows.rows import Prediction, Rows
from .kalman import Drifting
from .model import FilterModel, Posterior
from .sums import Sums

Array = np.ndarray
#: The least s − h of a row, in units of s.
LEAST_LEFT = 1e-9


def checked_before(stream: Any, rows: Rows, predictor: Any) -> Any:
    """A stream with some of further rows checked, as they are predicted before any of them is
    learnt from: so far ahead as a user asks who learns after every call."""
    if stream.checked is None:
        return stream
    some = rows.take(evenly_spaced(rows.w.size, CHECKED))
    return _with_checked(stream, some, predictor.predict(some.X, None))


def checked_in_fit(stream: Any, rows: Rows, *, in_order: bool) -> Any:
    """A stream after one `fit`, with rows checked: left out in turn, or where their order matters
    the last ones, each block of them after those before it."""
    if stream.checked is None:
        return stream
    n = rows.w.size
    if not in_order:
        some = rows.take(evenly_spaced(n, TUNING.stream.kept))
        scaled = replace(some, y=stream.scaling.forward(some.y))
        return _with_checked(stream, some, left_out(stream.model, stream.posterior(), scaled))
    first = max(n - TUNING.stream.kept, n // 3)
    again = _emptied(stream).absorbed(rows.take(slice(first)))
    for part in blocks(n - first, CHECKED):
        own = rows.take(slice(first + part.start, first + part.stop))
        again = checked_before(again, own, again.predictor()).absorbed(own)
    return replace(stream, checked=again.checked)


def with_errors(stream: Any, say: Progress) -> Any:
    """A stream with a scale of the errors of the last rows, where it is time to learn it."""
    if stream.checked is None:
        return stream
    return with_checked_errors(stream, always=stream.always, say=say)


def with_deviations(stream: Any) -> Any:
    """A stream whose basis or prior has changed: the errors that rows had, with the deviations
    that they have now. (Their means now are no predictions: these rows were learnt from.)"""
    own = stream.checked
    if own is None or not own.rows.w.size:
        return stream
    found = stream.posterior().of_function(stream.model, own.rows.X)
    return replace(stream, checked=own.with_variance(found.variance + stream.model.noise))


def left_out(model: FilterModel, posterior: Posterior, rows: Rows) -> Prediction:
    """f at rows that the posterior has learnt from, each without itself; y scaled."""
    a, left = model.conditional(rows.X)
    V = model.columns(rows.X) @ model.weights
    spread, own = a @ posterior.root, V @ posterior.root
    with np.errstate(divide="ignore"):
        s = model.row_noise / (rows.w * model.covered(rows.X))  # ∞ outside the density
    h, c = (own * own).sum(axis=1), (spread * own).sum(axis=1)
    rest = np.maximum(s - h, LEAST_LEFT * s)
    mean = a @ posterior.mean - (c / rest)[:, None] * (rows.y - V @ posterior.mean)
    return Prediction(mean, (spread * spread).sum(axis=1) + c * c / rest + left)


def _emptied(stream: Any) -> Any:
    """The filter before any row, with basis and hyperparameters as they are."""
    p, sums, drifting = stream.scaling.scale.size, stream.sums, stream.drifting
    if drifting is None:
        sums = Sums.start(stream.model.k, p)
    else:
        drifting = Drifting.start(stream.model.weights.shape[1], p)
    none = {"learning": None, "n_seen": 0, "n_left_out": 0}
    return replace(stream, sums=sums, drifting=drifting, **none)


def _with_checked(stream: Any, rows: Rows, found: Prediction) -> Any:
    """With rows, in the units of the user, that were predicted before they were learnt from."""
    errors: Errors | None = stream.errors
    checked: Checked = stream.checked
    scaled = replace(rows, y=stream.scaling.forward(rows.y))
    place = rows.X if errors is None else errors.metric.forward(rows.X)
    at = ScaleInputs.of(found.mean, found.variance + stream.model.noise, place, None)
    return replace(stream, checked=checked.add(scaled, at, errors))
