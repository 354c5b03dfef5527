"""Base classes of likelihoods: a log density in f, its derivatives, and predictions of a new y.

y is (n, c): the likelihood reads its own columns. f is (n,), or (n, K) where a row has K latent
numbers; derivatives are then those in one of them, the others held.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from ..numerics import records
from ..rows.scaling import Scaling
from .integrals.quadrature import expect
from .integrals.sites import sites
from .targets.support import UNKNOWN, Support
from .targets.units import Units

Array = np.ndarray


@dataclass(frozen=True)
class Observation:
    """p(y | f) of one row.

    `support` says what y may be: SIGNS (±1), CLASSES (0 … K − 1), COUNTS, POSITIVE (y > 0), UNIT
    (0 < y < 1), REALS, or a `Support` with other bounds. `name` is what users call it by, as in
    `likelihood="student-t"`. `free` names the positive parameters that can be learnt; θ are their
    logs.
    """

    support: ClassVar[Support] = UNKNOWN
    name: ClassVar[str] = ""
    free: ClassVar[tuple[str, ...]] = ()
    may_be_zero: ClassVar[tuple[str, ...]] = ()  # parameters that need not be positive
    # whether hyperparameters are learnt by an evidence that is corrected row by row: Laplace's
    # own is far off where p has heavy tails
    corrected: ClassVar[bool] = False
    registry: ClassVar[list[type[Observation]]] = []

    fixed: tuple[str, ...] = field(default=(), kw_only=True)

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        records.register("likelihood", cls)
        if "name" not in vars(cls):
            cls.name = ""  # a name belongs to one class, not to those derived from it
        if not isinstance(cls.support, Support):
            raise ValueError(
                f"support={cls.support!r} of {cls.__name__} is no Support: give SIGNS, COUNTS, "
                "POSITIVE, UNIT, REALS or Support(name, low, high)"
            )
        if cls.support:
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
        """Return the likelihoods of this kind by their names."""
        return {one.name: one for one in Observation.registry if one.name and issubclass(one, cls)}

    @property
    def latents(self) -> int:
        """K, the number of latent functions of a row."""
        return 1

    def log_density(self, y: Array, f: Array) -> Array:
        """log p(y | f)  (n,)."""
        raise TypeError("abstract likelihood")

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """∂, ∂², ∂³ of log p(y | f) in f, each shaped like f."""
        raise TypeError("abstract likelihood")

    def curvature(self, y: Array, f: Array) -> tuple[Array, Array]:
        """W = max(−∂² log p, 0) and ∂W/∂f, each shaped like f.

        Where p is not log-concave, a row with −∂² < 0 keeps its slope and has no curvature: the
        posterior precision is never below the prior's.
        """
        _, second, third = self.derivatives(y, f)
        return np.maximum(-second, 0.0), np.where(second < 0.0, -third, 0.0)

    def bound(self, y: Array, f: Array) -> Array:
        """Weights ω ≥ W with which every step towards the mode climbs."""
        return self.curvature(y, f)[0]

    def curvature_vjp(self, y: Array, f: Array, W_bar: Array) -> Array:
        """∂ℒ/∂f from ∂ℒ/∂W, each shaped like f."""
        return W_bar * self.curvature(y, f)[1]

    def check(self, y: Array) -> None:
        """Raise ValueError where y cannot be observed."""
        y = np.asarray(y)
        if y.ndim != 2 or not y.shape[1]:
            raise ValueError(f"y must have shape (n, columns); got {y.shape}")
        if not np.isfinite(y).all():
            raise ValueError("y has values that are not finite")
        self.support.check(y[:, 0], type(self).__name__)

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

    A subclass needs `mean` and `variance` of y given f; the mean must not decrease in f.
    """

    identity: ClassVar[bool] = False  # whether E[y | f] is f itself
    takes_exposure: ClassVar[bool] = False  # whether a second column of y is e, E[y | f] = e·E₁
    takes_noise: ClassVar[bool] = False  # whether the argument `noise` of estimators is its noise
    tree_loss: ClassVar[str] = ""  # of scikit-learn's boosted trees whose answers are f
    code: ClassVar[int | None] = None  # its branch in `sites.site`, for the online GP

    # -- a new y ----------------------------------------------------------------------------------

    def mean(self, f: Array) -> Array:
        """E[y | f]: the inverse link."""
        raise TypeError("abstract likelihood")

    def variance(self, f: Array) -> Array:
        """var[y | f]."""
        raise TypeError("abstract likelihood")

    def predict(self, m: Array, v: Array) -> tuple[Array, Array]:
        """Mean and variance of a new y, f ~ N(m, v), for any v ≥ 0, by quadrature."""
        mean = expect(self.mean, m, v)
        about = expect(lambda f, c: self.variance(f) + (self.mean(f) - c) ** 2, m, v, mean)
        return mean, about

    def function(self, m: Array, v: Array) -> tuple[Array, Array]:
        """Mean and variance of E[y | f], f ~ N(m, v)."""
        mean = expect(self.mean, m, v)
        return mean, expect(lambda f, c: (self.mean(f) - c) ** 2, m, v, mean)

    def covariance(self, m: Array, v: Array, C: Array) -> Array:
        """Covariance of E[y | f] at several points, cov f = C with diagonal v: by default with the
        correlations of f."""
        ratio = np.sqrt(self.function(m, v)[1] / np.where(v > 0.0, v, 1.0))
        return ratio[:, None] * C * ratio

    def quantile(self, level: float, m: Array, v: Array) -> Array:
        """The smallest y whose distribution function reaches `level`, f ~ N(m, v).

        Where nothing better is known, of the family of the support with the moments of y: the
        normal; given f, negative binomials of counts, gammas of positive y, betas between bounds.
        """
        return self.support.family.quantile(self, level, m, v)

    def distribution(self, y: Array, m: Array, v: Array) -> Array:
        """P(Y ≤ y) of each row, y like f, f ~ N(m, v); its inverse is `quantile`."""
        return self.support.family.distribution(self, y, m, v)

    def draw(self, f: Array, rng: Any) -> Array:
        """Draw one y for each f, by default from the family of the support with its moments."""
        return self.support.family.draw(self, f, rng)

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
        """Number that `sites.site` gets beside the code."""
        return 0.0

    def site(self, y: Array, m: Array, v: Array) -> tuple[Array, Array, Array]:
        """∂ log Z/∂m, ∂² log Z/∂m² and log Z = log E[p(y | f)] of each y, f ~ N(m, v)."""
        if self.code is None:
            raise TypeError(f"{type(self).__name__} has no branch in sites.site")
        return sites(self.code, self.parameter, y, m, v)

    # -- estimators -------------------------------------------------------------------------------

    def units(self, y: Array, w: Array) -> Units:
        """Units in which the likelihood sees targets y (n, c) of weights w (n,): by default y's."""
        return Units(Scaling.none())

    def accept(self, y: Array) -> None:
        """Raise ValueError where an estimator cannot take targets y (n, 1): by default `check`."""
        self.check(y)

    def with_noise(self, noise: float, *, keep: bool = False) -> Self:
        """Replace the noise: a start for learning, or with `keep` a fixed value."""
        own: dict[str, Any] = {"fixed": ("noise",)} if keep else {}
        return replace(self, noise=noise, **own)  # type: ignore[call-arg]
