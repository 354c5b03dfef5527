"""Limits on time and memory as users write them."""

from __future__ import annotations

import re
from numbers import Real

import numpy as np

from ...numerics import memory
from ..options import AnswerTime, Limits

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
#: Characters of the longest text that is read as a size.
LONGEST = 40


def limits_allowed(value) -> tuple[float, float]:
    """`limits` as seconds and bytes; a number is of seconds, a text of bytes."""
    if isinstance(value, Limits):
        name = " of limits=Limits(…)"
        return seconds_allowed(value.time, "time" + name), bytes_allowed(
            value.memory, "memory" + name
        )
    if isinstance(value, str):
        more = (
            ", or None; a time is a number of seconds, limits=120 or Limits(time=120, memory='2GB')"
        )
        return seconds_allowed(None, ""), size_in_bytes(value, "limits", more)
    return seconds_allowed(value, "limits"), bytes_allowed(None, "")


def seconds_allowed(value, name: str) -> float:
    """Seconds; None: no limit."""
    if value is None:
        return np.inf
    seconds = _as_float(value)
    if not seconds > 0.0:
        raise ValueError(f"{name}={value!r}: give a positive number of seconds, or None")
    return seconds


def bytes_allowed(value, name: str) -> float:
    """Bytes; None: what this process may have."""
    return memory.allowed() if value is None else size_in_bytes(value, name, ", or None")


def size_in_bytes(value, name: str, more: str = "") -> float:
    """A number of bytes, or a text that says one."""
    size = _size_of_text(value) if isinstance(value, str) else _as_float(value)
    if not size > 0.0:
        shown = f"{value!r:.{LONGEST}}"
        raise ValueError(f"{name}={shown}: give bytes, or a text such as '2GB'{more}")
    return size


def answer_time_allowed(value) -> tuple[float, float] | None:
    """`n_local` as milliseconds per row and bytes; None: it sets no time."""
    if not isinstance(value, AnswerTime):
        return None
    milliseconds = _as_float(value.milliseconds)
    if not 0.0 < milliseconds < np.inf:
        raise ValueError(f"n_local={value!r}: give milliseconds per row, a positive number")
    return milliseconds, size_in_bytes(value.memory, "memory of n_local=AnswerTime(…)")


def _as_float(value) -> float:
    """A number as a float, infinite where it is too large for one; 0 of anything else."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        return 0.0
    try:
        return float(value)
    except OverflowError:
        return np.inf if np.sign(value) > 0 else 0.0  # type: ignore[call-overload]


def _size_of_text(text: str) -> float:
    """Bytes of "1.5 GB" and the like; 0 of other texts."""
    if len(text) > LONGEST:
        return 0.0
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE)
    return float(found[1]) * UNITS[found[2].upper()] if found else 0.0
