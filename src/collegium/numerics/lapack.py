"""BLAS and LAPACK without the interpreter lock, in place, on row-major arrays.

SciPy's own wrappers hold the lock, so that small factorisations in two threads run one after the
other; the same routines called by ctypes through `scipy.linalg.cython_blas` do not. A row-major
lower triangle is a column-major upper one: hence the letter "U" below. Only `linalg.py` imports
this file.
"""

import ctypes
from ctypes import byref, c_double, c_float, c_int

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

Array = np.ndarray


def _routine(module, name: str, n_arguments: int):
    """Find the C function behind a Cython routine."""
    capsule = module.__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(address)


_dpotrf = _routine(cython_lapack, "dpotrf", 5)
_spotrf = _routine(cython_lapack, "spotrf", 5)
_dpotri = _routine(cython_lapack, "dpotri", 5)
_dtrsm = _routine(cython_blas, "dtrsm", 11)
_dtrsv = _routine(cython_blas, "dtrsv", 8)
_strsv = _routine(cython_blas, "strsv", 8)
_dsyrk = _routine(cython_blas, "dsyrk", 10)
_ssyrk = _routine(cython_blas, "ssyrk", 10)
SINGLE = np.dtype(np.float32)


def potrf(A: Array) -> int:
    """Replace the lower triangle of A (n, n) by its Cholesky factor. Returns 0 on success."""
    n, info = c_int(A.shape[0]), c_int(0)
    work = _spotrf if A.dtype == SINGLE else _dpotrf
    work(b"U", byref(n), A.ctypes.data, byref(n), byref(info))
    return info.value


def potri(L: Array) -> None:
    """Lower Cholesky factor L -> lower triangle of (LLᵀ)⁻¹, in place."""
    n, info = c_int(L.shape[0]), c_int(0)
    _dpotri(b"U", byref(n), L.ctypes.data, byref(n), byref(info))


def trsv(L: Array, n: int, b: Array, transposed: bool) -> None:
    """b <- L⁻¹b, or L⁻ᵀb, in place; L are the first n rows and columns of a row-major array."""
    work = _strsv if L.dtype == SINGLE else _dtrsv
    work(
        b"U", b"N" if transposed else b"T", b"N", byref(c_int(n)), L.ctypes.data,
        byref(c_int(L.shape[0])), b.ctypes.data, byref(c_int(1)),
    )  # fmt: skip


def trsm(L: Array, B: Array, transposed: bool) -> None:
    """B <- L⁻¹B, or L⁻ᵀB, in place; L row-major lower, B row- or column-major."""
    m, n = B.shape
    one, ld = c_double(1.0), c_int(L.shape[0])
    if B.flags.c_contiguous:  # in column-major order B is Bᵀ: BᵀL⁻ᵀ, from the right
        _dtrsm(
            b"R", b"U", b"T" if transposed else b"N", b"N", byref(c_int(n)), byref(c_int(m)),
            byref(one), L.ctypes.data, byref(ld), B.ctypes.data, byref(c_int(n)),
        )  # fmt: skip
    else:
        _dtrsm(
            b"L", b"U", b"N" if transposed else b"T", b"N", byref(c_int(m)), byref(c_int(n)),
            byref(one), L.ctypes.data, byref(ld), B.ctypes.data, byref(c_int(m)),
        )  # fmt: skip


def syrk(alpha: float, A: Array, C: Array, beta: float = 1.0) -> None:
    """C <- αAAᵀ + βC on the lower triangle of the row-major C; A row- or column-major."""
    n, k = A.shape
    rows = A.flags.c_contiguous
    work, number = (_ssyrk, c_float) if A.dtype == SINGLE else (_dsyrk, c_double)
    work(
        b"U", b"T" if rows else b"N", byref(c_int(n)), byref(c_int(k)), byref(number(alpha)),
        A.ctypes.data, byref(c_int(k if rows else n)), byref(number(beta)), C.ctypes.data,
        byref(c_int(n)),
    )  # fmt: skip
