"""Kernels whose parts reach across all rows: seasons, slopes and trends.

Clusters of some hundred rows show what is near. How far a season or a line holds only rows from
end to end can show: all of them, or some that are evenly spaced, beside a few clusters. The
evidence of such sums has many peaks; starts are tried on few rows, the best go on with all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..kernels.columns import Wrapped
from ..kernels.composite import Composite
from ..kernels.linear import Linear
from ..kernels.stationary.periodic import Periodic
from ..kernels.trend import Trend
from ..rows.partition import evenly_spaced
from .optimise import Learnt, Prior

Array = np.ndarray
#: Up to so many rows are one chunk; of more so many stand for all.
WHOLE, SPACED = 2_500, 1_000
#: Rows of a cluster, and clusters, beside those.
CLUSTER, CLUSTERS = 400, 10
#: Starts are tried on so many rows end to end, and on a cluster of as many; starts, their spread
#: (in logs), and how many of them go on.
FEW, STARTS, SPREAD, KEPT = 350, 8, 1.0, 2
#: Starts whose log evidence per row differs by less have found the same.
SAME = 1e-3


def reaches_far(kernel: Kernel) -> bool:
    """Whether a part of the kernel is a season, a slope or a trend."""
    if isinstance(kernel, Wrapped):
        return reaches_far(kernel.kernel)
    if isinstance(kernel, Composite):
        return any(map(reaches_far, kernel.parts))
    return isinstance(kernel, (Linear, Periodic, Trend))


def starts(kernel: Kernel, prior: Prior, count: int, rng: np.random.Generator) -> list[Kernel]:
    """The kernel as given, and others about it."""
    theta, low, high = prior.theta(kernel), prior.low[:-1], prior.high[:-1]
    if not theta.size:
        return [kernel]
    others = [
        np.clip(theta + SPREAD * rng.normal(size=theta.size), low, high) for _ in range(count - 1)
    ]
    return [kernel, *(prior.kernel(kernel, other) for other in others)]


def end_to_end(n: int, size: int) -> Array:
    """All of n rows, or `size` evenly spaced ones  (k,)."""
    return np.arange(n) if n <= size else evenly_spaced(n, size)


def best_of(tried: Sequence[Learnt], count: int = KEPT) -> list[Learnt]:
    """At most `count` of those with most evidence that are not the same, of which the first is
    kept: a period has aliases."""
    found: list[Learnt] = []
    for one in tried:
        if all(abs(one.value - other.value) > SAME for other in found):
            found.append(one)
    return sorted(found, key=lambda learnt: -learnt.value)[:count]


def learn_far(learner: Any, kernel: Kernel, clusters: Callable[[int, int], list[Array]]) -> Learnt:
    """Try starts on few rows, then go on with all, or with rows end to end and clusters."""
    fit, n = learner.fit_groups, learner.n
    first = starts(kernel, learner.scales.prior(kernel), max(STARTS, learner.n_starts), learner.rng)
    few = [end_to_end(n, FEW)] + (clusters(FEW, 1) if n > FEW else [])
    tried = [fit(one, None, few) for one in first if not learner.clock.out()] or [
        fit(kernel, None, few)
    ]
    best = best_of(tried)
    if n <= FEW or learner.clock.out():
        return fit(best[0].kernel, best[0].noise, few, final=True)
    groups = [np.arange(n)] if n <= WHOLE else [end_to_end(n, SPACED), *clusters(CLUSTER, CLUSTERS)]
    found = [fit(one.kernel, one.noise, groups, final=one is best[0]) for one in best]
    return max(found, key=lambda learnt: learnt.value)
