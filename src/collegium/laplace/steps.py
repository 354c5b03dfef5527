"""Columns of few values: may they act by steps, or as names, where held-out rows say so?

A smooth function of a rating that jumps between 3 and 4, and again at 0 ("no answer"), needs a
length scale so short that nothing is learnt from one rating about the next. Labels are fitted by
least squares to a sum of effects, one number for each value of such a column, one for each level of
words and a slope for every other column:

    label ≈ c + Σ_j e_j(x_j) + Σ_k b_k x_k,      with a small penalty Σe² + Σb²

With e_j(x_j) in place of x_j (`kernels.Stepped`) the steps are gone, and interactions remain to be
learnt. Of several classes the effects are vectors, and the direction in which those of a column
differ most gives its numbers. Effects are tried on rows that they have not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..kernels.base import columns_told
from ..kernels.wrapped.stepped import Stepped, StepValues
from ..learning.levels import candidates
from ..learning.optimise import Scales
from ..numerics import linalg
from ..rows.metric import column_scales
from ..rows.rows import Rows
from .trials import LabelTrials, label_targets
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True)
class Forms:
    """How a kernel sees columns: which are levels, and numbers in place of values."""

    levels: tuple[int, ...] = ()
    steps: tuple[StepValues, ...] = ()

    def with_level(self, column: int) -> Forms:
        """Take a column as levels."""
        steps = tuple(one for one in self.steps if one.column != column)
        return Forms(tuple(sorted((*self.levels, column))), steps)

    def kernel(self, kernel: Kernel) -> Kernel:
        """Let a kernel see the numbers, if there are any; θ stays the same."""
        return Stepped(kernel, self.steps) if self.steps else kernel

    def scales(self, X: Array) -> Scales:
        """Make starts and priors for columns in these forms; numbers have the unit 1."""
        found = Scales.of(X, self.levels)
        found.columns[[one.column for one in self.steps]] = 1.0
        return found

    def seen(self, X: Array) -> Array:
        """Put numbers in place of values  (n, d)."""
        found = np.array(X, dtype=float)
        for one in self.steps:
            found[:, one.column] = one(X[:, one.column])
        return found


def forms_by_held_out(
    rows: Rows, levels: tuple[int, ...], engine: Any, stop: Callable[[], bool],
    say: Callable[[str], None],
) -> Forms:  # fmt: skip
    """Choose columns that are levels, and numbers for others, where held-out rows gain by them.

    y of the rows are positions among the classes.
    """
    t, n = TUNING.steps, rows.w.size
    plain = Forms(levels)
    if n < t.enough or np.ptp(rows.y[:, 0]) == 0.0:
        return plain
    names = candidates(rows.X, label_targets(_codes(rows), rows.w), levels)
    columns = few_valued(rows, levels)
    if not (names or columns) or stop():
        return plain
    order = np.random.default_rng(0).permutation(n)
    held = np.sort(order[: min(t.held_out, n // 2)])
    others = rows.take(np.sort(order[held.size :][: t.most_rows]))
    trials = LabelTrials(rows.take(held), engine)
    if np.ptp(trials.codes) == 0 or np.ptp(others.y[:, 0]) == 0.0:
        return plain
    best, value = plain, trials.log_probability(trials.rows.X, levels)
    if columns and not stop():
        new = Forms(levels, effects(others, columns, levels))
        best, value = _better(
            trials, new, best, value, f"{columns_told(say, columns)} by steps", say
        )
    for k in names:
        if stop():
            break
        new = best.with_level(k)
        best, value = _better(trials, new, best, value, f"{columns_told(say, [k])} as levels", say)
    if not best.steps:
        return best
    columns = tuple(one.column for one in best.steps)
    return replace(best, steps=effects(rows.take(np.sort(order[: t.most_rows])), columns, levels))


def _better(
    trials: LabelTrials, new: Forms, old: Forms, before: Array, name: str,
    say: Callable[[str], None],
) -> tuple[Forms, Array]:  # fmt: skip
    """Take the new forms if held-out rows gain enough by them; and log probabilities of these."""
    after = trials.log_probability(new.seen(trials.rows.X), new.levels)
    gain = trials.gain(after, before)
    say(
        f"{name}: log probability of held-out rows {gain.mean:+.3f} ± {gain.error:.3f}, "
        f"{'used' if gain.enough else 'not used'}"
    )
    return (new, after) if gain.enough else (old, before)


def few_valued(rows: Rows, levels: tuple[int, ...]) -> tuple[int, ...]:
    """Columns of numbers with few distinct values, if there are enough rows of each value."""
    t, found, total = TUNING.steps, [], 0
    some = rows.X[:1_000]
    for k in range(rows.X.shape[1]):
        if k in levels or np.unique(some[:, k]).size > t.most:
            continue
        count = np.unique(rows.X[:, k]).size
        if t.fewest <= count <= t.most:
            found.append(k)
            total += count
    return tuple(found) if rows.w.size >= t.repeated * total else ()


def effects(rows: Rows, columns: Sequence[int], levels: Sequence[int]) -> tuple[StepValues, ...]:
    """Fit labels by a sum of effects; those of the columns as numbers in place of their values."""
    t, w = TUNING.steps, rows.w / rows.w.mean()
    T, parts, known = label_targets(_codes(rows), rows.w), [], []
    for k in (*columns, *levels):
        values, at = np.unique(rows.X[:, k], return_inverse=True)
        if values.size <= t.most_levels:
            parts.append(np.eye(values.size)[at.reshape(-1)])
            known.append((k, values))
    lines = [k for k in range(rows.X.shape[1]) if k not in columns and k not in levels]
    parts.append(
        (rows.X[:, lines] - rows.X[:, lines].mean(axis=0)) / column_scales(rows.X[:, lines])
    )
    B = np.hstack(parts)
    L, _ = linalg.cholesky(
        linalg.mirror((w[:, None] * B).T @ B) + t.penalty * np.eye(B.shape[1]), 1.0
    )
    C = linalg.solve_posdef(L, B.T @ (w[:, None] * T))
    found, first = [], 0
    for k, values in known:
        own, share = slice(first, first + values.size), w @ B[:, first : first + values.size]
        first += values.size
        if k in columns:
            found.append(StepValues(k, values, along_main_direction(C[own], share / share.sum())))
    return tuple(found)


def along_main_direction(F: Array, share: Array) -> Array:
    """Coordinates of the rows of F (L, p) in the direction in which they differ most, with mean
    0 under their shares (L,)."""
    F = F - share @ F
    _, _, V = np.linalg.svd(np.sqrt(share)[:, None] * F, full_matrices=False)
    found = F @ V[0]
    return TUNING.steps.unit * found * np.sign(found[np.abs(found).argmax()] or 1.0)


def _codes(rows: Rows) -> Array:
    return np.unique(rows.y[:, 0], return_inverse=True)[1].reshape(-1)
