"""How well rows are predicted that were left out, under a transform of targets and inputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..learning.optimise import Learnt, Scales, maximise
from ..messages.evidence import factorised
from ..numerics import linalg
from ..rows.chunk import cut
from ..rows.metric import Metric, column_scales
from ..rows.partition import balanced
from ..rows.rows import Rows
from ..rows.scaling import Scaling, for_learning
from ..scale.features import Neighbours, ScaleInputs
from ..scale.scale import ErrorScale
from .inputs import InputTransform
from .moments import warped_moments
from .targets import TargetTransform

Array = np.ndarray
#: Rows of a chunk that hyperparameters are learnt from, and iterations of that.
CHUNK, ITERATIONS = 400, 30


@dataclass(frozen=True, eq=False)
class Tried:
    """Transforms, and what they say of rows that were left out, in the units of y."""

    target: TargetTransform | None
    inputs: InputTransform | None
    log_density: Array  # (n,)
    squared_error: Array  # of the mean  (n,)
    learnt: Learnt  # where the next may start


def attempt(
    rows: Rows, target: TargetTransform | None, inputs: InputTransform | None, engine: Any,
    start: Learnt | None = None,
) -> Tried:  # fmt: skip
    """Learn kernel, noise and scale of the error from rows of one output; leave each row out."""
    y = rows.y[:, 0]
    t = y if target is None else target.forward(y)
    scaling = Scaling.of(t[:, None], rows.w)
    centre, unit = float(scaling.centre[0]), float(scaling.scale[0])
    X = rows.X if inputs is None else inputs.forward(rows.X)
    seen = Rows(X, scaling.forward(t[:, None]), rows.w)
    learnt = learn_quickly(seen, engine, start)
    mean, variance = leave_one_out(learnt.kernel, learnt.noise, seen)
    found = around(learnt.kernel, seen, mean, variance)
    scale = ErrorScale.learn(found, seen.y, seen.w)
    density = scale.predictive(found).log_density(seen.y)[:, 0] - np.log(unit)
    m, sd = centre + unit * mean, unit * np.sqrt(scale.variance(found)[:, 0])
    if target is not None:
        density = density + target.log_slope(y)
        m, _ = warped_moments(target, m, sd)
    return Tried(target, inputs, density, (y - m) ** 2, learnt)


def learn_quickly(rows: Rows, engine: Any, start: Learnt | None = None) -> Learnt:
    """A Matérn 3/2 and a noise by the evidence of some chunks, from those found before."""
    scales, own = Scales.of(rows.X), for_learning(rows)
    groups = balanced(rows.X / column_scales(rows.X), CHUNK, np.random.default_rng(0))
    chunks = cut(*own.fields(), groups)
    kernel: Kernel = scales.kernel("Matern32") if start is None else start.kernel
    return maximise(
        partial(factorised, chunks=chunks, engine=engine), kernel,
        0.1 if start is None else start.noise, scales.prior(kernel), float(own.w.sum()),
        max_iter=ITERATIONS,
    )  # fmt: skip


def leave_one_out(kernel: Kernel, noise: float, rows: Rows) -> tuple[Array, Array]:
    """Mean and variance of yᵢ given the other rows  (n,), (n,).

    Rasmussen & Williams eqs 5.10–5.12: without row i, yᵢ − αᵢ/A⁻¹ᵢᵢ is its mean and 1/A⁻¹ᵢᵢ its
    variance. Of a row that was seen w > 1 times one copy is left out, and the others tell f.
    """
    A = linalg.add_diagonal(kernel.value(rows.X, rows.X), rows.psi(noise))
    L, _ = linalg.cholesky(A, float(kernel.diag(rows.X).max()), overwrite=True)
    y = rows.y[:, 0]
    alpha = linalg.solve_posdef(L, rows.y)[:, 0]
    precision = linalg.inverse_posdef(L).diagonal()
    off = alpha / precision
    variance = np.maximum(1.0 / precision - noise / rows.w, 0.0)  # of f, all copies left out
    shrink = noise / (noise + np.maximum(rows.w - 1.0, 0.0) * variance)
    return y - shrink * off, noise + shrink * variance


def around(kernel: Kernel, rows: Rows, mean: Array, variance: Array) -> ScaleInputs:
    """What the scale of the error is learnt from, at the rows themselves."""
    place = Metric.of(kernel, rows.X).forward(rows.X)
    m = mean[:, None]
    near = Neighbours.of(place, rows.y, rows.w).log_error(place, m, np.arange(mean.size))
    return ScaleInputs.of(m, variance, place, near)
