"""Tuning numbers of this room: none is a hyperparameter; changing one changes answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TransformTuning:
    """Sizes and thresholds of choosing and making transforms."""

    sample: int = 1_600  # rows that candidates are tried on, at most
    fewest: int = 100  # rows from which candidates are tried
    skewed_target: float = 0.5  # |skewness| of y from which transforms are tried
    lopsided: float = 0.1  # (q₉₅ + q₀₅ − 2q₅₀)/(q₉₅ − q₀₅) of y from which they are tried
    skewed_input: float = 3.0  # |skewness| of a column from which scores are tried
    distinct: int = 30  # columns with fewer distinct values stay as they are
    atom: float = 0.05  # largest share of rows with one value of y: its density is not known
    atom_of_values: float = 0.3  # the same where y is discrete: cells have a probability
    most: float = 2.0  # gains of a row in log density count up to this, either way
    # the mean gain has to exceed both
    least: float = 0.02
    errors: float = 2.0  # standard errors
    # the mean squared error has to be below this share of that without the transform: with all rows
    # it can be a tenth larger than on a sample
    smaller: float = 0.95
    clear: float = 0.12  # from this mean gain on, the error only has to be no larger
    # the logarithm of y may have a larger mean squared error by one standard error of
    # the difference, and by no more than this share
    worse: float = 0.02
    # where the logarithm of y is less skewed than y by this factor, and has at least this standard
    # deviation, the gains in log density and squared error together have to exceed so many standard
    # errors of their own
    straighter: float = 0.5
    spread: float = 0.1
    together: float = 1.0
    chunk: int = 400  # rows of a chunk that hyperparameters are learnt from
    iterations: int = 30
    knots: int = 200  # of normal scores, at most
    knot_rows: int = 50  # rows per knot, so that slopes are known to a few per cent
    end: float = 0.1  # share of rows at an end whose mean slope continues outside
    powers: tuple[float, float] = (0.0, 2.0)  # range of λ: T has the whole line as its range there
    power_spread: float = 1.0  # prior standard deviation of λ around one


TUNING = TransformTuning()
