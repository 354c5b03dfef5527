"""Cholesky factors, with the library's only jitter; triangular solves; adjoints.

`L` is always a lower factor, row-major. Symmetric matrices are read from their lower triangle.
"""

import warnings

import numpy as np

from . import lapack
from .compiling import compiled

Array = np.ndarray
LOG_2PI = float(np.log(2.0 * np.pi))

#: Jitter relative to the prior diagonal, tried in this order after a plain factorisation.
JITTERS = (1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
#: Largest dense matrix: LAPACK's 32-bit indices fail beyond it.
LARGEST = 16_384
#: Least squared pivot over the largest for which the Cholesky factor of AᵀA is accurate.
SQUARED = 1e-6


class JitterWarning(RuntimeWarning):
    """A covariance was so close to singular that its jitter may show in the results."""


def cholesky(
    A: Array, scale: float, *, nugget: float = 0.0, overwrite: bool = False
) -> tuple[Array, float]:
    """Lower L with LLᵀ = A + jitter·scale·I, and the jitter used.

    `scale` is the size of the *prior* diagonal: A itself may be a difference that has
    cancelled to zero. The jitter is the first of 0, `nugget`, `JITTERS` that works; with a
    nugget, a squared pivot below a tenth of it counts as failure: it is mere rounding.
    """
    n = A.shape[0]
    if n > LARGEST:
        raise ValueError(
            f"a dense {n} x {n} matrix is beyond the limit of {LARGEST}: give smaller "
            "chunks, fewer anchors or a smaller n_local"
        )
    if n == 0:
        return np.empty((0, 0)), 0.0
    in_place = overwrite and A.flags.c_contiguous and A.flags.writeable and A.dtype == float
    L = mirror(A if in_place else np.array(A, dtype=float, order="C"))
    diagonal = L.diagonal().copy()
    floor = 0.1 * nugget * scale
    for jitter in (0.0, *([nugget] if nugget else []), *[j for j in JITTERS if j > nugget]):
        np.fill_diagonal(L, diagonal + jitter * scale)
        failed = lapack.potrf(L)
        if not failed and not np.isfinite(L.diagonal()).all():  # LAPACK does not stop at NaN
            raise ValueError(f"a covariance of {n} rows is not finite: check X and `kernel`")
        if not failed and (L.diagonal() ** 2).min() >= floor:
            if jitter >= 1e-6:
                warnings.warn(
                    f"a covariance of {n} rows needed a relative jitter of {jitter:.0e}; give "
                    "a larger noise, or remove near-duplicate rows",
                    JitterWarning,
                    stacklevel=3,
                )
            _clear_upper(L)
            return L, jitter
        _copy_upper(L)
    raise ValueError(
        "a covariance matrix is not positive semidefinite: check that `kernel` is a valid "
        "covariance function and that its parameters are finite"
    )


def factorise(A: Array) -> bool:
    """Replace the lower triangle of A by its Cholesky factor, without jitter, in its precision.

    The strict upper triangle is neither read nor written. Return False if A is not positive
    definite; its lower triangle is then lost.
    """
    return not lapack.potrf(A) and bool(np.isfinite(A.diagonal()).all())


def solve_first_upper(L: Array, b: Array) -> Array:
    """L⁻ᵀb, with L the first len(b) rows and columns of a larger factor."""
    b = b.copy()
    lapack.trsv(L, b.size, b, True)
    return b


def solve_factorised(L: Array, b: Array) -> Array:
    """(LLᵀ)⁻¹b in the precision of L, b (n,); the upper triangle of L is not read."""
    b = b.astype(L.dtype)
    lapack.trsv(L, b.size, b, False)
    lapack.trsv(L, b.size, b, True)
    return b.astype(float, copy=False)


@compiled()
def add_lower(A, B):
    """A + B on the lower triangles of A  (b, n, n), in place."""
    for k in range(A.shape[0]):
        for i in range(A.shape[1]):
            for j in range(i + 1):
                A[k, i, j] += B[k, i, j]


@compiled()
def multiply_lower(A, B):
    """A ∘ B on the lower triangles of A  (b, n, n), in place."""
    for k in range(A.shape[0]):
        for i in range(A.shape[1]):
            for j in range(i + 1):
                A[k, i, j] *= B[k, i, j]


@compiled()
def _clear_upper(L):
    for i in range(L.shape[0]):
        for j in range(i + 1, L.shape[1]):
            L[i, j] = 0.0


def _copy_upper(L: Array) -> None:
    """Undo a failed factorisation: LAPACK leaves the strict upper triangle alone."""
    for i in range(L.shape[0]):
        L[i, :i] = L[:i, i]


@compiled()
def mirror(A):
    """Copy the lower triangle onto the upper one, in place, in blocks that fit the cache."""
    n, b = A.shape[0], 32
    for i0 in range(0, n, b):
        for j0 in range(0, i0 + 1, b):
            for i in range(i0, min(i0 + b, n)):
                for j in range(j0, min(j0 + b, i)):
                    A[j, i] = A[i, j]
    return A


@compiled()
def scaled(A, r):
    """diag(r) A diag(r), both triangles, in blocks that fit the cache."""
    n, b = A.shape[0], 32
    C = np.empty((n, n))
    for i0 in range(0, n, b):
        for j0 in range(0, i0 + 1, b):
            for i in range(i0, min(i0 + b, n)):
                for j in range(j0, min(j0 + b, i + 1)):
                    C[i, j] = A[i, j] * (r[i] * r[j])
                    C[j, i] = C[i, j]
    return C


def add_diagonal(A: Array, x: Array | float) -> Array:
    """A + diag(x), in place."""
    A.flat[:: A.shape[0] + 1] += x
    return A


def solve_lower(L: Array, B: Array, *, overwrite: bool = False) -> Array:
    """L⁻¹B."""
    return _solve(L, B, False, overwrite)


def solve_upper(L: Array, B: Array, *, overwrite: bool = False) -> Array:
    """L⁻ᵀB."""
    return _solve(L, B, True, overwrite)


def _solve(L: Array, B: Array, transposed: bool, overwrite: bool) -> Array:
    contiguous = B.flags.c_contiguous or B.flags.f_contiguous
    if not (overwrite and contiguous and B.flags.writeable and B.dtype == float):
        B = np.array(B, dtype=float, order="K" if contiguous else "C")
    if B.size:
        lapack.trsm(L, B[:, None] if B.ndim == 1 else B, transposed)
    return B


def solve_posdef(L: Array, B: Array) -> Array:
    """(LLᵀ)⁻¹B."""
    return solve_upper(L, solve_lower(L, B), overwrite=True)


def solve_square(A: Array, B: Array) -> Array:
    """A⁻¹B for any square A; zeros if A is singular."""
    try:
        return np.linalg.solve(A, B)
    except np.linalg.LinAlgError:
        return np.zeros_like(B)


def inverse_posdef(L: Array) -> Array:
    """(LLᵀ)⁻¹, lower triangle only: for traces and adjoints, not for solving."""
    A = L.copy()
    if A.size:
        lapack.potri(A)
    return A


def gram(A: Array) -> Array:
    """AAᵀ, symmetric to the last bit."""
    C = np.zeros((A.shape[0], A.shape[0]))
    if A.size:
        lapack.syrk(1.0, _contiguous(A), C, 0.0)
    return mirror(C)


def triangle(A: Array) -> Array:
    """R upper triangular with RᵀR = AᵀA, by Householder reflections: AᵀA is not formed."""
    return np.asarray(np.linalg.qr(A, mode="r"))


def root(A: Array) -> Array:
    """R with RᵀR = AᵀA and few rows: as many as columns, or somewhat more.

    R = Lᵀ, L the Cholesky factor of AᵀA, which costs half a matrix product. If the columns of A
    are nearly dependent L is inaccurate, but AL⁻ᵀ is nearly orthogonal, and its own factor
    corrects L (Yamamoto et al. 2015). If that fails too, R comes from reflections, 512 rows at a
    time.
    """
    L, ratio = _gram_factor(A)
    if L is not None and ratio < SQUARED:
        again, near = _gram_factor(_solve(L, A.T, False, False).T)
        L = None if again is None or near < 0.01 else L @ again
    if L is not None:
        return np.ascontiguousarray(L.T)
    return np.concatenate([triangle(A[i : i + 512]) for i in range(0, A.shape[0], 512)])


def _gram_factor(A: Array) -> tuple[Array | None, float]:
    """Cholesky factor of AᵀA (None if it fails), and its smallest over largest squared pivot."""
    G = np.zeros((A.shape[1], A.shape[1]))
    lapack.syrk(1.0, _contiguous(A).T, G, 0.0)
    if not np.isfinite(G.diagonal()).all() or lapack.potrf(G):
        return None, 0.0
    pivots = G.diagonal() ** 2
    _clear_upper(G)
    return G, float(pivots.min(initial=np.inf) / pivots.max(initial=1e-300))


def subtract_gram(C: Array, A: Array) -> Array:
    """C − AAᵀ on the lower triangle of C, in place."""
    if A.size:
        lapack.syrk(-1.0, _contiguous(A), C)
    return C


def _contiguous(A: Array) -> Array:
    return A if A.flags.c_contiguous or A.flags.f_contiguous else np.ascontiguousarray(A)


def log_det(L: Array) -> float:
    """log|LLᵀ|."""
    return 2.0 * float(np.log(L.diagonal()).sum())


def cholesky_vjp(L: Array, L_bar: Array) -> Array:
    """∂ℒ/∂A (symmetric) from ∂ℒ/∂L, A = LLᵀ: L⁻ᵀ Φ(LᵀL̄) L⁻¹ (Murray 2016, eq. 8).

    Φ takes the lower triangle and halves its diagonal.
    """
    P = np.tril(L.T @ np.tril(L_bar))
    np.fill_diagonal(P, 0.5 * P.diagonal())
    P = solve_upper(L, P, overwrite=True)  # L⁻ᵀΦ
    P = solve_upper(L, P.T).T  # L⁻ᵀΦL⁻¹
    return 0.5 * (P + P.T)
