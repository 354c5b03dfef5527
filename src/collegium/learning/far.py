"""Kernels whose parts reach across all rows: seasons, slopes and trends.

Clusters of a few hundred rows show the function nearby. How far a season or a line extends shows
only in rows from end to end: all of them, or evenly spaced ones, beside a few clusters. The
evidence of such sums has many peaks: starts are tried on few rows, and the best continue with all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..kernels.columns import Wrapped
from ..kernels.composite import Composite
from ..kernels.featured import Featured
from ..kernels.linear import Linear
from ..kernels.stationary.periodic import Periodic
from ..rows.partition import evenly_spaced
from .optimise import Learnt, Prior
from .tuning import TUNING

Array = np.ndarray


def reaches_far(kernel: Kernel) -> bool:
    """Whether a part of the kernel is a season, a slope or a trend."""
    if isinstance(kernel, Wrapped):
        return reaches_far(kernel.kernel)
    if isinstance(kernel, Composite):
        return any(map(reaches_far, kernel.parts))
    return isinstance(kernel, (Featured, Linear, Periodic))


def starts(kernel: Kernel, prior: Prior, count: int, rng: np.random.Generator) -> list[Kernel]:
    """Return the kernel as given, and random others around it."""
    theta, low, high = prior.theta(kernel), prior.low[:-1], prior.high[:-1]
    if not theta.size:
        return [kernel]
    spread = TUNING.far.spread
    others = [
        np.clip(theta + spread * rng.normal(size=theta.size), low, high) for _ in range(count - 1)
    ]
    return [kernel, *(prior.kernel(kernel, other) for other in others)]


def end_to_end(n: int, size: int) -> Array:
    """Return all of n rows, or `size` evenly spaced ones  (k,)."""
    return np.arange(n) if n <= size else evenly_spaced(n, size)


def best_of(tried: Sequence[Learnt], count: int = TUNING.far.kept) -> list[Learnt]:
    """Return at most `count` distinct ones, by evidence; of equal ones (aliases of a period) the
    first."""
    found: list[Learnt] = []
    for one in tried:
        if all(abs(one.value - other.value) > TUNING.far.same for other in found):
            found.append(one)
    return sorted(found, key=lambda learnt: -learnt.value)[:count]


def learn_far(learner: Any, kernel: Kernel, clusters: Callable[[int, int], list[Array]]) -> Learnt:
    """Try starts on few rows, then continue with all, or with rows end to end and clusters."""
    t, fit, n = TUNING.far, learner.fit_groups, learner.n
    count = max(t.starts, learner.n_starts)
    first = starts(kernel, learner.scales.prior(kernel), count, learner.rng)
    few = [end_to_end(n, t.few)] + (clusters(t.few, 1) if n > t.few else [])
    tried = [fit(one, None, few) for one in first if not learner.clock.out()] or [
        fit(kernel, None, few)
    ]
    best = best_of(tried)
    if n <= t.few or learner.clock.out():
        return fit(best[0].kernel, best[0].noise, few, final=True)
    if n <= t.whole:
        groups = [np.arange(n)]
    else:
        groups = [end_to_end(n, t.spaced), *clusters(t.cluster, t.clusters)]
    found = [fit(one.kernel, one.noise, groups, final=one is best[0]) for one in best]
    return max(found, key=lambda learnt: learnt.value)
