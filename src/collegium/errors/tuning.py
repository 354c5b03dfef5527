"""Tuning numbers of this room: none is a hyperparameter; changing one changes answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class BasisTuning:
    """Tuning of the functions that g is a sum of (`basis`, `features`)."""

    grid: int = 12  # points of the grid of a function of one number
    places: int = 120  # anchors of the function of x, at most
    level: float = 2.0  # prior standard deviation of c₀
    rounds: int = 25  # iterations of k-means
    pairs: int = 1_000  # rows whose distances are measured
    nearest: int = 20  # training rows around a query whose errors are averaged
    least_error: float = 1e-6  # added to the mean squared error before the log
    # smallest spreads of log sd, of m in units of sd, of q and of answers of trees that count
    least_spreads: tuple[float, ...] = (0.05, 0.01, 0.3, 0.1)


@dataclass(frozen=True)
class PriorTuning:
    """Priors of the hyperparameters: means and standard deviations (`basis`, `fitting`)."""

    # log variances of f₁(log sd), f₂(m), f₄(q), f₅(trees)
    centres: tuple[float, ...] = (np.log(0.3), np.log(0.3), -1.2, -1.2)
    spreads: tuple[float, ...] = (1.5, 1.5, 1.0, 1.0)
    place: tuple[float, float] = (np.log(0.5), 1.5)  # log variance of f₃(x)
    stretch: tuple[float, float] = (np.log(0.5), 1.0)  # log length of f₃ in median distances
    least_nu: float = 1.2  # ν = least_nu + e^η while the weights are learnt
    eta: tuple[float, float] = (np.log(6.0), 1.5)
    widest: float = 4.0  # bounds in prior standard deviations


@dataclass(frozen=True)
class SearchTuning:
    """Tuning of the searches for weights and hyperparameters (`fitting`, `degrees`)."""

    steps: int = 150  # of scoring
    each: int = 25  # steps with one matrix
    halvings: int = 30  # of a step
    small: float = 1e-14  # squared length of a step at the mode
    iterations: int = 20  # of L-BFGS
    folds: int = 5
    least_degrees: float = 1.05  # smallest ν, so that the mean exists
    first_degrees: float = 6.0  # ν to start from where nothing is known of it
    farthest: float = 10.0  # largest offset of g
    least_skewed_degrees: float = 1.5  # with fewer the mode would be far from the mean
    first_skews: tuple[float, float] = (-0.15, 0.15)  # s to start from
    most_skew: float = 1.5


@dataclass(frozen=True)
class DecisionTuning:
    """Tuning of the decision to use a scale (`decision`, `scale`)."""

    fewest: int = 20  # fewer held-out rows, (Σw)²/Σw², show no varying scale
    most: float = 2.0  # larger gains of a row count as this
    # the mean gain has to exceed both; with fewer than `few` rows more standard errors: gains are
    # skewed, and the fitted function can be wrong in many ways between rows
    least: float = 0.005
    errors: float = 2.0
    few: float = 300.0
    more_errors: float = 3.0
    # total gain in log density, nothing cut, from which a constant scale with heavy tails is used
    # too; one of 750 sets of 60 to 1,000 Gaussian errors was above it
    nats: float = 5.0
    # the same for few rows, which may not show how heavy tails are: used unless they clearly lose.
    # Under normal errors t_ν costs a quarter of a nat, and a level that is cross-fitted about six
    # tenths, give or take one: what is lost below this is not chance
    few_nats: float = -3.0


@dataclass(frozen=True)
class FloorTuning:
    """Tuning of scales where nothing was seen (`scale`)."""

    fades: float = 0.5  # log sd beyond that of held-out rows over which g fades to zero
    finest: float = 1e-4  # smallest scale in standard deviations, so that densities are bounded


@dataclass(frozen=True)
class ValueTuning:
    """Tuning of y that is rounded or discrete (`values`)."""

    tied: float = 0.5  # share of rows whose value another has, from which y counts as discrete
    most: int = 5_000  # more values than this count as continuous
    odd: float = 0.1  # share of gaps between values that may be smaller than the step
    regular: float = 0.95  # share of gaps that are multiples of the step on a lattice
    off: float = 1e-3  # how far from a multiple, relative to it
    few: int = 20  # more values than this, not on a lattice, are not all that y may take
    planned: float = 0.99  # share of errors below Δ/√12 from which levels are not roundings
    fine: float = 0.02  # Δ/√12 below this share of the median error does not matter
    snaps: float = 1.5  # cells that the middle half of the probability spans where quantiles snap
    close: float = 1e-9  # relative difference up to which a number is the value


@dataclass(frozen=True)
class RestTuning:
    """Tuning of the standardised errors that are kept (`scale`)."""

    number: int = 100  # quantiles
    fewest: float = 300.0  # held-out rows, (Σw)²/Σw², that show them better than a normal


@dataclass(frozen=True)
class MassTuning:
    """Tuning of the search for values that y takes again and again (`mass`)."""

    share: float = 0.3  # share of the rows with one value from which that is a mass
    fewest: int = 20  # fewer rows show none


@dataclass(frozen=True)
class StreamTuning:
    """Tuning of rows of a stream that were predicted before they were learnt from (`checked`)."""

    kept: int = 1_000  # rows kept, the last; a scale is relearnt after as many, or as rows double
    first: int = 200  # rows from which a scale is learnt
    looked: int = 50  # last rows by which a scale is given up
    errors: float = 3.0  # standard errors of their mean gain that they have to lose by


@dataclass(frozen=True)
class ErrorTuning:
    """All of them, by topic."""

    basis: BasisTuning = BasisTuning()
    priors: PriorTuning = PriorTuning()
    search: SearchTuning = SearchTuning()
    decision: DecisionTuning = DecisionTuning()
    floor: FloorTuning = FloorTuning()
    values: ValueTuning = ValueTuning()
    rest: RestTuning = RestTuning()
    mass: MassTuning = MassTuning()
    stream: StreamTuning = StreamTuning()


TUNING = ErrorTuning()
