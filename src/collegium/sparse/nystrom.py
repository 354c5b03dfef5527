"""The Nyström method, faithful: a low-rank kernel in the weights, the full one in predictions.

K̃ = K(X, Z)K(Z, Z)⁻¹K(Z, X) = VᵀV, w = (K̃ + Ψ)⁻¹y, f(x) = k(x, X)w (Williams & Seeger 2001).
The two kernels do not match: where K has more than K̃ and the noise is small, the weights
explode (Schwaighofer & Tresp 2002, sec. 4.2). Subset of regressors uses K̃ in both places.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..answers.predictors import Predictor, predict_in_batches
from ..messages.basis import Anchors
from ..messages.committee import Committee
from ..messages.expansion import Expansion
from ..numerics import linalg
from ..rows.rows import Prediction, Rows

Array = np.ndarray


class NystromWarning(RuntimeWarning):
    """The Nyström method is unstable here: its answers should not be trusted."""


@dataclass(frozen=True, eq=False)
class Nystrom(Predictor):
    """Weights of every row, and what variances need."""

    basis: Anchors
    noise: float  # σ²
    rows: Rows
    V: Array  # (m, n)
    weights: Array  # w  (n, p)
    factor: Array  # of I + VΨ⁻¹Vᵀ  (m, m)

    @classmethod
    def of(cls, committee: Committee) -> Nystrom:
        """The committee of Projected experts has I + VΨ⁻¹Vᵀ; w = Ψ⁻¹(y − VᵀE[v]) (Woodbury)."""
        basis, noise, rows = committee.basis, committee.noise, committee.rows()
        V = basis.design(rows.X)
        psi = _noise(basis, noise, rows)
        weights = (rows.y - V.T @ committee.belief.mean) / psi
        return cls(basis, noise, rows, V, weights, committee.belief.factor)

    def mean(self, Xs: Array, engine: Any) -> Array:
        return Expansion(self.basis.kernel, self.rows.X, self.weights).mean(Xs, engine)

    def predict(self, Xs: Array, engine: Any) -> Prediction:
        """Mean k*w, variance k** − k*(K̃ + Ψ)⁻¹k*: of two kernels, so it can come out negative."""
        found = predict_in_batches(Xs, partial(Prediction.by_tiles, self._tile), engine)
        return Prediction(self.mean(Xs, engine), _told(found.variance))

    def _tile(self, Xs: Array) -> Prediction:
        k = self.basis.kernel.value(Xs, self.rows.X).T  # (n, q)
        known = np.einsum("nq,nq->q", k, self._solve(k))
        return Prediction(k.T @ self.weights, self.basis.kernel.diag(Xs) - known)

    def joint(self, Xs: Array, engine: Any) -> tuple[Prediction, Array]:
        """The covariance without its negative eigenvalues, where it has such."""
        k = self.basis.kernel.value(self.rows.X, Xs)
        values, U = np.linalg.eigh(self.basis.kernel.value(Xs) - k.T @ self._solve(k))
        covariance = (U * _told(values)) @ U.T
        return Prediction(k.T @ self.weights, covariance.diagonal().copy()), covariance

    def _solve(self, B: Array) -> Array:
        """(K̃ + Ψ)⁻¹B."""
        psi = _noise(self.basis, self.noise, self.rows)
        return (B - self.V.T @ linalg.solve_posdef(self.factor, self.V @ (B / psi))) / psi

    def error_bound(self) -> float:
        """max |λ − λ̃|/(λ̃ + σ²), eigenvalues of K and K̃ in order (sec. 4.2, eq. 11)."""
        n, root = self.rows.X.shape[0], np.sqrt(self.rows.w)
        K = self.basis.kernel.value(self.rows.X) * root * root[:, None]  # noise σ² for all
        full = np.linalg.eigvalsh(K)[::-1]
        found = np.linalg.eigvalsh(linalg.gram(self.V * root))[::-1][:n]
        low = np.concatenate([np.maximum(found, 0.0), np.zeros(n - found.size)])
        return float((np.abs(full - low) / (low + max(self.noise, 1e-300))).max())

    def mismatch(self, sample: int = 500) -> float:
        """rms of (K − K̃)w at some of the rows, in units of y: what the two kernels disagree
        about. Predictions there are y − Ψw plus this.
        """
        at = np.unique(np.linspace(0, self.rows.X.shape[0] - 1, sample).astype(int))
        full = self.basis.kernel.value(self.rows.X[at], self.rows.X) @ self.weights
        gap = full - self.V[:, at].T @ (self.V @ self.weights)
        size = float(np.sqrt(np.mean(self.rows.y**2))) or 1.0
        return float(np.sqrt(np.mean(gap**2))) / size

    def largest_weight(self) -> float:
        """max |w| k(x, x): what one row may add to a prediction."""
        return float(np.abs(self.weights).max(initial=0.0) * self.basis.scale(self.rows.X))


def _noise(basis: Anchors, noise: float, rows: Rows) -> Array:
    """σ²/w, not below what the experts took it to be."""
    return np.maximum(noise / rows.w, linalg.JITTERS[0] * (basis.scale(rows.X) or 1.0))[:, None]


def _told(values: Array) -> Array:
    """Values without the negative ones, and a word about those beyond rounding."""
    if (values < -1e-8 * max(1e-300, float(np.abs(values).max(initial=0.0)))).any():
        warnings.warn(
            "the Nyström method gave negative variances, which were set to zero: give more "
            "anchors or more noise, or use SparseGPRegressor(method='dtc')",
            NystromWarning,
            stacklevel=4,
        )
    return np.maximum(values, 0.0)
