"""The hash sample: the rows with the smallest splitmix64(row number)."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def splitmix64(numbers: Array) -> Array:
    """Mix the bits of whole numbers, one to one (Steele, Lea and Flood 2014)."""
    z = np.asarray(numbers).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


class HashSample:
    """The k records with the smallest hashes: the same for any cut and any order of rows."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.seen = 0
        self._keys = np.empty(0, np.uint64)
        self._records: Array | None = None

    def add(self, records: Array) -> None:
        self.seen += len(records)
        keys = splitmix64(records["id"])
        if self._records is not None and self._keys.size == self.k:
            near = keys < self._keys[-1]
            keys, records = keys[near], records[near]
        if self._records is not None:
            keys = np.concatenate([self._keys, keys])
            records = np.concatenate([self._records, records])
        order = np.argsort(keys)[: self.k]
        self._keys, self._records = keys[order], records[order]

    def records(self) -> Array:
        """The sample by row number."""
        if self._records is None:
            raise ValueError("there are no rows: give at least one block that has some")
        return self._records[np.argsort(self._records["id"])]
