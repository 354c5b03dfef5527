"""A trend: an unknown level and slopes about a centre, so wide that the data alone set them.

Terms of a sum that have features, such as trends and seasons, are split from the rest of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .base import Kernel
from .columns import On
from .composite import Composite, Sum
from .featured import Featured
from .tuning import TUNING

Array = np.ndarray
#: Powers that a trend may have.
DEGREES = (1, 2, 3)


@dataclass(frozen=True, eq=False, repr=False)
class Trend(Featured):
    """variance · (1 + Σₖ zₖz′ₖ), zₖ = (xₖ − centreₖ)/ℓₖ: a level and one slope per column.

    `degree=2` adds (zₖz′ₖ)², a bend, and so on. With a large variance the line is that of
    generalised least squares (Rasmussen & Williams 2006, sec. 2.7), and predictions far outside the
    data follow it. By default no parameter is learnt; `fixed=()` learns variance and ℓ. Estimators
    make one from their rows: `trend="linear"`.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium.kernels import Matern32, Trend
    >>> kernel = Matern32(1.0, 0.5) + Trend(100.0, length_scale=9.0, centre=2000.0)
    >>> kernel.value(np.array([[2000.0], [2009.0]])).round(3)
    array([[101., 100.],
           [100., 201.]])
    """

    kinds = {"variance": "variance", "length_scale": "slope"}

    variance: float = 1.0
    length_scale: float | Array = 1.0
    centre: float | Array = 0.0
    fixed: tuple[str, ...] = field(default=("length_scale", "variance"), kw_only=True)
    degree: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.degree, bool) or self.degree not in DEGREES:
            raise ValueError(f"degree={self.degree!r} of Trend: give one of {DEGREES}")
        try:
            centre = np.array(self.centre, dtype=float)
        except (TypeError, ValueError):
            centre = np.array(np.nan)
        if centre.ndim > 1 or not np.isfinite(centre).all():
            raise ValueError(
                f"centre of Trend must be finite, a number or one per column; got {self.centre!r}"
            )
        centre.flags.writeable = False
        object.__setattr__(self, "centre", centre if centre.ndim else float(centre))

    def for_width(self, d: int):
        if np.size(self.centre) not in (1, d):
            raise ValueError(
                f"centre of Trend has {np.size(self.centre)} values, but X has {d} columns: give "
                "one number, or one per column"
            )
        return replace(super().for_width(d), centre=np.broadcast_to(self.centre, (d,)).copy())

    def _scores(self, X: Array) -> Array:
        """z  (n, d)."""
        return (X.astype(float) - self.centre) / self.length_scale

    def _powers(self, X: Array) -> Array:
        """z, z², … up to the degree  (n, degree·d)."""
        S = self._scores(X)
        return np.hstack([S**power for power in self._each()])

    def _each(self) -> range:
        return range(1, self.degree + 1)

    def features(self, X: Array) -> Array:
        """h(x) = (1, z, …): f(x) = h(x)ᵀβ, β ~ N(0, variance · I)  (n, 1 + degree·d)."""
        return np.column_stack([np.ones(X.shape[0]), self._powers(X)])

    def count(self, d: int) -> int:
        return 1 + self.degree * d

    def value(self, X: Array, Z: Array | None = None) -> Array:
        S = self._powers(X)
        T = S if Z is None else self._powers(Z)
        return self.variance * (1.0 + S @ T.T)

    def diag(self, X: Array) -> Array:
        return self.variance * (1.0 + (self._powers(X) ** 2).sum(axis=1))

    def vjp(self, X: Array, Z: Array | None, K_bar: Array) -> Array:
        S = self._powers(X)
        if Z is None:  # lower triangle of a symmetric K_bar
            K_bar = np.tril(K_bar) + np.tril(K_bar, -1).T
        T = S if Z is None else self._powers(Z)
        return self._gradient((S * (K_bar @ T)).sum(axis=0), float(K_bar.sum()))

    def diag_vjp(self, X: Array, d_bar: Array) -> Array:
        return self._gradient(d_bar @ self._powers(X) ** 2, float(d_bar.sum()))

    def _gradient(self, slopes: Array, level: float) -> Array:
        """∂ℒ/∂θ from K̄ · the terms of each power and column, and K̄ · 1."""
        powers = self.variance * slopes.reshape(self.degree, -1)
        lengths = -2.0 * np.arange(1.0, self.degree + 1.0) @ powers  # z^g falls by ℓ^−g
        return self.gradient(
            variance=float(self.variance * level + powers.sum()), length_scale=lengths
        )


def wide_trend(
    centre: Array, scale: Array, columns: Sequence[int | str] | None, size: float = 1.0,
    degree: int = 1,
):  # fmt: skip
    """Make a trend of columns with these centres and scales (d,) for targets of variance `size`.

    `columns`: those of X that it depends on; None: all.
    """
    wide = TUNING.trend_deviation**2 * size
    leaf = Trend(wide, np.array(scale), np.array(centre), degree=degree)
    return leaf if columns is None else On(leaf, tuple(columns))


def has_trend(kernel: Kernel) -> bool:
    """Whether a term of the kernel is a trend or a season of features."""
    if isinstance(kernel, On):
        return has_trend(kernel.kernel)
    if isinstance(kernel, Composite):
        return any(map(has_trend, kernel.parts))
    return isinstance(kernel, Featured)


@dataclass(frozen=True, eq=False)
class Coefficients:
    """β of the trends in a sum: cov[β, f(x)] = √variance · design(x)."""

    terms: tuple[Kernel, ...]

    def design(self, X: Array) -> Array:
        """√variance · h(x) of each trend, stacked  (t, n)."""
        parts = []
        for term in self.terms:
            leaf, seen = (term.kernel, term.seen(X)) if isinstance(term, On) else (term, X)
            parts.append(np.sqrt(leaf.variance) * leaf.features(seen).T)  # type: ignore[attr-defined]
        return np.concatenate(parts)

    def count(self, d: int) -> int:
        """Count the coefficients for rows of d columns."""
        return self.deviations(d).size

    def deviations(self, d: int) -> Array:
        """Prior standard deviation of each coefficient  (t,)."""
        parts = []
        for term in self.terms:
            leaf, width = (term.kernel, len(term.columns)) if isinstance(term, On) else (term, d)
            parts.append(np.full(leaf.count(width), np.sqrt(leaf.variance)))  # type: ignore[attr-defined]
        return np.concatenate(parts)


def split_trend(kernel: Kernel) -> tuple[Kernel, Coefficients | None]:
    """Split kernel = rest + trends that are not learnt; None where a sum has none, or no rest."""
    if not isinstance(kernel, Sum):
        return kernel, None
    trends = tuple(part for part in kernel.parts if _is_fixed(part))
    rest = tuple(part for part in kernel.parts if not _is_fixed(part))
    if not trends or not rest:
        return kernel, None
    return (rest[0] if len(rest) == 1 else Sum(rest)), Coefficients(trends)


def _is_fixed(part: Kernel) -> bool:
    own = part.kernel if isinstance(part, On) else part
    return isinstance(own, Featured) and not own.theta.size
