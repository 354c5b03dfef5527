"""Tuning numbers of the filter: none is a hyperparameter; changing one changes answers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FilterTuning:
    """Sizes, thresholds and limits of regression filters."""

    # memory
    squares: float = 12.0  # square matrices of all functions that are held at once
    panel_squares: float = 50.0  # as many again for the nodes of splines in one column
    largest_grid: float = 1e6  # most products of harmonics that are compared
    # bases
    reach: float = 1.0  # inputs farther from a box, in widths of it, are moved to this distance
    overlap: float = 5.0  # width of bumps in column deviations times m^(−1/d): C₀ of the paper
    linear_sd: float = 3.0  # prior deviation of linear weights, in units of y and of each column
    # densities
    covered: float = 4.0  # standard deviations of a normal density that count as covered
    beyond_sample: float = 0.25  # share of its range by which a sample covers more than itself
    fence: float = 100.0  # inputs this many interquartile ranges from the quartiles are glitches
    whole: float = 6.0  # standard deviations at which quadrature of a normal density ends
    margin: float = 0.05  # of a box on each side, relative to the range of the inputs
    largest_sample: int = 1_000  # most inputs of an empirical density
    # integrals
    nodes: int = 1_000  # nodes of a quadrature
    most_nodes: int = 3_000
    order: int = 6  # Gauss–Legendre points on a panel
    step: float = 1e-3  # of a five-point derivative with respect to θ
    misfit_nodes: int = 400  # inputs at which the misfit is averaged
    least_variance: float = 1e-11  # below this share of the largest, a(x) would be rounding alone
    # rows
    block: int = 8_192  # rows that are reduced to a triangle before they are added
    few: int = 192  # up to this many rows are added one by one
    guess_rows: int = 500  # rows for a first guess of hyperparameters
    least_noise: float = 1e-10  # least noise variance, relative to the prior variance
    memories: float = 10.0  # with forgetting, relearn after this many times its memory
    rates: tuple[float, ...] = (1.0, 0.995, 0.98)  # of forgetting="auto"
    rested: int = 200  # a rate is relearnt from its sums after it was followed for so many rows
    compared: int = 100  # rows between two comparisons of rates, each of which needs a posterior
    # errors
    checked: int = 64  # rows of a call whose errors are kept, evenly spaced
    least_rest: float = 1e-9  # least s − h of a held-out row, in units of s
    # streams that wander
    many_outside: float = 0.05  # share of rows outside the density that gives a warning
    sample: int = 2_000  # rows of a stream that are kept
    followed: int = 2_048  # rows of a call between two checks of basis and density
    look_rows: int = 100  # least number of rows between two checks of how well the basis shows f
    most_held: int = 50  # rows outside wait until there are this many …
    large_share: float = 0.05  # … or this share of a call
    grown: float = 1.25  # a new basis needs rows grown by this factor …
    moved: float = 0.2  # … and a mean moved by this many scales, or a scale by the factor e^moved
    alike: float = 1.3  # widths of bumps that differ by less than this factor stay
    ahead: float = 0.25  # share of its width by which a box grows where rows were outside
    least_direction: float = 1e-7  # smaller directions of the old features are not carried over
    misled: float = 25.0  # nor those where the old mean is this factor above what the sample shows
    most_times: float = 5.0  # most rows that one row of the sample stands for
    unseen: float = 3.0  # f is out of sight where E(f − P_M f)² exceeds this many noises …
    lost: float = 2.0  # … plus this many times its usual size
    asked: int = 50  # rows of a call at which that is checked
    many_unseen: float = 0.3  # share of rows out of sight that asks for a new basis


TUNING = FilterTuning()
