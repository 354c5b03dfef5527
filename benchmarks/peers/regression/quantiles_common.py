"""What methods that predict quantiles have in common.

The mean is the integral of the quantiles. The spread, half of the central 68 %, is used for the
Student t about the mean alone, since there is no density.
"""

import numpy as np
from scipy.special import ndtr

from benchmarks.harness.forecast import Forecast
from benchmarks.harness.quantiles import LEVELS, NODES, WEIGHTS, interpolated

#: Levels of the quantiles: those of the pinball loss, and the ends of the 95 % interval.
ASKED = np.concatenate([[0.025], LEVELS, [0.975]])
#: At ∓1 a normal leaves so much below.
ONE = np.array([ndtr(-1.0), ndtr(1.0)])
#: The smallest spread, as a share of the mean one: quantiles of rows may coincide.
LEAST = 0.01


class QuantileModel:
    """Means, spreads and forecasts from `quantiles(Xs)`, (n, ASKED.size)."""

    def predict(self, Xs):
        return moments(self.quantiles(Xs))

    def forecast(self, Xs, y, answer):
        return Forecast.of_quantiles(y, answer[0], ASKED, self.quantiles(Xs))


def moments(Q):
    """Mean and spread of each row."""
    lower, upper = interpolated(ASKED, Q, ONE).T
    spread = 0.5 * (upper - lower)
    return interpolated(ASKED, Q, NODES) @ WEIGHTS, np.maximum(spread, LEAST * spread.mean())
