"""A slow curve beside a trend that bends: how far the future may leave it.

A bend that all rows determine would leave no doubt about the future, and the rest of a kernel,
learnt from rows near each other, does not know about slow changes. Rows from end to end bound the
size of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ...kernels import Kernel
from ...kernels.stationary.matern import Matern52
from ...messages.evidence import factorised
from ...rows.chunk import cut_rows
from ...rows.rows import Rows
from ..far import end_to_end
from ..optimise import Learnt
from ..trend import Lines
from ..tuning import TUNING
from .search import FoundSeasons

Array = np.ndarray


def with_terms(
    learnt: Learnt, lines: Lines, rows: Rows, found: FoundSeasons, engine: Any
) -> Learnt:
    """Add the trend and seasons found to the kernel learnt without them; beside a bend a slow
    curve."""
    terms = lines.kernel(rows.X)
    whole = learnt.kernel + terms
    if found.degree < 2:
        return replace(learnt, kernel=whole)

    def value(curve: Kernel, rows: Rows) -> float:
        chunks = cut_rows(rows, [np.arange(rows.w.size)])
        return factorised(whole + curve, learnt.noise, chunks, engine)[0]

    curve = slow_curve(rows, found.column, value)
    return replace(learnt, kernel=learnt.kernel + curve + terms)


def slow_curve(rows: Rows, column: int, value: Callable[[Kernel, Rows], float]) -> Kernel:
    """Average the variance of a slow curve of one column of times over a grid, weighted by the
    evidence `value` of rows from end to end; of several lengths take the likeliest.

    Variances of forecasts are proportional to it: their average is that for its mean.
    """
    t, s = rows.X[:, column], TUNING.slow
    order = np.argsort(t, kind="stable")
    some, span = rows.take(order[end_to_end(order.size, s.rows)]), float(t.max() - t.min())
    variances, found = np.geomspace(*s.variances, s.steps), []
    for share in s.lengths:

        def curve(variance: float, length: float = share * span) -> Kernel:
            return Matern52(float(variance), np.array([length]), columns=column)

        values = np.array([value(curve(variance), some) for variance in variances])
        total = float(logsumexp(values))
        found.append((total, curve(float(np.exp(values - total) @ variances))))
    return max(found, key=lambda each: each[0])[1]
