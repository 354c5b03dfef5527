"""What every likelihood is: a log density in f, its derivatives, and what it says of a new y.

y is (n, c): the likelihood reads its own columns. f is (n,), or (n, K) where a row has K latent
numbers; derivatives are then those in one of them, the others held.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import ndtr, ndtri

from ..numerics import records
from ..rows.scaling import Scaling
from . import counting, positive
from .quadrature import expect
from .sites import sites
from .units import Units

Array = np.ndarray
#: What y may be.
SUPPORTS: dict[str, Any] = {
    "signs": lambda y, _: np.abs(y) == 1.0,
    "classes": lambda y, own: (y >= 0) & (y < own.latents) & (y == np.floor(y)),
    "counts": lambda y, _: (y >= 0) & (y == np.floor(y)),
    "positive": lambda y, _: y > 0,
    "reals": lambda y, _: np.full(y.shape, True),
}


@dataclass(frozen=True)
class Observation:
    """p(y | f) of one row.

    `support` says what y may be: "signs" (±1), "classes" (0 … K − 1), "counts", "positive"
    (y > 0) or "reals". `name` is what users call it by, as in `likelihood="student-t"`.
    `free` names the positive parameters that can be learnt; θ are their logs.
    """

    support: ClassVar[str] = ""
    name: ClassVar[str] = ""
    free: ClassVar[tuple[str, ...]] = ()
    may_be_zero: ClassVar[tuple[str, ...]] = ()  # parameters that need not be positive
    registry: ClassVar[list[type[Observation]]] = []

    fixed: tuple[str, ...] = field(default=(), kw_only=True)

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        records.register("likelihood", cls)
        if "name" not in vars(cls):
            cls.name = ""  # a name is of one class, not of those derived from it
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
            value, zero = getattr(self, one.name), one.name in self.may_be_zero
            number = np.ndim(value) == 0 and np.isfinite(value)
            if not (number and (value > 0 or (zero and value == 0))):
                raise ValueError(
                    f"{one.name} of {type(self).__name__} must be a "
                    f"{'number ≥ 0' if zero else 'positive number'}; got {value!r}"
                )

    @classmethod
    def named(cls) -> dict[str, type[Self]]:
        """Likelihoods of this kind, by their names."""
        return {one.name: one for one in Observation.registry if one.name and issubclass(one, cls)}

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
    takes_exposure: ClassVar[bool] = False  # whether a second column of y is e, E[y | f] = e·E₁
    takes_noise: ClassVar[bool] = False  # whether the argument `noise` of estimators is its noise
    code: ClassVar[int | None] = None  # of its branch in `sites.site`, for the online GP

    # -- a new y ----------------------------------------------------------------------------------

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
        """The smallest y whose distribution function reaches `level`, f ~ N(m, v).

        Where nothing better is known: of the normal with the moments of y; of counts and of
        positive y, of negative binomials and of gammas with the moments given f.
        """
        if self.support == "counts":
            return counting.quantile(level, m, v, self.mean, self.variance)
        if self.support == "positive":
            return positive.quantile(level, m, v, self.mean, self.variance)
        mean, variance = self.predict(m, v)
        if self.support == "signs":
            return np.where(0.5 - 0.5 * mean >= level, -1.0, 1.0)
        return mean + np.sqrt(variance) * ndtri(level)

    def distribution(self, y: Array, m: Array, v: Array) -> Array:
        """P(Y ≤ y) of each row, y as f, f ~ N(m, v): the distribution that `quantile` is of."""
        if self.support == "counts":
            return counting.distribution(y, m, v, self.mean, self.variance)
        if self.support == "positive":
            return positive.distribution(y, m, v, self.mean, self.variance)
        mean, variance = self.predict(m, v)
        if self.support == "signs":
            return np.where(y < -1.0, 0.0, np.where(y < 1.0, 0.5 - 0.5 * mean, 1.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(y == mean, 0.0, (y - mean) / np.sqrt(variance))
        return ndtr(z)

    def draw(self, f: Array, rng: Any) -> Array:
        """A y of each f; of the normal (of counts the negative binomial, of positive y the gamma)
        with its moments, where nothing better is known."""
        if self.support == "signs":
            return np.where(rng.uniform(size=f.shape) < 0.5 + 0.5 * self.mean(f), 1.0, -1.0)
        if self.support == "counts":
            return counting.draw(self.mean(f), self.variance(f), rng)
        if self.support == "positive":
            return positive.draw(self.mean(f), self.variance(f), rng)
        return self.mean(f) + np.sqrt(self.variance(f)) * rng.standard_normal(f.shape)

    def log_predictive(self, y: Array, m: Array, v: Array) -> Array:
        """log E[p(y | f)] of each row, f ~ N(m, v)."""
        columns = np.moveaxis(y, -1, 0)

        def density(f: Array, *given: Array) -> Array:
            return np.exp(self.log_density(np.stack(given, axis=-1), f))

        with np.errstate(divide="ignore"):
            return np.log(expect(density, m, v, *columns))

    # -- moment matching --------------------------------------------------------------------------

    @property
    def parameter(self) -> float:
        """The number that `sites.site` is given beside the code."""
        return 0.0

    def site(self, y: Array, m: Array, v: Array) -> tuple[Array, Array, Array]:
        """∂ log Z/∂m, ∂² log Z/∂m² and log Z = log E[p(y | f)] of each y, f ~ N(m, v)."""
        if self.code is None:
            raise TypeError(f"{type(self).__name__} has no branch in sites.site")
        return sites(self.code, self.parameter, y, m, v)

    # -- estimators -------------------------------------------------------------------------------

    def units(self, y: Array, w: Array) -> Units:
        """How this likelihood sees targets y (n, c) of weights w (n,): as they come, by default."""
        return Units(Scaling.none())

    def accept(self, y: Array) -> None:
        """ValueError where an estimator cannot take these targets (n, 1): by default `check`."""
        self.check(y)

    def with_noise(self, noise: float, *, keep: bool = False) -> Self:
        """With this noise to start learning from, or to keep."""
        own: dict[str, Any] = {"fixed": ("noise",)} if keep else {}
        return replace(self, noise=noise, **own)  # type: ignore[call-arg]
