"""Periods to try: those of the calendar for dates, peaks of the periodogram for numbers."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import median_filter
from scipy.optimize import minimize_scalar

from ...kernels.stationary.periodic import UNITS
from ..tuning import TUNING
from .series import Series

Array = np.ndarray
#: Seasons of dates, by name.
CALENDAR = ("day", "week", "year")


def periods_of(series: Series, *, dates: bool) -> list[float]:
    """List periods that the series may have: it has to show each several times."""
    if dates:
        s = TUNING.seasons
        named = [UNITS[name] for name in CALENDAR]
        return [p for p in named if 2.0 * series.step <= p <= series.span / s.fewest_cycles]
    return spectral_periods(series)


def spectral_periods(series: Series) -> list[float]:
    """Find peaks of the periodogram of the steps of y, and small multiples of their periods.

    Steps are nearly white where y wanders. A peak is compared with the median around it: by chance
    the ratio to the mean of an exponential distribution exceeds log(bins/chance) once in 1/chance
    series. A season that is not a sine has more peaks, of which the highest may not be that of its
    period: multiples are tried too.
    """
    s = TUNING.seasons
    grid, Y = evenly_filled(series)
    dY = np.diff(Y, axis=0)
    power = (np.abs(np.fft.rfft(dY - dY.mean(axis=0), axis=0)) ** 2).sum(axis=1)[1:]
    power = power / max(float(power.max(initial=0.0)), 1e-300)
    bins = power.size
    lowest = int(np.ceil(s.more_cycles)) - 1  # bin k has k + 1 cycles
    if bins <= lowest + 2:
        return []
    usual = median_filter(power, size=2 * max(4, bins // s.parts) + 1, mode="nearest")
    ratio = power / np.maximum(usual / np.log(2.0), 1e-12)
    peaks = [
        k for k in range(lowest, bins - 1)
        if ratio[k] > np.log(bins / s.chance) and power[k] == power[max(k - 1, 0) : k + 2].max()
    ]  # fmt: skip
    peaks = sorted(peaks, key=lambda k: -ratio[k])[: s.peaks]
    step = float(grid[1] - grid[0])
    refined = [refined_period(dY, step, k + 1) for k in peaks]
    return _apart([m * p for m in s.multiples for p in refined], series)


def evenly_filled(series: Series) -> tuple[Array, Array]:
    """Interpolate the series on even times."""
    count = int(np.rint(series.span / series.step)) + 1
    grid = np.linspace(series.t[0], series.t[-1], min(count, 2 * series.n))
    return grid, np.stack([np.interp(grid, series.t, y) for y in series.y.T], axis=1)


def refined_period(Y: Array, step: float, cycles: int) -> float:
    """Maximise the periodogram between the neighbours of a bin."""
    n = Y.shape[0]
    at, Y = np.arange(n) / n, Y - Y.mean(axis=0)

    def negative(f: float) -> float:
        return -float((np.abs(np.exp(-2j * np.pi * f * at) @ Y) ** 2).sum())

    f = minimize_scalar(negative, bounds=(cycles - 0.9, cycles + 0.9), method="bounded").x
    return n * step / float(f)


def _apart(periods: list[float], series: Series) -> list[float]:
    """Round periods as far as the span allows, and leave out those that it cannot tell apart."""
    s, found = TUNING.seasons, list[float]()
    for period in periods:
        if not 2.0 * series.step <= period <= series.span / s.more_cycles:
            continue
        unsure = 2.0 * s.rounded * period**2 / series.span  # periods that cannot be told apart
        steps = (series.step,) if series.step > 4.0 * unsure else ()  # not a multiple by chance
        for unit in (*steps, 1.0, series.step) if series.step > 1.0 else (1.0, series.step):
            near = max(np.rint(period / unit), 1.0) * unit
            if abs(1.0 / near - 1.0 / period) < s.rounded / series.span:
                period = float(near)
                break
        if all(abs(1.0 / period - 1.0 / other) > 1.0 / series.span for other in found):
            found.append(period)
    return found
