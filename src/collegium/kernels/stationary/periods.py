"""Periods in words, for columns of dates, which are in seconds."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Seconds per unit; a year has 365.2425 days, a month a twelfth of it.
DAY = 86_400.0
YEAR = 365.2425 * DAY
UNITS = {
    "second": 1.0, "minute": 60.0, "hour": 3_600.0, "day": DAY, "week": 7.0 * DAY,
    "month": YEAR / 12.0, "year": YEAR,
}  # fmt: skip


def in_seconds(period: Any) -> Any:
    """Convert "12 hours", "1 day" or "year", or a list of them, to seconds; leave numbers alone."""
    if isinstance(period, str):
        return _seconds(period)
    if isinstance(period, (list, tuple)) and any(isinstance(one, str) for one in period):
        return np.array([in_seconds(one) for one in period], dtype=float)
    return period


def _seconds(text: str) -> float:
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
            f"period of Periodic: {text!r}; give a number and a unit of time, such as '1 day' or "
            f"'12 hours' ({', '.join(UNITS)}), or a number in the units of the column"
        )
    return number * UNITS[unit]
