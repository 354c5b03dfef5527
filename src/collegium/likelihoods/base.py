"""What every likelihood is: a log density in f, its derivatives, and what it says of a new y.

y is (n, c): the likelihood reads its own columns. f is (n,), or (n, K) where a row has K latent
numbers; derivatives are then those in one of them, the others held.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import ndtri

from . import counting
from .quadrature import expect

Array = np.ndarray
#: What y may be.
SUPPORTS: dict[str, Any] = {
    "signs": lambda y, _: np.abs(y) == 1.0,
    "classes": lambda y, own: (y >= 0) & (y < own.latents) & (y == np.floor(y)),
    "counts": lambda y, _: (y >= 0) & (y == np.floor(y)),
    "reals": lambda y, _: np.full(y.shape, True),
}


@dataclass(frozen=True)
class Observation:
    """p(y | f) of one row.

    `support` says what y may be: "signs" (±1), "classes" (0 … K − 1), "counts" or "reals".
    `free` names the positive parameters that can be learnt; θ are their logs.
    """

    support: ClassVar[str] = ""
    free: ClassVar[tuple[str, ...]] = ()
    registry: ClassVar[list[type[Observation]]] = []

    fixed: tuple[str, ...] = field(default=(), kw_only=True)

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if cls.support:
            if cls.support not in SUPPORTS:
                raise ValueError(
                    f"support={cls.support!r} of {cls.__name__}: give one of {tuple(SUPPORTS)}, "
                    "and refuse other y by `check`"
                )
            Observation.registry.append(cls)

    def __post_init__(self) -> None:
        for one in fields(self):
            if one.name == "fixed":
                continue
            value = getattr(self, one.name)
            if not (np.ndim(value) == 0 and np.isfinite(value) and value > 0):
                raise ValueError(
                    f"{one.name} of {type(self).__name__} must be a positive number; got {value!r}"
                )

    @property
    def latents(self) -> int:
        """K: how many latent functions a row has."""
        return 1

    def log_density(self, y: Array, f: Array) -> Array:
        """log p(y | f)  (n,)."""
        raise TypeError("abstract likelihood")

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """∂, ∂², ∂³ of log p(y | f) in f, each as f."""
        raise TypeError("abstract likelihood")

    def curvature(self, y: Array, f: Array) -> tuple[Array, Array]:
        """W = max(−∂² log p, 0) and ∂W/∂f, each as f.

        Where p is not log-concave a row that bends the wrong way keeps its slope and says
        nothing about how sure it is: the posterior precision is never below the prior's.
        """
        _, second, third = self.derivatives(y, f)
        return np.maximum(-second, 0.0), np.where(second < 0.0, -third, 0.0)

    def bound(self, y: Array, f: Array) -> Array:
        """Weights ω ≥ W with which steps towards the mode are sure to climb."""
        return self.curvature(y, f)[0]

    def curvature_vjp(self, y: Array, f: Array, W_bar: Array) -> Array:
        """∂ℒ/∂f from ∂ℒ/∂W, each as f."""
        return W_bar * self.curvature(y, f)[1]

    def check(self, y: Array) -> None:
        """ValueError where y cannot be observed."""
        y = np.asarray(y)
        if y.ndim != 2 or not y.shape[1]:
            raise ValueError(f"y must have shape (n, columns); got {y.shape}")
        if not np.isfinite(y).all():
            raise ValueError("y has values that are not finite")
        wrong = ~SUPPORTS[self.support](y[:, 0], self)
        if wrong.any():
            raise ValueError(
                f"y of {type(self).__name__} must be {self.support}; got {y[wrong, 0][:5]}"
            )

    # -- parameters -------------------------------------------------------------------------------

    def _names(self) -> list[str]:
        return [name for name in self.free if name not in self.fixed]

    @property
    def theta(self) -> Array:
        """Logs of the free parameters  (q,)."""
        return np.log(np.array([getattr(self, name) for name in self._names()], dtype=float))

    def with_theta(self, theta: Array) -> Self:
        changes = {name: float(np.exp(t)) for name, t in zip(self._names(), theta)}
        return replace(self, **changes)  # type: ignore[arg-type]

    def theta_derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """∂/∂θ of log p, of ∂ log p/∂f and of ∂² log p/∂f²: each (q, n)."""
        none = np.empty((0, *f.shape))
        return none, none, none


@dataclass(frozen=True)
class Scalar(Observation):
    """A row with one latent number f, and a y that has moments.

    Of a new y a subclass need say no more than `mean` and `variance`, the first not falling in f.
    """

    identity: ClassVar[bool] = False  # whether E[y | f] is f itself

    def mean(self, f: Array) -> Array:
        """E[y | f]: the inverse link."""
        raise TypeError("abstract likelihood")

    def variance(self, f: Array) -> Array:
        """var[y | f]."""
        raise TypeError("abstract likelihood")

    def predict(self, m: Array, v: Array) -> tuple[Array, Array]:
        """Mean and variance of a new y, f ~ N(m, v), for any v ≥ 0; a subclass that knows a
        closed form uses it."""
        mean = expect(self.mean, m, v)
        about = expect(lambda f, c: self.variance(f) + (self.mean(f) - c) ** 2, m, v, mean)
        return mean, about

    def function(self, m: Array, v: Array) -> tuple[Array, Array]:
        """Mean and variance of E[y | f], f ~ N(m, v)."""
        mean = expect(self.mean, m, v)
        return mean, expect(lambda f, c: (self.mean(f) - c) ** 2, m, v, mean)

    def covariance(self, m: Array, v: Array, C: Array) -> Array:
        """Of E[y | f] at several points, cov f = C with diagonal v: by the correlations of f,
        where nothing better is known."""
        ratio = np.sqrt(self.function(m, v)[1] / np.where(v > 0.0, v, 1.0))
        return ratio[:, None] * C * ratio

    def quantile(self, level: float, m: Array, v: Array) -> Array:
        """The smallest y whose distribution function reaches `level`, f ~ N(m, v); by the normal
        with the moments of y (of counts the negative binomials with those given f), where
        nothing better is known."""
        if self.support == "counts":
            return counting.quantile(level, m, v, self.mean, self.variance)
        mean, variance = self.predict(m, v)
        if self.support == "signs":
            return np.where(0.5 - 0.5 * mean >= level, -1.0, 1.0)
        return mean + np.sqrt(variance) * ndtri(level)

    def draw(self, f: Array, rng: Any) -> Array:
        """A y of each f; of the normal (of counts the negative binomial) with its moments, where
        nothing better is known."""
        if self.support == "signs":
            return np.where(rng.uniform(size=f.shape) < 0.5 + 0.5 * self.mean(f), 1.0, -1.0)
        if self.support == "counts":
            return counting.draw(self.mean(f), self.variance(f), rng)
        return self.mean(f) + np.sqrt(self.variance(f)) * rng.standard_normal(f.shape)

    def log_predictive(self, y: Array, m: Array, v: Array) -> Array:
        """log E[p(y | f)] of each row, f ~ N(m, v), where p bends on a scale of one or more."""
        columns = np.moveaxis(y, -1, 0)

        def density(f: Array, *given: Array) -> Array:
            return np.exp(self.log_density(np.stack(given, axis=-1), f))

        with np.errstate(divide="ignore"):
            return np.log(expect(density, m, v, *columns))
