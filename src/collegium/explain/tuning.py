"""Tuning numbers of this room: none is a hyperparameter; changing one changes answers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ExplainTuning:
    """Numbers of `effects`, and of explanations of single answers."""

    # effects
    rows: int = 200  # rows that an effect is averaged over, at most
    rows_accumulated: int = 2_000  # … where each row is asked about twice only
    rows_of_two: int = 50  # … that of two columns
    points: int = 20  # of a grid
    points_of_two: int = 12
    tail: float = 0.01  # share of the rows beyond each end of a grid
    # explanations
    background: int = 100  # rows that predictions are compared with, at most
    orders: int = 4  # pairs of random orders for each of these
    coalitions: int = 64  # so many at most are all looked at: up to six columns
    points_at_once: int = 50_000  # predictions of one call
    product_values: int = 1_000_000  # factors of kernels in memory at once
    rounding: float = 1e-7  # of exact contributions, relative to the largest prediction
    rows_near: int = 5  # rows that moved a prediction most
    # covariances
    near: int = 16  # nearest rows of each point
    joint_points: int = 128  # points whose covariance an error is made of, about


TUNING = ExplainTuning()
