"""Tuning numbers of the pipeline: none is a hyperparameter; changing one changes answers."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class CheckingTuning:
    """Checks of a model on held-out rows."""

    held_out: int = 800  # rows to check the error bars, where y is normal
    near: int = 200  # nearest rows used there
    chunks: int = 40  # chunks around one place that a joint committee is checked with
    places: int = 5  # places whose chunks check a model that has little time
    error_rows: int = 1000  # rows that a scale of errors is learnt from, at most
    cells: int = 100  # cells whose messages check a model that also asks near rows, at most
    folds: int = 10  # folds of rows that are left out in turn for conformal intervals


@dataclass(frozen=True)
class DiskTuning:
    """Rows on disk."""

    sample: int = 20_000  # rows that stand for all where y is scaled or anchors are chosen
    many_columns: int = 10  # columns beyond which an exact search would visit most cells
    most_cells: int = 200  # cells of each segment after which such a search ends


@dataclass(frozen=True)
class ArrivingTuning:
    """Errors and checks of a stream."""

    held_out: int = 400  # rows held out of those kept when their scale is relearnt, at most
    predicted: int = 16  # rows of a call that are predicted first, where rows are kept
    grown: float = 0.1  # share by which rows have to grow before that is done again
    last: int = 500  # last rows that arriving ones are checked with: all would cost too much
    near: int = 20  # of these the nearest to each arriving one
    doubled: float = 2.0  # growth after which a way of answering is chosen again


@dataclass(frozen=True)
class FollowingTuning:
    """Anchors and hyperparameters that follow a stream."""

    sample: int = 2_000  # rows of the stream kept to relearn from, a uniform sample
    usual: float = 0.01  # share of the first rows that may be seen worse than the others
    often: float = 0.05  # share of badly seen rows that is nothing new
    many: float = 5.0  # badly seen rows beyond that share from which anchors are appended
    looked_at: int = 64  # rows of one call that are looked at
    candidates: int = 2_000  # rows of one call among which anchors are chosen
    later: float = 2.0  # growth after which hyperparameters are compared with the sample
    soon: float = 1.4  # the same where errors are of another size than expected
    wide: float = 0.6  # mean squared standardised error below which error bars are too wide
    narrow: float = 1.6  # and above which they are too narrow
    checked_first: int = 200  # rows that were checked, at least, before that counts
    worth: float = 0.01  # gain of log evidence per row that is worth relearning
    steps: int = 5  # steps of learning by which that is found out
    clusters: int = 4  # clusters of rows for these steps
    cluster: int = 400  # rows of a cluster
    least: float = 1e-6  # least share of the prior variance that an anchor has to remove


@dataclass(frozen=True)
class SweepsTuning:
    """Likelihoods that are not Gaussian."""

    most: int = 50  # sweeps, at most, where they go on until no message moves
    checked: int = 2_000  # held-out rows to check probabilities on, at most
    fewest: int = 100  # rows, at least, to hold some out of
    near: int = 100  # nearest rows that transductive models use there
    apart: int = 1_000  # rows from which those that check a model are kept from its kernel
    folds: int = 3  # of which the first is kept apart then
    typical_noise: float = 4.0  # noise that stands for a site's where anchors are selected
    open: float = 0.1  # share of the prior's variance that anchors may leave open
    first_noise: float = 0.1  # noise to start learning from, of y scaled
    far: float = 1e8  # mean square of y over its variance that costs digits
    tied: float = 0.2  # share of one value of y from which noise is checked by coverage
    clear: float = 99.0  # rows whose site is at most so many times as sure as the others about f
    few_clear: int = 20  # count there, and so many are needed
    copied: int = 100_000  # rows of a file of sites that are copied at a time


@dataclass(frozen=True)
class UsualTuning:
    """Cells by default (`usual`)."""

    memory: float = 512e6  # bytes of cells that are kept
    fewest_local: int = 100  # nearest rows from which cells can save time
    fewest_rows: int = 2_000
    times: tuple[float, ...] = (1.5, 2.5)  # rows of a cell, per nearest row; the first that will do
    share: int = 4  # of all rows, one in so many at most
    near: tuple[int, ...] = (200, 400, 600)  # rows that variances use, the first that will do
    near_in_box: int = 50
    larger: tuple[float, ...] = (1.0, 2.0, 4.0)  # rows around a centre, over the usual number
    own: int = 8  # nearest rows that the cell of a query must have, where it is asked for
    most_there: float = 0.85  # share of queries whose cell has them, at least
    cells: int = 32  # cells that show what they are worth, and rows of each that are asked
    rows: int = 3
    fewest_asked: int = 24
    # loss in log density, at most, and in RMSE as a share of it. Around rows half of the loss: rows
    # that were held out are a little nearer to the others than new ones are
    nats: float = 0.005
    nats_around: float = 0.0025
    rmse: float = 0.005
    clearly: float = 2.0  # standard errors
    powers: tuple[float, float] = (0.5, 2.0)  # bounds of the power of variances


@dataclass(frozen=True)
class MeansTuning:
    """Means that are refined by default, where held-out rows gain by it."""

    # share of the nearest rows, and held-out rows, that show whether farther rows may matter: log
    # of the variance of y with these alone over that with all nearest rows, at least
    fewer: float = 0.25
    looked_at: int = 200
    least_loss: float = 0.1
    least_gain: float = 0.01  # of log density per row, at least
    tails: float = 4.0  # degrees of freedom of errors there
    sizes: float = 4.0  # logs of their squared size, at most, either way
    # steps: the first of them leave means that err more at most rows
    fewest_steps: int = 6
    most_steps: int = 10
    group: int = 150  # rows of a group of the preconditioner
    given: int = 2  # rows that it is given, per row of the group
    # operations of a fit's half, and of a kernel value: by itself, for each column, and for one
    # operation of a dense factorisation
    operations: float = 2e9
    value: float = 0.4
    column: float = 0.02
    dense: float = 0.03


@dataclass(frozen=True)
class PipelineTuning:
    """All of them, by subject."""

    checking: CheckingTuning = field(default_factory=CheckingTuning)
    disk: DiskTuning = field(default_factory=DiskTuning)
    stream: ArrivingTuning = field(default_factory=ArrivingTuning)
    following: FollowingTuning = field(default_factory=FollowingTuning)
    sweeps: SweepsTuning = field(default_factory=SweepsTuning)
    usual: UsualTuning = field(default_factory=UsualTuning)
    refining: MeansTuning = field(default_factory=MeansTuning)
    some_rows: int = 2_000  # rows of a store that importances look at
    near_for_means: int = 100  # nearest rows that means take there, at most


TUNING = PipelineTuning()
