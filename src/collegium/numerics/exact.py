"""Sums with the same bits in any order: fixed point, 64 fractional bits and 128 in front of them.

    x = top·2⁶⁴ + hi + lo·2⁻⁶⁴        hi, lo in [0, 2⁶⁴): a two's complement of three words

Floating-point addition is not associative; integer addition is. A term is floored to a multiple of
2⁻⁶⁴ and added with carries, so a sum depends on its terms alone: not on their order, not on how
they were grouped, and to subtract a term is never to have added it. What is added here are
messages about whitened coordinates, whose prior precision is one: 2⁻⁶⁴ is rounding beside it.

Terms must be below 2¹²⁶, about 8.5e37, and so must the value of a sum when it is asked for; sums
on the way to it, below 2¹²⁷.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import linalg
from .compiling import compiled
from .records import record

Array = np.ndarray
ZERO, ONE, WORD = np.uint64(0), np.uint64(1), np.uint64(64)
UNIT = 2.0**64
#: No term and no value reaches this.
LIMIT = 2.0**126
REFUSAL = "messages add up to 2**126: give smaller weights or a larger noise variance"


class TooLarge(ValueError):
    """A term or the value of a sum is not below 2¹²⁶, or not a number."""


@record("numerics.exact/1")
@dataclass(frozen=True, eq=False)
class Exact:
    """The sums of n sequences of numbers. A record: to add returns a new one."""

    lo: Array  # uint64  (n,)
    hi: Array  # uint64  (n,)
    top: Array  # int64  (n,)

    def __post_init__(self) -> None:
        # compiled loops trust these; a model file may say otherwise
        words = [(one.dtype.str[1:], one.shape) for one in (self.lo, self.hi, self.top)]
        if words != [(kind, (self.lo.size,)) for kind in ("u8", "u8", "i8")]:
            raise ValueError("not three words for each sum")

    @classmethod
    def zero(cls, n: int) -> Exact:
        return cls(np.zeros(n, np.uint64), np.zeros(n, np.uint64), np.zeros(n, np.int64))

    @property
    def n(self) -> int:
        return self.lo.size

    def copy(self) -> Exact:
        return Exact(self.lo.copy(), self.hi.copy(), self.top.copy())

    def include(self, values: Array) -> None:
        """Add values (n,) in place; of a square matrix (m, m) its lower triangle, row by row."""
        add = _add_triangle if values.ndim == 2 else _add_values
        self._check(values.size if values.ndim == 1 else triangle(*values.shape))
        if not add(self.lo, self.hi, self.top, values):
            raise TooLarge(REFUSAL)

    def __add__(self, other: Exact) -> Exact:
        total = self.copy()
        self._check(other.n)
        if not _add_words(total.lo, total.hi, total.top, other.lo, other.hi, other.top):
            raise TooLarge(REFUSAL)
        return total

    def __neg__(self) -> Exact:
        opposite = Exact(~self.lo, ~self.hi, ~self.top)
        unit = np.ones(self.n, np.uint64)
        nothing = np.zeros(self.n, np.uint64), np.zeros(self.n, np.int64)
        _add_words(opposite.lo, opposite.hi, opposite.top, unit, *nothing)
        return opposite

    def __sub__(self, other: Exact) -> Exact:
        return self + (-other)

    def padded(self, n: int) -> Exact:
        """With zeros appended up to n sums."""
        more = n - self.n
        return Exact(*(np.pad(words, (0, more)) for words in (self.lo, self.hi, self.top)))

    def value(self) -> Array:
        """The sums, rounded to the nearest numbers  (n,)."""
        found = np.empty(self.n)
        if not _value(self.lo, self.hi, self.top, found):
            raise TooLarge(REFUSAL)
        return found

    def symmetric(self, m: int) -> Array:
        """The same as a symmetric matrix (m, m), of which they are the lower triangle."""
        self._check(triangle(m, m))
        found = np.empty((m, m))
        _unpack(self.value(), found)
        return linalg.mirror(found)

    def _check(self, n: int) -> None:
        if n != self.n:
            raise ValueError(f"{self.n} sums are not {n}")


def triangle(m: int, n: int) -> int:
    """Entries of the lower triangle of a matrix (m, m)."""
    if m != n:
        raise ValueError(f"a matrix ({m}, {n}) is not square")
    return m * (m + 1) // 2


@compiled(error_model="numpy", inline="always")
def _words(x):
    """⌊x·2⁶⁴⌋ as three words: −v is ~v + 1, and ~v where v was rounded down.

    Without branches: signs change from entry to entry.
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


@compiled(error_model="numpy", inline="always")
def _add_at(lo, hi, top, k, more_lo, more_hi, more_top):
    """Add three words to those at k, with carries; False where the sum has left its range."""
    low = lo[k] + more_lo
    carry = np.uint64(low < more_lo)
    high = hi[k] + more_hi
    carried = high + carry
    more_top += np.int64(high < more_hi) + np.int64(carried < carry)
    before, after = top[k], top[k] + more_top
    lo[k], hi[k], top[k] = low, carried, after
    return (before ^ after) & (more_top ^ after) >= 0


@compiled(error_model="numpy")
def _add_values(lo, hi, top, values):
    """Add values (n,); False where one is too large or not a number: the sums are then lost."""
    good = True
    for k in range(values.size):
        x = values[k]
        good &= abs(x) < LIMIT
        more_lo, more_hi, more_top = _words(x)
        good &= _add_at(lo, hi, top, k, more_lo, more_hi, more_top)
    return good


@compiled(error_model="numpy")
def _add_triangle(lo, hi, top, matrix):
    """Add the lower triangle of a matrix (m, m), row by row."""
    good, k = True, 0
    for i in range(matrix.shape[0]):
        for j in range(i + 1):
            x = matrix[i, j]
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
    """The nearest numbers; False where one is too large.

    The leading 64 bits are made one word whose last bit is set where anything follows it, so
    that converting that word rounds as the whole would.
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


@compiled(error_model="numpy")
def _unpack(values, matrix):
    """Write the lower triangle of a matrix (m, m), row by row."""
    k = 0
    for i in range(matrix.shape[0]):
        for j in range(i + 1):
            matrix[i, j] = values[k]
            k += 1


@compiled(error_model="numpy", inline="always")
def _leading_zeros(word):
    """How many bits of a word, which is not zero, come before its first one."""
    count = ZERO
    for step in (np.uint64(32), np.uint64(16), np.uint64(8), np.uint64(4), np.uint64(2), ONE):
        if word >> (WORD - step) == ZERO:
            count += step
            word = word << step
    return count
