"""Hashes of whole numbers, the same in every process."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def splitmix64(numbers: Array) -> Array:
    """Mix the bits of whole numbers, one to one (Steele, Lea and Flood 2014)."""
    z = np.asarray(numbers).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
