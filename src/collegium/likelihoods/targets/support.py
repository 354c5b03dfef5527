"""Values that y may take, and all that follows from them: checks, examples, integrals over y."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from ..moments import (
    CountMoments,
    Family,
    FiniteValues,
    IntervalMoments,
    NormalMoments,
    PositiveMoments,
    SignMoments,
)
from ..tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True)
class Support:
    """{y: low < y < high}; with `whole`, whole numbers from low to high; or `values` alone.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium.likelihoods import Support
    >>> angles = Support("angles", -np.pi, np.pi)
    >>> angles.contains(np.array([0.0, 3.0, 4.0])).tolist()
    [True, True, False]
    """

    name: str
    low: float = -np.inf
    high: float = np.inf
    whole: bool = False
    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"support {self.name!r}: low={self.low:g} is not below {self.high:g}")
        if self.whole and not np.isfinite(self.low):
            raise ValueError(f"support {self.name!r}: whole numbers need a lowest one, `low`")

    def __bool__(self) -> bool:
        return bool(self.name)

    def __str__(self) -> str:
        if self.values:
            words = " or ".join(f"{value:g}" for value in self.values)
        elif self.whole:
            end = f"{self.high:g}" if self.high < np.inf else ""
            words = f"{self.low:g}, {self.low + 1:g}, …{', ' * bool(end)}{end}"
        elif self.bounded:
            words = f"between {self.low:g} and {self.high:g}, both excluded"
        elif np.isfinite([self.low, self.high]).any():
            words = f"above {self.low:g}" if self.low > -np.inf else f"below {self.high:g}"
        else:
            words = "any number"
        return f"{self.name} ({words})"

    # -- which y there are ------------------------------------------------------------------------

    @property
    def bounded(self) -> bool:
        """Whether both bounds are finite."""
        return bool(np.isfinite([self.low, self.high]).all())

    @property
    def all_values(self) -> tuple[float, ...]:
        """All values, in order, where there are finitely many; none otherwise."""
        if self.whole and self.high < np.inf:
            return tuple(np.arange(self.low, self.high + 1.0).tolist())
        return self.values

    def contains(self, y: Array) -> Array:
        """Whether each y is among the values."""
        if self.values:
            return np.isin(y, self.values)
        if self.whole:
            return (y >= self.low) & (y <= self.high) & (y == np.floor(y)) & np.isfinite(y)
        return (y > self.low) & (y < self.high)

    def check(self, y: Array, owner: str) -> None:
        """Raise ValueError where some y is not among the values."""
        wrong = ~self.contains(y)
        if wrong.any():
            raise ValueError(f"y of {owner} must be {self}; got {y[wrong][:5]}")

    @property
    def examples(self) -> tuple[float, ...]:
        """Values to try a likelihood at."""
        if self.all_values:
            every = self.all_values
            return self.values or tuple(sorted({*every[:2], every[len(every) // 2], every[-1]}))
        if self.whole:
            return tuple(self.low + k for k in (0.0, 1.0, 7.0, 300.0))
        if self.bounded:
            return tuple(self.low + (self.high - self.low) * u for u in (0.004, 0.2, 0.55, 0.98))
        away = (0.02, 0.4, 2.7, 60.0)
        if self.low > -np.inf:
            return tuple(self.low + one for one in away)
        if self.high < np.inf:
            return tuple(self.high - one for one in away)
        return -2.1, 0.0, 0.4, 9.0

    @property
    def counterexamples(self) -> tuple[float, ...]:
        """Values that y cannot take, near those that it can."""
        ends = [one for one in (self.low, self.high) if np.isfinite(one)]
        tried = [*(e + d for e in ends for d in (-1.0, -0.5, 0.0, 0.5, 1.0)), np.inf, np.nan]
        return tuple(one for one in tried if not self.contains(np.array(one)))

    @property
    def family(self) -> Family:
        """Family of distributions on these values, determined by mean and variance."""
        if self.values == (-1.0, 1.0):
            return SignMoments()
        if self.all_values:
            return FiniteValues(self.all_values)
        if self.whole:
            return CountMoments(self.low)
        if self.bounded:
            return IntervalMoments(self.low, self.high)
        if self.low > -np.inf:
            return PositiveMoments(self.low)
        return PositiveMoments(self.high, -1.0) if self.high < np.inf else NormalMoments()

    # -- integrals over y -------------------------------------------------------------------------

    def from_line(self, t: Array) -> Array:
        """y(t), increasing from the real line to an open interval: t, low + e^t, by the logistic
        function, or high − e^−t."""
        if self.bounded:
            return self.low + (self.high - self.low) * expit(t)
        if self.low > -np.inf:
            return self.low + np.exp(t)
        return self.high - np.exp(-t) if self.high < np.inf else np.asarray(t, dtype=float)

    def to_line(self, y: Array) -> Array:
        """t(y), the inverse of `from_line`."""
        if self.bounded:
            return logit((y - self.low) / (self.high - self.low))
        if self.low > -np.inf:
            return np.log(y - self.low)
        return -np.log(self.high - y) if self.high < np.inf else np.asarray(y, dtype=float)

    def slope(self, t: Array) -> Array:
        """dy/dt of `from_line`."""
        if self.bounded:
            return (self.high - self.low) * expit(t) * expit(-t)
        if self.low > -np.inf:
            return np.exp(t)
        return np.exp(-t) if self.high < np.inf else np.ones(np.shape(t))

    def over_all(self, mean: float, sd: float) -> tuple[Array, Array, list[int]]:
        """Nodes and weights of a sum or an integral over all y of about this mean and deviation,
        and which of the nodes are ends, where nothing should be left."""
        sd = sd if np.isfinite(sd) and sd > 0.0 else 1.0
        if self.all_values:
            return np.array(self.all_values), np.ones(len(self.all_values)), []
        if self.whole:
            y = self.low + np.arange(
                min(mean - self.low + TUNING.far * (sd + 1.0), TUNING.most_counts)
            )
            return y, np.ones(y.size), [-1]
        centre = self.to_line(np.asarray(mean))  # t = centre + c sinh u, dy = dy/dt c cosh u du
        c = sd / float(self.slope(centre))
        far = np.arcsinh(1e10) if self.low == -self.high == -np.inf else np.arcsinh(300.0 / c)
        u, step = np.linspace(-1.0, 1.0, TUNING.y_nodes, retstep=True)
        t = centre + c * np.sinh(far * u)
        y, weight = self.from_line(t), self.slope(t) * c * np.cosh(far * u) * far * step
        inside = self.contains(y)  # beyond, numbers end before the mass may
        return y[inside], weight[inside], [0, -1]


SIGNS = Support("signs", -1.0, 1.0, values=(-1.0, 1.0))
CLASSES = Support("classes", 0.0, whole=True)
COUNTS = Support("counts", 0.0, whole=True)
POSITIVE = Support("positive", 0.0)
UNIT = Support("proportions", 0.0, 1.0)
REALS = Support("reals")
#: The support of a likelihood that is not written yet.
UNKNOWN = Support("")
