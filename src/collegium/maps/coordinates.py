"""Coordinates of a side of a grid, from what users write."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

Array = np.ndarray
#: Steps over the range of the rows, where no others are asked for.
STEPS = 200
#: A step ends at its last coordinate up to this share of it.
ROUNDING = 1e-9
#: Coordinates of one side: beyond, a step was given in other units than the column's.
MOST = 10_000_000


def coordinates_of(asked: Any, rows: Array | None, name: str) -> Array:
    """Coordinates in order  (k,).

    `asked`: an array; (start, stop, step); a step, whose multiples cover the range of `rows`; or
    None: `STEPS` steps over that range.
    """
    if asked is None:
        low, high = _range(rows, name)
        return np.linspace(low, high, STEPS + 1) if low < high else np.array([low])
    if isinstance(asked, tuple) and len(asked) == 3:
        start, stop, step = (_finite(one, name) for one in asked)
        return _from_to(start, stop, step, name)
    if isinstance(asked, (Real, np.number)) and not isinstance(asked, (bool, np.bool_)):
        step, (low, high) = _finite(asked, name), _range(rows, name)
        if step <= 0.0:
            raise ValueError(f"{name}={asked!r}: give a step above 0")
        first, last = np.floor(low / step + ROUNDING), np.ceil(high / step - ROUNDING)
        return step * np.arange(first, first + _count(last - first, name))
    return map_order(asked, name)


def _from_to(start: float, stop: float, step: float, name: str) -> Array:
    """start, start + step, … up to stop, and stop itself where a step ends there."""
    steps = (stop - start) / step if step else -1.0
    if not steps >= 0.0:
        raise ValueError(
            f"{name}={(start, stop, step)}: from {start:g} no step of {step:g} leads to {stop:g}; "
            "give (start, stop, step)"
        )
    return start + step * np.arange(_count(np.floor(steps * (1.0 + ROUNDING)), name))


def _count(steps: float, name: str) -> int:
    if not steps < MOST:
        raise ValueError(f"{name} would have {steps:.3g} coordinates: give a larger step")
    return int(steps) + 1


def map_order(asked: Any, name: str) -> Array:
    """Check numbers that rise or fall from each to the next  (k,)."""
    try:
        values = np.asarray(asked, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty((0, 0))
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ValueError(
            f"{name}={_short(asked)}: give finite numbers in one dimension, (start, stop, step) or "
            "a step"
        )
    gaps = np.diff(values)
    if not ((gaps > 0.0).all() or (gaps < 0.0).all()):
        raise ValueError(f"{name} has coordinates that neither rise nor fall: sort them, and drop "
                         "those that are there twice")  # fmt: skip
    return values


def _finite(value: Any, name: str) -> float:
    known = isinstance(value, (Real, np.number)) and not isinstance(value, (bool, np.bool_))
    if not known or not np.isfinite(float(value)):
        raise ValueError(f"{name} has {value!r}: give finite numbers")
    return float(value)


def _range(rows: Array | None, name: str) -> tuple[float, float]:
    if rows is None or not rows.size:
        raise ValueError(
            f"{name}: the model keeps no rows whose range could be mapped: give (start, stop, "
            "step) or an array"
        )
    return float(rows.min()), float(rows.max())


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:57]}…"
