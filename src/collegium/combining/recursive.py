"""Online committees: one matrix and one vector, for any number of rows (Tresp 2000).

`OnlineCommittee` adds rows (App. 10.2, a Kalman filter over measurements), `OnlineMoments`
adds predictions (sec. 7.1). Both agree with the sum of messages to rounding; the sum is what
estimators use, because sums can be parallel, ordered and undone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..kernels import Kernel, as_kernel
from ..messages.basis import Anchors
from ..numerics import linalg
from ..numerics.threads import single_threaded
from .joint import JointGaussian
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class OnlineCommittee:
    """The joint committee over a fixed set of query points, one batch of rows at a time.

    A record: `add` returns a new one. Memory is that of the m query points and of an (m, m)
    matrix, for any number of rows. A batch of n rows costs O(n³ + n m²): best with batches
    smaller than m.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium.combining import OnlineCommittee
    >>> from collegium.kernels import RBF
    >>> committee = OnlineCommittee.start(RBF(1.0, 0.5), 0.01, np.linspace(-2, 2, 20)[:, None])
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(50):
    ...     X = rng.uniform(-2, 2, size=(30, 1))
    ...     committee = committee.add(X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=30))
    >>> mean, variance = committee.predict([[0.3]])  # anywhere, not only at the query points
    >>> bool(abs(mean[0, 0] - np.sin(0.6)) < 0.05), committee.n_rows
    (True, 1500)
    """

    basis: Anchors  # the query points; f there is Lv
    noise: float  # σ²
    mean: Array  # E[v]  (m, p)
    covariance: Array  # S = cov[v], whitened: the identity before any row  (m, m)
    n_rows: int

    @classmethod
    def start(cls, kernel: Kernel, noise: float, queries: Array, p: int = 1) -> OnlineCommittee:
        """Start before any row: the prior at the query points (m, d), for p outputs.

        `kernel` may be one of scikit-learn's; `noise` is the variance of an observation. The
        prior mean is zero: give targets centred.
        """
        Z = np.array(queries, dtype=float)
        if Z.ndim != 2 or not Z.size or not np.isfinite(Z).all():
            raise ValueError("queries must be a finite array of shape (m, d)")
        if not (np.isfinite(noise) and noise >= 0.0):
            raise ValueError(f"noise={noise!r}: give a variance of at least 0")
        basis = Anchors.at(as_kernel(kernel).for_width(Z.shape[1]), Z)
        return cls(basis, float(noise), np.zeros((basis.m, p)), np.eye(basis.m), 0)

    def add(self, X: Array, y: Array, w: Array | None = None) -> OnlineCommittee:
        """Add rows: X (n, d), y (n,) or (n, p)."""
        X = np.array(X, dtype=float)
        y = np.array(y, dtype=float)
        y = y[:, None] if y.ndim == 1 else y
        w = np.ones(X.shape[0]) if w is None else np.array(w, dtype=float)
        d, p = self.basis.Z.shape[1], self.mean.shape[1]
        if X.ndim != 2 or X.shape[1] != d or y.shape != (len(X), p) or w.shape != (X.shape[0],):
            raise ValueError(
                f"X {X.shape}, y {y.shape} and w {w.shape} do not fit {d} columns and {p} outputs"
            )
        if not (np.isfinite(X).all() and np.isfinite(y).all() and (w > 0).all()):
            raise ValueError("X and y must be finite, weights positive")
        with single_threaded():
            return self._update(X, y, w)

    def _update(self, X: Array, y: Array, w: Array) -> OnlineCommittee:
        """K = SA'(ASA' + cov(g | f^q))⁻¹;  E += K(g − AE);  S −= K(…)K'; here A = Vᵀ."""
        V = self.basis.design(X)
        SV = self.covariance @ V  # (m, n)
        innovation = linalg.mirror(self.basis.residual(X, V)) + V.T @ SV
        scale = self.basis.scale(X) or 1.0
        # With less noise rounding errors of the subtraction below would grow.
        linalg.add_diagonal(innovation, np.maximum(self.noise / w, TUNING.least_noise * scale))
        L, _ = linalg.cholesky(innovation, scale, overwrite=True)
        G = linalg.solve_lower(L, SV.T)  # (n, m): SV(…)⁻¹VᵀS = GᵀG
        a = linalg.solve_lower(L, y - V.T @ self.mean)
        covariance = linalg.mirror(linalg.subtract_gram(self.covariance.copy(), G.T))
        return replace(
            self, mean=self.mean + G.T @ a, covariance=covariance, n_rows=self.n_rows + X.shape[0]
        )

    def predict(self, Xs: Array) -> tuple[Array, Array]:
        """Mean (q, p) and variance (q,) of f, without noise, at any points (sec. 7.2, eq. 17)."""
        Xs = self._points(Xs)
        Vs = self.basis.design(Xs)
        known = np.einsum("mq,mq->q", Vs, self.covariance @ Vs)
        return Vs.T @ self.mean, self.basis.residual_diag(Xs, Vs) + np.maximum(known, 0.0)

    def _points(self, Xs: Array) -> Array:
        Xs, d = np.array(Xs, dtype=float), self.basis.Z.shape[1]
        if Xs.ndim != 2 or Xs.shape[1] != d or not np.isfinite(Xs).all():
            raise ValueError(f"Xs has shape {Xs.shape}: give finite points of shape (q, {d})")
        return Xs

    def joint(self, Xs: Array) -> JointGaussian:
        """Joint prediction of f at any points."""
        Xs = self._points(Xs)
        Vs = self.basis.design(Xs)
        left = linalg.mirror(self.basis.residual(Xs, Vs))
        return JointGaussian(Vs.T @ self.mean, left + Vs.T @ self.covariance @ Vs)


@dataclass(frozen=True, eq=False)
class OnlineMoments:
    """Add predictions of modules one by one (sec. 7.1), in coordinates where the prior is N(0, I).

    S contains the prior k + 1 times; `posterior` takes it out k times.
    """

    factor: Array  # L, prior covariance LLᵀ  (q, q)
    jitter: float  # added to the prior, and so to every module
    mean: Array  # A_k  (q, p)
    covariance: Array  # S_k  (q, q)
    count: int  # k

    @classmethod
    def start(cls, prior: Array, p: int = 1) -> OnlineMoments:
        """Start before any module: the prior covariance (q, q)."""
        scale = float(np.diagonal(prior).max(initial=0.0)) or 1.0
        L, jitter = linalg.cholesky(prior, scale, nugget=TUNING.moments_nugget)
        q = L.shape[0]
        return cls(L, jitter * scale, np.zeros((q, p)), np.eye(q), 0)

    def add(self, given: JointGaussian) -> OnlineMoments:
        """K = S(S + cov)⁻¹;  A += K(E − A);  S −= K(S + cov)Kᵀ."""
        L, q = self.factor, self.factor.shape[0]
        own = given.covariance + self.jitter * np.eye(q)
        cov = linalg.solve_lower(L, linalg.solve_lower(L, own).T)
        E = linalg.solve_lower(L, np.asarray(given.mean, dtype=float).reshape(q, -1))
        total, _ = linalg.cholesky(self.covariance + 0.5 * (cov + cov.T), 1.0, overwrite=True)
        G = linalg.solve_lower(total, self.covariance)
        return replace(
            self,
            mean=self.mean + G.T @ linalg.solve_lower(total, E - self.mean),
            covariance=linalg.mirror(linalg.subtract_gram(self.covariance.copy(), G.T)),
            count=self.count + 1,
        )

    def posterior(self) -> JointGaussian:
        """E = (1/k)Σ((1/k)Σ − S)⁻¹A, cov = (S⁻¹ − kΣ⁻¹)⁻¹; both along the eigenvectors of S."""
        s, U = np.linalg.eigh(self.covariance)
        precision = np.maximum(1.0 / np.maximum(s, 1e-300) - self.count, 1.0)
        E = U @ ((U.T @ self.mean) / (np.maximum(s, 1e-300) * precision)[:, None])
        LU = self.factor @ U
        return JointGaussian(self.factor @ E, (LU / precision) @ LU.T)
