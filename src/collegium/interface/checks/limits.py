"""Limits on time and memory as users write them."""

from __future__ import annotations

import re
from numbers import Real

import numpy as np

from ...numerics import memory
from ..options import AnswerTime

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
#: Characters of the longest text that is read as a size.
LONGEST = 40


def seconds_allowed(value) -> float:
    """`time_limit` as seconds; None: no limit."""
    if value is None:
        return np.inf
    seconds = _as_float(value)
    if not seconds > 0.0:
        raise ValueError(f"time_limit={value!r}: give a positive number of seconds, or None")
    return seconds


def bytes_allowed(value) -> float:
    """`memory_limit` as bytes; None: what this machine has."""
    return memory.physical() if value is None else size_in_bytes(value, "memory_limit", ", or None")


def size_in_bytes(value, name: str, more: str = "") -> float:
    """A number of bytes, or a text that says one."""
    size = _size_of_text(value) if isinstance(value, str) else _as_float(value)
    if not size > 0.0:
        shown = f"{value!r:.{LONGEST}}"
        raise ValueError(f"{name}={shown}: give bytes, or a text such as '2GB'{more}")
    return size


def answer_time_allowed(value) -> tuple[float, float] | None:
    """`answer_time` as milliseconds a row and bytes; None: no limit."""
    if value is None:
        return None
    asked = value if isinstance(value, AnswerTime) else AnswerTime(value)
    milliseconds = _as_float(asked.milliseconds)
    if not 0.0 < milliseconds < np.inf:
        raise ValueError(
            f"answer_time={value!r}: give milliseconds a row, a positive number, "
            "AnswerTime(milliseconds, memory), or None"
        )
    return milliseconds, size_in_bytes(asked.memory, "memory of answer_time=AnswerTime(…)")


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
