"""Queries beyond the rows: which they are, and a warning where most of a call are such."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ..answers.outside import ExtrapolationWarning, Ranges
from ..answers.tuning import TUNING
from ..rows.partition import evenly_spaced

Array = np.ndarray
#: Names in the cache of an estimator: ranges of columns, and whether a warning was given.
BOX, WARNED = "ranges of columns", "warned of queries beyond the rows"


def box_of(estimator: Any) -> Ranges:
    """Make the ranges of columns when they are first asked for."""
    return estimator._made.named(BOX, estimator.model_.box)


def without_series(box: Ranges, model: Any) -> Ranges:
    """Leave out the column of times, where a trend or seasons were found in it: later rows are what
    such a model is for."""
    found = getattr(getattr(model, "sum", None), "seasons", None)
    if found is None:
        return box
    low, high = box.low.copy(), box.high.copy()
    low[found.column], high[found.column] = -np.inf, np.inf
    return replace(box, low=low, high=high)


def warn_if_beyond(estimator: Any, X: Array) -> None:
    """Warn once per model where most queries of a call, as the predictor sees them, leave the
    ranges of columns."""
    t = TUNING.outside
    if X.shape[0] < t.fewest or WARNED in estimator._made.others:
        return
    box = without_series(box_of(estimator), estimator.model_)
    share = float(box.leaves(X[evenly_spaced(X.shape[0], t.looked_at)]).mean())
    if share <= 0.5:
        return
    estimator._made.others[WARNED] = True
    warnings.warn(
        f"{share:.0%} of these queries lie beyond the range of some column that the model was "
        "fitted to: means return to that of the rows, or to their trend, and no error bars can be "
        "checked there. outside(X) tells which; trend= lets means follow a line",
        ExtrapolationWarning,
        stacklevel=5,
    )
