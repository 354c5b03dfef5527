"""Try a transform of targets and inputs on rows that are left out in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..answers.leave_one_out import leave_one_out
from ..errors.errors import inputs_at, neighbours
from ..errors.features import ScaleInputs
from ..errors.scale import ErrorScale
from ..errors.values import Values
from ..kernels import Kernel
from ..learning.optimise import Learnt, Scales, maximise_chunks
from ..rows.chunk import cut
from ..rows.metric import Metric, column_scales
from ..rows.partition import balanced
from ..rows.rows import Rows
from ..rows.scaling import Scaling, for_learning
from .inputs import InputTransform
from .moments import warped_moments
from .targets import TargetTransform
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class TriedTransform:
    """Transforms, and their predictions of held-out rows, in the units of y."""

    target: TargetTransform | None
    inputs: InputTransform | None
    log_density: Array  # (n,)
    squared_error: Array  # of the mean  (n,)
    learnt: Learnt  # a start for the next trial
    group: Array | None = None  # code of the group that each row came in  (n,)


def attempt(
    rows: Rows, target: TargetTransform | None, inputs: InputTransform | None, engine: Any,
    start: Learnt | None = None, *, levels: tuple[int, ...] = (),
) -> TriedTransform:  # fmt: skip
    """Learn kernel, noise and error scale from rows of one output; leave each row, or each group of
    rows, out in turn."""
    y = rows.y[:, 0]
    t = transformed(target, y)
    scaling = Scaling.of(t[:, None], rows.w)
    centre, unit = float(scaling.centre[0]), float(scaling.scale[0])
    X = rows.X if inputs is None else inputs.forward(rows.X)
    seen = Rows(X, scaling.forward(t[:, None]), rows.w, group=rows.group)
    learnt = learn_quickly(seen, engine, start, levels)
    found = leave_one_out_inputs(learnt, seen)
    values = Values.of(y, lambda v: (transformed(target, v) - centre) / unit)
    scale, each = ErrorScale.scored(found, seen.y, seen.w, [values], group=rows.group)
    density = each[:, 0] - np.log(unit)
    m, sd = centre + unit * found.mean[:, 0], unit * np.sqrt(scale.variance(found)[:, 0])
    if target is not None:
        density = density + log_slopes(target, y)
        m, _ = warped_moments(target, m, sd, scale.outputs[0].rest)
    return TriedTransform(target, inputs, density, (y - m) ** 2, learnt, rows.group)


def transformed(target: TargetTransform | None, y: Array) -> Array:
    return y if target is None else target.forward(y)


def log_slopes(target: TargetTransform, y: Array) -> Array:
    """log dT/dy; of y with values of its own the mean slope in the cell of each, by which no
    transform gains that is steep at the values and flat between them  (n,)."""
    values = Values.of(y)
    if values is None:
        return target.log_slope(y)
    at = values.nearest(y)
    low, high = values.lower[at], values.upper[at]
    return np.log(target.forward(high) - target.forward(low)) - np.log(high - low)


def learn_quickly(
    rows: Rows, engine: Any, start: Learnt | None = None, levels: tuple[int, ...] = ()
) -> Learnt:
    """Learn a Matérn 3/2 and a noise by the evidence of chunks, starting from earlier ones."""
    scales, own = Scales.of(rows.X, levels), for_learning(rows)
    groups = balanced(rows.X / column_scales(rows.X), TUNING.chunk, np.random.default_rng(0))
    chunks = cut(*own.fields(), groups)
    kernel: Kernel = scales.kernel("Matern32") if start is None else start.kernel
    noise = 0.1 if start is None else start.noise
    return maximise_chunks(
        chunks, engine, kernel, noise, scales.prior(kernel), max_iter=TUNING.iterations
    )


def leave_one_out_inputs(learnt: Learnt, rows: Rows) -> ScaleInputs:
    """Predict each row from the others: the inputs of the error scale.

    With groups these are without errors of nearest rows, which may be of the same group.
    """
    metric, own = Metric.of(learnt.kernel, rows.X), np.arange(rows.w.size)
    found = leave_one_out(learnt.kernel, learnt.noise, rows)
    near = neighbours(metric, rows) if rows.group is None else None
    return inputs_at(metric, near, rows.X, found, learnt.noise, own)
