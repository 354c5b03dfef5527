"""Periodic functions; periods in words, for columns of dates, which are in seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...numerics.linalg import mirror
from ..leaf import Leaf
from .leaves import exp_negative, leaf, load_row, row_length, summing_leaf

Array = np.ndarray


class Waves(NamedTuple):
    """sin and cos of πx/period, from which sin(a − b) follows without a sine for each entry."""

    S: Array  # of X  (n, d)
    C: Array
    ST: Array  # of Z  (d, m)
    CT: Array


@leaf
def _value(waves, variance, length, lower, out):
    S, C, ST, CT = waves.S, waves.C, waves.ST, waves.CT
    D = np.empty(ST.shape[1])
    for i in range(S.shape[0]):
        m = row_length(i, ST.shape[1], lower)
        for j in range(m):
            D[j] = 0.0
        for k in range(S.shape[1]):
            s, c, ell = S[i, k], C[i, k], length[k]
            for j in range(m):
                t = (s * CT[k, j] - c * ST[k, j]) / ell  # sin(a − b)/ℓ
                D[j] += t * t
        row = out[i]
        for j in range(m):
            row[j] = variance * exp_negative(-2.0 * D[j])


@summing_leaf
def _vjp(X, ZT, waves, variance, length, period, lower, K_bar, length_bar, period_bar):
    S, C, ST, CT = waves.S, waves.C, waves.ST, waves.CT
    D, B = np.empty(ST.shape[1]), np.empty(ST.shape[1])
    variance_bar = 0.0
    for i in range(S.shape[0]):
        m = row_length(i, ST.shape[1], lower)
        load_row(K_bar, i, m, lower, B)
        for j in range(m):
            D[j] = 0.0
        for k in range(S.shape[1]):
            s, c, ell = S[i, k], C[i, k], length[k]
            for j in range(m):
                t = (s * CT[k, j] - c * ST[k, j]) / ell
                D[j] += t * t
        for j in range(m):
            B[j] *= variance * exp_negative(-2.0 * D[j])
            variance_bar += B[j]
        for k in range(S.shape[1]):
            s, c, x = S[i, k], C[i, k], X[i, k]
            own_length, own_period = 0.0, 0.0
            for j in range(m):
                sine = s * CT[k, j] - c * ST[k, j]
                cosine = c * CT[k, j] + s * ST[k, j]
                own_length += B[j] * sine * sine
                own_period += B[j] * sine * cosine * (x - ZT[k, j])
            length_bar[k] += 4.0 * own_length / length[k] ** 2
            period_bar[k] += 4.0 * math.pi * own_period / (period[k] * length[k] ** 2)
    return variance_bar


@dataclass(frozen=True, eq=False, repr=False)
class Periodic(Leaf):
    """variance · exp(−2 Σₖ sin²(πΔₖ/periodₖ)/ℓₖ²); ℓ has no unit, the period that of its column.

    The sum over columns keeps it positive definite in any dimension; scikit-learn's
    `ExpSineSquared`, a function of the Euclidean distance, is so in one dimension only.

    The period is not learnt by default: a day is a day, and the evidence has a peak at every
    multiple of it. `fixed=()` learns it too, starting from the given value. Columns of dates are in
    seconds, and so are periods in words: "1 day", "12 hours", "1 week", "1 year" (365.2425 days).

    Examples
    --------
    >>> from collegium.kernels import Periodic
    >>> Periodic(period=365.25, columns="day")
    Periodic(variance=1, length_scale=1, period=365.2, columns='day')
    >>> Periodic(columns="date", period="1 day").kernel.period
    86400.0
    """

    kinds = {"variance": "variance", "length_scale": "shape", "period": "length"}
    sklearn_twins = {"ExpSineSquared": {"length_scale": "length_scale", "period": "periodicity"}}

    variance: float = 1.0
    length_scale: float | Array = 1.0
    period: float | str | Array = 1.0
    fixed: tuple[str, ...] = field(default=("period",), kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "period", in_seconds(self.period))
        super().__post_init__()

    def for_width(self, d: int):
        if d > 1 and np.ndim(self.period) == 0:
            return self  # all columns share one period, unless they are given one by one
        return super().for_width(d)

    def _waves(self, X: Array) -> tuple[Array, Array]:
        angle = np.pi * np.ascontiguousarray(np.fmod(X, self.period) / self.period)
        return np.sin(angle), np.cos(angle)

    def _arguments(self, X: Array, Z: Array | None):
        S, C = self._waves(X)
        ST, CT = (S, C) if Z is None else self._waves(Z)
        length = np.broadcast_to(self.length_scale, (X.shape[1],)).copy()
        ST, CT = np.ascontiguousarray(ST.T), np.ascontiguousarray(CT.T)
        return Waves(S, C, ST, CT), self.variance, length

    def value(self, X: Array, Z: Array | None = None) -> Array:
        K = np.empty((X.shape[0], X.shape[0] if Z is None else Z.shape[0]))
        _value(*self._arguments(X, Z), Z is None, K)
        return mirror(K) if Z is None else K

    def reach(self, gaps: Array) -> Array:
        return np.full(gaps.shape[0], self.variance)

    def vjp(self, X: Array, Z: Array | None, K_bar: Array) -> Array:
        length_bar, period_bar = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        period = np.broadcast_to(self.period, (X.shape[1],)).copy()
        rows, columns = np.ascontiguousarray(X), np.ascontiguousarray((X if Z is None else Z).T)
        arguments = (rows, columns, *self._arguments(X, Z), period, Z is None, K_bar)
        variance_bar = _vjp(*arguments, length_bar, period_bar)
        return self.gradient(variance=variance_bar, length_scale=length_bar, period=period_bar)


#: Seconds per unit; a year has 365.2425 days, a month a twelfth of it.
DAY = 86_400.0
YEAR = 365.2425 * DAY
UNITS = {
    "second": 1.0, "minute": 60.0, "hour": 3_600.0, "day": DAY, "week": 7.0 * DAY,
    "month": YEAR / 12.0, "year": YEAR,
}  # fmt: skip


def in_seconds(period: Any, name: str = "Periodic") -> Any:
    """Convert "12 hours", "1 day" or "year", or a list of them, to seconds; leave numbers alone.

    `name`: the kernel that errors are about.
    """
    if isinstance(period, str):
        return _seconds(period, name)
    if isinstance(period, (list, tuple)) and any(isinstance(one, str) for one in period):
        return np.array([in_seconds(one, name) for one in period], dtype=float)
    return period


def _seconds(text: str, name: str) -> float:
    words = text.split()
    count, unit = (words[0], words[1]) if len(words) == 2 else ("1", words[0] if words else "")
    unit = unit.lower()
    unit = unit if unit in UNITS else unit.removesuffix("s")
    try:
        number = float(count)
    except ValueError:
        number = np.nan
    if len(words) > 2 or unit not in UNITS or not (np.isfinite(number) and number > 0.0):
        raise ValueError(
            f"period of {name}: {text!r}; give a number and a unit of time, such as '1 day' or "
            f"'12 hours' ({', '.join(UNITS)}), or a number in the units of the column"
        )
    return number * UNITS[unit]
