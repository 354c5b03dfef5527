"""Tuning numbers of this room: none is a hyperparameter; changing one changes answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GrowingTuning:
    """Tuning of boosted trees (`boosting`)."""

    most_trees: int = 600
    rate: float = 0.1  # learning rate
    leaves: int = 63  # of a tree
    few: int = 5_000  # up to so many rows: the faster rate and smaller trees below
    few_rate: float = 0.2
    few_leaves: int = 31
    patience: int = 20  # trees without a gain after which growing stops
    validation: float = 0.1  # share of the rows that shows it
    first_trees: int = 60  # trees after which hopeless forests are given up
    most_rows: int = 1_000_000  # rows that trees are grown from, at most
    scale_rows: int = 10_000  # rows for the size of errors, at most, where means have no member
    longer: float = 1.5  # times as many rows, at most, where weights are spelled out as copies
    seconds: float = 6e-6  # that a forest takes per row and column, on an idle machine
    most_levels: int = 255  # levels that a split can tell apart; columns of more enter by means
    fewest_of_class: int = 10  # rows of a class, at least, for which trees are grown
    prior_rows: float = 10.0  # rows that the mean of all counts as, in means of rare levels


@dataclass(frozen=True)
class FoldTuning:
    """Tuning of forests that have not seen some of the rows (`folds`)."""

    exact: int = 5  # folds of few rows, each predicted by a forest of the others
    # shares of the rows that are held out: above the first each row is predicted by a forest of
    # the others; above the second forests are grown again from all rows
    most_held: float = 0.5
    few_held: float = 0.1
    largest: float = 0.7  # share of the rows in one fold, at most
    deciding: int = 2  # forests that decide whether that is worth it
    others: int = 4  # forests beside the first, each without one such share of the rows


@dataclass(frozen=True)
class WeighingTuning:
    """Tuning of the weight of a member (`weighing`)."""

    level: float = 0.02  # penalty of a²
    slope: float = 0.5  # penalty of b²
    scale: float = 0.5  # penalty of l², in nats in total
    hopeless: float = 1.6  # ratio of root mean squared errors from which a member is given up
    together: float = 3.0  # standard errors of gains in density and in squared error, added
    behind: float = 1.2  # ratio from which it is, if held-out rows do not gain either
    fades: float = 0.5  # log sd beyond that of held-out rows over which its weight fades to zero
    folds: int = 5  # of cross-fitting


@dataclass(frozen=True)
class MemberTuning:
    """All of them, by topic."""

    growing: GrowingTuning = GrowingTuning()
    folds: FoldTuning = FoldTuning()
    weighing: WeighingTuning = WeighingTuning()
    scale_floor: float = 0.02  # share of the median squared error that is added before the log
    fewest: int = 600  # rows from which trees are tried without being asked for
    most_outputs: int = 4  # outputs up to which they are


TUNING = MemberTuning()
