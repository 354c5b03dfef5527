"""Tuning numbers of this room: none is a hyperparameter; changing one changes answers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class IntegralsTuning:
    """Steps and ranges of trapezoidal rules, and when their results are trusted."""

    block: int = 1_000_000  # numbers held at a time
    ends: float = 9.0  # deviations on either side, beyond which the normal's weight is 1e-18
    step: float = 0.4  # in f or in deviations, whichever is shorter
    log_step: float = 0.06  # in u, f = sinh u
    wide: float = 16.0  # deviation above which a normal that reaches zero is wide
    finest: float = 64.0  # finest steps of a normal that does not reach zero, as 1/share
    farthest: float = 38.0  # deviations beyond which the normal's weight is not a float
    apart: float = 0.25  # deviations between points at which the range of an integrand is searched
    nothing: float = 1e-15  # share of E|g| that is nothing at one point beyond the ends
    nothing_at_all: float = 1e-18  # share of E|g| that is nothing at the ends of a range
    #: Differences, relative to E|g|, between a rule and that with twice its step: from which on
    #: steps are halved (the error of a smooth integrand is about the square of it), and from which
    #: on the result is not trusted; and how often steps are halved at most.
    close: float = 1e-6
    trusted: float = 1e-4
    halvings: int = 6
    count_nodes: int = 160  # nodes of the distribution of counts
    count_nothing: float = 40.0  # minus the log of weights that do not count
    largest_exponent: float = 300.0  # of rates, whose squares stay finite


TUNING = IntegralsTuning()
