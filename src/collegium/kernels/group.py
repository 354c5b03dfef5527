"""Random effects: an unknown level of each group, independent of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from .base import Columns
from .embedding import Levels
from .leaf import Leaf

Array = np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Group(Leaf):
    """variance · 1[x = x′]: a random effect, one value for all rows whose columns are equal.

    The effect of a group that the model was not fitted with has mean zero and this variance.
    NaN is a group like any other.

    Parameters
    ----------
    columns : int, str or list of these, default=None
        Columns that define the group of a row; None: all.
    variance : float, default=1.0
        Variance of the effect of a group.

    Examples
    --------
    >>> from collegium.kernels import Group, Matern32
    >>> Matern32(columns=0) + Group("store", variance=0.5)
    Matern32(variance=1, length_scale=1, columns=0) + Group(variance=0.5, columns='store')
    """

    kinds = {"variance": "variance"}

    variance: float = field(default=1.0, kw_only=True)

    def __new__(cls, columns: Columns | None = None, **parameters: Any) -> Any:
        return super().__new__(cls, columns=columns, **parameters)

    def value(self, X: Array, Z: Array | None = None) -> Array:
        return np.where(self._same(X, X if Z is None else Z), self.variance, 0.0)

    def _same(self, X: Array, Z: Array) -> Array:
        """Whether rows belong to the same group  (n, m)."""
        found = np.ones((X.shape[0], Z.shape[0]), dtype=bool)
        for x, z in zip(X.T, Z.T):
            own, other = x[:, None], z[None, :]
            found &= (own == other) | (np.isnan(own) & np.isnan(other))
        return found

    def reach(self, gaps: Array) -> Array:
        return np.where((gaps > 0.0).any(axis=1), 0.0, self.variance)

    def vjp(self, X: Array, Z: Array | None, K_bar: Array) -> Array:
        if Z is None:  # lower triangle of a symmetric K_bar
            K_bar = 2.0 * np.tril(K_bar, -1) + np.diag(K_bar.diagonal())
        same = self._same(X, X if Z is None else Z)
        return self.gradient(variance=self.variance * float(K_bar[same].sum()))

    def on_levels(self, levels: Mapping[int, str]) -> Self:
        return self  # equal codes are equal levels

    def embeddings(self, d: int) -> tuple[Levels, ...]:
        """k(x, x) − 2k(x, x′) + k(x′, x′) = 2·variance between two groups."""
        return tuple(Levels((k,), 2.0 * self.variance, apart=True) for k in range(d))
