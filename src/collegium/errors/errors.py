"""Keep the errors of a fitted model: their scale, and the metric in which rows are near."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..answers.answers import Answers
from ..numerics.records import record
from ..rows.metric import Metric
from ..rows.rows import Prediction, Rows
from ..rows.scaling import Scaling
from .answers import ScaledAnswers
from .decision import Gain
from .features import Neighbours, ScaleInputs
from .scale import ErrorScale, OutputScale
from .tuning import TUNING
from .values import Values, seen_apart

Array = np.ndarray


@record("scale.errors/1")
@dataclass(frozen=True, eq=False)
class Errors:
    """The scale of y − m; targets are in units where y has variance one."""

    scale: ErrorScale
    metric: Metric
    trees: Any = None  # a function of X (n, d) -> log squared errors (n, p); None: not used

    @classmethod
    def learn(
        cls, at: ScaleInputs, rows: Rows, metric: Metric, values: Sequence[Values | None] = (),
        before: Array | None = None, *, always: bool, say: Callable[[str], None],
        nats: float = TUNING.decision.nats, of: Array | None = None,
        trees: tuple[Any, Array] | None = None,
    ) -> Errors | None:  # fmt: skip
        """Learn from held-out rows by `ErrorScale.learn`; None where a scale does not pay, and y
        has no values of its own.

        `trees`: log squared errors by trees, as a function and at these rows (n, p); used if rows
        gain enough by them.
        """
        y = rows.y if of is None else of
        own = [seen_apart(*one) for one in zip(values, y.T, (rows.y - at.mean).T)]

        def scored(at: ScaleInputs) -> tuple[ErrorScale, Array]:
            return ErrorScale.scored(
                at, rows.y, rows.w, own, before, rows.group, always=always, nats=nats, of=of
            )

        scale, density = scored(at)
        expects = None
        if trees is not None:
            other, new = scored(replace(at, trees=trees[1]))
            gain = Gain.of(new.mean(axis=1), density.mean(axis=1), rows.w, rows.group)
            used = gain.enough and not other.normal
            say(
                f"trees for the size of errors: log density {gain.mean:+.3f} ± {gain.error:.3f}; "
                f"{'used' if used else 'not used'}"
            )
            scale, expects = (other, trees[0]) if used else (scale, None)
        gains = " ".join(f"{one.gain.mean:+.3f} ± {one.gain.error:.3f}" for one in scale.outputs)
        say(
            f"errors of {rows.w.size} held-out rows: log density {gains} with a scale of their "
            "own" + (", which is not enough" if scale.normal else "")
        )
        return None if scale.normal and not scale.discrete else cls(scale, metric, expects)

    def moved(self, before: Scaling, after: Scaling) -> Errors:
        """Express the errors for targets with another scaling."""
        shift = (before.centre - after.centre) / after.scale
        return replace(self, scale=self.scale.moved(before.scale / after.scale, shift))

    def gains(self, at: ScaleInputs, y: Array) -> Array:
        """Gain of log p(y) over N(m, sd²), cut at ±2, averaged over outputs  (n,)."""
        plain = (OutputScale.constant(values=one.values) for one in self.scale.outputs)
        normal = ErrorScale(tuple(plain)).predictive(at).log_density(y)
        each = self.scale.predictive(at).log_density(y) - normal
        most = TUNING.decision.most
        return np.clip(each, -most, most).mean(axis=1)

    def neighbours(self, rows: Rows | None) -> Neighbours | None:
        """Index the rows that a model keeps; None where the scale does not use them."""
        if rows is None or not self.scale.needs_near:
            return None
        return neighbours(self.metric, rows)


def neighbours(metric: Metric, rows: Rows) -> Neighbours | None:
    if not rows.w.size:
        return None
    return Neighbours.of(metric.forward(rows.X), rows.y, rows.w)


def inputs_at(
    metric: Metric, near: Any, X: Array, found: Prediction, noise: Array | float,
    own: Array | None = None, trees: Any = None,
) -> ScaleInputs:  # fmt: skip
    """Compute the inputs of g at queries, where f is N(found.mean, found.variance).

    `own`: the row numbers of the queries in `near`, if the queries are among its rows. `trees`: a
    function of X, as in `Errors`.
    """
    place = metric.forward(X)
    q = None if near is None else near.log_error(place, found.mean, own)
    at = ScaleInputs.of(found.mean, found.variance + noise, place, q)
    return at if trees is None else replace(at, trees=trees(X))


@dataclass(frozen=True, eq=False)
class ErrorPredictor:
    """Predicts f, and the errors of y around it."""

    own: Any  # a predictor
    errors: Errors
    near: Any  # `Neighbours` or the like; None: the scale does not use them
    noise: Array | float  # one number, or one per output

    answers: ClassVar[type[Answers]] = ScaledAnswers

    @classmethod
    def of(
        cls, own: Any, errors: Errors, rows: Rows | None, noise: Array | float
    ) -> ErrorPredictor:
        return cls(own, errors, errors.neighbours(rows), noise)

    def at(self, level: str) -> Any:
        """Return the predictor of another level, without these errors."""
        return self.own.at(level)

    def mean(self, X: Array, engine: Any) -> Array:
        return self.own.mean(X, engine)

    def predict(self, X: Array, engine: Any) -> Prediction:
        return self.own.predict(X, engine)

    def prepare(self, engine: Any, stop: Callable[[], bool] = lambda: False) -> int:
        """Prepare predictions in advance; see `CellPredictor`."""
        return self.own.prepare(engine, stop)

    def with_weights(self) -> Any:
        return self.own.with_weights()

    def joint(self, X: Array, engine: Any) -> tuple[Prediction, Array]:
        return self.own.joint(X, engine)

    @property
    def scale(self) -> ErrorScale:
        return self.errors.scale

    def inputs(self, X: Array, found: Prediction) -> ScaleInputs:
        errors = self.errors
        return inputs_at(errors.metric, self.near, X, found, self.noise, trees=errors.trees)
