"""Hashes: fingerprints of records and mixed bits of numbers, the same on any machine.

Fingerprints include the names of classes and fields: a record that is renamed has another one.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

Array = np.ndarray


def fingerprint(*values: Any) -> str:
    """sha256 of arrays, numbers, texts, and records and tuples of these."""
    found = hashlib.sha256()
    for value in values:
        _write(found, value)
    return found.hexdigest()


def _write(found: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        kind = value.dtype.newbyteorder("<")
        found.update(f"array {kind.str} {value.shape} ".encode())
        found.update(np.ascontiguousarray(value, dtype=kind).tobytes())
    elif is_dataclass(value):
        found.update(f"record {type(value).__name__} {len(fields(value))} ".encode())
        for field in fields(value):
            found.update(f"{field.name} ".encode())
            _write(found, getattr(value, field.name))
    elif isinstance(value, tuple | list):
        found.update(f"tuple {len(value)} ".encode())
        for one in value:
            _write(found, one)
    elif isinstance(value, float):
        found.update(f"float {float(value).hex()} ".encode())
    elif value is None or isinstance(value, bool | int | str | np.generic):
        found.update(f"{type(value).__name__} {value!r} ".encode())
    else:
        raise TypeError(f"no fingerprint of a {type(value).__name__}")


def splitmix64(numbers: Array) -> Array:
    """Mix the bits of whole numbers, one to one (Steele, Lea and Flood 2014)."""
    z = np.asarray(numbers).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
