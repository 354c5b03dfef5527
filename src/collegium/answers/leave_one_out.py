"""Predictions of an exact GP at its own rows, each given all others, or all other groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels import Kernel
from ..numerics import linalg
from ..rows.groups import members
from ..rows.rows import Prediction, Rows

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class LeftOut:
    """y minus its mean, and its variance, at each row given all rows outside its group."""

    off: Array  # (n, p)
    variance: Array  # (n,)
    log_density: Array  # of all targets of its group together  (n, p)


def left_out(L: Array, alpha: Array, group: Array | None) -> LeftOut:
    """Leave rows out, LLᵀ = A = K + Ψ and α = A⁻¹y  (Rasmussen & Williams 2006, eq. 5.12):

        y_I − E = P⁻¹α_I    var = diag P⁻¹    P = (A⁻¹)_II

    I is a group, or one row where there are none.
    """
    inverse = linalg.inverse_posdef(L)
    if group is None:
        own = inverse.diagonal().copy()
        off = alpha / own[:, None]
        density = -0.5 * (off * alpha - np.log(own)[:, None] + linalg.LOG_2PI)
        return LeftOut(off, 1.0 / own, density)
    off, variance, density = np.empty_like(alpha), np.empty(len(alpha)), np.empty_like(alpha)
    for I in members(group):
        P = linalg.mirror(inverse[np.ix_(I, I)])
        scale = float(P.diagonal().max())
        LP, _ = linalg.cholesky(P, scale)
        off[I] = linalg.solve_posdef(LP, alpha[I])
        variance[I] = (linalg.solve_lower(LP, np.eye(I.size)) ** 2).sum(axis=0)
        each = (off[I] * alpha[I]).sum(axis=0)
        density[I] = -0.5 * (each - linalg.log_det(LP) + I.size * linalg.LOG_2PI)
    return LeftOut(off, variance, density)


def leave_one_out(kernel: Kernel, noise: float, rows: Rows) -> Prediction:
    """Means and variances of f at each row given the others; rows of a group are left out together.

    A row of weight w stands for w copies, which are held out together.
    """
    K, psi = kernel.value(rows.X), rows.psi(noise)
    scale = float(K.diagonal().max(initial=0.0)) or 1.0
    linalg.add_diagonal(K, psi)
    L, _ = linalg.cholesky(K, scale, overwrite=True)
    found = left_out(L, linalg.solve_posdef(L, rows.y), rows.group)
    return Prediction(rows.y - found.off, np.maximum(found.variance - psi, 0.0))
