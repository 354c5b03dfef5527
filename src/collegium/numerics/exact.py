"""Sums with the same bits in any order: fixed point, 64 fractional bits and 96 in front of them.

    x = top·2⁶⁴ + hi + lo·2⁻⁶⁴        hi, lo in [0, 2⁶⁴), a two's complement of three words

Floating-point addition is not associative; integer addition is. A term is floored to a multiple of
2⁻⁶⁴ and added with carries, so a sum depends on its terms alone: not on their order, not on how
they were grouped, and to subtract a term is never to have added it. What is added here are
messages about whitened coordinates, whose prior precision is one: 2⁻⁶⁴ is rounding beside it.

Terms must be below 2⁶³, about 9e18, and so must the value of the sum when it is asked for; sums on
the way to it may be larger.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import linalg
from .compiling import compiled

Array = np.ndarray
ZERO, ONE, HALF, FULL = np.uint64(0), np.uint64(1), np.uint64(1 << 63), np.uint64(64)
#: No term and no value reaches this.
LIMIT = 2.0**63
UNIT = 2.0**64


class TooLarge(ValueError):
    """A term or the value of a sum is not below 2⁶³, or not a number."""


@dataclass(frozen=True, eq=False)
class Exact:
    """The sums of n sequences of numbers. A record: to add returns a new one."""

    lo: Array  # uint64  (n,)
    hi: Array  # uint64  (n,)
    top: Array  # int32  (n,)

    @classmethod
    def zero(cls, n: int) -> Exact:
        return cls(np.zeros(n, np.uint64), np.zeros(n, np.uint64), np.zeros(n, np.int32))

    @property
    def n(self) -> int:
        return self.lo.size

    def copy(self) -> Exact:
        return Exact(self.lo.copy(), self.hi.copy(), self.top.copy())

    def include(self, values: Array) -> None:
        """Add values (n,) in place; of a square matrix (m, m) its lower triangle, row by row."""
        add = _add_triangle if values.ndim == 2 else _add_values
        if not add(self.lo, self.hi, self.top, values):
            raise TooLarge("a message is not below 2**63: give smaller weights or larger noise")

    def __add__(self, other: Exact) -> Exact:
        total = self.copy()
        _add_words(total.lo, total.hi, total.top, other.lo, other.hi, other.top)
        return total

    def __neg__(self) -> Exact:
        opposite = Exact(~self.lo, ~self.hi, ~self.top)
        unit = np.ones(self.n, np.uint64)
        nothing = np.zeros(self.n, np.uint64), np.zeros(self.n, np.int32)
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
            raise TooLarge("messages add up to 2**63: give smaller weights or larger noise")
        return found

    def symmetric(self, m: int) -> Array:
        """The same as a symmetric matrix (m, m), of which they are the lower triangle."""
        found = np.empty((m, m))
        _unpack(self.value(), found)
        return linalg.mirror(found)


@compiled(error_model="numpy", inline="always")
def _words(x):
    """⌊x·2⁶⁴⌋ as three words: −v is ~v + 1, and ~v where v was rounded down.

    Without branches: signs change from entry to entry.
    """
    a = abs(x)
    whole = np.floor(a)
    part = (a - whole) * UNIT
    floored = np.floor(part)
    negative = np.uint64(x < 0.0)
    mask, more = ZERO - negative, negative & np.uint64(part == floored)
    lo = (np.uint64(floored) ^ mask) + more
    carry = np.uint64(lo < more)
    hi = (np.uint64(whole) ^ mask) + carry
    return lo, hi, np.int32(hi < carry) - np.int32(negative)


@compiled(error_model="numpy", inline="always")
def _add_at(lo, hi, top, k, more_lo, more_hi, more_top):
    """Add three words to those at k, with carries."""
    low = lo[k] + more_lo
    carry = np.uint64(low < more_lo)
    high = hi[k] + more_hi
    carried = high + carry
    lo[k] = low
    hi[k] = carried
    top[k] += more_top + np.int32(high < more_hi) + np.int32(carried < carry)


@compiled(error_model="numpy")
def _add_values(lo, hi, top, values):
    """Add values (n,); False where one is too large or not a number: the sums are then lost."""
    good = True
    for k in range(values.size):
        x = values[k]
        good &= abs(x) < LIMIT
        more_lo, more_hi, more_top = _words(x)
        _add_at(lo, hi, top, k, more_lo, more_hi, more_top)
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
            _add_at(lo, hi, top, k, more_lo, more_hi, more_top)
            k += 1
    return good


@compiled(error_model="numpy")
def _add_words(lo, hi, top, more_lo, more_hi, more_top):
    for k in range(lo.size):
        _add_at(lo, hi, top, k, more_lo[k], more_hi[k], more_top[k])


@compiled(error_model="numpy")
def _value(lo, hi, top, found):
    """The nearest numbers; False where one does not fit into the two lower words.

    The leading 64 bits are made one word whose last bit is set where anything follows it, so
    that converting that word rounds as the whole would.
    """
    good = True
    for k in range(lo.size):
        low, high, negative = lo[k], hi[k], top[k] < 0
        if negative:
            low, high = ~low + ONE, ~high
            if low == ZERO:
                high += ONE
        good &= high < HALF and top[k] == -np.int32(negative)
        good &= not (negative and hi[k] < HALF)
        scale = 1.0
        if high == ZERO:
            high, low, scale = low, ZERO, 1.0 / UNIT
        shift = _leading_zeros(high)
        if shift > ZERO and low != ZERO:
            high = (high << shift) | (low >> (FULL - shift))
            low = low << shift
            scale = 1.0 / np.float64(ONE << shift)
        if low != ZERO:
            high |= ONE
        x = np.float64(high) * scale
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
        if word >> (FULL - step) == ZERO:
            count += step
            word = word << step
    return count
