"""How much a member counts beside the committee: more where the committee is unsure.

    m = m_c + ω(t − m_c),   ω = σ(a + bu),   u = standardised log sd_c,   b ≥ 0

a, b and a change l of the log scale of errors minimise, over held-out rows,

    Σ w [½(ν + 1) log(1 + z²e^(−2l)/ν) + l] + penalties,   z = (y − m)/(sd_c e^(g/2))

with g and ν of the errors as learnt so far.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from ..errors.decision import Gain
from ..errors.density import log_t_density, slope, squared
from ..errors.tuning import TUNING as ERRORS
from ..numerics.records import record
from .folds import WEIGHTS, folds_by
from .tuning import TUNING

Array = np.ndarray


@record("members.weight/1")
@dataclass(frozen=True, eq=False)
class Weight:
    """ω as a function of the committee's log sd; zero far beyond that of all held-out rows."""

    a: float
    b: float
    centre: float  # of log sd
    spread: float
    low: float  # range of log sd of held-out rows
    high: float

    @classmethod
    def start(cls, log_sd: Array, weight: Array) -> Weight:
        """ω = ½ everywhere, with u standardised for these rows."""
        centre = float(np.average(log_sd, weights=weight))
        spread = float(np.sqrt(np.average((log_sd - centre) ** 2, weights=weight)))
        return cls(
            0.0, 0.0, centre, max(spread, 1e-3), float(log_sd.min()), float(log_sd.max())
        )  # fmt: skip

    def u(self, log_sd: Array) -> Array:
        return (np.clip(log_sd, self.low, self.high) - self.centre) / self.spread

    def known(self, log_sd: Array) -> Array:
        """1 up to the largest log sd of held-out rows, then falling to 0  (n,)."""
        return np.clip(1.0 - (log_sd - self.high) / TUNING.weighing.fades, 0.0, 1.0)

    def __call__(self, log_sd: Array) -> Array:
        return expit(self.a + self.b * self.u(log_sd)) * self.known(log_sd)

    def range(self) -> tuple[float, float]:
        """ω at the smallest and at the largest log sd of held-out rows."""
        low, high = self(np.array([self.low, self.high]))
        return float(low), float(high)

    def moved(self, ratio: float) -> Weight:
        """Adapt to targets that are multiplied by a ratio."""
        by = float(np.log(ratio))
        return replace(
            self, centre=self.centre + by, low=self.low + by, high=self.high + by
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Opinions:
    """Two opinions about y at held-out rows, of one output."""

    y: Array  # (n,)
    mean: Array  # m_c  (n,)
    other: Array  # t  (n,)
    log_sd: Array  # of y, by the committee  (n,)
    g: Array  # log squared scale of errors in units of sd  (n,)
    nu: float
    weight: Array  # (n,)

    def take(self, index: Array) -> Opinions:
        return Opinions(
            self.y[index], self.mean[index], self.other[index], self.log_sd[index],
            self.g[index], self.nu, self.weight[index],
        )  # fmt: skip

    def log_density(self, mean: Array, l: float = 0.0) -> Array:
        """Log densities of y − mean in units of the committee's sd  (n,)."""
        g = self.g + 2.0 * l
        z = (self.y - mean) * np.exp(-self.log_sd)
        return log_t_density(squared(z, g), g, self.nu)

    def squared_error(self, mean: Array) -> float:
        return float(np.average((self.y - mean) ** 2, weights=self.weight))


@dataclass(frozen=True, eq=False)
class Verdict:
    """Says how much held-out rows gain by a member."""

    weight: Weight
    gain: Gain  # in log density
    ratio: float  # of squared errors with the member and without
    l: float = 0.0  # log of the sharpness of probabilities
    squares: Gain = Gain()  # in squared error, per unit of twice its mean; of classes as it is

    @property
    def taken(self) -> bool:
        """Whether rows gain enough in density, or by standard errors of density and squared error
        together, one of each at least; and squared errors do not rise."""
        times = [one.mean / max(one.error, 1e-300) for one in (self.gain, self.squares)]
        both = min(times) > 1.0 and sum(times) > TUNING.weighing.together
        return (self.gain.enough or both) and self.ratio < 1.0

    @property
    def hopeful(self) -> bool:
        """Whether rows gain at all, so that more parts, which know more together, may decide."""
        return self.gain.mean > 0.0 and self.ratio < 1.0

    @property
    def unlikely(self) -> bool:
        """Whether even a standard error more would be no gain worth having."""
        return self.gain.mean + self.gain.error <= ERRORS.decision.least

    @property
    def promising(self) -> bool:
        """Whether a gain is likely, though rows may be too few to be sure."""
        return self.gain.mean > max(ERRORS.decision.least, self.gain.error) and self.ratio < 1.0


def learn_weight(at: Opinions) -> tuple[Weight, float]:
    """Learn ω and the change l of the log scale."""
    start = Weight.start(at.log_sd, at.weight)
    u, t = start.u(at.log_sd), TUNING.weighing
    penalty = np.array([t.level, t.slope, t.scale])

    def loss(theta: Array) -> tuple[float, Array]:
        a, b, l = theta
        omega = expit(a + b * u)
        g = at.g + 2.0 * l
        z = (at.y - at.mean - omega * (at.other - at.mean)) * np.exp(-at.log_sd)
        zeta = squared(z, g)
        by_g = slope(zeta, at.nu)  # ∂ log p/∂g, and ∂ log p/∂ω = −(2/z)(∂ log p/∂g + ½)∂z/∂ω
        with np.errstate(divide="ignore", invalid="ignore"):
            by_z = np.where(z == 0.0, 0.0, -2.0 * (by_g + 0.5) / z)
        by_omega = by_z * -(at.other - at.mean) * np.exp(-at.log_sd)
        logit = at.weight * by_omega * omega * (1.0 - omega)
        total = at.weight @ log_t_density(zeta, g, at.nu)
        slopes = np.array([logit.sum(), logit @ u, 2.0 * (at.weight @ by_g)])
        return (
            -float(total) + float(penalty @ theta**2), -slopes + 2.0 * penalty * theta
        )  # fmt: skip

    bounds = [(-12.0, 12.0), (0.0, 12.0), (-4.0, 4.0)]
    found = minimize(loss, [-1.0, 0.5, 0.0], jac=True, method="L-BFGS-B", bounds=bounds)
    a, b, l = (float(one) for one in found.x)
    return replace(start, a=a, b=b), l


def judge(at: Opinions, X: Array, group: Array | None = None) -> Verdict:
    """Weigh a member by held-out rows at X, each judged by what the others say.

    Folds go by the inputs, or by groups where rows came in groups: copies of a row do not vouch
    for each other.
    """
    k = TUNING.weighing.folds
    fold = folds_by(X, group, k, WEIGHTS)
    alone = replace(at, other=at.mean)
    old, mean = at.log_density(at.mean), at.mean.copy()
    new, rescaled = old.copy(), old.copy()
    for number in np.unique(fold):
        here = fold == number
        if here.all():
            continue
        weight, l = learn_weight(at.take(~here))
        own = at.take(here)
        mean[here] = own.mean + weight(own.log_sd) * (own.other - own.mean)
        new[here] = own.log_density(mean[here], l)
        rescaled[here] = own.log_density(own.mean, learn_weight(alone.take(~here))[1])
    # the committee's scale as it was, or changed as the member's is: whichever leaves less to gain
    both = (Gain.of(new, one, at.weight, group) for one in (old, rescaled))
    gain = min(both, key=lambda one: one.mean)
    before = max(at.squared_error(at.mean), 1e-300)
    halves = [-0.5 * (at.y - one) ** 2 / before for one in (mean, at.mean)]
    squares = Gain.of(halves[0], halves[1], at.weight, group)
    ratio = at.squared_error(mean) / before
    return Verdict(learn_weight(at)[0], gain, ratio, squares=squares)


def hopeless(at: Opinions) -> bool:
    """Whether a member errs so much more than the committee that it cannot help."""
    return _errs_more(at, TUNING.weighing.hopeless)


def behind(at: Opinions) -> bool:
    """Whether a member errs clearly more than the committee: it helps seldom."""
    return _errs_more(at, TUNING.weighing.behind)


def _errs_more(at: Opinions, times: float) -> bool:
    return at.squared_error(at.other) > times**2 * at.squared_error(at.mean)
