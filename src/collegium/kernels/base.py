"""The interface of kernels: positive parameters, a value, a diagonal, and their adjoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..numerics import records
from ..numerics.linalg import JITTERS, cholesky
from ..numerics.tiles import by_tiles
from .embedding import Embedding

Array = np.ndarray
#: Columns of X, by position or by name.
Columns = int | str | Sequence[int | str]
#: Functions behind `+` and `*` of kernels, entered by `composite`.
OPERATORS: dict[str, Callable[[Any, Any], Kernel]] = {}


class Kernel:
    """k(x, x′; θ), θ the logs of the free parameters.

    `value(X)` is K(X, X) of one set of rows (with white noise); `value(X, Z)` is K(X, Z) of two
    sets (without). In the same way `vjp(X, None, K_bar)` belongs to `value(X)`; it reads the lower
    triangle of a symmetric K_bar.
    """

    theta: Array  # logs of the free parameters  (q,)
    labels: tuple[tuple[str, int], ...]  # what each θ measures, and the column it belongs to
    atomic: ClassVar[bool] = False  # written as Name(…): not a sum, product or choice of columns

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        records.register("kernel", cls)

    def shown(self, names: Sequence[str] = ()) -> str:
        """Write the kernel as one would give it; values per column by these names, if there are."""
        return object.__repr__(self)

    def __repr__(self) -> str:
        return self.shown()

    def value(self, X: Array, Z: Array | None = None) -> Array:
        """K(X, Z)  (n, m)."""
        raise TypeError("abstract kernel")

    def fill(self, X: Array, out: Array, room: Array) -> None:
        """Write K(X, X) of sets of rows (b, n, d) to the lower triangles of `out`  (b, n, n).

        Values have the precision of `out`; `room`, as large as it, may be overwritten. No array is
        allocated per set, and the values of one set do not depend on the others. In single
        precision, values near the last row of a set are accurate; those far from it need not be.
        """
        for own, K in zip(X, out):
            K[...] = self.value(own)

    def to(self, Z: Array) -> To:
        """x ↦ K(x, Z), for many calls with few x; the result for one x ignores the others."""
        return To(self, Z)

    def coarse_parts(self, X: Array, parts: Sequence[Array]) -> Iterator[Array]:
        """K(X, Z) in single precision for each Z in turn  (n, m).

        Each array may overwrite the previous one.
        """
        for Z in parts:
            yield self.value(X, Z).astype(np.float32)

    def diag(self, X: Array) -> Array:
        """k(xᵢ, xᵢ)  (n,)."""
        raise TypeError("abstract kernel")

    def sample(self, X: Array, n_samples: int, rng: np.random.Generator) -> Array:
        """Draw f ~ GP(0, k) at X, jointly: f = Lz, LLᵀ = K(X, X)  (n, n_samples)."""
        scale = float(self.diag(X).max(initial=0.0)) or 1.0
        L, _ = cholesky(self.value(X), scale, nugget=JITTERS[0], overwrite=True)
        return L @ rng.standard_normal((X.shape[0], n_samples))

    def vjp(self, X: Array, Z: Array | None, K_bar: Array) -> Array:
        """Σᵢⱼ K̄ᵢⱼ ∂Kᵢⱼ/∂θ  (q,)."""
        raise TypeError("abstract kernel")

    def diag_vjp(self, X: Array, d_bar: Array) -> Array:
        """Σᵢ d̄ᵢ ∂k(xᵢ, xᵢ)/∂θ  (q,)."""
        raise TypeError("abstract kernel")

    def with_theta(self, theta: Array) -> Self:
        """Replace the free parameters."""
        raise TypeError("abstract kernel")

    def times(self, factors: Array) -> Self:
        """Multiply the free parameters, in the order of θ, by factors (q,)."""
        raise TypeError("abstract kernel")

    def scaled(self, factor: float) -> Self:
        """factor · k."""
        raise TypeError("abstract kernel")

    def for_width(self, d: int) -> Self:
        """Give the kernel one length scale for each of d columns (ARD)."""
        raise TypeError("abstract kernel")

    def inverse_squares(self, d: int) -> Array:
        """1/length² of each column, times the variance; 0 where k does not fall  (d,)."""
        raise TypeError("abstract kernel")

    def embeddings(self, d: int) -> tuple[Embedding, ...]:
        """List the columns that the search for nearest rows does not compare by differences."""
        return ()

    def on_columns(self, names: Sequence[str]) -> Self:
        """Look up the positions of columns given by name; `names`: the columns of X."""
        return self

    def on_levels(self, levels: Mapping[int, str]) -> Self:
        """Treat some columns of X as codes of levels; `levels`: their names by position."""
        return self

    def reach(self, gaps: Array) -> Array:
        """Bound |k(x, z)| from above where |x − z| ≥ gaps in every column, gaps (n, d)  (n,)."""
        return np.full(gaps.shape[0], np.inf)

    def __add__(self, other: Any) -> Kernel:
        return OPERATORS["+"](self, other)

    def __radd__(self, other: Any) -> Kernel:
        return OPERATORS["+"](other, self)

    def __mul__(self, other: Any) -> Kernel:
        return OPERATORS["*"](self, other)

    def __rmul__(self, other: Any) -> Kernel:
        return OPERATORS["*"](other, self)


@dataclass(frozen=True, eq=False)
class To:
    """x ↦ K(x, Z), tile by tile; a subclass prepares what depends on Z alone."""

    kernel: Any
    Z: Array

    @property
    def nbytes(self) -> int:
        return self.Z.nbytes

    def __call__(self, X: Array) -> Array:
        return by_tiles(lambda tile: (self.kernel.value(tile, self.Z),), X)[0]


def as_columns(given: Any, what: str) -> tuple[int | str, ...]:
    """Check positions and names of columns, each given once, and return them as a tuple."""
    one = isinstance(given, (str, int, np.integer)) or not isinstance(given, Iterable)
    chosen = [int(c) if isinstance(c, np.integer) else c for c in ([given] if one else given)]
    for c in chosen:
        if isinstance(c, bool) or not (isinstance(c, str) or (isinstance(c, int) and c >= 0)):
            raise ValueError(f"{what}: {c!r} is neither a position (from 0 on) nor a name")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"{what}: {given!r} has a column twice")
    return tuple(chosen)


def find_columns(chosen: Any, names: Sequence[str], what: str) -> tuple[int, ...]:
    """Positions of columns among these names; "lon|longitude" is the one that has either name, in
    small letters or large."""
    known = {name: k for k, name in enumerate(names)}
    places = [_places(c, known) if isinstance(c, str) else [c] for c in chosen]
    for c, found in zip(chosen, places):
        if not found:
            raise ValueError(f"{what}: X has no column {c!r}; it has {', '.join(map(repr, known))}")
        if len(found) > 1:
            both = " and ".join(repr(names[k]) for k in found)
            raise ValueError(f"{what}: {both} may both be meant by {c!r}: name one with columns=")
    return tuple(found[0] for found in places)


def _places(name: str, known: Mapping[str, int]) -> list[int]:
    if name in known or "|" not in name:
        return [known[name]] if name in known else []
    meant = name.lower().split("|")
    return [k for own, k in known.items() if own.lower() in meant]


def columns_told(say: Any, columns: Iterable[int]) -> str:
    """Name columns in a line of progress; by number where `say` knows no names."""
    names = getattr(say, "names", ())
    return ", ".join(names[k] if k < len(names) else f"column {k}" for k in columns)


def told(say: Any, kernel: Kernel) -> str:
    """Write a kernel for a line of progress, with the names of columns that `say` knows."""
    return kernel.shown(getattr(say, "names", ()))


def theirs(kernel: Any) -> str | None:
    """Name of a scikit-learn kernel's class, without importing it; else None."""
    own = type(kernel)
    return own.__name__ if own.__module__ == "sklearn.gaussian_process.kernels" else None


def fixed_names(sklearn_kernel: Any, **names: str) -> tuple[str, ...]:
    """Our names of the parameters whose scikit-learn bounds are "fixed"."""
    return tuple(
        ours
        for ours, theirs in names.items()
        if isinstance(bounds := getattr(sklearn_kernel, f"{theirs}_bounds"), str)
        and bounds == "fixed"
    )


def scaled_columns(X: Array, length: Array | float) -> Array:
    """X / length, row-major; quotients beyond the range of floats are clipped."""
    with np.errstate(over="ignore", under="ignore"):
        return np.clip(np.ascontiguousarray(X / length, dtype=float), -1e150, 1e150)


def nearest_to_zero(X: Array) -> Array:
    """Value of smallest magnitude in each column: an origin that no outlier moves."""
    if not X.size:
        return np.zeros(X.shape[1])
    return X[np.abs(X).argmin(axis=0), np.arange(X.shape[1])]
