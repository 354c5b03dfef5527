"""Degrees of freedom: how many query points or anchors a committee needs (Tresp 2000, sec. 5)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from ..kernels import Kernel
from ..numerics import linalg
from ..rows.rows import Rows
from .tuning import TUNING

Array = np.ndarray


def exact_dof(kernel: Kernel, noise: float | Array, X: Array) -> float:
    """P_eff = trace K(K + Ψ)⁻¹; Σ λ/(λ + σ²) over the eigenvalues λ of K where Ψ = σ²I.

    noise: one variance, or one per row.
    """
    n = X.shape[0]
    K = kernel.value(X)
    scale = float(K.diagonal().max(initial=0.0)) or 1.0
    linalg.add_diagonal(K, noise)
    L, jitter = linalg.cholesky(K, scale, overwrite=True)
    inverse = linalg.inverse_posdef(L)
    return n - float(((noise + jitter * scale) * inverse.diagonal()).sum())


def kernel_rank(kernel: Kernel, X: Array) -> int:
    """Rank of K(X, X) with tolerance n ‖K‖ ε: the dimension of its column space."""
    eigenvalues = np.linalg.eigvalsh(kernel.value(X))
    tolerance = X.shape[0] * np.abs(eigenvalues).max(initial=0.0) * np.finfo(float).eps
    return int((eigenvalues > tolerance).sum())


def sampled_dof(
    kernel: Kernel,
    noise: float,
    X: Array,
    w: Array,
    rng: np.random.Generator,
    sample: int = TUNING.dof_sample,
) -> float:
    """Estimate P_eff of n rows of weights w from s of them: eigenvalues of K grow like n/s.

    If the sample is too small to show all directions the estimate is a lower bound, close to
    `sample`.
    """
    n = X.shape[0]
    if n <= sample:
        return exact_dof(kernel, noise / w, X)
    part = np.sort(rng.choice(n, sample, replace=False))
    return exact_dof(kernel, noise / w[part] * sample / n, X[part])


def stretched(kernel: Kernel, factor: float) -> Kernel:
    """Multiply every free length scale by a factor."""
    lengths = np.array([kind == "length" for kind, _ in kernel.labels], dtype=bool)
    return kernel.times(np.where(lengths, factor, 1.0))


def matching_dof(kernel: Kernel, dof: Callable[[Kernel], float], number: float) -> Kernel | None:
    """Stretch a kernel to P_eff = number; None where no factor of its lengths reaches that.

    P_eff falls as length scales grow. dof: P_eff of a kernel.
    """
    most = np.log(TUNING.longest_stretch)

    def beyond(log_factor: float) -> float:
        return dof(stretched(kernel, np.exp(log_factor))) - number

    if not beyond(-most) > 0.0 > beyond(most):
        return None
    return stretched(kernel, np.exp(brentq(beyond, -most, most, xtol=1e-4)))


def degrees_of_freedom(kernel: Kernel, noise: float, rows: Rows) -> float:
    """Estimate P_eff of the rows from a sample that is the same in every call."""
    rows, noise = rows.as_weights(noise)
    return sampled_dof(kernel, noise, rows.X, rows.w, np.random.default_rng(0))
