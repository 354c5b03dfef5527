"""Tuning numbers of this room: none is a hyperparameter; changing one changes answers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class OptimiseTuning:
    """Numbers of `incumbent`, `ahead`, `search`, `drawing` and `loop`."""

    # incumbent
    no_noise: float = 1e-6  # of the variance of y: with less noise the best y is the incumbent
    rows: int = 2_000  # rows of the best y whose means are compared
    # criteria
    width: float = 2.0  # standard deviations between the mean and the bound of "ucb"
    draws: int = 64  # joint draws at earlier points of a batch
    tile: int = 128  # points whose covariances with these are computed at once
    # search
    pool: int = 1_024  # quasi-random points, at first
    kept: int = 5  # best rows that are looked around as well, and points that a search goes on with
    cloud: int = 32  # points around each of these, in each round
    steps: tuple[float, ...] = (0.1, 0.03, 0.01, 0.003)  # widths of clouds, in widths of the region
    moved: float = 0.3  # share of the coordinates that differ within a cloud, of two at least
    polished: int = 2  # points that are followed uphill at the end
    difference: float = 1e-5  # of derivatives by central differences, in widths of the region
    uphill: int = 30  # steps, at most
    # draws of functions
    drawn: int = 512  # points at which a function is drawn jointly, at first
    promising: int = 1_000  # candidates at which a function is drawn, at most
    known: int = 50  # values that a draw is continued from
    # loop
    first: int = 2  # quasi-random evaluations per column, before there is a model …
    fewest: int = 5  # … but so many at least
    relearn: int = 5  # evaluations between two times that hyperparameters are relearnt


TUNING = OptimiseTuning()
