"""Coverage and log density along the order of rows, for streams."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .coverage import binomial_band

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class RollingFigures:
    """Means over the last `window` rows, at some of the rows."""

    position: Array  # of the last row of each window, counted from 1  (k,)
    coverage: Array
    log_density: Array
    window: int
    level: float
    low: float  # between which coverage lies with probability 95 %, each window by itself
    high: float


def rolling_figures(
    inside: Array, log_density: Array, level: float, *, window: int | None = None, most: int = 100
) -> RollingFigures:
    """Average over windows that end at up to `most` rows, evenly spaced.

    Parameters
    ----------
    inside : bool array of shape (n,)
        In the order of the rows.
    log_density : array of shape (n,)
    level : float
    window : int, default=None
        None: a twentieth of the rows, but 50 at least.
    most : int, default=100
    """
    n = len(inside)
    if not n:
        raise ValueError("inside has no rows: give at least one")
    if window is not None and window < 1:
        raise ValueError(f"window={window!r}: give a positive whole number of rows")
    window = min(max(n // 20, 50) if window is None else window, n)
    last = np.unique(np.linspace(window, n, most).round().astype(int))
    sums = [
        np.concatenate([[0.0], np.cumsum(np.asarray(one, float))]) for one in (inside, log_density)
    ]
    covered, density = ((one[last] - one[last - window]) / window for one in sums)
    return RollingFigures(last, covered, density, window, level, *binomial_band(window, level))
