"""Combine experts query by query, from means and variances alone.

An expert's mean and variance s² at a query become a `Vote`; votes add up, and each rule reads
mean and variance from the sum. With s₀² the prior variance (the communication set's for grbcm):

    poe         Σ 1/s²                         Hinton (2002): the prior counts M times
    gpoe        Σ β/s², β = 1/M                Cao & Fleet (2014), Deisenroth & Ng (2015)
    bcm         1/s₀² + Σ (1/s² − 1/s₀²)       Tresp (2000), one query at a time
    rbcm        1/s₀² + Σ β(1/s² − 1/s₀²)      Deisenroth & Ng (2015), β = ½ log(s₀²/s²)
    grbcm       1/s₀² + Σ β(1/s² − 1/s₀²)      Liu et al. (2018), β = 1 for the first expert
    barycenter  s = Σ βs / Σ β                 Cohen et al. (2020), β = ½ log(s₀²/s²)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
#: A variance below this share of the prior's is rounding: it counts as this share.
LEAST = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Vote:
    """Sums over experts; their meaning depends on the rule."""

    precision: Array  # Σ of precisions, or of deviations  (q,)
    shift: Array  # Σ of precisions times means, or of means  (q, p)
    weight: Array  # Σ β  (q,)

    @classmethod
    def zero(cls, q: int, p: int) -> Vote:
        return cls(np.zeros(q), np.zeros((q, p)), np.zeros(q))

    def __add__(self, other: Vote) -> Vote:
        return Vote(
            self.precision + other.precision, self.shift + other.shift, self.weight + other.weight
        )


@dataclass(frozen=True)
class VotingRule:
    """Turn expert i into a vote, and the sum of M votes into mean and variance."""

    # i, mean (q, p), s² (q,); prior mean and s₀² of the expert itself
    vote: Callable[[int, Array, Array, Array | float, Array], Vote]
    read: Callable[[int, Vote, Array], tuple[Array, Array]]  # M, Σ, s₀² -> mean, variance


def entropy_gain(i: int, variance: Array, prior: Array) -> Array:
    """½ log(s₀²/s²): entropy of the prior minus that of the expert."""
    return 0.5 * np.log(prior / variance)


def sure(i: int, variance: Array, prior: Array) -> Array:
    return np.ones_like(variance)


def first_sure(i: int, variance: Array, prior: Array) -> Array:
    return sure(i, variance, prior) if i == 0 else entropy_gain(i, variance, prior)


def _beyond_the_prior(beta_of: Callable[[int, Array, Array], Array]) -> VotingRule:
    """1/s₀² + Σ β(1/s² − 1/s₀²): no term is negative, so no variance can be."""

    def vote(i: int, mean: Array, variance: Array, start: Array | float, prior: Array) -> Vote:
        beta = beta_of(i, variance, prior)
        excess = 1.0 / variance - 1.0 / prior
        shift = mean / variance[:, None] - start / prior[:, None]
        return Vote(beta * excess, beta[:, None] * shift, beta)

    def read(experts: int, total: Vote, prior: Array) -> tuple[Array, Array]:
        variance = 1.0 / (1.0 / prior + total.precision)
        return variance[:, None] * total.shift, variance

    return VotingRule(vote, read)


def _product(share: Callable[[int], float]) -> VotingRule:
    """Σ β/s², β the same for every expert."""

    def vote(i: int, mean: Array, variance: Array, start: Array | float, prior: Array) -> Vote:
        return Vote(1.0 / variance, mean / variance[:, None], np.ones_like(variance))

    def read(experts: int, total: Vote, prior: Array) -> tuple[Array, Array]:
        return total.shift / total.precision[:, None], 1.0 / (share(experts) * total.precision)

    return VotingRule(vote, read)


def _average() -> VotingRule:
    """Average means and deviations with weights β; equally where all experts are at the prior."""

    def vote(i: int, mean: Array, variance: Array, start: Array | float, prior: Array) -> Vote:
        beta = np.maximum(entropy_gain(i, variance, prior), 1e-12)
        return Vote(beta * np.sqrt(variance), beta[:, None] * mean, beta)

    def read(experts: int, total: Vote, prior: Array) -> tuple[Array, Array]:
        return total.shift / total.weight[:, None], (total.precision / total.weight) ** 2

    return VotingRule(vote, read)


RULES: dict[str, VotingRule] = {
    "poe": _product(lambda experts: 1.0),
    "gpoe": _product(lambda experts: 1.0 / experts),
    "bcm": _beyond_the_prior(sure),
    "rbcm": _beyond_the_prior(entropy_gain),
    "grbcm": _beyond_the_prior(first_sure),
    "barycenter": _average(),
}


def within(variance: Array, prior: Array) -> Array:
    """Clip s² between rounding and s₀²: no expert has a larger variance than the prior."""
    return np.clip(variance, LEAST * prior, prior)


def positive(prior: Array) -> Array:
    """Prior variances that can be divided by (a linear kernel has none at the origin)."""
    return np.maximum(prior, 1e-270)


def combine(
    rule: str,
    means: Iterable[Array],
    variances: Iterable[Array],
    prior: Array,
    *,
    own_means: Array | float = 0.0,
    own_priors: Array | None = None,
) -> tuple[Array, Array]:
    """Combine experts' means and variances at q queries by a rule; the prior is N(0, `prior`).

    Parameters
    ----------
    rule : {"poe", "gpoe", "bcm", "rbcm", "grbcm", "barycenter"}
        For "grbcm" the first expert is the communication set alone, the others are trained on
        their own rows and that set.
    means, variances : arrays of shape (M, q)
        The function less its prior mean, without noise.
    prior : array of shape (q,)
        Prior variance.
    own_means, own_priors : arrays of shape (M, q), default=None
        Priors of the experts, where they differ: prior means (less that of the
        committee) and variances. Not for "grbcm".

    Returns
    -------
    mean, variance : arrays of shape (q,)

    Examples
    --------
    >>> from collegium.combining import combine
    >>> mean, variance = combine("rbcm", [[1.0], [0.2]], [[0.1], [0.9]], [1.0])
    >>> mean.round(3), variance.round(3)
    (array([1.014]), array([0.088]))
    """
    m, s = _checked(rule, means, variances, prior)
    queries = m.shape[1]
    base = positive(np.broadcast_to(np.asarray(prior, dtype=float), (queries,)))
    base_mean = np.zeros(queries)
    if rule == "grbcm":
        base_mean, base, m, s = m[0], within(s[0], base), m[1:], s[1:]
    own = np.broadcast_to(base if own_priors is None else positive(np.asarray(own_priors)), m.shape)
    start = np.broadcast_to(np.asarray(own_means, dtype=float), m.shape)
    total = Vote.zero(queries, 1)
    for i in range(len(m)):
        variance = within(s[i], own[i])
        mean = (m[i] - base_mean)[:, None]
        total += RULES[rule].vote(i, mean, variance, start[i][:, None], own[i])
    mean, variance = RULES[rule].read(len(m), total, base)
    return base_mean + mean[:, 0], variance


def _checked(
    rule: str, means: Iterable[Array], variances: Iterable[Array], prior: Array
) -> tuple[Array, Array]:
    """Means and variances (M, q) as arrays; raise where they do not fit a rule and its prior."""
    if rule not in RULES:
        raise ValueError(f"rule={rule!r}: give one of {sorted(RULES)}")
    try:
        m, s = (np.array(values, dtype=float) for values in (means, variances))
    except ValueError as error:
        raise ValueError("means and variances must be arrays of shape (M, q)") from error
    experts, queries = m.shape if m.ndim == 2 else (0, 0)
    least = 2 if rule == "grbcm" else 1
    if experts < least or s.shape != m.shape or np.shape(prior) not in ((), (queries,)):
        raise ValueError(
            f"means {m.shape}, variances {s.shape} and prior {np.shape(prior)} must have the "
            f"shapes (M, q), (M, q) and (q,) with at least {least} experts"
        )
    if not (np.isfinite(m).all() and np.isfinite(s).all() and (s >= 0).all()):
        raise ValueError("means must be finite, variances finite and not negative")
    if not (np.isfinite(prior).all() and (np.asarray(prior) >= 0).all()):
        raise ValueError("prior must be finite and not negative: the prior variances")
    return m, s
