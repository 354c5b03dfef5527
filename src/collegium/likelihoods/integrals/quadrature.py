"""E[g(f)], f ~ N(m, v), for any v: trapezoidal rules, which are exact to rounding for smooth
integrands that vanish at both ends, as soon as the step resolves them.

`trapezoid` takes g to bend on a scale of one or more, to bend near zero only once |f| is large,
and to grow no faster than a power. A narrow normal is integrated in z = (f − m)/√v. A wide one
that reaches zero is integrated in u, f = sinh u, whose steps are short near zero and in proportion
to |f| far from it. Gauss–Hermite rules fail there: their nodes step over zero.

`expect` takes none of this for granted. A g that grows like e^(af) has its integral around
z = a√v: where g·N does not vanish beyond the ends, the range is moved to where it does. Where the
rule with half of the nodes differs, steps are halved. A warning is given where doubt remains.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from .tuning import TUNING

Array = np.ndarray
#: Deviations at which g·N should be nothing.
BEYOND = np.array([-37.0, -30.0, -24.0, -19.0, -15.0, -12.0, -10.0])
BEYOND = np.concatenate([BEYOND, -BEYOND[::-1]])
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
        doubtful = np.flatnonzero(~(gap <= TUNING.close * size) | sums.goes_on(size))
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
    """Sums over nodes, one per row: f ~ N(mᵢ, sᵢ²), g with the numbers that are given for row i."""

    def __init__(self, function: Callable[..., Array], m: Array, s: Array, given: Sequence[Array]):
        self.function, self.m, self.s, self.given = function, m, s, given

    def at(self, rows: Array) -> _Sums:
        return _Sums(self.function, self.m[rows], self.s[rows], [a[rows] for a in self.given])

    def g(self, f: Array, rows: Array) -> Array:
        return self.function(f, *(a[rows, None] for a in self.given))

    def plain(self) -> tuple[Array, Array, Array]:
        """Σ, Σ|·|, and |Σ − that with twice the step|; `ends` deviations either way."""
        m, s, out = self.m, self.s, np.empty((3, self.m.size))
        wide = (s > TUNING.wide) & (np.abs(m) <= TUNING.ends * s)
        fine = np.where(s > TUNING.wide, 1.0, 2.0 ** np.ceil(np.log2(np.maximum(s, 1.0))))
        fine[wide] = 0.0
        counts = np.where(
            wide,
            _wide_count(m, s, TUNING.ends, TUNING.ends),
            np.ceil(2.0 * TUNING.ends / TUNING.step * fine),
        )
        for level, count, rows in _alike(fine, counts):
            for part in _parts(rows, count):
                if level:
                    f, weight = _narrow(m[part, None], s[part, None], count)
                else:
                    f, weight = _wide(
                        m[part, None], s[part, None], -TUNING.ends, TUNING.ends, count
                    )
                out[:, part] = _sum(weight * self.g(f, part))
        return out[0], out[1], out[2]

    def goes_on(self, size: Array) -> Array:
        """Whether g·N beyond the ends is no number, or not negligible relative to E|g|."""
        return ~(self._weighed(BEYOND).max(axis=1) <= TUNING.nothing * size)

    def _weighed(self, z: Array) -> Array:
        """|g|·N at these deviations; NaN where g is not finite  (n, points)."""
        out, weight = np.empty((self.m.size, z.size)), np.exp(-0.5 * z * z) / _ROOT_2PI
        for part in _parts(np.arange(self.m.size), z.size):
            g = np.abs(self.g(self.m[part, None] + self.s[part, None] * z, part))
            out[part] = np.where(np.isfinite(g), g, np.nan) * weight
        return out

    def carefully(self) -> tuple[Array, Array]:
        """Σ over the range of g·N, steps halved until they agree; whether to trust it.

        A range that is cut off shows in the gap too, by the last node of it.
        """
        low, high = self._range()
        total, rows = np.empty(self.m.size), np.arange(self.m.size)
        size, gap = np.zeros((2, self.m.size))
        for halving in range(TUNING.halvings + 1):
            total[rows], size[rows], gap[rows] = self.at(rows)._between(
                low[rows], high[rows], 0.5**halving
            )
            rows = rows[~(gap[rows] <= TUNING.close * size[rows])]
        return total, np.isfinite(total) & (gap <= TUNING.trusted * size)

    def _range(self) -> tuple[Array, Array]:
        """Deviations between which g·N is not negligible."""
        z = np.arange(-TUNING.farthest, TUNING.farthest + TUNING.apart, TUNING.apart)
        found = np.nan_to_num(self._weighed(z), nan=0.0)
        there = found > TUNING.nothing_at_all * found.max(axis=1, keepdims=True)
        there[:, z.size // 2] |= ~there.any(axis=1)
        first, last = there.argmax(axis=1), z.size - 1 - there[:, ::-1].argmax(axis=1)
        return np.minimum(z[first] - TUNING.apart, -TUNING.ends), np.maximum(
            z[last] + TUNING.apart, TUNING.ends
        )

    def _between(self, low: Array, high: Array, share: float) -> Array:
        """Sums like `plain`, between these deviations, by this share of its steps  (3, n)."""
        m, s, out = self.m, self.s, np.empty((3, self.m.size))
        wide = (s > TUNING.wide) & (m + low * s <= 0.0) & (m + high * s >= 0.0)
        fine = 2.0 ** np.ceil(np.log2(np.clip(s, 1.0, TUNING.finest)))
        fine[wide] = 0.0
        narrow = _on_ladder(np.ceil((high - low) / TUNING.step * fine / share))
        counts = 1.0 + np.where(wide, _wide_count(m, s, -low, high) / share, narrow)
        for level, count, rows in _alike(fine, counts):
            for part in _parts(rows, count):
                given = m[part, None], s[part, None], low[part, None], high[part, None], count
                f, weight = _wide(*given) if level == 0.0 else _shifted(*given)
                out[:, part] = _sum(weight * self.g(f, part))
        return out


def _on_ladder(counts: Array) -> Array:
    """Round up to a power of √2: few numbers of nodes, and a row's own whatever the others."""
    return np.ceil(2.0 ** (0.5 * np.ceil(2.0 * np.log2(np.maximum(counts, 1.0)))))


def _alike(fine: Array, counts: Array) -> Iterator[tuple[float, int, Array]]:
    """Level, number of nodes, and the rows that have both."""
    for level, count in sorted(set(zip(fine.tolist(), counts.tolist()))):
        yield level, int(count), np.flatnonzero((fine == level) & (counts == count))


def _parts(rows: Array, count: int) -> Iterator[Array]:
    """Rows, a block of nodes at a time."""
    yield from np.array_split(rows, max(1, -(-rows.size * count // TUNING.block)))


def _sum(terms: Array) -> tuple[Array, Array, Array]:
    """Σ, Σ|·|, and |Σ − 2 Σ of every second|, of each row."""
    total = terms.sum(axis=1)
    return total, np.abs(terms).sum(axis=1), np.abs(total - 2.0 * terms[:, ::2].sum(axis=1))


def _narrow(m: Array, s: Array, count: int) -> tuple[Array, Array]:
    z, step = np.linspace(-TUNING.ends, TUNING.ends, count, retstep=True)
    return m + s * z, step / _ROOT_2PI * np.exp(-0.5 * z * z)


def _shifted(m: Array, s: Array, low: Array, high: Array, count: int) -> tuple[Array, Array]:
    """Nodes and weights between low and high deviations, which differ by row."""
    z = low + (high - low) * np.linspace(0.0, 1.0, count)
    return m + s * z, (high - low) / (count - 1) / _ROOT_2PI * np.exp(-0.5 * z * z)


def _wide_count(m: Array, s: Array, below: Array | float, above: Array | float) -> Array:
    """Nodes of each row, two or more."""
    low, high = np.arcsinh(m - below * s), np.arcsinh(m + above * s)
    return np.maximum(_on_ladder((high - low) / TUNING.log_step), 2.0)


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
