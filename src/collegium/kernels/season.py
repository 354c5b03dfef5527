"""A season: harmonics of a known period, so wide that the data alone set them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .featured import Featured
from .stationary.periodic import in_seconds

Array = np.ndarray
#: Harmonics of a season, at most.
MOST_HARMONICS = 200


@dataclass(frozen=True, eq=False, repr=False)
class Season(Featured):
    """variance · Σₖ Σⱼ cos(2πjΔₖ/period), j = 1 … harmonics: a Fourier series in each column.

    With a large variance it is the season of generalised least squares, which does not fade: far
    outside the data predictions repeat it. Nothing of it is learnt by default; `fixed=()` learns
    the variance and the periods too. `CommitteeRegressor` adds seasons that it finds in a series.
    `Periodic` is the kernel of a smooth season of any shape. Periods may be given in words, for
    columns of dates: "1 day", "1 week".

    Examples
    --------
    >>> import numpy as np
    >>> from collegium.kernels import Matern32, Season
    >>> kernel = Matern32(1.0, 0.5) + Season(100.0, period=7.0, harmonics=2)
    >>> kernel.value(np.array([[0.0], [3.5], [7.0]])).round(1)
    array([[201.,   0., 200.],
           [  0., 201.,   0.],
           [200.,   0., 201.]])
    """

    kinds = {"variance": "variance", "period": "length"}

    period: float | str | Array = 1.0
    harmonics: int = 3
    fixed: tuple[str, ...] = field(default=("period", "variance"), kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "period", in_seconds(self.period, type(self).__name__))
        super().__post_init__()
        whole = isinstance(self.harmonics, (int, np.integer)) and not isinstance(
            self.harmonics, bool
        )
        if not whole or not 1 <= self.harmonics <= MOST_HARMONICS:
            raise ValueError(
                f"harmonics={self.harmonics!r} of Season: give a whole number from 1 to "
                f"{MOST_HARMONICS}"
            )

    def for_width(self, d: int):
        if d > 1 and np.ndim(self.period) == 0:
            return self  # all columns share one period, unless they are given one by one
        return super().for_width(d)

    def count(self, d: int) -> int:
        return 2 * self.harmonics * d

    def _angles(self, X: Array) -> Array:
        """2πjx/period  (n, harmonics·d)."""
        return self._multiples(np.fmod(X.astype(float), self.period))

    def _multiples(self, X: Array) -> Array:
        j = np.arange(1.0, self.harmonics + 1.0)
        turns = 2.0 * np.pi * (X / self.period)
        return (turns[:, None, :] * j[:, None]).reshape(X.shape[0], j.size * X.shape[1])

    def features(self, X: Array) -> Array:
        """h(x) = (cos 2πjx/period, sin 2πjx/period)  (n, 2·harmonics·d)."""
        A = self._angles(X)
        return np.hstack([np.cos(A), np.sin(A)])

    def value(self, X: Array, Z: Array | None = None) -> Array:
        H = self.features(X)
        return self.variance * (H @ (H if Z is None else self.features(Z)).T)

    def diag(self, X: Array) -> Array:
        return np.full(X.shape[0], self.variance * self.harmonics * X.shape[1])

    def reach(self, gaps: Array) -> Array:
        return np.full(gaps.shape[0], self.variance * self.harmonics * gaps.shape[1])

    def vjp(self, X: Array, Z: Array | None, K_bar: Array) -> Array:
        if Z is None:  # lower triangle of a symmetric K_bar
            K_bar = np.tril(K_bar) + np.tril(K_bar, -1).T
        H, D = self.features(X), self._slopes(X)
        G, E = (H, D) if Z is None else (self.features(Z), self._slopes(Z))
        KG = K_bar @ G
        size = self.variance * float((H * KG).sum())
        turn = self.variance * (D * KG + H * (K_bar @ E)).sum(axis=0)
        return self.gradient(variance=size, period=turn.reshape(-1, X.shape[1]).sum(axis=0))

    def _slopes(self, X: Array) -> Array:
        """∂h/∂ log period  (n, 2·harmonics·d)."""
        A, by = self._angles(X), self._multiples(X.astype(float))
        return np.hstack([by * np.sin(A), -by * np.cos(A)])

    def diag_vjp(self, X: Array, d_bar: Array) -> Array:
        size = self.variance * self.harmonics * X.shape[1] * float(d_bar.sum())
        return self.gradient(variance=size, period=np.zeros(np.shape(self.period)))
