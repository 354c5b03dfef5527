"""Tuning numbers of local experts: none is a hyperparameter; changing one changes answers.

Numbers that compiled loops read are constants of `loops` and `absorbing`.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class RVCTuning:
    """Sizes, thresholds and limits of committees of local experts."""

    squarable: float = (
        1e10  # precisions I + … with larger entries are not formed: QR finds the root
    )
    longest: float = 20.0  # most by which an extrapolation of EM moves a logarithm or coefficient
    # inputs are clipped here, in deviations of the first rows: the variance grows with the fourth
    # power of the distance, and its square stays finite
    farthest: float = 1e25
    largest_target: float = 1e60  # largest y, in standard deviations of the first rows
    # error bars
    sample: int = 400  # rows of a stream that error bars are checked by
    look_rows: int = 250  # error bars are checked after a multiple of this many rows …
    grown: float = 1.5  # … where the rows have grown by this factor
    doubt: float = 20.0  # the scale of few errors is shrunk towards one by this many rows
    # comparison of settings in one `fit`
    few: int = 200  # up to this many rows, settings are compared by cross-validation
    few_published: int = 500  # likewise as published
    folds: int = 5
    few_sweeps: int = 5  # sweeps of EM in a comparison
    few_sweeps_published: int = 12  # likewise as published
    sweeps: tuple[int, float] = (20, 1e-4)  # max_iter and tol of `fit`
    sweeps_published: tuple[int, float] = (1_000, 1e-6)  # likewise as published
    compared_rows: int = 8_192  # most rows that settings are compared on
    # selection of widths on a stream
    # first widths, .05 … .8, relative to the typical distance √(2d) of two rows
    widths: tuple[float, ...] = tuple(0.05 * 2.0 ** (0.5 * i) for i in range(9))
    units: tuple[float, ...] = (0.01, 0.03, 0.1)  # of experts as published, relative to the same
    largeness: tuple[float, ...] = (0.03, 0.1, 0.3, 1.0, 3.0)  # b of experts as published
    narrowest: float = 0.01  # least width, relative to the same
    narrower: int = 3  # committees narrower than the best that are kept
    rounds: int = 5  # rounds after which only the best is left
    least_round: int = 25  # least number of rows in the first round
    enough: int = 50  # rows of a round that count before its own best answers
    rates: tuple[float, ...] = (1.0, 0.5)  # of forgetting="auto"
    # priors
    steep: float = 0.1  # least prior variance of the change across a unit, of that of the level
    firm: float = 0.2  # a0 and c0: the prior of noise and misfit counts for twice as many rows
    least_about: float = 1e-6  # least variance about a line, y having variance one


TUNING = RVCTuning()
