"""Tuning numbers of this room: none is a hyperparameter; changing one changes answers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LikelihoodsTuning:
    """Sums over y, and rules and limits of single likelihoods."""

    y_nodes: int = 4001  # of integrals over y
    most_counts: int = 200_000  # that are summed
    far: float = 60.0  # deviations of counts that are summed
    stirling: float = 16.0  # numbers from which on log y! is a series
    largest_count: float = 1e15  # of Poisson: larger rates are drawn from as this
    half_a_count: float = 0.5  # of Poisson: stands for no counts at all in the log of their mean
    halvings: int = 60  # of the bracket of a quantile, to rounding
    mixture_step: float = 0.3  # of StudentT: step of the rule in log τ, for ν ≤ 2
    block: int = 1_000_000  # of StudentT: numbers held at a time
    series: float = 100.0  # of StudentT: degrees of freedom over 2 from which on a series is used
    narrow_peak: float = 2.5e-3  # of Beta: variance of logit y below which p(y | f) is narrow
    peak_ends: float = 12.0  # of Beta: deviations of nodes about that peak
    peak_nodes: int = 121  # of Beta: their number
    impossible: float = -760.0  # of Softmax: logs of probabilities that count as zero
    widest: float = 1e10  # of Softmax: larger variances count as this


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


TUNING, MOMENTS = LikelihoodsTuning(), MomentsTuning()
