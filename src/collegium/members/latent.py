"""Members of a latent function: logs of rates by boosted trees beside those of a committee.

    f ~ N(m_c + ω(t − m_c), v_c),   ω = σ(a + bu),   u = standardised ½ log v_c

a and b maximise the predictive density of held-out rows under the likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from ..errors.decision import Gain
from ..likelihoods.base import Scalar
from ..rows.rows import Rows
from .folds import WEIGHTS, folds_of
from .tuning import TUNING
from .weighing import Verdict, Weight

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class LatentOpinions:
    """Two opinions about f at held-out rows."""

    likelihood: Scalar
    y: Array  # as the likelihood sees it, exposures included  (n, c)
    mean: Array  # m_c  (n,)
    variance: Array  # v_c  (n,)
    other: Array  # t  (n,)
    weight: Array  # (n,)

    @property
    def log_sd(self) -> Array:
        return 0.5 * np.log(np.maximum(self.variance, 1e-300))

    def take(self, index: Array) -> LatentOpinions:
        return LatentOpinions(
            self.likelihood, self.y[index], self.mean[index], self.variance[index],
            self.other[index], self.weight[index],
        )  # fmt: skip

    def mixed(self, omega: Array) -> Array:
        return self.mean + omega * (self.other - self.mean)

    def log_density(self, mean: Array) -> Array:
        return self.likelihood.log_predictive(self.y, mean, self.variance)

    def squared_error(self, mean: Array) -> float:
        """Mean squared error of E[y], per unit of exposure."""
        exposure = self.y[:, 1] if self.y.shape[1] > 1 else 1.0
        wrong = self.y[:, 0] / exposure - self.likelihood.function(mean, self.variance)[0]
        return float(np.average(wrong**2, weights=self.weight * exposure))


def learn_latent_weight(at: LatentOpinions) -> Weight:
    """Learn ω."""
    start = Weight.start(at.log_sd, at.weight)
    u, t = start.u(at.log_sd), TUNING.weighing

    def loss(theta: Array) -> float:
        a, b = theta
        found = at.log_density(at.mixed(expit(a + b * u)))
        return -float(at.weight @ found) + t.level * a**2 + t.slope * b**2

    bounds = [(-12.0, 12.0), (0.0, 12.0)]
    found = minimize(loss, [-1.0, 0.0], method="L-BFGS-B", bounds=bounds)
    a, b = (float(one) for one in found.x)
    return replace(start, a=a, b=b)


def judge_latent(at: LatentOpinions, X: Array) -> Verdict:
    """Weigh a member by held-out rows at X, each judged by what the others say."""
    fold, mean = folds_of(X, TUNING.weighing.folds, WEIGHTS), at.mean.copy()
    for number in np.unique(fold):
        here = fold == number
        if here.all():
            continue
        weight, own = learn_latent_weight(at.take(~here)), at.take(here)
        mean[here] = own.mixed(weight(own.log_sd))
    gain = Gain.of(at.log_density(mean), at.log_density(at.mean), at.weight)
    ratio = at.squared_error(mean) / max(at.squared_error(at.mean), 1e-300)
    return Verdict(learn_latent_weight(at), gain, ratio)


def rates(rows: Rows) -> Rows:
    """y per unit of exposure, each row weighed by its exposure."""
    if rows.y.shape[1] == 1:
        return rows
    y, e = rows.y.T
    return replace(rows, y=(y / e)[:, None], w=rows.w * e)
