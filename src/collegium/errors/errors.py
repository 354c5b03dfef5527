"""The errors of a fitted model: their scale, and the metric in which rows are near."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..numerics.records import record
from ..rows.metric import Metric
from ..rows.rows import Prediction, Rows
from ..rows.scaling import Scaling
from .decision import MOST
from .features import Neighbours, ScaleInputs
from .scale import NATS, ErrorScale

Array = np.ndarray


@record("scale.errors/1")
@dataclass(frozen=True, eq=False)
class Errors:
    """The scale of y − m, as a model keeps it; targets in units where y has variance one."""

    scale: ErrorScale
    metric: Metric

    @classmethod
    def learn(
        cls, at: ScaleInputs, rows: Rows, metric: Metric, steps: Array,
        before: Array | None = None, *, always: bool, say: Callable[[str], None],
        nats: float = NATS,
    ) -> Errors | None:  # fmt: skip
        """From held-out rows; None where their scale is not worth having: `ErrorScale.learn`."""
        scale = ErrorScale.learn(at, rows.y, rows.w, steps, before, always=always, nats=nats)
        gains = " ".join(f"{one.gain.mean:.3f} ± {one.gain.error:.3f}" for one in scale.outputs)
        say(
            f"errors of {rows.w.size} held-out rows: log density + {gains} with a scale of their "
            "own" + (", which is not worth it" if scale.normal else "")
        )
        return None if scale.normal else cls(scale, metric)

    def moved(self, before: Scaling, after: Scaling) -> Errors:
        """The same errors, of targets that are scaled otherwise."""
        shift = (before.centre - after.centre) / after.scale
        return replace(self, scale=self.scale.moved(before.scale / after.scale, shift))

    def gains(self, at: ScaleInputs, y: Array) -> Array:
        """log p(y) beyond that of N(m, sd²), within ±MOST, averaged over outputs  (n,)."""
        normal = ErrorScale.identity(y.shape[1]).predictive(at).log_density(y)
        each = self.scale.predictive(at).log_density(y) - normal
        return np.clip(each, -MOST, MOST).mean(axis=1)

    def neighbours(self, rows: Rows | None) -> Neighbours | None:
        """Of rows that a model kept; None where the scale does not ask for them."""
        if rows is None or not self.scale.needs_near:
            return None
        return neighbours(self.metric, rows)


def neighbours(metric: Metric, rows: Rows) -> Neighbours | None:
    if not rows.w.size:
        return None
    return Neighbours.of(metric.forward(rows.X), rows.y, rows.w)


def inputs_at(
    metric: Metric, near: Any, X: Array, found: Prediction, noise: Array | float,
    own: Array | None = None,
) -> ScaleInputs:  # fmt: skip
    """What g depends on at queries, of which f is N(found.mean, found.variance).

    `own`: the numbers of the queries among the rows that `near` has, where they are some of them.
    """
    place = metric.forward(X)
    q = None if near is None else near.log_error(place, found.mean, own)
    return ScaleInputs.of(found.mean, found.variance + noise, place, q)


@dataclass(frozen=True, eq=False)
class ErrorPredictor:
    """A predictor of f that also knows the errors of y around it."""

    own: Any  # a predictor
    errors: Errors
    near: Any  # `Neighbours`, or who finds these elsewhere; None: the scale does not ask for them
    noise: Array | float  # one number, or one an output

    @classmethod
    def of(
        cls, own: Any, errors: Errors, rows: Rows | None, noise: Array | float
    ) -> ErrorPredictor:
        return cls(own, errors, errors.neighbours(rows), noise)

    def at(self, level: str) -> Any:
        """A predictor of something else than y, whose errors are not these."""
        return self.own.at(level)

    def mean(self, X: Array, engine: Any) -> Array:
        return self.own.mean(X, engine)

    def predict(self, X: Array, engine: Any) -> Prediction:
        return self.own.predict(X, engine)

    def prepare(self, engine: Any) -> int:
        """Make what answers need before they are asked for; see `CellPredictor`."""
        return self.own.prepare(engine)

    def with_weights(self) -> Any:
        return self.own.with_weights()

    def joint(self, X: Array, engine: Any) -> tuple[Prediction, Array]:
        return self.own.joint(X, engine)

    @property
    def scale(self) -> ErrorScale:
        return self.errors.scale

    def inputs(self, X: Array, found: Prediction) -> ScaleInputs:
        return inputs_at(self.errors.metric, self.near, X, found, self.noise)
