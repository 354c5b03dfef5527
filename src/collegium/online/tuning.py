"""Tuning numbers of the online GP: none is a hyperparameter; changing one changes answers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class OnlineTuning:
    """Sizes, thresholds and limits of online Gaussian processes."""

    largest_total: float = 1e7  # rows that weights may ask to repeat in one call
    least_noise: float = 1e-9  # of a row, relative to the prior variance: S keeps its last digits
    block: int = 256  # rows whose kernel values are computed at once
    forget_step: float = 0.02  # most that one step of forgetting takes from the sum of messages
    # of several rates the faster ones cost no more than the slowest: coarser steps, and no more
    # points than this many times the rows that they remember
    coarse_step: float = 0.35
    points: float = 2.0
    rates: tuple[float, ...] = (1.0, 0.995, 0.98, 0.95)  # of forgetting="auto"
    checked: int = 64  # rows of a call whose errors are kept, evenly spaced
    # relearning
    window: int = 250  # rows between two checks of the log density
    surprise: float = 0.25  # shortfall of log density per row that is a surprise
    surprise_of_labels: float = 0.1  # likewise for labels, which say less
    largest_shortfall: float = 12.0  # one row counts as this at most
    too_wide: float = -0.375  # with forgetting, a shortfall below this is a surprise too
    worth: float = 0.02  # least gain of a few learning steps, in log evidence per row of the sample
    grown: float = 0.25  # least growth of the rows between two learnings: the sample must change
    memory: float = 2.0  # with forgetting λ the sample is from the last memory/(1 − λ) rows …
    longest: int = 4  # … and from no more than this many times its size


TUNING = OnlineTuning()
