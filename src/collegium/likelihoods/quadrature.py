"""E[g(f)], f ~ N(m, v), for any v: trapezoidal rules, which are exact to rounding for smooth
integrands that vanish at both ends, as soon as the step resolves them.

g is taken to bend on a scale of one or more, to bend near zero only once |f| is large, and to
grow no faster than a power. A narrow normal is integrated in z = (f − m)/√v. A wide one that
reaches zero is integrated in u, f = sinh u, whose steps are short near zero and in proportion
to |f| far from it. Gauss–Hermite rules fail on such: their nodes step over zero.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray
#: Deviations on either side, beyond which the normal's weight is 1e-18.
ENDS = 9.0
#: Steps: in f or in deviations, whichever is shorter, and in u.
STEP, LOG_STEP = 0.4, 0.06
#: Deviation above which a normal that reaches zero is wide.
WIDE = 16.0
#: Numbers that are held at a time.
BLOCK = 1_000_000
_ROOT_2PI = float(np.sqrt(2.0 * np.pi))


def expect(function: Callable[..., Array], m: Array, v: Array, *given: Array) -> Array:
    """E[g(f, *given)] of each m, v and given, g elementwise."""
    shape = np.broadcast_shapes(np.shape(m), np.shape(v), *map(np.shape, given))
    m, v, *given = (np.broadcast_to(a, shape).ravel() for a in (m, v, *given))  # type: ignore
    s, total = np.sqrt(np.maximum(v, 0.0)), np.empty(m.size)
    wide = (s > WIDE) & (np.abs(m) <= ENDS * s)
    fine = np.where(s > WIDE, 1.0, 2.0 ** np.ceil(np.log2(np.maximum(s, 1.0))))
    fine[wide] = 0.0
    for level in np.unique(fine):
        rule = _narrow if level else _wide
        rows = np.flatnonzero(fine == level)
        count = int(np.ceil(2.0 * ENDS / STEP * level)) if level else _wide_count(m[rows], s[rows])
        for part in np.array_split(rows, -(-rows.size * count // BLOCK)):
            f, weight = rule(m[part, None], s[part, None], count)
            total[part] = (weight * function(f, *(a[part, None] for a in given))).sum(axis=1)
    return total.reshape(shape)


def _narrow(m: Array, s: Array, count: int) -> tuple[Array, Array]:
    z, step = np.linspace(-ENDS, ENDS, count, retstep=True)
    return m + s * z, step / _ROOT_2PI * np.exp(-0.5 * z * z)


def _wide_count(m: Array, s: Array) -> int:
    low, high = np.arcsinh(m - ENDS * s), np.arcsinh(m + ENDS * s)
    return int(np.ceil((high - low).max() / LOG_STEP))


def _wide(m: Array, s: Array, count: int) -> tuple[Array, Array]:
    """Nodes f = sinh u, weights N(f; m, s²) cosh u du."""
    low, high = np.arcsinh(m - ENDS * s), np.arcsinh(m + ENDS * s)
    u = low + (high - low) * np.linspace(0.0, 1.0, count)
    f = np.sinh(u)
    z = (f - m) / s
    step = (high - low) / (count - 1)
    return f, step * np.cosh(u) / (s * _ROOT_2PI) * np.exp(-0.5 * z * z)
