"""Tuning numbers of this room: none is a hyperparameter; changing one changes answers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ExplainTuning:
    """Numbers of `effects`, and of explanations of single answers."""

    # effects
    rows: int = 200  # rows that an effect is averaged over, at most
    rows_of_two: int = 50  # … that of two columns
    points: int = 20  # of a grid
    points_of_two: int = 12
    tail: float = 0.01  # share of the rows beyond each end of a grid


TUNING = ExplainTuning()
