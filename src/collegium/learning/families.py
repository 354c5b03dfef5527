"""Kernel families, and what held-out rows and regions say about a kernel.

The evidence of a few chunks alone prefers kernels that are too smooth for all rows together,
which are denser, or explains noise by a rough one. Held-out rows, each predicted from the rows
nearest to it and judged with errors that have a scale, show what the kernel will be used for;
held-out regions, predicted from the rows around them, show how well it interpolates across gaps.
`choice` puts them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..answers.local import Shared, correct
from ..errors.basis import ScaleBasis
from ..errors.degrees import cross_fit
from ..errors.features import ScaleInputs
from ..errors.fitting import LearntScale, find_mode, learn_scale
from ..errors.scale import ErrorScale, OutputScale, least_log_scale, seen_errors
from ..errors.tuning import TUNING as ERRORS
from ..errors.values import Values
from ..kernels import Kernel
from ..messages.basis import Anchors
from ..messages.message import Belief, normalise
from ..numerics.linalg import LOG_2PI
from ..rows.groups import count_of
from ..rows.metric import Metric
from ..rows.rows import Prediction, Rows
from .calibration import Correction, Look, Misses, calibrate
from .choice import Losses
from .regions import Region

Array = np.ndarray

#: The families tried when no kernel is given, roughest first.
FAMILIES = ("Matern12", "Matern32", "Matern52", "RBF")


def gap_density(kernel: Kernel, noise: float, regions: Sequence[Region], engine: Any) -> Array:
    """Mean log predictive density of the rows of each held-out region, given the rows around it."""

    def density(region: Region) -> float:
        own = region.inner
        basis, belief = no_anchors(kernel, own)
        found = Shared.of(basis, noise, region.around).predict(basis, belief, own.X)
        rest = noise if own.extra is None else noise + own.extra
        return _log_density(found, rest, own.y)

    return np.array(engine.map(density, regions))


def near_check(
    kernel: Kernel, noise: float, rows: Rows, held_out: Array, neighbours: Array, engine: Any
) -> Correction:
    """Calibrate the noise on held-out rows, each predicted from the rows nearest to it."""
    parts = np.array_split(np.arange(held_out.size), max(1, held_out.size // 50))

    def look(ratio: float) -> Look:
        basis, belief = no_anchors(kernel, rows)

        def predict(part: Array) -> Prediction:
            Xs = rows.X[held_out[part]]
            found = correct(basis, noise * ratio, rows, Xs, neighbours[part])
            return found.predict(basis, belief, Xs)

        found = Prediction.joined(engine.map(predict, parts))
        error = rows.y[held_out] - found.mean
        own = _noise_of(rows, noise * ratio, held_out)
        group = None if rows.group is None else rows.group[held_out]
        return Look(ratio, Misses(error, found.variance, own, group=group))

    return calibrate(look)


@dataclass(eq=False)
class Comparison:
    """Held-out rows that candidates are compared by, under errors with a scale.

    Hyperparameters of the scale are learnt for the first candidate and kept for the others: all
    are judged by the same prior, and each takes a fraction of the time. Weights, level and degrees
    of freedom are each candidate's own, learnt from rows of other folds.
    """

    y: Array  # (n, p)
    weight: Array  # (n,)
    values: Sequence[Values | None]
    group: Array | None = None
    known: dict[int, tuple[Array, float]] = field(default_factory=dict)  # θ, ν

    def log_density(self, inputs: ScaleInputs) -> Array:
        """Compute the log density of each y by a scale that was learnt from other rows  (n, p)."""
        w = self.weight / self.weight.mean()
        alone = self.group is not None and (self.group == self.group[0]).all()
        if alone or count_of(None, w) < ERRORS.decision.fewest:
            plain = tuple(OutputScale.constant(values=one) for one in self.values)
            return ErrorScale(plain).predictive(inputs).log_density(self.y)
        if self.group is not None:
            w = w * (count_of(self.group, w) / w.size)
        found = [self._output(inputs, k, w) for k in range(self.y.shape[1])]
        return np.stack(found, axis=1)

    def _output(self, inputs: ScaleInputs, k: int, w: Array) -> Array:
        log_sd, errors = inputs.log_sd[:, k], self.y[:, k] - inputs.mean[:, k]
        bound = least_log_scale(log_sd, 0.0)
        seen, blurred = seen_errors(errors, log_sd, self.values[k], self.y[:, k], bound)
        basis = ScaleBasis.of(inputs, k, w)
        if k not in self.known:
            learnt = learn_scale(basis, blurred, w)
            self.known[k] = learnt.theta, learnt.nu
        else:
            theta, nu = self.known[k]
            B = basis.design(theta)
            learnt = LearntScale(theta, nu, B, find_mode(B, blurred, w, nu))
        return cross_fit(learnt, blurred, w, bound, self.group).log_density(seen) - log_sd


def near_losses(
    kernel: Kernel, noise: float, rows: Rows, held_out: Array, neighbours: Array,
    compared: Comparison, engine: Any,
) -> Losses:  # fmt: skip
    """Predict held-out rows, each from the rows nearest to it, nearest first, and learn the scale
    of these errors: their negative log densities with it, cross-fitted, and squares."""
    parts = np.array_split(np.arange(held_out.size), max(1, held_out.size // 50))
    basis, belief = no_anchors(kernel, rows)

    def predict(part: Array) -> Prediction:
        Xs = rows.X[held_out[part]]
        found = correct(basis, noise, rows, Xs, neighbours[part])
        return found.predict(basis, belief, Xs)

    found, own = Prediction.joined(engine.map(predict, parts)), rows.take(held_out)
    near = rows.y[neighbours[:, : ERRORS.basis.nearest]] - found.mean[:, None]  # (q, 20, p)
    q = np.log((near**2).mean(axis=1) + ERRORS.basis.least_error)
    place = Metric.of(kernel, rows.X).forward(own.X)
    variance = found.variance + _noise_of(rows, noise, held_out)
    at = ScaleInputs.of(found.mean, variance, place, q)
    return Losses(-compared.log_density(at).sum(axis=1), (own.y - found.mean) ** 2)


def roughest_good(scores: Array, margin: float) -> int:
    """Index of the first score, roughest family first, within `margin` of the best."""
    scores = np.nan_to_num(scores, nan=-np.inf)
    return int(np.flatnonzero(scores >= scores.max() - margin)[0])


def no_anchors(kernel: Kernel, rows: Rows) -> tuple[Anchors, Belief]:
    """Make the basis without coordinates, and the belief about it."""
    basis = Anchors.at(kernel, np.empty((0, rows.X.shape[1])))
    return basis, normalise(basis.prior(rows.y.shape[1]))


def _noise_of(rows: Rows, noise: float, some: Array) -> Array | float:
    """σ² + e of some rows, each with a weight of one."""
    return noise if rows.extra is None else noise + rows.extra[some]


def _log_density(found: Prediction, noise: Array | float, y: Array) -> float:
    """Mean over rows of log N(y; mean, variance + noise), summed over outputs."""
    variance = (found.variance + noise)[:, None]
    z2 = (y - found.mean) ** 2 / variance
    return float(-0.5 * (LOG_2PI + np.log(variance) + z2).sum(axis=1).mean())
