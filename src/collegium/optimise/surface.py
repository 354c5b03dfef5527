"""The function to minimise, as a fitted regressor knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..interface.checks.arguments import check_square
from ..numerics import linalg
from ..numerics.threads import single_threaded

Array = np.ndarray
FUNCTION = "function"


@dataclass(frozen=True, eq=False)
class Surface:
    """f or −f without noise, at points whose columns are those that the model sees."""

    model: Any  # a fitted regressor of one output
    sign: float = 1.0  # −1: the function is to be maximised

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Means and standard deviations  (n,), (n,)."""
        with single_threaded():
            mean, sd = self._answers(X).moments(FUNCTION)
        return self.sign * mean[:, 0], sd[:, 0]

    def joint(self, X: Array) -> tuple[Array, Array]:
        """Means and covariances  (n,), (n, n)."""
        check_square(X.shape[0], "a joint answer")
        with single_threaded():
            mean, C = self._answers(X).covariance(FUNCTION)
        return self.sign * mean[:, 0], C[:, :, 0]

    def root(self, C: Array, X: Array) -> Array:
        """L with LLᵀ = C, the covariance at X, with a jitter relative to the prior variance."""
        kernel, scale = self.model.model_.kernel, self.model.model_.scaling.scale[0]
        prior = 0.0 if kernel is None else float(kernel.diag(X).max(initial=0.0)) * scale**2
        size = max(prior, float(C.diagonal().max(initial=0.0))) or 1.0
        return linalg.cholesky(C, size, nugget=linalg.JITTERS[0])[0]

    def _answers(self, X: Array) -> Any:
        return self.model._answers_at(X, np.full(X.shape[0], self.model.model_.units.shift))
