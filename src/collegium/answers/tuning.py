"""Tuning numbers of this room: none is a hyperparameter; changing one changes answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PredictorTuning:
    """Tuning of batches of queries (`predictors`)."""

    batch: int = 1024  # queries of one batch where all queries share a factor
    batch_bytes: int = 256 * 2**20  # for the design of the neighbours of one batch, at most
    # for the design of all rows, kept between calls; if it is larger, each call computes it
    design_bytes: int = 256 * 2**20
    held_out: int = 256  # held-out rows predicted at a time


@dataclass(frozen=True)
class NeighbourTuning:
    """Tuning of the local correction (`local`)."""

    at_once: int = 2**17  # kernel values computed before the systems they belong to are solved
    covariances: int = 2_000_000  # kernel values of one block of a joint covariance
    # from so many rows on single precision saves half of the time
    many_rows: int = 256
    # and is accurate enough where the noise of every row is at least this share of the prior
    # variance: given anchors that explain nearly all of it, and a kernel that fits badly, a mean
    # still moves by less than a third of its deviation (by eight deviations at 1e-5)
    enough_noise: float = 3e-4


@dataclass(frozen=True)
class CellTuning:
    """Tuning of `cells`."""

    at_once: int = 16  # cells that a worker answers for at a time
    queries: int = 512  # queries from which a worker gets fewer cells
    named: int = 16_384  # queries whose cells are found at a time
    held_out: int = 4  # held-out rows of one cell
    around: int = 1000  # nearest rows to a centre among which they are searched
    size: int = 40  # rows around one centre
    # rows nearest to each row in the cell that come before those nearest to its centre; rows in
    # the cell that count; candidates per row of a cell; nearest centres that a cell may border on
    shared: int = 16
    members: int = 64
    candidates: int = 2
    borders: int = 64
    scanned: int = 64  # up to as many rows in all, per row searched for, all are looked at
    # single precision where the noise is at least this share of the prior variance
    enough_noise: float = 3e-4
    few_coordinates: int = 3  # up to as many coordinates cells are boxes
    # a box reaches from its centre at most so far, as a share of the depth of the rows that
    # variances use: from the nearest of them to the last. Far from all rows, as in a gap, the
    # depth is small
    reach: float = 0.75
    levels: int = 40  # halvings of the first box, at most
    far: float = 2.0**20  # queries farther away, in sides of the first box, count as this far
    remembered: int = 100_000  # boxes whose depth is remembered


@dataclass(frozen=True)
class RefiningTuning:
    """Tuning of refined means (`conjugate_gradients`, `preconditioner`)."""

    side: int = 512  # rows and columns of a block of kernel values: it stays in a core's cache
    # the residual is recomputed after so many steps, in double and in single precision
    renew: int = 50
    renew_coarse: int = 12
    # or, in single precision, once it seems to have fallen to this share of the last recomputed
    drop: float = 0.01
    worse: float = 2.0  # recomputed over updated residual above which single precision ends
    rounding: float = 1e-10  # relative rise of the energy that rounding can cause
    given: int = 3  # rows N that a group is conditioned on, per row of the group
    group: float = 2.5  # rows of a group, over the root of the number of rows
    largest: int = 2**30  # bytes for T and L of all groups, at most
    # error of residuals by rounding, in standard deviations of the noise, that is let be, and the
    # number of rows that show it; relative size of residuals after which no step is worth taking
    rounded: float = 0.05
    looked_at: int = 256
    close: float = 1e-3
    hopeless: float = 1.0  # relative size of residuals after two steps, above which they end
    width: int = 2048  # rows whose distances from a group are computed at a time


@dataclass(frozen=True)
class OutsideTuning:
    """Queries that are extrapolations."""

    share: float = 0.5  # of the prior variance of f, above which little is known
    margin: float = 0.01  # by which ranges of columns are enlarged, as a share of them
    looked_at: int = 64  # queries of a call that are looked at before a warning, evenly spaced
    fewest: int = 10  # queries of a call that may be warned of


@dataclass(frozen=True)
class AnswersTuning:
    """All of them, by topic."""

    predictors: PredictorTuning = PredictorTuning()
    neighbours: NeighbourTuning = NeighbourTuning()
    cells: CellTuning = CellTuning()
    refining: RefiningTuning = RefiningTuning()
    outside: OutsideTuning = OutsideTuning()


TUNING = AnswersTuning()
