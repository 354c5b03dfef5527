"""E[g(f)], f ~ N(m, v), for any v: trapezoidal rules, which are exact to rounding for smooth
integrands that vanish at both ends, as soon as the step resolves them.

`trapezoid` takes g to bend on a scale of one or more, to bend near zero only once |f| is large,
and to grow no faster than a power. A narrow normal is integrated in z = (f − m)/√v. A wide one
that reaches zero is integrated in u, f = sinh u, whose steps are short near zero and in proportion
to |f| far from it. Gauss–Hermite rules fail on such: their nodes step over zero.

`expect` takes none of this for granted. A g that grows like e^(af) has its integral around
z = a√v: where g·N does not vanish beyond the ends, the range is moved to where it does. Where the
rule with half of the nodes differs, steps are halved. What is then still in doubt is warned of.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence

import numpy as np

Array = np.ndarray
#: Deviations on either side, beyond which the normal's weight is 1e-18.
ENDS = 9.0
#: Steps: in f or in deviations, whichever is shorter, and in u.
STEP, LOG_STEP = 0.4, 0.06
#: Deviation above which a normal that reaches zero is wide; the finest steps of one that does not.
WIDE, FINEST = 16.0, 64.0
#: Numbers that are held at a time.
BLOCK = 1_000_000
#: Deviations at which g·N should be nothing, and those among which the range of others is found:
#: beyond 38 the normal's weight is not a float.
BEYOND = np.array([-37.0, -30.0, -24.0, -19.0, -15.0, -12.0, -10.0])
BEYOND = np.concatenate([BEYOND, -BEYOND[::-1]])
FARTHEST, APART = 38.0, 0.25
#: Of E|g|: what is nothing at one point beyond the ends, and at the ends of a range that is found.
NOTHING, NOTHING_AT_ALL = 1e-15, 1e-18
#: Differences, relative to E|g|, between a rule and that with twice its step: from which on steps
#: are halved (the error of a smooth integrand is about the square of it), how often at most, and
#: from which on the result is not trusted.
CLOSE, HALVINGS, TRUSTED = 1e-6, 6, 1e-4
_ROOT_2PI = float(np.sqrt(2.0 * np.pi))


class QuadratureWarning(UserWarning):
    """An integral over a latent function is not to be trusted."""


def trapezoid(function: Callable[..., Array], m: Array, v: Array, *given: Array) -> Array:
    """E[g(f, *given)] of each m, v and given, g elementwise, by one fixed rule, unchecked."""
    shape, m, s, columns = _flat(m, v, given)
    return _Sums(function, m, s, columns).plain()[0].reshape(shape)


def expect(function: Callable[..., Array], m: Array, v: Array, *given: Array) -> Array:
    """E[g(f, *given)] of each m, v and given, g elementwise; QuadratureWarning where in doubt."""
    shape, m, s, columns = _flat(m, v, given)
    sums = _Sums(function, m, s, columns)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        total, size, gap = sums.plain()
        doubtful = np.flatnonzero(~(gap <= CLOSE * size) | sums.goes_on(size))
        if doubtful.size:
            total[doubtful], trusted = sums.at(doubtful).carefully()
            _warn(m[doubtful][~trusted], s[doubtful][~trusted], m.size)
    return total.reshape(shape)


def _flat(m: Array, v: Array, given: Sequence[Array]) -> tuple:
    """The common shape; m, √v and the given numbers as rows of it."""
    shape = np.broadcast_shapes(np.shape(m), np.shape(v), *map(np.shape, given))
    m, v, *columns = (np.broadcast_to(a, shape).ravel() for a in (m, v, *given))
    return shape, m, np.sqrt(np.maximum(v, 0.0)), columns


def _warn(m: Array, s: Array, n: int) -> None:
    if m.size:
        i = int(np.argmax(s))
        warnings.warn(
            f"{m.size} of {n} integrals over a latent function are not to be trusted, such as that "
            f"over f ~ N({m[i]:.3g}, {s[i] ** 2:.3g}): the integrand grows too fast or bends too "
            "sharply. Give the likelihood a closed form, by a `predict`, `function` or "
            "`log_predictive` of its own",
            QuadratureWarning,
            stacklevel=4,
        )


class _Sums:
    """Sums over nodes, one a row: f ~ N(mᵢ, sᵢ²), g with the numbers that are given for row i."""

    def __init__(self, function: Callable[..., Array], m: Array, s: Array, given: Sequence[Array]):
        self.function, self.m, self.s, self.given = function, m, s, given

    def at(self, rows: Array) -> _Sums:
        return _Sums(self.function, self.m[rows], self.s[rows], [a[rows] for a in self.given])

    def g(self, f: Array, rows: Array) -> Array:
        return self.function(f, *(a[rows, None] for a in self.given))

    def plain(self) -> tuple[Array, Array, Array]:
        """Σ, Σ|·| and how far Σ is from that with twice the step; ENDS deviations either way."""
        m, s, out = self.m, self.s, np.empty((3, self.m.size))
        wide = (s > WIDE) & (np.abs(m) <= ENDS * s)
        fine = np.where(s > WIDE, 1.0, 2.0 ** np.ceil(np.log2(np.maximum(s, 1.0))))
        fine[wide] = 0.0
        counts = np.where(wide, _wide_count(m, s, ENDS, ENDS), np.ceil(2.0 * ENDS / STEP * fine))
        for level, count, rows in _alike(fine, counts):
            for part in _parts(rows, count):
                if level:
                    f, weight = _narrow(m[part, None], s[part, None], count)
                else:
                    f, weight = _wide(m[part, None], s[part, None], -ENDS, ENDS, count)
                out[:, part] = _sum(weight * self.g(f, part))
        return out[0], out[1], out[2]

    def goes_on(self, size: Array) -> Array:
        """Whether g·N is more than nothing, relative to E|g|, or no number beyond the ends."""
        return ~(self._weighed(BEYOND).max(axis=1) <= NOTHING * size)

    def _weighed(self, z: Array) -> Array:
        """|g|·N at so many deviations; NaN where g is not finite  (n, points)."""
        out, weight = np.empty((self.m.size, z.size)), np.exp(-0.5 * z * z) / _ROOT_2PI
        for part in _parts(np.arange(self.m.size), z.size):
            g = np.abs(self.g(self.m[part, None] + self.s[part, None] * z, part))
            out[part] = np.where(np.isfinite(g), g, np.nan) * weight
        return out

    def carefully(self) -> tuple[Array, Array]:
        """Σ over the range where g·N is, steps halved until they agree; whether to trust it.

        A range that is cut off shows in the gap too, by the last node of it.
        """
        low, high = self._range()
        total, rows = np.empty(self.m.size), np.arange(self.m.size)
        size, gap = np.zeros((2, self.m.size))
        for halving in range(HALVINGS + 1):
            total[rows], size[rows], gap[rows] = self.at(rows)._between(
                low[rows], high[rows], 0.5**halving
            )
            rows = rows[~(gap[rows] <= CLOSE * size[rows])]
        return total, np.isfinite(total) & (gap <= TRUSTED * size)

    def _range(self) -> tuple[Array, Array]:
        """The deviations between which g·N is more than nothing."""
        z = np.arange(-FARTHEST, FARTHEST + APART, APART)
        found = np.nan_to_num(self._weighed(z), nan=0.0)
        there = found > NOTHING_AT_ALL * found.max(axis=1, keepdims=True)
        there[:, z.size // 2] |= ~there.any(axis=1)
        first, last = there.argmax(axis=1), z.size - 1 - there[:, ::-1].argmax(axis=1)
        return np.minimum(z[first] - APART, -ENDS), np.maximum(z[last] + APART, ENDS)

    def _between(self, low: Array, high: Array, share: float) -> Array:
        """As `plain`, between these deviations, by this share of its steps  (3, n)."""
        m, s, out = self.m, self.s, np.empty((3, self.m.size))
        wide = (s > WIDE) & (m + low * s <= 0.0) & (m + high * s >= 0.0)
        fine = 2.0 ** np.ceil(np.log2(np.clip(s, 1.0, FINEST)))
        fine[wide] = 0.0
        narrow = _on_ladder(np.ceil((high - low) / STEP * fine / share))
        counts = 1.0 + np.where(wide, _wide_count(m, s, -low, high) / share, narrow)
        for level, count, rows in _alike(fine, counts):
            for part in _parts(rows, count):
                given = m[part, None], s[part, None], low[part, None], high[part, None], count
                f, weight = _wide(*given) if level == 0.0 else _shifted(*given)
                out[:, part] = _sum(weight * self.g(f, part))
        return out


def _on_ladder(counts: Array) -> Array:
    """The next of the powers of √2: few numbers of nodes, and a row's own whatever the others."""
    return np.ceil(2.0 ** (0.5 * np.ceil(2.0 * np.log2(np.maximum(counts, 1.0)))))


def _alike(fine: Array, counts: Array) -> Iterator[tuple[float, int, Array]]:
    """Level, number of nodes, and the rows that have both."""
    for level, count in sorted(set(zip(fine.tolist(), counts.tolist()))):
        yield level, int(count), np.flatnonzero((fine == level) & (counts == count))


def _parts(rows: Array, count: int) -> Iterator[Array]:
    """Rows, a block of nodes at a time."""
    yield from np.array_split(rows, max(1, -(-rows.size * count // BLOCK)))


def _sum(terms: Array) -> tuple[Array, Array, Array]:
    """Σ, Σ|·|, and |Σ − 2 Σ of every second|, of each row."""
    total = terms.sum(axis=1)
    return total, np.abs(terms).sum(axis=1), np.abs(total - 2.0 * terms[:, ::2].sum(axis=1))


def _narrow(m: Array, s: Array, count: int) -> tuple[Array, Array]:
    z, step = np.linspace(-ENDS, ENDS, count, retstep=True)
    return m + s * z, step / _ROOT_2PI * np.exp(-0.5 * z * z)


def _shifted(m: Array, s: Array, low: Array, high: Array, count: int) -> tuple[Array, Array]:
    """The same between low and high deviations, of each row its own."""
    z = low + (high - low) * np.linspace(0.0, 1.0, count)
    return m + s * z, (high - low) / (count - 1) / _ROOT_2PI * np.exp(-0.5 * z * z)


def _wide_count(m: Array, s: Array, below: Array | float, above: Array | float) -> Array:
    """Nodes of each row, two or more."""
    low, high = np.arcsinh(m - below * s), np.arcsinh(m + above * s)
    return np.maximum(_on_ladder((high - low) / LOG_STEP), 2.0)


def _wide(
    m: Array, s: Array, below: Array | float, above: Array | float, count: int
) -> tuple[Array, Array]:
    """Nodes f = sinh u, weights N(f; m, s²) cosh u du."""
    low, high = np.arcsinh(m + below * s), np.arcsinh(m + above * s)
    u = low + (high - low) * np.linspace(0.0, 1.0, count)
    f = np.sinh(u)
    z = (f - m) / s
    step = (high - low) / (count - 1)
    return f, step * np.cosh(u) / (s * _ROOT_2PI) * np.exp(-0.5 * z * z)
