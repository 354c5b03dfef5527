"""The hash sample: the rows with the smallest splitmix64(row number)."""

from __future__ import annotations

import numpy as np

from ...numerics.fingerprint import splitmix64

Array = np.ndarray


class HashSample:
    """The k records with the smallest hashes, however rows are cut and ordered."""

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
        """Return the sample, by row number."""
        if self._records is None:
            raise ValueError("there are no rows: give at least one block that has some")
        return self._records[np.argsort(self._records["id"])]
