"""Filter whose weights drift: the covariance form, one row at a time.

Between two rows v ← v + N(0, q I), q a share of the prior's covariance. Then, with V = V(x),

    K = SV/(VᵀSV + σ²/w)      v̂ ← v̂ + K(y − Vᵀv̂)      S ← S − K(SV)ᵀ
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numerics import linalg
from ..numerics.compiling import compiled
from ..numerics.linalg import LOG_2PI
from ..numerics.records import record
from .model import FilterModel, Posterior

Array = np.ndarray


@record("filter.drifting/1")
@dataclass(frozen=True, eq=False)
class Drifting:
    """v ~ N(v̂, S) after some rows, and the log evidence Σ log p(row | the rows before it)."""

    mean: Array  # (r, p)
    covariance: Array  # (r, r)
    log_evidence: Array  # (p,)
    weight: float  # Σ w

    @classmethod
    def start(cls, r: int, p: int) -> Drifting:
        return cls(np.zeros((r, p)), np.eye(r), np.zeros(p), 0.0)

    def add(self, model: FilterModel, X: Array, Y: Array, w: Array, drift: float) -> Drifting:
        columns = model.columns(X)
        with np.errstate(divide="ignore"):
            noise = model.row_noise / (w * model.covered(X))
        mean, covariance = self.mean.copy(), self.covariance.copy()
        log_evidence = self.log_evidence.copy()
        V = np.ascontiguousarray(columns @ model.weights)
        _add_rows(V, np.ascontiguousarray(Y), noise, drift, mean, covariance, log_evidence)
        w = w[np.isfinite(noise)]
        log_evidence -= 0.5 * ((w - 1.0) * (LOG_2PI + np.log(model.row_noise)) + np.log(w)).sum()
        return Drifting(mean, covariance, log_evidence, self.weight + float(w.sum()))

    def posterior(self) -> Posterior:
        scale = float(self.covariance.diagonal().max(initial=0.0))
        L, _ = linalg.cholesky(self.covariance, scale, nugget=1e-15)
        return Posterior(self.mean, L, self.log_evidence)


@compiled()
def _add_rows(V, Y, noise, drift, mean, S, log_evidence):
    """Update mean, S and log_evidence in place, one row at a time."""
    r, p = mean.shape
    for t in range(V.shape[0]):
        for i in range(r):
            S[i, i] += drift
        if not np.isfinite(noise[t]):  # outside the density
            continue
        SV = S @ V[t]
        total = max(V[t] @ SV, 0.0) + noise[t]
        for j in range(p):
            e = Y[t, j]
            for i in range(r):
                e -= V[t, i] * mean[i, j]
            log_evidence[j] -= 0.5 * (LOG_2PI + np.log(total) + e * e / total)
            for i in range(r):
                mean[i, j] += SV[i] * e / total
        for i in range(r):
            gain = SV[i] / total
            for j in range(r):
                S[i, j] -= gain * SV[j]
