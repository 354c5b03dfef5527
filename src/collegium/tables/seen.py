"""Summaries of columns from which an encoding is made, merged over parts of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..numerics.fingerprint import splitmix64
from .levels import Key
from .reading import DATE, LEVELS, NUMBER, Found

Array = np.ndarray
#: Rows whose median replaces missing values: all up to this number, else those with a value that
#: have the smallest splitmix64(row number).
SAMPLE = 131_072
#: The largest hash.
MOST = 2**64 - 1


@dataclass(frozen=True, eq=False)
class Seen:
    """Summary of one column of some rows, whatever their order and however they are cut."""

    name: str
    kind: str | None  # None: all values are missing, and may be of any kind
    gaps: bool  # whether values are missing
    levels: frozenset[Key]
    first: float  # the earliest date; +∞ if there is none
    hashes: Array  # of sampled rows, ascending  (k,)
    values: Array  # of the same rows  (k,)
    mixed: bool = False  # parts were of several kinds: read them again as levels

    @property
    def limit(self) -> int:
        """Largest hash that can still change the sample."""
        if self.kind == LEVELS:
            return 0
        return int(self.hashes[-1]) if self.hashes.size >= SAMPLE else MOST

    def plus(self, other: Seen) -> Seen:
        mixed = self.mixed or other.mixed or (
            self.kind != other.kind and None not in (self.kind, other.kind)
        )  # fmt: skip
        more = slice(None)
        if self.hashes.size >= SAMPLE:
            more = slice(0, int(np.searchsorted(other.hashes, self.hashes[-1])))
        hashes = np.concatenate([self.hashes, other.hashes[more]])
        order = np.argsort(hashes, kind="stable")[:SAMPLE]
        return replace(
            self,
            kind=LEVELS if mixed else self.kind or other.kind,
            gaps=self.gaps or other.gaps,
            levels=self.levels | other.levels,
            first=min(self.first, other.first),
            hashes=hashes[order],
            values=np.concatenate([self.values, other.values[more]])[order],
            mixed=mixed,
        )


def seen(columns: Sequence[Found], first: int = 0, limit: int = MOST) -> tuple[Seen, ...]:
    """Summarise columns of rows with the numbers first, first + 1, …

    Rows whose hashes are above the limit are not sampled.
    """
    n = columns[0].values.size if columns else 0
    numeric = any(one.kind != LEVELS for one in columns)
    hashes = splitmix64(np.arange(first, first + n)) if numeric else np.empty(0, np.uint64)
    at = np.flatnonzero(hashes <= np.uint64(limit))
    at = at[np.argsort(hashes[at])]
    return tuple(_seen(one, hashes, at) for one in columns)


def _seen(found: Found, hashes: Array, order: Array) -> Seen:
    """Summarise a column; `order`: rows that may be sampled, by their hashes."""
    none = np.empty(0, np.uint64), np.empty(0)
    gone = found.gone
    gaps = bool(gone.any())
    if found.kind == LEVELS:
        used = np.flatnonzero(np.bincount(found.values[~gone], minlength=1))
        levels = frozenset(found.keys[k] for k in used.tolist()) if found.keys else frozenset()
        return Seen(found.name, LEVELS, gaps, levels, np.inf, *none)
    refuse_infinite(found)
    smallest = (order[~gone[order]] if gaps else order)[:SAMPLE]
    kind = None if found.kind == NUMBER and gone.all() else found.kind
    least = np.inf if kind != DATE or gone.all() else float(np.nanmin(found.values))
    sample = hashes[smallest], found.values[smallest]
    return Seen(found.name, kind, gaps, frozenset(), least, *sample)


def refuse_infinite(found: Found) -> None:
    if found.kind != LEVELS and np.isinf(found.values).any():
        raise ValueError(
            f"column {found.name!r} has infinite values: drop those rows or repair them"
        )
