"""Tuning numbers of this room: none is a hyperparameter; changing one changes answers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MomentsTuning:
    """Nodes of mixtures over f, and the limits of their parts."""

    deviations: float = 6.0  # of f on either side
    nodes: int = 121  # of f, a tenth of a deviation apart: a quantile is good to a part of that
    block: int = 1_000_000  # numbers held at a time
    close: float = 1e-9  # error of a quantile on the line: relative, where y is positive
    largest_count: float = 1e15  # counts end here
    wider: float = 1e-6  # least share by which the variance of counts exceeds their mean
    largest: float = 1e300  # positive y stay between the inverse of this and this
    least_shape: float = 1e-3  # of a gamma or beta distribution: the most it may be skewed


TUNING = MomentsTuning()
