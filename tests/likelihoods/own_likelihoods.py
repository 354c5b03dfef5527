"""Likelihoods as a user would write them, with no more than is needed."""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, expit, gammaln, log_expit

from collegium.likelihoods import COUNTS, POSITIVE, UNIT, Observation, Scalar, Support


@dataclass(frozen=True)
class Counts(Scalar):
    """Poisson's, written by a user."""

    scale: float = 1.0

    support = COUNTS

    def log_density(self, y, f):
        from scipy.special import gammaln

        return y[..., 0] * f - rate(f) - gammaln(y[..., 0] + 1.0)

    def derivatives(self, y, f):
        return y[..., 0] - rate(f), -rate(f), -rate(f)

    def mean(self, f):
        return rate(f)

    def variance(self, f):
        return rate(f)


@dataclass(frozen=True)
class Times(Scalar):
    """Gamma times of mean e^f and shape k, written by a user."""

    k: float = 1.0

    support = POSITIVE

    def log_density(self, y, f):
        from scipy.special import gammaln

        log_x = np.log(self.k * y[..., 0]) - f
        return self.k * log_x - rate(log_x) - gammaln(self.k) - np.log(y[..., 0])

    def derivatives(self, y, f):
        x = rate(np.log(self.k * y[..., 0]) - f)
        return x - self.k, -x, x

    def mean(self, f):
        return rate(f)

    def variance(self, f):
        return rate(f) ** 2 / self.k


@dataclass(frozen=True)
class Shares(Scalar):
    """Beta(φμ, φ(1 − μ)) of mean μ = 1/(1 + e^−f)."""

    phi: float = 5.0

    support = UNIT
    low, width = 0.0, 1.0

    def log_density(self, y, f):
        u = (y[..., 0] - self.low) / self.width
        a, b = self.phi * expit(f), self.phi * expit(-f)
        constant = np.log(self.phi / (1.0 + self.phi)) + log_expit(f) + log_expit(-f)
        logs = (a - 1.0) * np.log(u) + (b - 1.0) * np.log1p(-u)
        return constant - betaln(1.0 + a, 1.0 + b) + logs - np.log(self.width)

    def derivatives(self, y, f):
        """By differences of the density, as nobody should."""
        step = 1e-2
        at = [self.log_density(y, np.clip(f, -600, 600) + k * step) for k in range(-3, 4)]
        first = [-1 / 60, 3 / 20, -3 / 4, 0, 3 / 4, -3 / 20, 1 / 60]
        second = [1 / 90, -3 / 20, 3 / 2, -49 / 18, 3 / 2, -3 / 20, 1 / 90]
        third = [1 / 8, -1, 13 / 8, 0, -13 / 8, 1, -1 / 8]
        sums = (sum(c * one for c, one in zip(each, at)) for each in (first, second, third))
        return tuple(one / step**k for k, one in enumerate(sums, 1))

    def mean(self, f):
        return self.low + self.width * expit(f)

    def variance(self, f):
        return self.width**2 * expit(f) * expit(-f) / (1.0 + self.phi)


@dataclass(frozen=True)
class Angles(Shares):
    """The same between −π and π."""

    support = Support("angles", -np.pi, np.pi)
    low, width = -np.pi, 2.0 * np.pi


@dataclass(frozen=True)
class Debts(Times):
    """Below 2, the further the lower f."""

    support = Support("debts", high=2.0)

    def log_density(self, y, f):
        return super().log_density(2.0 - y, -f)

    def derivatives(self, y, f):
        first, second, third = super().derivatives(2.0 - y, -f)
        return -first, second, -third

    def mean(self, f):
        return 2.0 - rate(-f)

    def variance(self, f):
        return rate(-f) ** 2 / self.k


@dataclass(frozen=True)
class Scores(Scalar):
    """1 + Binomial(6, 1/(1 + e^−f))."""

    support = Support("scores", 1.0, 7.0, whole=True)

    def log_density(self, y, f):
        k = y[..., 0] - 1.0
        choose = gammaln(7.0) - gammaln(k + 1.0) - gammaln(7.0 - k)
        return choose + k * log_expit(f) + (6.0 - k) * log_expit(-f)

    def derivatives(self, y, f):
        p, q = expit(f), expit(-f)
        return y[..., 0] - 1.0 - 6.0 * p, -6.0 * p * q, 6.0 * p * q * (p - q)

    def mean(self, f):
        return 1.0 + 6.0 * expit(f)

    def variance(self, f):
        return 6.0 * expit(f) * expit(-f)


@dataclass(frozen=True)
class Visits(Counts):
    """1 + Poisson counts."""

    support = Support("visits", 1.0, whole=True)

    def log_density(self, y, f):
        return super().log_density(y - 1.0, f)

    def derivatives(self, y, f):
        return super().derivatives(y - 1.0, f)

    def mean(self, f):
        return 1.0 + rate(f)


def rate(f):
    return np.exp(np.minimum(f, 300.0))


OWN = (Angles, Counts, Debts, Scores, Shares, Times, Visits)
for own in OWN:
    Observation.registry.remove(own)
