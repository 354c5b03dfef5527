"""Sums over rows that a filter keeps, as one triangle.

    [Φ Y] = QT,   TᵀT = Σ w [φ y]ᵀ[φ y]

T (k + p, k + p) is upper triangular. The sums depend on no hyperparameter, so noise and prior
can change without a second pass; T is their square root, so that small directions are not lost
to rounding after many rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numerics import linalg
from ..numerics.compiling import compiled
from ..numerics.records import record
from .tuning import TUNING

Array = np.ndarray
TINY = 1e-150  # its square is zero


@record("filter.sums/1")
@dataclass(frozen=True, eq=False)
class Sums:
    """T, Σw and the number of rows. A record: `add` returns a new one."""

    triangle: Array  # T  (k + p, k + p)
    weight: float  # Σ w
    count: float  # rows, whatever their weight

    @classmethod
    def start(cls, k: int, p: int = 1) -> Sums:
        return cls(np.zeros((k + p, k + p)), 0.0, 0.0)

    def add(self, Phi: Array, Y: Array, w: Array | None = None) -> Sums:
        """Add rows Φ (n, k), Y (n, p), each w times."""
        T = self.triangle.copy()
        for start in range(0, Phi.shape[0], TUNING.block):
            part = slice(start, start + TUNING.block)
            rows = np.hstack([Phi[part], Y[part]])
            if w is not None:
                rows *= np.sqrt(w[part])[:, None]
            _rotate(T, rows if rows.shape[0] <= TUNING.few else linalg.root(rows))
        return self._with(T, Phi.shape[0], w)

    def add_rows(self, Phi: Array, Y: Array, w: Array | None = None) -> Sums:
        """Add rows one by one: O(k²) each; the order matters to rounding only."""
        rows = np.hstack([Phi, Y])
        if w is not None:
            rows *= np.sqrt(w)[:, None]
        T = self.triangle.copy()
        _rotate(T, rows)
        return self._with(T, Phi.shape[0], w)

    def _with(self, T: Array, n: int, w: Array | None) -> Sums:
        used = n if w is None else int((w > 0).sum())
        total = float(n) if w is None else float(w.sum())
        return Sums(T, self.weight + total, self.count + used)

    def __add__(self, other: Sums) -> Sums:
        """Add the sums over other rows in the same basis."""
        T = self.triangle.copy()
        _rotate(T, other.triangle.copy())
        return Sums(T, self.weight + other.weight, self.count + other.count)

    def faded(self, power: float) -> Sums:
        """Let all rows so far count `power` times."""
        return Sums(np.sqrt(power) * self.triangle, power * self.weight, power * self.count)

    def for_learning(self) -> Sums:
        """Limit the mean weight to one: weights are no evidence that noise is small."""
        return self.faded(min(self.count / self.weight, 1.0)) if self.weight > 0.0 else self


@compiled(fastmath=True, error_model="numpy")
def _rotate(T, rows):
    """Rotate each row into the triangle T (Givens), both in place."""
    k = T.shape[0]
    for t in range(rows.shape[0]):
        x = rows[t]
        for i in range(k):
            b = x[i]
            if abs(b) < TINY:
                continue
            row = T[i]
            a = row[i]
            r = np.sqrt(a * a + b * b)
            c, s = a / r, b / r
            for j in range(i, k):
                u, v = row[j], x[j]
                row[j] = c * u + s * v
                x[j] = c * v - s * u
