"""Members beside a committee, as a fitted model keeps them, and predictions with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..engines.local import here
from ..errors.decision import Gain
from ..numerics.records import record
from ..rows.partition import blocks
from ..rows.rows import Prediction
from ..rows.scaling import Scaling
from .folds import folds_by, told_by_others
from .weighing import Verdict, Weight

Array = np.ndarray
#: Queries that a member answers at a time; a of a member that does not count.
BATCH, MUTED = 1024, -40.0


@record("members.member/1")
@dataclass(frozen=True, eq=False)
class OutputMember:
    """t(x) of one output: ratio · (mean of the parts) + shift, and how much it counts."""

    parts: tuple[Any, ...]  # each a function of X (n, d) -> (n,)
    folds: int  # of rows; part k − folds has not seen fold k; 0: none has
    weight: Weight
    gain: Gain  # of held-out rows in log density
    error: float  # squared error of held-out rows, relative to that without the member
    ratio: float = 1.0
    shift: float = 0.0

    def __call__(self, X: Array) -> Array:
        """t(x)  (n,)."""
        total = self.parts[0](X)
        for part in self.parts[1:]:
            total = total + part(X)
        return self.ratio * total / len(self.parts) + self.shift

    def left_out(self, X: Array, group: Array | None = None) -> Array:
        """t(x) by a part that has not seen rows with these inputs, or of these groups  (n,)."""
        if not self.folds:
            return self(X)
        found = told_by_others(self.parts[-self.folds :], X, folds_by(X, group, self.folds))
        return self.ratio * found + self.shift

    def weighed(self, verdict: Verdict) -> OutputMember | None:
        """Count as held-out rows ask for; None where they do not gain by it."""
        if not verdict.taken:
            return None
        return replace(self, weight=verdict.weight, gain=verdict.gain, error=verdict.ratio)

    def muted(self) -> OutputMember:
        """Count next to nothing, until rows gain by it again."""
        return replace(self, weight=replace(self.weight, a=MUTED, b=0.0))

    def moved(self, ratio: float, shift: float) -> OutputMember:
        """Adapt to targets ratio·y + shift."""
        return replace(
            self, weight=self.weight.moved(ratio), ratio=ratio * self.ratio,
            shift=ratio * self.shift + shift,
        )  # fmt: skip


@record("members.members/1")
@dataclass(frozen=True, eq=False)
class Members:
    """Members of each output; None where held-out rows did not gain by one."""

    outputs: tuple[OutputMember | None, ...]
    kind: str = "trees"

    @property
    def any(self) -> bool:
        return any(one is not None for one in self.outputs)

    def identity(self) -> tuple[Any, ...]:
        """Name what two models have to share if their sums are to be added: parts, not weights."""
        each = (
            one and (one.parts, one.folds, one.ratio, one.shift) for one in self.outputs
        )  # fmt: skip
        return self.kind, tuple(each)

    def words(self) -> list[str]:
        """Say what members contribute, output by output."""
        found = []
        for j, one in enumerate(self.outputs):
            if one is not None:
                which = "" if len(self.outputs) == 1 else f" (output {j})"
                sure, unsure = one.weight.range()
                found.append(
                    f"{self.kind}{which}, which count {sure:.0%} where the committee is sure and "
                    f"{unsure:.0%} where it is not; squared errors of held-out rows "
                    f"{one.error - 1.0:+.0%}"
                )
        return found

    def moved(self, before: Scaling, after: Scaling) -> Members:
        """Express the members for targets with another scaling."""
        ratio = before.scale / after.scale
        shift = (before.centre - after.centre) / after.scale
        each = zip(self.outputs, ratio, shift)
        return replace(
            self, outputs=tuple(one and one.moved(float(r), float(s)) for one, r, s in each)
        )  # fmt: skip

    def beside(
        self, found: Prediction, X: Array, noise: Array | float, *, left_out: bool = False,
        group: Array | None = None,
    ) -> Prediction:  # fmt: skip
        """Mix members into the committee's means; variances stay.

        `left_out`: rows with these inputs, or of these groups, may be among those that members
        have learnt from.
        """
        mean = found.mean.copy()
        wide = found.variance if found.variance.ndim == 2 else found.variance[:, None]
        log_sd = 0.5 * np.log(np.maximum(wide + noise, 1e-300))
        log_sd = np.broadcast_to(log_sd, mean.shape)
        for j, one in enumerate(self.outputs):
            if one is not None:
                t = one.left_out(X, group) if left_out else one(X)
                mean[:, j] += one.weight(log_sd[:, j]) * (t - mean[:, j])
        return Prediction(mean, found.variance)


@dataclass(frozen=True, eq=False)
class BesidePredictor:
    """Predict f by a committee and its members; variances and covariances are the committee's."""

    own: Any  # a predictor
    members: Members
    noise: Array | float  # one number, or one per output

    def at(self, level: str) -> Any:
        return self.own.at(level)

    def mean(self, X: Array, engine: Any) -> Array:
        return self.predict(X, engine).mean

    def predict(self, X: Array, engine: Any) -> Prediction:
        return self._beside(self.own.predict(X, engine), X, engine)

    def joint(self, X: Array, engine: Any) -> tuple[Prediction, Array]:
        found, C = self.own.joint(X, engine)
        return self._beside(found, X, engine), C

    def prepare(self, engine: Any, stop: Callable[[], bool] = lambda: False) -> int:
        """Prepare predictions in advance; see `CellPredictor`."""
        return self.own.prepare(engine, stop)

    def with_weights(self) -> Any:
        return self.own.with_weights()

    def _beside(self, found: Prediction, X: Array, engine: Any) -> Prediction:
        """Ask the members for some queries at a time, which an engine runs."""

        def ask(part: slice) -> Prediction:
            own = Prediction(found.mean[part], found.variance[part])
            return self.members.beside(own, X[part], self.noise)

        parts = blocks(X.shape[0], BATCH)
        if len(parts) < 2 or engine is None:
            return self.members.beside(found, X, self.noise)
        return Prediction.joined(here(engine).map(ask, parts))
