"""Tuning numbers of this room: none is a hyperparameter; changing one changes answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AveragingTuning:
    """Sizes and limits of the averaged model."""

    points: int = 16  # points around each mode, of up to `many` rows
    fewest: int = 4  # points of `most_rows` rows, or of more than `per_column` rows per column
    many: int = 300
    most_rows: int = 600  # more rows are not averaged
    per_column: int = 50
    farthest: float = 1e100  # standardised inputs are clipped here; kernel values are zero before
    clip: float = 2.5  # standard deviations beyond which the linear term is constant
    bins: int = 8  # bins of a column, in which means of y are compared
    iterations: int = 80  # steps to a mode
    gain: float = 1e-5  # of a step, in nats per row, below which there is no further one
    # multiplications, of some 10⁻¹⁰ CPU seconds each, beyond which only τ = 0 is used
    most_work: float = 3e11
    step: float = 0.01  # of the differences of gradients, in prior standard deviations
    curvature: float = 0.5  # least curvature in any direction; the prior alone has 1
    pseudo_rows: float = 10.0  # rows that the prior of the weights counts as
    shares: tuple[float, float, float] = (0.5, 0.25, 0.25)  # of τ = 0, 1, 2 in that prior
    far_below: float = 20.0  # nats of evidence below the best from which a model is dropped
    rounds: int = 1_000  # of EM, at most
    tolerance: float = 1e-6  # of the weights, for EM to stop
    halvings: int = 60  # of the bracket of a quantile, for all bits of a double


TUNING = AveragingTuning()
