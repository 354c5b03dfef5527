"""Tuning numbers of this room: none is a hyperparameter; changing one changes answers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RowsTuning:
    """Numbers of `metric`, `nearest`, `partition` and `scaling`."""

    # partition
    steps: int = 40  # coordinates are rounded to 2^-steps of their range before they are compared
    # metric
    own_group: int = 50  # rows of a query's own group that should come before those of others
    farthest: float = 24.0  # squared distances in other columns, over the sum of their variances
    most_enlarged: float = 100.0  # largest factor on the weight of a group of little effect
    many_levels: int = 20  # with more levels, each of few rows, levels are treated as groups
    enough_rows: int = 10_000  # rows that show how far the coordinates of levels spread
    # nearest
    candidates: int = 2  # candidates from each tree, per row asked for
    batch: int = 64  # queries ranked together
    # up to as many rows in all, and more for each row asked for, all of them are compared
    scanned: int = 25_000
    scanned_more: int = 300
    # scaling
    by_content: int = 2_000  # rows up to which columns are sorted by what they hold
    most_share: float = 0.1  # largest share of one row in all weights, for scaling and learning
    outlying: float = 100.0  # largest deviation from the usual value, in medians of the others
    most_times: float = 10.0  # largest weight of a later row in learning, in mean weights
    pilot_rows: int = 2_000  # rows that show how the noise depends on weights
    pilot_near: int = 4  # nearest others that each of these is compared with
    prior_spread: float = 0.5  # prior standard deviation of the power of weights


TUNING = RowsTuning()
