"""Choose transforms of the inputs of labelled rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..rows.rows import Rows
from ..transforms.choosing import sample
from ..transforms.inputs import InputTransform, skewed
from ..transforms.tuning import TUNING as TRANSFORMS
from .trials import LabelTrials


def choose_inputs(
    rows: Rows, kind: str | None, engine: Any, say: Callable[[str], None],
    levels: tuple[int, ...] = (), stop: Callable[[], bool] = lambda: False,
) -> InputTransform | None:  # fmt: skip
    """Use scores of skewed columns, if held-out rows gain by them; None: columns stay as they are.

    y of the rows are positions among the classes. `kind`: "rank" for scores of all columns that
    are not levels, "auto" for a choice, which ends once `stop()` is true.
    """
    numbers = np.isin(np.arange(rows.X.shape[1]), levels, invert=True)
    if kind != "auto":
        given = None if kind is None else InputTransform.of(rows.X, rows.w, numbers)
        return given if given is not None and given.any else None
    n = rows.w.size
    if n < TRANSFORMS.fewest or not (columns := numbers & skewed(rows.X, rows.w)).any():
        return None
    offered, trials = InputTransform.of(rows.X, rows.w, columns), LabelTrials(sample(rows), engine)
    if np.ptp(trials.codes) == 0 or stop():
        return None
    plain = trials.log_probability(trials.rows.X, levels)
    if stop():
        return None
    scored = trials.log_probability(offered.forward(trials.rows.X), levels)
    gain = trials.gain(scored, plain)
    say(
        f"normal scores of {columns.sum()} skewed columns: log probability of held-out rows "
        f"{gain.mean:+.3f} ± {gain.error:.3f}, {'used' if gain.enough else 'not used'}"
    )
    return offered if gain.enough else None
