"""A cache limited in bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any


class Cache:
    """Keep values with `nbytes` up to a limit; the least recently used are dropped first."""

    def __init__(self, limit: float) -> None:
        self.limit, self.nbytes = limit, 0
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the value of a key, made by `make` (always the same) where it is not kept."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()  # outside the lock: other threads go on
        with self._lock:
            if key not in self._values and value.nbytes <= self.limit:
                self._values[key] = value
                self.nbytes += value.nbytes
            while self.nbytes > self.limit:
                _, old = self._values.popitem(last=False)
                self.nbytes -= old.nbytes
        return value
