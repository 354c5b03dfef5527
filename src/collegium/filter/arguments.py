"""Check the arguments of a regression filter; make basis and density from rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from ..interface.checks.arguments import (
    NOISES,
    check_square,
    check_verbose,
    given_hyperparameters,
    noise_word,
    number,
    number_or_auto,
    whole_number,
    yes_or_no,
)
from ..interface.streams.rates import check_rates
from ..kernels import Kernel
from ..numerics import memory
from ..numerics.records import record
from ..rows.rows import Rows
from .bases import (
    BASES,
    Cosines,
    FilterBasis,
    Functions,
    GaussianBumps,
    LinearSplines,
    Place,
    RandomFourier,
)
from .densities import DENSITIES, Density, Empirical, NormalInputs, UniformBox
from .tuning import TUNING

Array = np.ndarray
OWN_BASES = (LinearSplines, GaussianBumps, Cosines, RandomFourier)
#: Default number of functions of a basis; of products of splines by the number of columns.
SIZES = {"bumps": 200, "harmonics": 200, "fourier": 200}
SPLINES = {1: 100, 2: 400, 3: 343}


@record("filter.making/1")
@dataclass(frozen=True)
class Making:
    """Names by which basis and density are made from rows, and remade."""

    basis: str
    density: str
    m: int  # functions of the basis
    c0: float | None = None  # start of the kernel's lengths; None: a kernel was given

    def density_of(self, X: Array, rng: np.random.Generator) -> Density:
        if self.density == "empirical" and X.shape[0] > TUNING.largest_sample:
            X = X[np.sort(rng.choice(X.shape[0], TUNING.largest_sample, replace=False))]
        return DENSITIES[self.density](X)

    def basis_of(
        self, kernel: Kernel, X: Array, density: Density, rng: np.random.Generator
    ) -> FilterBasis:
        return BASES[self.basis](Place(kernel, X, *density.box(), rng), self.m)

    def of_several(self) -> Making:
        """Choose for further columns: products of splines would be too many."""
        return self if self.basis != "splines" else Making("bumps", "empirical", self.m, self.c0)


@record("filter.fading/1")
@dataclass(frozen=True)
class Fading:
    """Rates at which earlier rows lose weight, for functions that change over time."""

    forgetting: float = 1.0  # λ: a row that came t rows ago counts λᵗ times
    drift: float = 0.0  # variance that every row adds to each weight

    @property
    def in_order(self) -> bool:
        """Whether the order of rows matters."""
        return self.forgetting < 1.0 or self.drift > 0.0

    @property
    def memory(self) -> float:
        """Rows that the past counts for in the long run, 1/(1 − λ)."""
        return np.inf if self.forgetting == 1.0 else 1.0 / (1.0 - self.forgetting)


@dataclass(frozen=True, eq=False)
class ProjectionOptions:
    """Checked arguments by which f is projected onto a basis."""

    basis: Any
    n_basis: int | None
    density: Any
    linear: bool
    cut: float
    misfit: bool

    @classmethod
    def of(cls, e) -> ProjectionOptions:
        n_basis = number_or_auto(e.n_basis, "n_basis")
        check_square(n_basis or 1, "n_basis")
        densities = (UniformBox, NormalInputs, Empirical)
        return cls(
            basis=_known(e.basis, "basis", ("auto", *BASES), OWN_BASES),
            n_basis=n_basis,
            density=_known(e.density, "density", ("auto", *DENSITIES), densities),
            linear=bool(e.linear),
            cut=number(e.cut, "cut", lambda v: 0.0 < v <= 0.5, "above 0 and at most 0.5"),
            misfit=bool(e.misfit),
        )

    def basis_name(self, d: int) -> str | None:
        if not isinstance(self.basis, str):
            return None
        return ("splines" if d == 1 else "bumps") if self.basis == "auto" else self.basis

    def functions(self, n: int, d: int) -> int:
        """Number of functions of a basis made from n rows of d columns; 0: unknown."""
        name = self.basis_name(d)
        if name is None:
            return getattr(self.basis, "m", 0)
        m = self.n_basis or (SPLINES.get(d, 100) if name == "splines" else SIZES[name])
        return min(m, n) if name == "bumps" and d > 1 else m  # centres are rows

    def check_memory(self, n: int, d: int) -> None:
        """Refuse a basis whose square matrices this machine could not hold."""
        m, linear = self.functions(n, d), 1 + d if self.linear else 0
        remedy = "give a smaller n_basis" + (", or linear=False" if linear > m else "")
        what = f"n_basis: {m} functions" + (f" and {linear} of the linear part" if linear else "")
        panels = self.basis_name(d) == "splines" and d == 1
        squares = TUNING.squares + (TUNING.panel_squares if panels else 0.0)
        memory.refuse_beyond_machine(squares * 8.0 * float(m + linear) ** 2, what, remedy)

    def density_for(self, X: Array, rng: np.random.Generator) -> Density:
        """Return the given density, or make one from inputs."""
        d = X.shape[1]
        if not isinstance(self.density, str):
            own = self.density.box()[0].size
            if own != d:
                raise ValueError(f"density is for {own} columns, but X has {d}")
            return self.density
        if self.density == "auto":
            if isinstance(self.basis, LinearSplines) and len(self.basis.knots) == d:
                ends = np.array([[k[0], k[-1]] for k in self.basis.knots])
                return UniformBox(ends[:, 0], ends[:, 1])
            if isinstance(self.basis, Cosines):
                return UniformBox(self.basis.low, self.basis.high)
        return Making("", self._density_name(d), 0).density_of(X, rng)

    def _density_name(self, d: int) -> str:
        if self.density != "auto":
            return self.density
        return "uniform" if self.basis_name(d) in ("splines", "harmonics") else "empirical"

    def making(self, d: int, c0: float | None) -> Making | None:
        """Say how to remake basis and density; None where one of them was given and stays."""
        name = self.basis_name(d)
        if name is None or not isinstance(self.density, str):
            return None
        m = self.n_basis or (SPLINES.get(d, 100) if name == "splines" else SIZES[name])
        return Making(name, self._density_name(d), m, c0)

    def basis_for(
        self, kernel: Kernel, X: Array, density: Density, rng: np.random.Generator
    ) -> FilterBasis:
        d, name = X.shape[1], self.basis_name(X.shape[1])
        if name is not None:
            m = self.functions(X.shape[0], d)
            return Making(name, "", m).basis_of(kernel, X, density, rng)
        if isinstance(self.basis, OWN_BASES):
            _check_width(self.basis, d)
            return self.basis
        return Functions.tried(self.basis, X[:2])


@dataclass(frozen=True, eq=False)
class FilterOptions:
    """Checked arguments of a RegressionFilter."""

    kernel: Kernel | None  # white noise taken out
    noise: Array | None  # kept as given  (1,) or (p,)
    noise_start: float | None
    errors: str | None  # "auto" or "varying": learn the scale of errors; None: constant
    learn: bool
    c0: float
    c2: float
    projection: ProjectionOptions
    prior_mean: Any
    fading: Fading
    start_rows: int
    rates: tuple[float, ...] = (1.0,)  # `fading` is by the slowest

    @classmethod
    def of(cls, e) -> FilterOptions:
        for name in ("learn", "linear", "misfit"):
            yes_or_no(getattr(e, name), name)
        kernel, noise, start = given_hyperparameters(e.kernel, e.noise, True, NOISES)
        word = noise_word(e.noise, NOISES)
        if start is not None and not e.learn:  # white noise in the kernel, kept
            noise, start = np.array([start]), None
        rates = check_rates(e.forgetting, TUNING.rates)
        drift = number(e.drift, "drift", lambda v: 0.0 <= v <= 1e6, "at least 0")
        if rates[-1] < 1.0 and drift > 0.0:
            raise ValueError("forgetting and drift exclude each other: give one of them")
        check_verbose(e.verbose)
        return cls(
            kernel=kernel, noise=noise, noise_start=start, learn=bool(e.learn),
            errors=None if word == "constant" else word,
            projection=ProjectionOptions.of(e), prior_mean=_mean_function(e.prior_mean),
            c0=number(e.c0, "c0", lambda v: 0.0 < v <= 1e6, "above 0"),
            c2=number(e.c2, "c2", lambda v: 0.0 < v <= 1e6, "above 0"),
            fading=Fading(rates[0], drift), start_rows=whole_number(e.start_rows, "start_rows"),
            rates=rates,
        )  # fmt: skip

    @property
    def in_order(self) -> bool:
        """Whether the order of rows matters."""
        return self.fading.in_order or self.rates[-1] < 1.0

    def beside(self, rate: float) -> FilterOptions:
        """Options for one of the rates."""
        return replace(self, fading=replace(self.fading, forgetting=rate), rates=(rate,))

    def kernel_for(self, d: int) -> Kernel | None:
        found = None if self.kernel is None else self.kernel.for_width(d)
        if found is not None and found.embeddings(d):
            raise ValueError(
                f"kernel={found!r} has categories, groups or a sphere: a filter integrates over "
                "numbers alone. Use CommitteeRegressor or SparseGPRegressor"
            )
        return found

    def mean(self, X: Array) -> Array | float:
        """Prior mean at X  (n, 1) or (n, p), or one number."""
        if not callable(self.prior_mean):
            return 0.0 if self.prior_mean is None else float(self.prior_mean)
        given = np.asarray(self.prior_mean(X), dtype=float)
        given = given[:, None] if given.ndim == 1 else given
        if given.ndim != 2 or given.shape[0] != X.shape[0] or not np.isfinite(given).all():
            raise ValueError(
                f"prior_mean gives an array of shape {given.shape} for X {X.shape}: give a "
                "function of X (n, d) with finite values (n,) or (n, p)"
            )
        return given


def _check_width(basis: FilterBasis, d: int) -> None:
    if isinstance(basis, LinearSplines):
        own = len(basis.knots)
    elif isinstance(basis, Cosines):
        own = basis.low.size
    else:
        of = basis.centres if isinstance(basis, GaussianBumps) else basis.frequencies  # type: ignore
        own = of.shape[1]
    if own != d:
        raise ValueError(f"basis {type(basis).__name__} is for {own} columns, but X has {d}")


def _known(value, name: str, words: tuple[str, ...], records: tuple[type, ...]):
    if isinstance(value, str) and value in words:
        return value
    if isinstance(value, records) or (name == "basis" and callable(value)):
        return value
    kinds = ", ".join(record.__name__ for record in records)
    own = " or a function of X" if name == "basis" else ""
    raise ValueError(f"{name}={value!r}: give one of {words}, one of {kinds}{own}")


def _mean_function(value):
    if value is None or callable(value):
        return value
    if isinstance(value, Real) and np.isfinite(value):
        return float(value)
    raise ValueError(f"prior_mean={value!r}: give None, a number or a function of X")


def residual_rows(rows: Rows, options: FilterOptions) -> Rows:
    """Subtract the prior mean from y."""
    mean = options.mean(rows.X)
    if isinstance(mean, np.ndarray) and mean.shape[1] not in (1, rows.y.shape[1]):
        raise ValueError(f"prior_mean gives {mean.shape[1]} outputs, but y has {rows.y.shape[1]}")
    return Rows(rows.X, rows.y - mean, rows.w)
