"""Limits on time and memory as users write them."""

from __future__ import annotations

import os
import re
from numbers import Real

import numpy as np

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def seconds_allowed(value) -> float:
    """`time_limit` as seconds; None: no limit."""
    if value is None:
        return np.inf
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real) or not float(value) > 0:
        raise ValueError(f"time_limit={value!r}: give a positive number of seconds, or None")
    return float(value)


def bytes_allowed(value) -> float:
    """`memory_limit` as bytes; None: what this machine has."""
    if value is None:
        return _physical_memory()
    if isinstance(value, str):
        found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?)i?B?\s*", value, re.IGNORECASE)
        size = float(found[1]) * UNITS[found[2].upper()] if found else 0.0
    else:
        number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
        size = float(value) if number else 0.0
    if not size > 0.0:
        raise ValueError(f"memory_limit={value!r}: give bytes, or a text such as '2GB', or None")
    return size


def _physical_memory() -> float:
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # not on every system
        return np.inf
