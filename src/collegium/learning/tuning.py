"""Tuning numbers of this room: none is a hyperparameter; changing one changes answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AnchorTuning:
    """Tuning of `anchors`."""

    candidates: int = 118  # size of a pool
    short_list: int = 24  # candidates kept of a pool
    picks: int = 4  # anchors taken from a short list
    exhausted: float = 1e-10  # smaller shares of a row's prior variance are rounding
    # a row with a smaller share of the largest remaining variance is not taken: a small pivot
    # multiplies the rounding errors of all that follow
    pivot: float = 1e-3
    first_centres: int = 16  # centres that are tried first where a share is to be reached
    rows_per_centre: int = 40  # rows of the sample that k-means sees
    fewest_rest: int = 20  # anchors beside those of groups, at least
    rest_share: float = 1.0 / 3.0  # the same as a share, of few anchors


@dataclass(frozen=True)
class NewtonTuning:
    """Tuning of steps by curvature (`newton`)."""

    refreshed: int = 3  # steps after which the curvature is estimated again
    # of a step, in nats per row, below which there is no further one; of the last fit
    gain: float = 1e-4
    last_gain: float = 3e-5
    longest: float = 1.0  # largest change of a coordinate in one step, in logs
    halvings: int = 8  # times that a step is shortened, at most
    enough: float = 1e-4  # share of the expected gain that a step has to reach
    chunks: int = 2  # chunks that the curvature is estimated from, at most
    first: int = 6  # steps from each of several starts, before the best goes on
    sums: int = 18  # steps from the best of them


@dataclass(frozen=True)
class FamilyTuning:
    """Tuning of the kernel family, one kernel or a sum of two, and `calibration`."""

    least_gain: float = 0.003  # of log density per row, for which calibration raises the noise


@dataclass(frozen=True)
class ChoiceTuning:
    """Tuning of the choice among candidates by held-out rows (`choice`)."""

    most: float = 4.0  # a row's loss counts as the median of all candidates ± this, at most
    # a candidate has to lose less than a simpler one by both; with fewer than `few` rows by more
    # standard errors
    least: float = 0.005
    errors: float = 1.0
    few: float = 300.0
    more_errors: float = 2.0
    across: float = 0.25  # weight of what is lost across gaps, beside that at rows among others
    across_errors: float = 1.0  # standard errors by which it has to be lost to count
    # a last fit is taken back where it loses by both more than that before it, or where its mean
    # square is above this share of that of y
    clear: float = 0.02
    clear_errors: float = 3.0
    useless: float = 1.02
    flat: float = 1e-3  # variance of the kernel of a candidate that is nearly noise alone


@dataclass(frozen=True)
class SizesTuning:
    """Tuning of the sizes of kernel and noise by held-out rows and regions (`calibration`)."""

    usual: float = 0.3  # prior standard deviation of the logs of both
    usual_lower: float = 0.15  # the same below one for the kernel: gaps of queries may be larger
    most: float = 10.0  # factor of the kernel, and its inverse, at most
    apart: float = 2.0  # largest change of noise/kernel for which means are not answered again
    grid: int = 25  # steps of each way


@dataclass(frozen=True)
class RegionTuning:
    """Tuning of regions that are held out (`regions`)."""

    sample: int = 20_000  # rows that regions are cut out of, at most
    fewest: int = 200  # rows, at least
    number: int = 36  # regions, every second at an edge
    smallest: float = 0.01  # rows of the smallest region, as a share of all; at least `fewest_in`
    fewest_in: int = 16
    largest: float = 0.1  # rows of the largest, as a share of all
    around: int = 300  # rows given around a region
    inner: int = 40  # rows of a region that are predicted
    directions: int = 3  # directions of a region that count, at most
    least: float = 0.1  # their variance of f, at least, in units of the noise


@dataclass(frozen=True)
class FarTuning:
    """Tuning of kernels that reach across all rows (`far`)."""

    cluster_rows: int = 400  # smallest clusters with which there is time to learn from all rows
    whole: int = 2_500  # up to this many rows are one chunk
    spaced: int = 1_000  # of more rows, evenly spaced ones that represent all
    cluster: int = 400  # rows of each cluster beside those
    clusters: int = 10
    few: int = 350  # rows from end to end on which starts are tried, and of one cluster beside them
    starts: int = 8
    spread: float = 1.0  # standard deviation of the starts, in logs
    kept: int = 2  # starts that go on with all rows
    same: float = 1e-3  # starts whose log evidence per row differs by less are the same mode


@dataclass(frozen=True)
class MetricTuning:
    """Tuning of the metric in which the nearest rows have similar targets (`neighbour_metric`)."""

    nearest: int = 4  # neighbours that a row is compared with
    compared: int = 6_000  # rows that are compared, at most
    factors: tuple[float, ...] = (8.0, 3.0)  # by which the weight of a column changes
    rounds: int = 3  # of each factor
    least: float = 2e-3  # a smaller rise of the correlation counts as chance
    more_agreement: float = 0.1  # rise of the correlation from which the metric is used
    enough_agreement: float = 0.5  # correlation from which no other metric is searched
    most_columns: int = 20  # in more columns no row is near


@dataclass(frozen=True)
class LevelTuning:
    """Tuning of columns that may be levels (`levels`)."""

    fewest: int = 3  # distinct numbers of a column
    repeated: float = 2.0  # rows per number, on average
    looked_at: int = 10_000  # rows that are looked at, at most
    enough: int = 200  # repeated rows, at least
    # pairs of the same number correlate by this much more than pairs of adjacent ones
    apart: float = 0.03
    chance: float = 3.0  # and by this many standard errors
    offered: int = 3  # columns that are tried, at most


@dataclass(frozen=True)
class ScoreTuning:
    """Tuning of scores for levels (`levels`)."""

    enough: int = 1_000  # rows from which scores are tried
    known: int = 1_500  # rows given to the first model
    asked: int = 60  # rows predicted with every level in turn
    fewest: int = 3  # levels of a column
    most: int = 100
    repeated: float = 20.0  # rows per level, on average
    least_spread: float = 0.01  # a smaller spread of scores is chance, with y of variance one


@dataclass(frozen=True)
class TrialTuning:
    """Tuning of trials on the same clusters and held-out rows (`levels`)."""

    clusters: int = 6
    size: int = 300  # rows of a cluster
    iterations: int = 25
    held_out: int = 400
    near: int = 200  # rows nearest to a held-out one that it is predicted from
    most: float = 1.0  # gains of a held-out row count up to this, either way
    # the mean gain has to exceed both, and clusters must not lose more than it
    least: float = 0.01
    errors: float = 2.0  # standard errors


@dataclass(frozen=True)
class SeasonTuning:
    """Tuning of seasons and trends that are found in a series (`seasons`)."""

    # a column of numbers is a series of times where so many are distinct, and so many of their
    # steps are multiples of the median step, up to `off` of it
    fewest: int = 60
    distinct: float = 0.95
    regular: float = 0.95
    off: float = 0.15
    most_times: int = 20_000  # with more times, means of consecutive ones
    # other columns: features of each, at most, and values up to which each has an indicator
    looked_at: int = 20_000
    few_values: int = 31
    most_z: float = 5.0
    most_others: int = 60
    # periods of the calendar, and those of peaks, that the rows show so many times
    fewest_cycles: float = 2.2
    more_cycles: float = 4.0
    parts: int = 40  # the median of so many bins of the periodogram, at least 9, is its background
    chance: float = 1e-3  # of a peak in a series that has none
    peaks: int = 5
    multiples: tuple[int, ...] = (1, 2, 3, 4, 7)  # of the period of a peak
    rounded: float = 0.05  # cycles over the whole span by which a period may be rounded
    tried: int = 6  # periods, at most
    # harmonics, at most a feature per so many rows, and at most half of the steps of a period
    harmonics: tuple[int, ...] = (1, 2, 3, 4, 6, 9, 12, 18, 24, 36, 48)
    rows_per_feature: int = 8
    degree: int = 2  # of a trend, at most
    deviation: float = 1.0  # prior sd of coefficients, data scaled to sd 1
    # errors persist for so many steps times a factor each, beside noise of these ratios
    lengths: tuple[float, float] = (1.0, 2.5)
    longest: float = 3.0  # as a share of the rows
    ratios: tuple[float, ...] = (0.0, 0.03, 0.3, 3.0)
    # forecasts: origins and horizon as shares of the rows
    origins: tuple[float, ...] = (0.5, 0.6, 0.7, 0.8)
    horizon: float = 0.2
    # a term is taken where the log evidence gains by this (a trend by less: forecasts tell more
    # about it), and forecasts gain on average over blocks by this share of their RMSE and by so
    # many standard errors
    nats: float = 3.0
    trend_nats: float = 2.0
    gain: float = 0.04
    errors: float = 1.5
    subtracted: int = 50_000  # rows from which terms are estimated that learning does not see


@dataclass(frozen=True)
class SlowTuning:
    """Tuning of the slow curve beside a trend that bends (`seasons.slow`)."""

    rows: int = 400  # from end to end
    lengths: tuple[float, ...] = (0.5, 1.0)  # as shares of the span
    variances: tuple[float, float] = (0.01, 10.0)  # data scaled to variance 1
    steps: int = 8


@dataclass(frozen=True)
class LearningTuning:
    """All of them, by topic."""

    anchors: AnchorTuning = AnchorTuning()
    newton: NewtonTuning = NewtonTuning()
    families: FamilyTuning = FamilyTuning()
    choice: ChoiceTuning = ChoiceTuning()
    calibration: SizesTuning = SizesTuning()
    regions: RegionTuning = RegionTuning()
    far: FarTuning = FarTuning()
    metric: MetricTuning = MetricTuning()
    levels: LevelTuning = LevelTuning()
    scores: ScoreTuning = ScoreTuning()
    trials: TrialTuning = TrialTuning()
    seasons: SeasonTuning = SeasonTuning()
    slow: SlowTuning = SlowTuning()
    dof_sample: int = 1_000  # rows from which degrees of freedom are estimated
    longest_stretch: float = 1e4  # factor of length scales, at most, to reach a number of P_eff
    trend_rows: int = 100_000  # rows from which a trend takes centre and scale of columns


TUNING = LearningTuning()
