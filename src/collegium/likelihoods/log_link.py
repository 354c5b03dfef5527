"""Base of likelihoods whose mean is a rate e^f, times an exposure."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..rows.scaling import Scaling
from .base import Scalar
from .integrals import lognormal
from .targets.units import Units, exposed


@dataclass(frozen=True)
class LogLink(Scalar):
    """E[y | f] = e·e^f. A second column of y is the exposure e > 0, a known factor of the mean;
    without one it is 1.

    Moments are those of exposure one; add log e to m for others.
    """

    takes_exposure = True
    called: ClassVar[str] = "numbers"  # what y holds
    least_total: ClassVar[float] = 0.0  # stands for Σy = 0 in `units`

    def check(self, y):
        super().check(y)
        if y.shape[1] > 2 or (y[:, 1:] <= 0).any():
            raise ValueError(
                f"y of {type(self).__name__} has {self.called} and, in a second column, exposures "
                "> 0"
            )

    def mean(self, f):
        return lognormal.rate(f)

    def function(self, m, v):
        """Mean and variance of the rate, which is log-normal."""
        return lognormal.moments(m, v)

    def covariance(self, m, v, C):
        return lognormal.rate_covariance(m, v, C)

    def units(self, y, w):
        """f relative to log(Σwy/Σwe)."""
        share = w / w.max()
        total, exposure = (share[:, None] * y).sum(axis=0)
        shift = float(np.log(total or self.least_total / w.max()) - np.log(exposure))
        return Units(Scaling.none(), shift, exposed=exposed(y))
