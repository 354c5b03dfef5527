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


TUNING = LikelihoodsTuning()
