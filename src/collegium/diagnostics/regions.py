"""Coverage by region of the inputs, and in the slab where it is furthest from what was promised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .coverage import CoveredShare, covered_share, promised
from .numbers import digits

Array = np.ndarray
Rule = tuple[int, float, float]  # low < x[column] ≤ high
Say = Callable[[int, float], str]
#: Of slabs: directions that are tried, columns included, and the share of rows in each.
DIRECTIONS, SLAB_SHARE = 100, 0.1
#: Rows below which halves are too small to choose a slab and to measure it.
FEWEST_ROWS = 100


@dataclass(frozen=True, eq=False)
class RowRegion:
    """Rows that obey all rules."""

    rules: tuple[Rule, ...]
    rows: Array  # positions


@dataclass(frozen=True, eq=False)
class Slab:
    """{x: low ≤ aᵀz ≤ high}, z the columns of x centred and scaled.

    Chosen among many by one half of the rows, where its coverage is too far from the promised one
    by chance alone; `measured` by the other half, which is free of that.
    """

    direction: Array  # a  (d,), of length one
    low: float
    high: float
    chosen: CoveredShare
    measured: CoveredShare


def split_regions(X: Array, columns: Sequence[int], depth: int = 3) -> list[RowRegion]:
    """Halve the rows `depth` times at a median, by the columns in turn: up to 2^depth regions.

    A column of one value is passed over. Regions are described by the rules of their splits.
    """
    found = [RowRegion((), np.arange(len(X)))]
    for k in range(depth if len(columns) else 0):
        found = [half for one in found for half in _halved(X, one, columns, k)]
    return found


def _halved(X: Array, region: RowRegion, columns: Sequence[int], first: int) -> list[RowRegion]:
    for k in range(len(columns)):
        j = columns[(first + k) % len(columns)]
        x = X[region.rows, j]
        cut = float(np.median(x)) if x.size else 0.0
        left = x <= cut
        if left.all() and x.size:  # most rows are at the upper end
            below = x[x < cut]
            if not below.size:
                continue
            cut = float(below.max())
            left = x <= cut
        if x.size >= 2:
            sides = ((left, (j, -np.inf, cut)), (~left, (j, cut, np.inf)))
            return [
                RowRegion(_narrowed(region.rules, rule), region.rows[side]) for side, rule in sides
            ]
    return [region]


def _narrowed(rules: tuple[Rule, ...], new: Rule) -> tuple[Rule, ...]:
    """Add a rule; one of the same column before it becomes narrower."""
    j, low, high = new
    for k, (column, a, b) in enumerate(rules):
        if column == j:
            both = (j, max(a, low), min(b, high))
            return (*rules[:k], both, *rules[k + 1 :])
    return (*rules, new)


def plain_number(_: int, value: float) -> str:
    return digits(value, 4, brief=True)


def rule_words(rules: Sequence[Rule], names: Sequence[str], say: Say = plain_number) -> str:
    """Write rules as people would: "0.2 < depth ≤ 3, age > 40"; `say` writes values."""
    words = []
    for j, low, high in rules:
        upper = f" ≤ {say(j, high)}" if np.isfinite(high) else ""
        if not np.isfinite(low):
            words.append(f"{names[j]}{upper}")
        else:
            lower = say(j, low)
            words.append(f"{lower} < {names[j]}{upper}" if upper else f"{names[j]} > {lower}")
    return ", ".join(words) or "all rows"


def coverage_by_region(
    inside: Array, level: float | Array, regions: Sequence[RowRegion], names: Sequence[str],
    say: Say = plain_number,
) -> tuple[CoveredShare, ...]:  # fmt: skip
    """Coverage in each region, labelled by its rules."""
    k = len(regions)
    return tuple(
        covered_share(
            inside[one.rows], promised(level, one.rows), rule_words(one.rules, names, say), k
        )
        for one in regions
        if one.rows.size
    )


def worst_slab(
    X: Array, inside: Array, level: float | Array, *, directions: int = DIRECTIONS,
    share: float = SLAB_SHARE, seed: int = 0,
) -> Slab | None:  # fmt: skip
    """Look for the slab of a share of the rows whose coverage is furthest from `level`.

    Columns first, then random directions, in which windows of the rows are compared (Cauchois,
    Gupta and Duchi 2021, JMLR 22). One half of the rows, drawn by chance, chooses the slab, and
    the other measures it, so that looking at many slabs does not count against the model.

    Returns
    -------
    slab : Slab or None
        None where fewer than 100 rows, or no column with two values, are given.
    """
    n, power = len(X), np.frexp(np.abs(X).max(axis=0, initial=0.0))[1]
    X = np.ldexp(X, -power)  # squares of large and small units leave the range
    sd = X.std(axis=0)
    usable = sd > 1e-12
    if n < FEWEST_ROWS or not usable.any():
        return None
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    first, second = np.sort(order[: n // 2]), np.sort(order[n // 2 :])
    away = inside - np.asarray(level, dtype=float)
    Z = (X - X.mean(axis=0)) / np.where(usable, sd, 1.0) * usable
    best: tuple[float, Array, float, float] | None = None
    for a in _directions(usable, directions, rng):
        gap, low, high = _furthest(Z[first] @ a, away[first], share)
        if best is None or gap > best[0]:
            best = gap, a, low, high
    assert best is not None
    _, a, low, high = best
    p = Z @ a
    parts = [some[(p[some] >= low) & (p[some] <= high)] for some in (first, second)]
    each = [covered_share(inside[one], promised(level, one)) for one in parts if one.size]
    return Slab(a, low, high, *each) if len(each) == 2 else None


def _directions(usable: Array, count: int, rng: np.random.Generator) -> list[Array]:
    """Unit vectors: columns, then random directions of the columns that vary."""
    at = np.flatnonzero(usable)
    columns = np.eye(usable.size)[at[:count]]
    more = rng.standard_normal((max(count - len(columns), 0) if at.size > 1 else 0, usable.size))
    more *= usable
    return [*columns, *(more / np.linalg.norm(more, axis=1, keepdims=True))]


def _furthest(p: Array, away: Array, share: float) -> tuple[float, float, float]:
    """Compare windows of equal numbers of rows along p, by |Σ away|/√n: the largest, from where to
    where.

    Rows of equal p are inside a window together, because its ends are values of p.
    """
    order = np.argsort(p, kind="stable")
    p, total = p[order], np.concatenate([[0.0], np.cumsum(away[order])])
    width = max(int(share * p.size), 1)
    starts = np.arange(0, p.size - width + 1, max(width // 10, 1))
    low, high = p[starts], p[starts + width - 1]
    left, right = np.searchsorted(p, low), np.searchsorted(p, high, side="right")
    gap = np.abs(total[right] - total[left]) / np.sqrt(right - left)
    k = int(np.argmax(gap))
    return float(gap[k]), float(low[k]), float(high[k])
