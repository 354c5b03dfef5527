"""Bases φ₁ … φ_m of a regression filter: records that map X (n, d) to Φ (n, m).

A new basis is one class here with `m` and `__call__`, and an entry in `BASES` if it has a name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..kernels import Kernel
from ..kernels.stationary.matern import RBF, Matern12, Matern32, Matern52
from ..numerics.records import record
from ..rows.metric import column_scales
from ..rows.order import columns_by_content, sorted_rows
from ..rows.partition import distinct
from .densities import vectors
from .tuning import TUNING

Array = np.ndarray


class FilterBasis(Protocol):
    """Interface of a basis."""

    @property
    def m(self) -> int: ...

    def __call__(self, X: Array) -> Array:
        """Φ  (n, m)."""


@record("basis.splines/1")
@dataclass(frozen=True, eq=False)
class LinearSplines:
    """Continuous piecewise-linear functions: hats at the knots, products of them over columns.

    Beyond the first and the last knot the outermost pieces continue as straight lines.
    """

    knots: tuple[Array, ...]  # of each column, increasing, at least two

    def __post_init__(self) -> None:
        one = not isinstance(self.knots, (tuple, list)) or np.ndim(self.knots[0]) == 0
        knots = tuple(np.array(k, dtype=float) for k in ([self.knots] if one else self.knots))
        if not all(k.ndim == 1 and k.size > 1 and (np.diff(k) > 0).all() for k in knots):
            raise ValueError(
                "knots of LinearSplines: one increasing array per column, of two or more knots"
            )
        object.__setattr__(self, "knots", knots)

    @property
    def m(self) -> int:
        return int(np.prod([k.size for k in self.knots]))

    def __call__(self, X: Array) -> Array:
        Phi = hats(self.knots[0], X[:, 0])
        for k, knots in enumerate(self.knots[1:], start=1):
            Phi = (Phi[:, :, None] * hats(knots, X[:, k])[:, None, :]).reshape(X.shape[0], -1)
        return Phi


def hats(knots: Array, x: Array) -> Array:
    """Values of the hats of one column at x  (n, k)."""
    width = knots[-1] - knots[0]
    x = np.clip(x, knots[0] - TUNING.reach * width, knots[-1] + TUNING.reach * width)
    left = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, knots.size - 2)
    t = (x - knots[left]) / (knots[left + 1] - knots[left])
    Phi = np.zeros((x.size, knots.size))
    rows = np.arange(x.size)
    Phi[rows, left], Phi[rows, left + 1] = 1.0 - t, t
    return Phi


@record("basis.bumps/1")
@dataclass(frozen=True, eq=False)
class GaussianBumps:
    """φᵢ(x) = exp(−½ Σₖ ((xₖ − cᵢₖ)/bₖ)²)."""

    centres: Array  # c  (m, d)
    widths: Array  # b  (d,)

    def __post_init__(self) -> None:
        vectors(self, widths=self.widths)
        centres = np.array(self.centres, dtype=float)
        d = centres.shape[1] if centres.ndim == 2 else 0
        if not d or self.widths.size not in (1, d) or not (self.widths > 0.0).all():
            raise ValueError("centres of GaussianBumps (m, d), widths above 0, one per column")
        object.__setattr__(self, "centres", centres)
        object.__setattr__(self, "widths", np.broadcast_to(self.widths, (d,)).copy())

    @property
    def m(self) -> int:
        return self.centres.shape[0]

    def __call__(self, X: Array) -> Array:
        return RBF(1.0, self.widths).value(X, self.centres)


@record("basis.cosines/1")
@dataclass(frozen=True, eq=False)
class Cosines:
    """Harmonics of a box: φᵢ(x) = Πₖ cos(π oᵢₖ (xₖ − lowₖ)/(highₖ − lowₖ))."""

    low: Array  # (d,)
    high: Array  # (d,)
    orders: Array  # o, whole numbers  (m, d)

    def __post_init__(self) -> None:
        vectors(self, low=self.low, high=self.high)
        orders = np.array(self.orders)
        if orders.ndim == 1:
            orders = orders[:, None]
        if orders.shape[1:] != self.low.shape or not (self.low < self.high).all():
            raise ValueError("low below high of Cosines, one per column; orders (m, d)")
        object.__setattr__(self, "orders", orders)

    @property
    def m(self) -> int:
        return self.orders.shape[0]

    def __call__(self, X: Array) -> Array:
        width = self.high - self.low
        t = np.clip((X - self.low) / width, -TUNING.reach, 1.0 + TUNING.reach)
        Phi = np.ones((X.shape[0], self.m))
        for k in range(X.shape[1]):
            Phi *= np.cos(np.pi * t[:, k, None] * self.orders[:, k])
        return Phi


@record("basis.fourier/1")
@dataclass(frozen=True, eq=False)
class RandomFourier:
    """cos(ωᵢᵀx) and sin(ωᵢᵀx): first all cosines, then all sines."""

    frequencies: Array  # ω  (m/2, d)

    def __post_init__(self) -> None:
        found = np.array(self.frequencies, dtype=float)
        if found.ndim != 2 or not np.isfinite(found).all():
            raise ValueError("frequencies of RandomFourier must be finite, of shape (m/2, d)")
        object.__setattr__(self, "frequencies", found)

    @property
    def m(self) -> int:
        return 2 * self.frequencies.shape[0]

    def __call__(self, X: Array) -> Array:
        phase = np.clip(X, -1e150, 1e150) @ self.frequencies.T
        return np.hstack([np.cos(phase), np.sin(phase)])


@record("basis.functions/1")
@dataclass(frozen=True, eq=False)
class Functions:
    """Any function X -> Φ of the user.

    To pickle the model, make `function` an object of a module's class with `__call__`.
    """

    function: Callable[[Array], Array]
    m: int

    @classmethod
    def tried(cls, function: Callable[[Array], Array], X: Array) -> Functions:
        """Check a function on some rows, and count its columns."""
        Phi = np.asarray(function(X), dtype=float)
        if Phi.ndim != 2 or Phi.shape[0] != X.shape[0] or not Phi.shape[1]:
            raise ValueError(
                f"basis gives an array of shape {Phi.shape} for X {X.shape}: give a function of "
                "X (n, d) with values (n, m)"
            )
        return cls(function, Phi.shape[1])

    def __call__(self, X: Array) -> Array:
        Phi = np.asarray(self.function(X), dtype=float)
        if Phi.shape != (X.shape[0], self.m) or not np.isfinite(Phi).all():
            raise ValueError(
                f"basis must give finite values of shape {(X.shape[0], self.m)}, not {Phi.shape}"
            )
        return Phi


@dataclass(frozen=True, eq=False)
class Place:
    """Kernel, inputs, box and random numbers that a basis is made from."""

    kernel: Kernel
    X: Array  # inputs  (n, d)
    low: Array  # of the box where most inputs are expected  (d,)
    high: Array
    rng: np.random.Generator


def splines(place: Place, m: int) -> LinearSplines:
    """Space knots equally, as many in every column."""
    d = place.low.size
    if d > 3:
        raise ValueError(
            f"basis='splines' is a tensor product, too large for {d} columns: give "
            "basis='bumps' or 'fourier'"
        )
    each = max(2, round(m ** (1.0 / d)))
    return LinearSplines(
        tuple(np.linspace(low, high, each) for low, high in zip(place.low, place.high))
    )


def bumps(place: Place, m: int) -> GaussianBumps:
    """Draw centres from the inputs; space them equally where there is one column.

    Widths are the kernel's length scales. In the d columns where these are below `overlap`
    standard deviations they are at most `overlap` m^(−1/d) of them: neighbours overlap, and
    more bumps resolve finer detail.
    """
    d = place.low.size
    if d == 1:
        centres = np.linspace(place.low, place.high, m)
    else:
        X = distinct_inputs(place.X)
        centres = X[np.sort(place.rng.permutation(X.shape[0])[:m])]
    widths, scales = lengths(place.kernel, place.X), column_scales(place.X)
    size = max(float(place.kernel.diag(place.X[:1])[0]), 1.0)  # y has variance one
    seen = widths < TUNING.overlap * size**0.25 * scales  # bends, √size (scale/length)², are seen
    among = max(int(seen.sum()), min(d, 2))  # centres at random leave gaps
    fine = TUNING.overlap * centres.shape[0] ** (-1.0 / among) * scales
    return GaussianBumps(centres, np.where(seen, np.minimum(widths, fine), widths))


def harmonics(place: Place, m: int) -> Cosines:
    """Choose the m products of lowest frequency, in units of the kernel's length scales."""
    d = place.low.size
    unit = lengths(place.kernel, place.X) / (place.high - place.low)
    unit = np.clip(unit / np.exp(np.log(unit).mean()), 0.5, 2.0)  # no column is dropped
    each = np.minimum(np.ceil(2.0 * m ** (1.0 / d) / unit) + 1.0, m).astype(int)
    if np.prod(each, dtype=float) > TUNING.largest_grid:
        raise ValueError(f"basis='harmonics' is too large for {d} columns: give basis='fourier'")
    grid = np.stack(np.meshgrid(*map(np.arange, each), indexing="ij"), axis=-1).reshape(-1, d)
    lowest = np.argsort(((grid * unit) ** 2).sum(axis=1), kind="stable")[:m]
    return Cosines(place.low, place.high, grid[lowest])


def fourier(place: Place, m: int) -> RandomFourier:
    """Draw frequencies from the spectral density: normal, or Student's t for a Matérn."""
    d = place.low.size
    z = place.rng.standard_normal(((m + 1) // 2, d))[:, np.argsort(columns_by_content(place.X))]
    halves: dict[type, float] = {Matern12: 0.5, Matern32: 1.5, Matern52: 2.5}
    half = halves.get(type(place.kernel))
    if half is not None:  # t with 2ν degrees of freedom
        z /= np.sqrt(place.rng.chisquare(2.0 * half, (z.shape[0], 1)) / (2.0 * half))
    return RandomFourier(z / lengths(place.kernel, place.X))


def distinct_inputs(X: Array) -> Array:
    """Sort distinct inputs, by the same columns first in whatever order they come."""
    X, _ = distinct(X)
    return X[sorted_rows(X, np.empty((X.shape[0], 0)))]


def lengths(kernel: Kernel, X: Array) -> Array:
    """Length scale of each column; the column's scale where the kernel has none."""
    d = X.shape[1]
    with np.errstate(divide="ignore", over="ignore"):
        variance = max(float(kernel.diag(X[:1])[0]), 1e-300)
        found = np.sqrt(variance / np.minimum(kernel.inverse_squares(d), 1e300))
    scales = column_scales(X)
    return np.where(np.isfinite(found), np.clip(found, 1e-6 * scales, 1e3 * scales), scales)


BASES: dict[str, Callable[[Place, int], FilterBasis]] = {
    "splines": splines,
    "bumps": bumps,
    "harmonics": harmonics,
    "fourier": fourier,
}
