"""Kernels of filtered white noise: f(x) = ∫ F(x, t) dW(t) (Zhu & Rohwer 1995, eqs 3.7–3.8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np

from ...numerics.records import record
from ..tuning import TUNING
from .base import Factored

Array = np.ndarray
#: Default nodes per column, by the number of columns.
NODES = {1: 512, 2: 48, 3: 16}


@dataclass(frozen=True, eq=False, repr=False)
class Filtered(Factored, listed=False):
    """V(x, z) = variance · ∫ F(x, t) F(z, t) dt over a box, as Σ_g ω_g F(x, t_g) F(z, t_g).

    The sum is a covariance whatever F is: that of f(x) = Σ_g √(variance ω_g) F(x, t_g) u_g with
    u ~ N(0, I). Learning changes the variance alone.

    Parameters
    ----------
    function : callable
        F: rows X (n, d) and nodes T (g, d) -> (n, g). Give a record with `__call__`, such as
        `LaplaceFilter`, if the model is to be stored.
    low, high : float or array of shape (d,)
        The box, one to three columns. It should extend beyond the data by the width of F:
        there is no white noise outside it.
    n_nodes : int, default=None
        Nodes per column, in Gauss–Legendre panels of 16 (so rounded up to a multiple of 16 above
        it); None: 512, 48 or 16 for one, two or three columns. See `error`.
    variance : float, default=1.0

    Examples
    --------
    >>> import numpy as np
    >>> from collegium.kernels import Filtered, LaplaceFilter, Matern32
    >>> X = np.linspace(-1, 1, 5)[:, None]
    >>> rough = Filtered(LaplaceFilter(0.5), low=-12, high=12)
    >>> same = Matern32(variance=0.5, length_scale=0.5 * np.sqrt(3))
    >>> bool(np.abs(rough.value(X) - same.value(X)).max() < 1e-3)
    True
    """

    kinds = {"variance": "variance"}

    function: Callable[[Array, Array], Array]
    low: float | Array
    high: float | Array
    n_nodes: int | None = None
    variance: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.function):
            raise ValueError(f"function of Filtered must be callable, not {self.function!r}")
        ends = {name: _end(getattr(self, name), name) for name in ("low", "high")}
        low, high = ends["low"], ends["high"]
        if low.shape != high.shape or not (low < high).all():
            raise ValueError(
                f"low={self.low!r} and high={self.high!r} of Filtered must be the ends of a box, "
                "low below high, one number per column"
            )
        if low.size not in NODES:
            raise ValueError(
                f"low of Filtered has {low.size} columns: the integral is taken on a grid, in at "
                "most three"
            )
        n_nodes = NODES[low.size] if self.n_nodes is None else self.n_nodes
        if not (isinstance(n_nodes, (int, np.integer)) and n_nodes >= 1):
            raise ValueError(f"n_nodes={self.n_nodes!r} of Filtered: give a positive whole number")
        for name, value in {**ends, "n_nodes": int(n_nodes)}.items():
            object.__setattr__(self, name, value)

    @property
    def d(self) -> int:
        return np.size(self.low)

    def factor(self, X: Array) -> Array:
        """A with V = AAᵀ: √(variance ω_g) F(xᵢ, t_g)  (n, g)."""
        if X.shape[1] != self.d:
            raise ValueError(f"low and high of Filtered have {self.d} columns, X has {X.shape[1]}")
        T, weight = _grid(tuple(np.asarray(self.low)), tuple(np.asarray(self.high)), self.n_nodes)
        F = np.asarray(self.function(np.ascontiguousarray(X, dtype=float), T), dtype=float)
        if F.shape != (X.shape[0], T.shape[0]):
            raise ValueError(
                f"function of Filtered gave an array of shape {F.shape} for {X.shape[0]} rows and "
                f"{T.shape[0]} nodes: give one row per row of X and one column per node"
            )
        return np.sqrt(self.variance * weight) * F

    def error(self, X: Array) -> float:
        """Estimate the error of the grid, not of the box: the change of V when nodes double."""
        finer = replace(self, n_nodes=2 * (self.n_nodes or 1))
        return float(np.abs(finer.value(X) - self.value(X)).max(initial=0.0))

    def for_width(self, d: int) -> Self:
        if d != self.d:
            raise ValueError(f"low and high of Filtered have {self.d} columns, X has {d}")
        return self


@record("filter.laplace/1")
@dataclass(frozen=True)
class LaplaceFilter:
    """F(x, t) = exp(−Σₖ |xₖ − tₖ|/ℓ).

    Over the whole line V(x, z) = Πₖ ℓ(1 + |Δₖ|/ℓ) exp(−|Δₖ|/ℓ): in one column ℓ times the
    Matérn 3/2 kernel of length scale √3 ℓ.
    """

    length_scale: float = 1.0

    def __call__(self, X: Array, T: Array) -> Array:
        gaps = sum(np.abs(x[:, None] - t) for x, t in zip(X.T, T.T))
        return np.exp(-gaps / self.length_scale)


@record("filter.gaussian/1")
@dataclass(frozen=True)
class GaussianFilter:
    """F(x, t) = exp(−|x − t|²/ℓ²).

    Over the whole space V(x, z) = (ℓ √(π/2))ᵈ exp(−|Δ|²/2ℓ²): the squared exponential.
    """

    length_scale: float = 1.0

    def __call__(self, X: Array, T: Array) -> Array:
        squares = sum(((x[:, None] - t) / self.length_scale) ** 2 for x, t in zip(X.T, T.T))
        return np.exp(-squares)


def _end(given: float | Array, name: str) -> Array:
    try:
        end = np.atleast_1d(np.array(given, dtype=float))
    except (TypeError, ValueError):
        end = np.array([np.nan])
    if end.ndim != 1 or not end.size or not np.isfinite(end).all():
        raise ValueError(f"{name}={given!r} of Filtered: give a number, or one per column")
    end.flags.writeable = False
    return end


@lru_cache(maxsize=16)
def _grid(low: tuple[float, ...], high: tuple[float, ...], n: int) -> tuple[Array, Array]:
    """Nodes T (g, d) and weights ω (g,) of the tensor product of one rule per column."""
    rules = [_panels(a, b, n) for a, b in zip(low, high)]
    T = np.stack(np.meshgrid(*(nodes for nodes, _ in rules), indexing="ij"), axis=-1)
    weight: Array = np.ones(())
    for _, own in rules:
        weight = weight[..., None] * own
    T, weight = T.reshape(-1, len(rules)), weight.ravel()
    T.flags.writeable = weight.flags.writeable = False
    return T, weight


def _panels(a: float, b: float, n: int) -> tuple[Array, Array]:
    """Composite Gauss–Legendre on [a, b]: one panel up to 16 nodes, else equal panels of 16.

    Many filters have a kink at t = x, which spoils one panel only.
    """
    panels = -(-n // TUNING.panel)
    x, w = np.polynomial.legendre.leggauss(min(n, TUNING.panel))
    half = 0.5 * (b - a) / panels
    centres = a + half * (2.0 * np.arange(panels) + 1.0)
    return (centres[:, None] + half * x).ravel(), np.tile(half * w, panels)
