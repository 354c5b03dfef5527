"""Kernels with parameters of their own, and their twins in scikit-learn."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from .base import Columns, Kernel, fixed_names, theirs
from .columns import On

Array = np.ndarray
#: Quantities that a parameter may measure.
KINDS = {"variance", "length", "slope", "shape", "mismatch"}


@dataclass(frozen=True, eq=False, repr=False)
class Leaf(Kernel):
    """A kernel with parameters of its own, all positive, each a field of the dataclass.

    `kinds` names them in the order of θ, with what they measure: "variance", "length" (in the
    units of a column), "slope" (inverse of a coefficient), "mismatch" (a length between levels
    that are 1 apart) or "shape" (no unit). Learning chooses priors by it. `per_column` names those
    that may have one value per column; `fixed` those that learning does not change;
    `sklearn_twins` the kernels of scikit-learn that are the same function, each with their names of
    our parameters. The registry holds the kernels that can be made without arguments; others are
    declared with `listed=False`.

    k(x, x) is the variance, unless a kernel has another `diag` and `diag_vjp`.

    With `columns`, positions or names, the kernel depends on these columns of X alone: see `On`.
    A kernel that ignores X (`sees_columns` is false) refuses `columns`.
    """

    atomic = True
    kinds: ClassVar[dict[str, str]] = {}
    per_column: ClassVar[tuple[str, ...]] = ("length_scale", "period")
    registry: ClassVar[list[type[Leaf]]] = []
    sees_columns: ClassVar[bool] = True
    sklearn_twins: ClassVar[dict[str, dict[str, str]]] = {}

    fixed: tuple[str, ...] = field(default=(), kw_only=True)
    if TYPE_CHECKING:
        columns: Columns | None = field(default=None, kw_only=True)

    def __new__(cls, *arguments: Any, columns: Columns | None = None, **parameters: Any) -> Any:
        if columns is None:
            return object.__new__(cls)
        if not cls.sees_columns:
            raise ValueError(f"columns={columns!r}: {cls.__name__} is the same for all columns")
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
        """Translate a scikit-learn kernel; None where it is not a twin of this class."""
        own = f"Matern(nu={kernel.nu})" if theirs(kernel) == "Matern" else theirs(kernel)
        names = cls.sklearn_twins.get(own or "")
        if names is None:
            return None
        given: Any = {ours: getattr(kernel, name) for ours, name in names.items()}
        return cls(**given, fixed=fixed_names(kernel, **names))

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
        """Replace the free parameters, in the order of θ  (q,)."""
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

    def diag(self, X: Array) -> Array:
        return np.full(X.shape[0], self.variance)  # type: ignore[attr-defined]

    def diag_vjp(self, X: Array, d_bar: Array) -> Array:
        bars = {name: np.zeros(np.shape(getattr(self, name))) for name in self.kinds}
        bars["variance"] = self.variance * d_bar.sum()  # type: ignore[attr-defined]
        return self.gradient(**bars)

    def on_levels(self, levels: Mapping[int, str]) -> Self:
        if levels and self.sees_columns:
            names = ", ".join(map(repr, levels.values()))
            raise ValueError(
                f"{type(self).__name__} takes the columns {names} for numbers, but they hold "
                f"levels: give {type(self).__name__}(columns=…) without them, or Group(columns=…)"
            )
        return self

    def gradient(self, **bars: float | Array) -> Array:
        """∂ℒ/∂θ from ∂ℒ/∂(log parameter), summed over columns that share one number."""
        parts = []
        for name in self._free():
            bar = np.atleast_1d(bars[name])
            parts.append(bar if np.ndim(getattr(self, name)) else np.atleast_1d(bar.sum()))
        return np.concatenate(parts) if parts else np.empty(0)

    def shown(self, names: Sequence[str] = ()) -> str:
        def show(name, value):
            if isinstance(value, np.ndarray) and name in self.per_column:
                return _by_name(value, names)
            if isinstance(value, np.ndarray):
                return _by_name(value, ())
            if name == "categories" and names:
                value = tuple(names[k] if isinstance(k, int) else k for k in value)
            return f"{value:.4g}" if isinstance(value, float) else repr(value)

        words = [
            f"{f.name}={show(f.name, getattr(self, f.name))}"
            for f in fields(self)
            if f.name not in ("fixed", "categories", "degree") or getattr(self, f.name) != f.default
        ]
        return f"{type(self).__name__}({', '.join(words)})"


def _by_name(values: np.ndarray, names: Sequence[str]) -> str:
    """One value per column, with the names of these if they are known."""
    if len(names) != values.size:
        return "[" + ", ".join(f"{v:.4g}" for v in values) + "]"
    return "{" + ", ".join(f"{name}: {v:.4g}" for name, v in zip(names, values)) + "}"


def as_kernel(kernel: Any) -> Kernel:
    """Translate a scikit-learn kernel; return our own kernels unchanged.

    Raises ValueError, which lists the kernels known, for anything else.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import Matern, ConstantKernel
    >>> as_kernel(ConstantKernel(2.0) * Matern(length_scale=0.5, nu=1.5))
    Matern32(variance=2, length_scale=0.5)
    """
    if isinstance(kernel, Kernel):
        return kernel
    if theirs(kernel) == "Sum":
        return as_kernel(kernel.k1) + as_kernel(kernel.k2)
    if theirs(kernel) == "Product":
        return as_kernel(kernel.k1) * as_kernel(kernel.k2)
    for leaf in Leaf.registry:
        found = leaf.from_sklearn(kernel)
        if found is not None:
            return found
    twins = ", ".join(sorted(twin for leaf in Leaf.registry for twin in leaf.sklearn_twins))
    raise ValueError(
        f"kernel={kernel!r} is not a kernel known here{_meant(kernel)}: give one of "
        f"collegium.kernels ({', '.join(_public())}) or of scikit-learn ({twins}), or sums and "
        "products of them"
    )


def _public() -> list[str]:
    """Names of all kernels that users can give, those of other kernels too."""
    package = sys.modules[__package__]
    found = {name: getattr(package, name) for name in package.__all__}
    kinds = {
        name for name, one in found.items() if isinstance(one, type) and issubclass(one, Kernel)
    }
    return sorted(kinds - {"Kernel", "Product", "Sum"})


def _meant(kernel: Any) -> str:
    """Guess what is meant by a name, or by a class instead of an instance."""
    if isinstance(kernel, type):
        return f" (a class: write {kernel.__name__}())"
    names = {leaf.__name__.lower(): leaf.__name__ for leaf in Leaf.registry}
    near = get_close_matches(str(kernel).lower(), list(names), n=1) if type(kernel) is str else []
    return f" (is kernels.{names[near[0]]}() meant?)" if near else ""


def needs_one_column(kernel: Any) -> bool:
    """Say whether a scikit-learn kernel is a covariance in one dimension only."""
    if theirs(kernel) in ("Sum", "Product"):
        return needs_one_column(kernel.k1) or needs_one_column(kernel.k2)
    return theirs(kernel) == "ExpSineSquared"
