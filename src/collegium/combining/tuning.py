"""Tuning numbers of this room: none is a hyperparameter; changing one changes answers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CombiningTuning:
    """Limits of rounding, and the memory that experts may keep."""

    negligible: float = 1e-12  # directions with a smaller share of the prior's variance are dropped
    #: The same for a member with a prior of its own: where the committee's prior is wider, rounding
    #: of its covariance is multiplied by the square of the inverse share.
    own_negligible: float = 1e-8
    rounding: float = 1e-13  # of a covariance, relative to the prior variances: the least variance
    least_noise: float = 1e-13  # noise / prior variance that keeps a recursion positive definite
    moments_nugget: float = 1e-12  # added to the prior covariance that modules are added to
    flat_prior: float = 1e4  # variance, in noise variances, that stands for a flat prior
    kept_bytes: int = 2**30  # most bytes of experts' factors kept between calls; beyond: none


TUNING = CombiningTuning()
