"""The interface of kernels: positive parameters, a value, a diagonal, and their adjoints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..numerics import records
from ..numerics.linalg import JITTERS, cholesky
from ..numerics.tiles import by_tiles
from .embedding import Embedding

Array = np.ndarray
#: What a parameter may measure.
KINDS = {"variance", "length", "slope", "shape", "mismatch"}
#: Columns of X, by position or by name.
Columns = int | str | Sequence[int | str]


class Kernel:
    """k(x, x′; θ), θ the logs of the free parameters.

    `value(X)` is K(X, X) of one set of rows (with white noise); `value(X, Z)` is K(X, Z) of two
    sets (without). In the same way `vjp(X, None, K_bar)` belongs to `value(X)`; it reads the lower
    triangle of a symmetric K_bar.
    """

    theta: Array  # logs of the free parameters  (q,)
    labels: tuple[tuple[str, int], ...]  # what each θ measures, and the column it belongs to

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        records.register("kernel", cls)

    def value(self, X: Array, Z: Array | None = None) -> Array:
        """K(X, Z)  (n, m)."""
        raise TypeError("abstract kernel")

    def fill(self, X: Array, out: Array, room: Array) -> None:
        """K(X, X) of several sets of rows (b, n, d) on the lower triangles of `out`  (b, n, n).

        In the precision of `out`; `room`, as large, may be overwritten. No array is made for each
        set, and what is filled for one does not depend on the others. In single precision values
        are exact to that near the last row of a set; those of rows far from it need not be.
        """
        for own, K in zip(X, out):
            K[...] = self.value(own)

    def to(self, Z: Array) -> To:
        """x ↦ K(x, Z) for few x at a time, often; that of one x does not depend on the others."""
        return To(self, Z)

    def coarse_parts(self, X: Array, parts: Sequence[Array]) -> Iterator[Array]:
        """K(X, Z) in single precision for one Z after the other  (n, m).

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
        """The kernel with other free parameters."""
        raise TypeError("abstract kernel")

    def times(self, factors: Array) -> Self:
        """The kernel with its free parameters, in the order of θ, multiplied by factors (q,)."""
        raise TypeError("abstract kernel")

    def scaled(self, factor: float) -> Self:
        """factor · k."""
        raise TypeError("abstract kernel")

    def for_width(self, d: int) -> Self:
        """The kernel with one length scale per column (ARD) of d columns."""
        raise TypeError("abstract kernel")

    def inverse_squares(self, d: int) -> Array:
        """1/length² of each column, times the variance; 0 where k does not fall  (d,)."""
        raise TypeError("abstract kernel")

    def embeddings(self, d: int) -> tuple[Embedding, ...]:
        """Columns that count in the search of nearest rows otherwise than by their differences."""
        return ()

    def on_columns(self, names: Sequence[str]) -> Self:
        """The kernel with the positions of columns that it knows by name; `names`: those of X."""
        return self

    def on_levels(self, levels: Mapping[int, str]) -> Self:
        """The kernel where some columns of X hold codes of levels; `levels`: their names."""
        return self

    def reach(self, gaps: Array) -> Array:
        """An upper bound of |k(x, z)| where |x − z| ≥ gaps in every column, gaps (n, d)  (n,)."""
        return np.full(gaps.shape[0], np.inf)

    def __add__(self, other: Any) -> Kernel:
        from .composite import add

        return add(self, other)

    def __radd__(self, other: Any) -> Kernel:
        from .composite import add

        return add(other, self)

    def __mul__(self, other: Any) -> Kernel:
        from .composite import multiply

        return multiply(self, other)

    def __rmul__(self, other: Any) -> Kernel:
        from .composite import multiply

        return multiply(other, self)


@dataclass(frozen=True, eq=False)
class To:
    """x ↦ K(x, Z), tile by tile; a subclass has made ready what depends on Z alone."""

    kernel: Any
    Z: Array

    @property
    def nbytes(self) -> int:
        return self.Z.nbytes

    def __call__(self, X: Array) -> Array:
        return by_tiles(lambda tile: (self.kernel.value(tile, self.Z),), X)[0]


@dataclass(frozen=True, eq=False, repr=False)
class Leaf(Kernel):
    """A kernel with parameters of its own, all positive, each a field of the dataclass.

    `kinds` names them in the order of θ, with what they measure: "variance", "length" (in the
    units of a column), "slope" (inverse of a coefficient), "mismatch" (a length between levels
    that are 1 apart) or "shape" (no unit). Learning chooses priors by it. `per_column` names those
    that may have one value a column; `fixed` those that learning does not change. The registry
    holds the kernels that can be made without arguments; others are declared with `listed=False`.

    With `columns`, positions or names, the kernel is one of these columns of X alone: see `On`.
    Where the value is the same for all rows (`sees_columns` is false) that is refused.
    """

    kinds: ClassVar[dict[str, str]] = {}
    per_column: ClassVar[tuple[str, ...]] = ("length_scale", "period")
    registry: ClassVar[list[type[Leaf]]] = []
    sees_columns: ClassVar[bool] = True

    fixed: tuple[str, ...] = field(default=(), kw_only=True)
    if TYPE_CHECKING:
        columns: Columns | None = field(default=None, kw_only=True)

    def __new__(cls, *arguments: Any, columns: Columns | None = None, **parameters: Any) -> Any:
        if columns is None:
            return object.__new__(cls)
        if not cls.sees_columns:
            raise ValueError(f"columns={columns!r}: {cls.__name__} is the same for all columns")
        from .columns import On

        return On(cls(*arguments, **parameters), columns)

    def __init_subclass__(cls, *, listed: bool = True, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        unknown = set(cls.kinds.values()) - KINDS
        if unknown:
            raise ValueError(f"kinds of {cls.__name__} has {unknown}: give some of {sorted(KINDS)}")
        if cls.kinds and listed:
            Leaf.registry.append(cls)

    @classmethod
    def from_sklearn(cls, kernel: Any) -> Kernel | None:
        """Convert a scikit-learn kernel; None where it is another one."""
        return None

    def __post_init__(self) -> None:
        for name in self.kinds:
            given = getattr(self, name)
            try:
                number = np.array(given, dtype=float)
            except (TypeError, ValueError):
                number = np.array(np.nan)
            many = number.ndim == 1 and number.size > 0 and name in self.per_column
            right = (number.ndim == 0 or many) and np.isfinite(number).all() and (number > 0).all()
            if not right:
                raise ValueError(
                    f"{name} of {type(self).__name__} must be positive and finite, a number"
                    f"{' or one per column' if name in self.per_column else ''}; got {given!r}"
                )
            number.flags.writeable = False
            object.__setattr__(self, name, number if number.ndim else float(number))
        unknown = set(self.fixed) - set(self.kinds)
        if unknown:
            raise ValueError(f"fixed of {type(self).__name__} names no parameter: {unknown}")

    def _free(self) -> list[str]:
        return [name for name in self.kinds if name not in self.fixed]

    @property
    def theta(self) -> Array:  # type: ignore[override]
        parts = [np.atleast_1d(np.log(getattr(self, name))) for name in self._free()]
        return np.concatenate(parts) if parts else np.empty(0)

    @property
    def labels(self) -> tuple[tuple[str, int], ...]:  # type: ignore[override]
        return tuple(
            (self.kinds[name], column)
            for name in self._free()
            for column in range(np.size(getattr(self, name)))
        )

    def with_theta(self, theta: Array) -> Self:
        return self._with(np.exp(theta))

    def times(self, factors: Array) -> Self:
        parts = [np.atleast_1d(getattr(self, name)) for name in self._free()]
        return self._with(factors * np.concatenate(parts)) if parts else self

    def _with(self, values: Array) -> Self:
        """The kernel with other free parameters, one after the other  (q,)."""
        changes, at = {}, 0
        for name in self._free():
            old = getattr(self, name)
            new = values[at : at + np.size(old)]
            changes[name] = new if isinstance(old, np.ndarray) else float(new[0])
            at += new.size
        return replace(self, **changes)  # type: ignore[arg-type]

    def scaled(self, factor: float) -> Self:
        variance = self.variance * factor  # type: ignore[attr-defined]
        return replace(self, variance=variance)  # type: ignore[call-arg]

    def for_width(self, d: int) -> Self:
        changes = {}
        for name, kind in self.kinds.items():
            if kind in ("length", "slope"):
                given = np.asarray(getattr(self, name))
                if given.size not in (1, d):
                    raise ValueError(
                        f"{name} of {type(self).__name__} has {given.size} values, but X has "
                        f"{d} columns: give one number, or one per column"
                    )
                changes[name] = np.broadcast_to(given, (d,)).copy()
        return replace(self, **changes)  # type: ignore[arg-type]

    def inverse_squares(self, d: int) -> Array:
        return np.zeros(d)

    def on_levels(self, levels: Mapping[int, str]) -> Self:
        if levels and self.sees_columns:
            names = ", ".join(map(repr, levels.values()))
            raise ValueError(
                f"{type(self).__name__} takes the columns {names} for numbers, but they hold "
                f"levels: give {type(self).__name__}(columns=…) without them, or Group(columns=…)"
            )
        return self

    def gradient(self, **bars: float | Array) -> Array:
        """∂ℒ/∂θ from ∂ℒ/∂(log parameter), summed over columns where one number serves all."""
        parts = []
        for name in self._free():
            bar = np.atleast_1d(bars[name])
            parts.append(bar if np.ndim(getattr(self, name)) else np.atleast_1d(bar.sum()))
        return np.concatenate(parts) if parts else np.empty(0)

    def __repr__(self) -> str:
        def show(value):
            if isinstance(value, np.ndarray):
                return "[" + ", ".join(f"{v:.4g}" for v in value) + "]"
            return f"{value:.4g}" if isinstance(value, float) else repr(value)

        shown = [
            f"{f.name}={show(getattr(self, f.name))}"
            for f in fields(self)
            if f.name not in ("fixed", "categories") or getattr(self, f.name) != f.default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def as_columns(given: Any, what: str) -> tuple[int | str, ...]:
    """Positions and names of columns, each once, as a tuple."""
    one = isinstance(given, (str, int, np.integer)) or not isinstance(given, Iterable)
    chosen = [int(c) if isinstance(c, np.integer) else c for c in ([given] if one else given)]
    for c in chosen:
        if isinstance(c, bool) or not (isinstance(c, str) or (isinstance(c, int) and c >= 0)):
            raise ValueError(f"{what}: {c!r} is neither a position, from 0 on, nor a name")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"{what}: {given!r} has a column twice")
    return tuple(chosen)


def find_columns(chosen: Any, names: Sequence[str], what: str) -> tuple[int, ...]:
    """Positions of columns among these names."""
    known = {name: k for k, name in enumerate(names)}
    lost = [c for c in chosen if isinstance(c, str) and c not in known]
    if lost:
        raise ValueError(f"{what}: X has no column {lost[0]!r}, but {', '.join(map(repr, known))}")
    return tuple(known[c] if isinstance(c, str) else c for c in chosen)


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
    """X / length, row-major; quotients that leave the range of floats are clipped."""
    with np.errstate(over="ignore", under="ignore"):
        return np.clip(np.ascontiguousarray(X / length, dtype=float), -1e150, 1e150)


def nearest_to_zero(X: Array) -> Array:
    """Value of smallest magnitude in each column: an origin that no outlier moves."""
    if not X.size:
        return np.zeros(X.shape[1])
    return X[np.abs(X).argmin(axis=0), np.arange(X.shape[1])]
