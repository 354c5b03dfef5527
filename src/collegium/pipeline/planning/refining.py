"""How far means are refined where that is left to us: operation counts, not times, so that the same
rows give the same model on every machine."""

from __future__ import annotations

from ...kernels import Kernel
from ..tuning import TUNING
from .work import group_rows, terms


def step_operations(n: int, d: int, kernel: Kernel) -> float:
    """Operations of one step, in single precision: half of all n² kernel values."""
    t = TUNING.refining
    return 0.5 * n**2 * terms(kernel) * (t.value + t.column * d)


def first_operations(n: int, m: int) -> float:
    """Operations of the preconditioner, of single precision like those of a step."""
    b, given = group_rows(n)
    both = b + given
    each = both**3 / 3.0 + b * given**2 + m * both**2 + 2.0 * m * both * (b + m)
    return TUNING.refining.dense * n / b * each


def steps_allowed(n: int, d: int, kernel: Kernel, m: int) -> int:
    """Steps within the operations of about half a fit; 0: too few to be worth a start."""
    t = TUNING.refining
    left = t.operations - first_operations(n, m)
    steps = min(int(max(left, 0.0) / step_operations(n, d, kernel)), t.most_steps)
    return steps if steps >= t.fewest_steps else 0
