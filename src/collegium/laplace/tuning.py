"""Tuning numbers of this room: none is a hyperparameter; changing one changes answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModeTuning:
    """Tuning of Newton's method (`mode`)."""

    tolerance: float = 1e-18  # decrement (g − a)ᵀPΔa to stop at: 1e-9 posterior deviations
    near: float = 1e-2  # below this decrement f counts as close to the mode
    max_iter: int = 200
    max_small: int = 20  # iterations whose gain in ψ is below rounding, at most
    halvings: int = 60  # of a step, at most
    gain: float = 1e-4  # share of the decrement that a step must gain (Armijo)
    rounding: float = 1e-14  # relative rounding of ψ


@dataclass(frozen=True)
class SweepTuning:
    """Tuning of sweeps over chunks (`committee`)."""

    least_step: float = 1.0 / 16.0  # while changes grow the step is halved, down to this
    growths: int = 4  # growing changes after which the sweeps count as diverging
    diverging: float = 1e-2  # smaller changes do not count as growing
    mode_share: float = 1e-2  # the tolerance of modes is the square of this times the last change
    rounding: float = 1e-9  # change of messages, relative to their sum, that rounding can cause


@dataclass(frozen=True)
class CalibrationTuning:
    """Tuning of the scale of latent functions and of the noise (`calibration`)."""

    spread: tuple[float, float] = (1.0, 2.0)  # prior standard deviations of log a and log b
    rows: float = 3.0  # rows that the prior is worth
    largest: tuple[float, float] = (3.0, 7.0)  # bounds of |log a| and |log b|
    evaluations: int = 120  # of the loss, at most
    # lower bound of 1 − Wv: the share of the posterior precision that is not from a row's own site
    least_share: float = 1e-3
    covered: float = 0.95  # share of held-out rows that central intervals must cover
    halvings: int = 8  # of the interval that holds the noise's logarithm
    largest_log: float = 30.0  # growth of the noise's logarithm, at most


@dataclass(frozen=True)
class LatentTuning:
    """Tuning of hyperparameters of latent functions (`learning`)."""

    # tried when no kernel is given, roughest first
    families: tuple[str, ...] = ("Matern32", "Matern52", "RBF")
    margin: float = 0.002  # the roughest within this log evidence per row of the best is taken
    # the same where y has outliers: errors of another form than the likelihood's make functions
    # look smoother than they are. Chosen on six draws of a Matern32 function in five columns with
    # 10 % gross outliers; on eight others bands of f cover .90, and .83 with the margin above, at
    # the same errors of means (a squared exponential function in two columns: .985 and .975)
    robust_margin: float = 0.015
    # prior median and log standard deviation of the variance of a latent function: log rates and
    # log odds are of order one
    size: float = 4.0
    size_spread: float = 1.5
    mode_tolerance: float = 1e-10  # decrement at which Newton's method stops: see `mode`
    # log prior of a likelihood's own parameter about its given value: standard deviation, bounds
    own_spread: float = 2.0
    own_reach: float = 7.0


@dataclass(frozen=True)
class LabelTrialTuning:
    """Tuning of trials on labelled rows (`trials`)."""

    learnt_from: int = 400  # rows, at most, that kernel and noise are learnt from
    iterations: int = 15
    first_noise: float = 0.3  # of labels of variance one
    least_noise: float = 0.2
    log_factors: tuple[float, float] = (-4.0, 5.0)  # bounds of the logarithm of the factor a
    most: float = 2.0  # gains of a row in log probability count up to this, either way
    # the mean gain has to exceed all three; on all rows it is smaller than on a sample
    least: float = 0.005
    share: float = 0.05  # of the log loss
    errors: float = 2.0  # standard errors


@dataclass(frozen=True)
class StepTuning:
    """Tuning of columns of few values (`steps`)."""

    enough: int = 1_000  # rows from which steps are tried
    held_out: int = 800  # rows that forms are tried on, at most
    most_rows: int = 20_000  # rows that effects are made from, at most
    fewest: int = 3  # distinct values of a column
    most: int = 20
    most_levels: int = 100  # of words; columns with more have no effects
    repeated: float = 20.0  # rows per value, over all columns together
    penalty: float = 1.0  # in rows: of an effect that is as large as all labels differ
    unit: float = 8.0  # of numbers, for an effect of one standard deviation of a label


@dataclass(frozen=True)
class LaplaceTuning:
    """All of them, by topic."""

    modes: ModeTuning = ModeTuning()
    sweeps: SweepTuning = SweepTuning()
    calibration: CalibrationTuning = CalibrationTuning()
    learning: LatentTuning = LatentTuning()
    trials: LabelTrialTuning = LabelTrialTuning()
    steps: StepTuning = StepTuning()


TUNING = LaplaceTuning()
