"""Sums with the same bits in any order: fixed point, 64 fractional bits and 128 in front of them.

    x = top·2⁶⁴ + hi + lo·2⁻⁶⁴        hi, lo in [0, 2⁶⁴): a two's complement of three words

Floating-point addition is not associative; integer addition is. A term is floored to a multiple of
2⁻⁶⁴ and added with carries, so a sum depends on its terms alone, not on their order or grouping,
and subtracting a term is the same as never having added it. The terms are messages about
whitened coordinates, whose prior precision is one: beside it 2⁻⁶⁴ is rounding.

Terms and requested values of sums must be below 2¹²⁶, about 8.5e37; intermediate sums, below 2¹²⁷.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import linalg
from .compiling import compiled, inner
from .records import record

Array = np.ndarray
ZERO, ONE, WORD = np.uint64(0), np.uint64(1), np.uint64(64)
UNIT = 2.0**64
#: Terms and values are below this.
LIMIT = 2.0**126
REFUSAL = "messages add up to 2**126: give smaller weights or a larger noise variance"


class TooLarge(ValueError):
    """A term or the value of a sum is not below 2¹²⁶, or not a number."""


@record("numerics.exact/1")
@dataclass(frozen=True, eq=False)
class ExactSum:
    """The sums of n sequences of numbers. A record: addition returns a new one."""

    lo: Array  # uint64  (n,)
    hi: Array  # uint64  (n,)
    top: Array  # int64  (n,)

    def __post_init__(self) -> None:
        # compiled loops trust these shapes; a model file may break them
        words = [(one.dtype.str[1:], one.shape) for one in (self.lo, self.hi, self.top)]
        if words != [(kind, (self.lo.size,)) for kind in ("u8", "u8", "i8")]:
            raise ValueError("not three words for each sum")

    @classmethod
    def zero(cls, n: int) -> ExactSum:
        return cls(np.zeros(n, np.uint64), np.zeros(n, np.uint64), np.zeros(n, np.int64))

    @property
    def n(self) -> int:
        return self.lo.size

    def copy(self) -> ExactSum:
        return ExactSum(self.lo.copy(), self.hi.copy(), self.top.copy())

    def include(self, values: Array) -> None:
        """Add values (n,), or the lower triangle of a matrix (m, m) row by row, in place."""
        lower = values.ndim == 2
        self._check(triangle_size(*values.shape) if lower else values.size)
        table = values if lower else values[None]
        if not _add_values(self.lo, self.hi, self.top, np.ascontiguousarray(table), lower):
            raise TooLarge(REFUSAL)

    def __add__(self, other: ExactSum) -> ExactSum:
        total = self.copy()
        self._check(other.n)
        if not _add_words(total.lo, total.hi, total.top, other.lo, other.hi, other.top):
            raise TooLarge(REFUSAL)
        return total

    def __neg__(self) -> ExactSum:
        opposite = ExactSum(~self.lo, ~self.hi, ~self.top)
        unit = np.ones(self.n, np.uint64)
        nothing = np.zeros(self.n, np.uint64), np.zeros(self.n, np.int64)
        _add_words(opposite.lo, opposite.hi, opposite.top, unit, *nothing)
        return opposite

    def __sub__(self, other: ExactSum) -> ExactSum:
        return self + (-other)

    def padded(self, n: int) -> ExactSum:
        """Append zeros up to n sums."""
        more = n - self.n
        return ExactSum(*(np.pad(words, (0, more)) for words in (self.lo, self.hi, self.top)))

    def value(self) -> Array:
        """Round the sums to the nearest floating-point numbers  (n,)."""
        found = np.empty(self.n)
        if not _value(self.lo, self.hi, self.top, found):
            raise TooLarge(REFUSAL)
        return found

    def symmetric(self, m: int) -> Array:
        """Round the sums and unpack them as the lower triangle of a symmetric matrix (m, m)."""
        self._check(triangle_size(m, m))
        found = np.empty((m, m))
        _unpack(self.value(), found)
        return linalg.mirror(found)

    def _check(self, n: int) -> None:
        if n != self.n:
            raise ValueError(f"{self.n} sums are not {n}")


def triangle_size(m: int, n: int) -> int:
    """m(m + 1)/2: entries of the lower triangle of a matrix (m, m)."""
    if m != n:
        raise ValueError(f"a matrix ({m}, {n}) is not square")
    return m * (m + 1) // 2


@inner(error_model="numpy")
def _words(x):
    """⌊x·2⁶⁴⌋ as three words: −v is ~v + 1, and ~v where v was rounded down.

    Branch-free, since signs change from entry to entry.
    """
    a = abs(x)
    whole = np.floor(a)
    above = np.floor(whole / UNIT)
    part = (a - whole) * UNIT
    floored = np.floor(part)
    negative = np.int64(x < 0.0)
    mask, more = np.uint64(-negative), np.uint64(negative & np.int64(part == floored))
    lo = (np.uint64(floored) ^ mask) + more
    carry = np.uint64(lo < more)
    hi = (np.uint64(whole - above * UNIT) ^ mask) + carry
    return lo, hi, (np.int64(above) ^ -negative) + np.int64(hi < carry)


@inner(error_model="numpy")
def _add_at(lo, hi, top, k, more_lo, more_hi, more_top):
    """Add three words to those at k, with carries; False if the sum overflows."""
    low = lo[k] + more_lo
    carry = np.uint64(low < more_lo)
    high = hi[k] + more_hi
    carried = high + carry
    more_top += np.int64(high < more_hi) + np.int64(carried < carry)
    before, after = top[k], top[k] + more_top
    lo[k], hi[k], top[k] = low, carried, after
    return (before ^ after) & (more_top ^ after) >= 0


@compiled(error_model="numpy")
def _add_values(lo, hi, top, values, lower):
    """Add values row by row, or the lower triangle of a matrix; False if one is too large or not
    a number, and the sums are lost."""
    good, k = True, 0
    for i in range(values.shape[0]):
        for j in range(i + 1 if lower else values.shape[1]):
            x = values[i, j]
            good &= abs(x) < LIMIT
            more_lo, more_hi, more_top = _words(x)
            good &= _add_at(lo, hi, top, k, more_lo, more_hi, more_top)
            k += 1
    return good


@compiled(error_model="numpy")
def _add_words(lo, hi, top, more_lo, more_hi, more_top):
    good = True
    for k in range(lo.size):
        good &= _add_at(lo, hi, top, k, more_lo[k], more_hi[k], more_top[k])
    return good


@compiled(error_model="numpy")
def _value(lo, hi, top, found):
    """Round to the nearest floating-point numbers; False if one is too large.

    The leading 64 bits become one word, whose last bit is set if any lower bit is: converting
    this word rounds like the whole number.
    """
    good = True
    for k in range(lo.size):
        low, high, above = lo[k], hi[k], np.uint64(top[k])
        negative = top[k] < 0
        if negative:
            low, high, above = ~low + ONE, ~high, ~above
            high += np.uint64(low == ZERO)
            above += np.uint64(low == ZERO and high == ZERO)
        good &= above >> np.uint64(62) == ZERO
        scale = UNIT
        if above == ZERO:
            above, high, low, scale = high, low, ZERO, 1.0
            if above == ZERO:
                above, high, scale = high, ZERO, 1.0 / UNIT
        shift = _leading_zeros(above)
        if shift > ZERO and (high != ZERO or low != ZERO):
            above = (above << shift) | (high >> (WORD - shift))
            high = high << shift
            scale /= np.float64(ONE << shift)
        if high != ZERO or low != ZERO:
            above |= ONE
        x = np.float64(above) * scale
        found[k] = -x if negative else x
    return good


def _unpack(values: Array, matrix: Array) -> None:
    """Write the lower triangle of a matrix (m, m), row by row."""
    for i in range(matrix.shape[0]):
        start = i * (i + 1) // 2
        matrix[i, : i + 1] = values[start : start + i + 1]


@inner(error_model="numpy")
def _leading_zeros(word):
    """Count the zero bits before the first one of a nonzero word."""
    count = ZERO
    for step in (np.uint64(32), np.uint64(16), np.uint64(8), np.uint64(4), np.uint64(2), ONE):
        if word >> (WORD - step) == ZERO:
            count += step
            word = word << step
    return count
