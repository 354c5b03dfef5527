"""Losses of quantiles: the pinball loss, and the CRPS as its integral over all levels.

pinball_p(y, q) = max(p(y − q), (p − 1)(y − q)),   CRPS = 2 ∫₀¹ pinball_p(y, q(p)) dp.
"""

from __future__ import annotations

import numpy as np

from benchmarks.harness.data import Array
from collegium.metrics import PROBABILITIES, SHARES

#: Levels of the mean pinball loss that is reported.
LEVELS = np.arange(1, 20) / 20
#: ∫₀¹ f(p) dp = Σₖ WEIGHTSₖ f(NODESₖ), exact for constants.
NODES, WEIGHTS = PROBABILITIES, SHARES / SHARES.sum()


def pinball(y: Array, Q: Array, levels: Array) -> Array:
    """Pinball losses (n, k) of quantiles Q (n, k)."""
    above = y[:, None] - Q
    return np.maximum(levels * above, (levels - 1.0) * above)


def mean_pinball(y: Array, Q: Array) -> Array:
    """Average the loss of quantiles Q at LEVELS: (n,)."""
    return pinball(y, Q, LEVELS).mean(axis=1)


def crps(y: Array, Q: Array) -> Array:
    """CRPS (n,) of distributions with quantiles Q (n, k) at NODES."""
    return 2.0 * pinball(y, Q, NODES) @ WEIGHTS


def interpolated(levels: Array, Q: Array, at: Array) -> Array:
    """Quantiles at other levels: linear between those known, constant beyond the outermost."""
    at = np.clip(at, levels[0], levels[-1])
    right = np.clip(np.searchsorted(levels, at), 1, levels.size - 1)
    share = (at - levels[right - 1]) / (levels[right] - levels[right - 1])
    return (1.0 - share) * Q[:, right - 1] + share * Q[:, right]
