"""Rows that come in groups (patients, wells, days), where new rows belong to new groups.

Rows of a group share what the inputs do not tell, so they are held out together, and they count as
few rows. A group is a whole number, its code; renaming groups changes nothing but these numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import ndtr, stdtrit

Array = np.ndarray
#: Codes are below this, so that they are exact as floats.
MOST = 2**52
#: Groups that are held out, at least, where that is not above a third of them.
HELD = 20
#: Groups, beyond the first, whose spread says something.
LEAST = 0.1


def codes(labels: Iterable[Any]) -> Array:
    """Hash labels of any kind to codes, the same in every call; equal numbers are one label."""
    known: dict[Any, int] = {}
    return np.array([known.setdefault(one, _code(one)) for one in labels], dtype=np.int64)


def _code(label: Any) -> int:
    if isinstance(label, Integral):
        label = int(label)
    elif isinstance(label, Real):
        number = float(label)
        label = int(number) if number.is_integer() else number
    text = label if isinstance(label, str) else repr((type(label).__name__, label))
    text = f"{isinstance(label, str)} {text}"
    found = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8)
    return int.from_bytes(found.digest(), "little") % MOST


def apart(codes: Array, count: int) -> Array:
    """Make codes of groups of one row each, which none of the others has  (count,)."""
    return min(int(codes.min(initial=0)), 0) - 1 - np.arange(count)


def numbered(group: Array) -> Array:
    """Number groups from 0 in the order of their first rows  (n,)."""
    _, first, where = np.unique(group, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[where.reshape(-1)]


def members(group: Array) -> list[Array]:
    """List the positions of the rows of each group, groups in the order of their first rows."""
    number = numbered(group)
    return np.split(np.argsort(number, kind="stable"), np.cumsum(np.bincount(number))[:-1])


def count_of(group: Array | None, w: Array) -> float:
    """(Σw)²/Σ_g(Σ_{i∈g} wᵢ)²: how many independent rows these are worth, at the least."""
    each = w if group is None else np.bincount(numbered(group), w)
    return float(w.sum() ** 2 / (each @ each))


def error_of_mean(share: Array, each: Array, group: Array | None, times: float = 1.0) -> float:
    """Standard error of Σ shareᵢ eachᵢ, where rows of a group may all be alike.

    Of few groups it is larger, so that `times` of it are exceeded by chance as often as so many
    of the normal; infinite for one group.
    """
    away = share * (each - float(share @ each))
    if group is None:
        return float(np.sqrt(away @ away))
    sums, more = np.bincount(numbered(group), away), count_of(group, share) - 1.0
    if more < LEAST:
        return np.inf
    wider = float(stdtrit(more, ndtr(times))) / times
    return wider * float(np.sqrt((1.0 + 1.0 / more) * (sums @ sums)))


def whole_groups(group: Array, number: int, rng: np.random.Generator) -> Array:
    """Draw groups until they have `number` rows: not above a tenth of all rows, except to reach
    `HELD` groups or a third of them, and not above half of all rows  (positions, sorted)."""
    parts = members(group)
    order = [parts[k] for k in rng.permutation(len(parts))]
    order.sort(key=lambda part: part.size > group.size // 2)  # the largest last; stable
    rows = np.cumsum([part.size for part in order])
    enough = int(np.searchsorted(rows, min(number, group.size // 10))) + 1
    fewest = min(HELD, len(parts) // 3)
    most = int(np.searchsorted(rows, group.size // 2, side="right"))
    return np.sort(np.concatenate(order[: max(min(max(enough, fewest), most), 1)]))


def tenths_of_groups(group: Array, number: int, rng: np.random.Generator) -> list[Array]:
    """Deal whole groups to ten parts, fewer where groups are few; parts until they have `number`
    rows and `HELD` groups, or all  (positions, sorted)."""
    parts = members(group)
    order = [parts[k] for k in rng.permutation(len(parts))]
    tenths = [order[k::10] for k in range(min(10, len(order)))]
    rows, groups = np.cumsum([(sum(map(len, one)), len(one)) for one in tenths], axis=0).T
    enough = 1 + int(max(np.searchsorted(rows, number), np.searchsorted(groups, HELD)))
    return [np.sort(np.concatenate(one)) for one in tenths[:enough]]
