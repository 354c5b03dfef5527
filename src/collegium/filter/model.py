"""Regression filter: its prior, projected onto a basis, and its posterior given the sums over rows.

The projection (Zhu & Rohwer 1995, sec. 2):

    P_M f(x) = φ(x)ᵀw,  w = H⁻¹∫φpf ~ N(0, S₀),  S₀ = H⁻¹CH⁻¹        (eqs 2.6–2.9)

In an orthonormal basis (E, EᵀHE = I) w is z = ∫Eᵀφ p f with covariance EᵀCE = QΛQᵀ, and along
the eigenvectors, divided by their standard deviations, it is v ~ N(0, I):

    P_M f(x) = V(x)ᵀv,   V(x) = Λ^½QᵀEᵀφ(x)
    E[f(x) | v] = a(x)ᵀv,   a(x) = Λ^−½QᵀEᵀc(x),   var[f(x) | v] = V₀(x, x) − a(x)ᵀa(x)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..kernels.stationary.matern import RBF
from ..numerics import linalg
from ..numerics.linalg import LOG_2PI
from ..numerics.records import record
from ..rows.metric import column_scales
from ..rows.rows import Prediction, Rows
from .bases import FilterBasis
from .densities import Density, Empirical
from .rules import Nodes, Rule, rule_for
from .sums import Sums
from .tuning import TUNING

Array = np.ndarray
ROUNDING = 2.0**-52
#: Levels of a filter alone: the projection of f; f with the published error bar.
MODEL, PAPER = "model", "paper"


@record("filter.projection/1")
@dataclass(frozen=True, eq=False)
class Projection:
    """V(x) = featuresᵀφ(x) and a(x) = crossᵀc(x)."""

    rule: Rule
    kernel: Kernel
    features: Array  # EQΛ^½  (m, r)
    cross: Array  # EQΛ^−½  (m, r)

    @classmethod
    def of(cls, rule: Rule, kernel: Kernel, cut: float) -> Projection:
        E = rule.orthonormal(cut)
        variances, Q = np.linalg.eigh(_symmetric(rule.covariance(kernel, E)))
        largest = max(float(variances[-1:].sum()), 1e-300)
        keep = variances > variances.size * ROUNDING * largest
        root, EQ = np.sqrt(variances[keep]), E @ Q[:, keep]
        sure = variances[keep] > TUNING.least_variance * largest  # a(x) is zero along the others
        return cls(rule, kernel, EQ * root, EQ * np.where(sure, 1.0 / root, 0.0))

    @property
    def r(self) -> int:
        return self.features.shape[1]

    def conditional(self, X: Array) -> Array:
        """a(x)  (n, r)."""
        return self.rule.cross(self.kernel, X) @ self.cross

    def left(self, X: Array, a: Array) -> Array:
        """var[f(x) | v], never negative  (n,)."""
        return np.maximum(self.kernel.diag(X) - (a * a).sum(axis=1), 0.0)


def _symmetric(A: Array) -> Array:
    return 0.5 * (A + A.T)


def projection_error(basis: FilterBasis, density: Density, kernel: Kernel) -> float:
    """Largest difference of C from that of a finer rule, relative to its largest entry.

    Closed forms: 0. Averages over inputs: half the difference between two halves of them.
    """
    rule, whole = rule_for(basis, density, kernel), np.eye(basis.m)
    if isinstance(rule, Nodes) and isinstance(density, Empirical):
        q = density.points.shape[0]
        if q < 2:
            return 1.0
        one, other = (
            Nodes.of(basis, Empirical(density.points[i::2]), q).covariance(kernel, whole)
            for i in range(2)
        )
        return 0.5 * _apart(one, other)
    finer = (
        Nodes.of(basis, density, 2 * rule.weights.size) if isinstance(rule, Nodes) else rule.finer()
    )
    if finer is None:
        return 0.0
    return _apart(rule.covariance(kernel, whole), finer.covariance(kernel, whole))


def _apart(one: Array, other: Array) -> float:
    return float(np.abs(one - other).max() / max(np.abs(other).max(), 1e-300))


@record("filter.linear/1")
@dataclass(frozen=True, eq=False)
class LinearPart:
    """1 and (x − centre)/scale with weights N(0, sd²): the linear part of f."""

    centre: Array  # (d,)
    scale: Array  # (d,)
    sd: float = TUNING.linear_sd

    @property
    def m(self) -> int:
        return 1 + self.centre.size

    def __call__(self, X: Array) -> Array:
        with np.errstate(over="ignore"):
            columns = np.clip((X - self.centre) / self.scale, -1e100, 1e100)
        return np.hstack([np.ones((X.shape[0], 1)), columns])


@record("filter.still/1")
@dataclass(frozen=True, eq=False)
class StillColumns:
    """Columns x_c that had one value c in all rows: basis, density and kernel are of the others.

    With the kernel's factor ρ(x_c) = exp(−½ Σ((x_c − c)/s)²) and slopes of prior variance sd²,
    f(x) = ρ f(x_o) + slopes·(x_c − c)/s + rest, whose variance is (1 − ρ²) k.
    """

    moving: Array  # numbers of the other columns
    still: Array  # numbers of these
    values: Array  # c
    scales: Array  # s: the magnitude of c, as of any column

    @classmethod
    def of(cls, X: Array) -> StillColumns | None:
        """Find columns of one value; None where there are none, or no others."""
        still = np.ptp(X, axis=0) == 0.0
        if still.all() or not still.any():
            return None
        moving, still = np.flatnonzero(~still), np.flatnonzero(still)
        return cls(moving, still, X[0, still], column_scales(X)[still])

    def away(self, X: Array) -> Array:
        """(x_c − c)/s, within limits  (n, c)."""
        with np.errstate(over="ignore"):
            return np.clip((X[:, self.still] - self.values) / self.scales, -1e100, 1e100)

    def whole(self, X: Array) -> Array:
        """Put the columns back, at their values  (n, d)."""
        found = np.empty((X.shape[0], self.moving.size + self.still.size))
        found[:, self.moving], found[:, self.still] = X, self.values
        return found

    def left(self, X: Array) -> StillColumns | None:
        """Find those that are still in further rows too; None where there are none."""
        same = (X[:, self.still] == self.values).all(axis=0)
        if same.all():
            return self
        moving = np.sort(np.append(self.moving, self.still[~same]))
        own = StillColumns(moving, self.still[same], self.values[same], self.scales[same])
        return own if same.any() else None

    def kernel(self, inner: Any) -> RBF:
        """ρ times the kernel of the other columns, an RBF."""
        lengths = np.empty(self.moving.size + self.still.size)
        lengths[self.moving], lengths[self.still] = inner.length_scale, self.scales
        return RBF(inner.variance, lengths)

    def inner(self, whole: RBF) -> RBF:
        """Restrict a kernel of all columns to those that move."""
        return RBF(whole.variance, np.asarray(whole.length_scale)[self.moving])


@record("filter.model/1")
@dataclass(frozen=True, eq=False)
class FilterModel:
    """f = linear part + GP(0, V₀) projected onto a basis; y = f + noise.

    v = (v_linear, v_basis) ~ N(0, I), of r numbers; u, of k numbers, are the weights of the
    columns [linear, φ].
    """

    basis: FilterBasis
    density: Density
    linear: LinearPart | None
    projection: Projection
    noise: float  # σ₂²
    misfit: float | None  # E_p var[f | v], where it counts as noise of the rows
    cut: float
    still: StillColumns | None = None  # columns of X that basis, density and kernel leave out

    @classmethod
    def of(
        cls, kernel: Kernel, noise: float, basis: FilterBasis, density: Density,
        linear: LinearPart | None, cut: float, *, misfit: bool = False,
        still: StillColumns | None = None,
    ) -> FilterModel:  # fmt: skip
        projection = Projection.of(rule_for(basis, density, kernel), kernel, cut)
        points, weights = density.nodes(TUNING.misfit_nodes)
        lost = float(weights @ projection.left(points, projection.conditional(points)))
        least = TUNING.least_noise * float(weights @ kernel.diag(points))
        noise = max(noise, least, 1e-300)
        found = lost if misfit else None
        return cls(basis, density, linear, projection, noise, found, cut, still)

    def reweighed(self, kernel: Kernel, noise: float) -> FilterModel:
        """Change the prior, keep the basis: the sums over rows stay valid."""
        return FilterModel.of(
            kernel, noise, self.basis, self.density, self.linear, self.cut,
            misfit=self.misfit is not None, still=self.still,
        )  # fmt: skip

    def with_row_noise(self, kernel: Kernel, row_noise: float) -> FilterModel:
        """Set the prior by the noise of a row: σ₂² = row_noise − misfit."""
        found = self.reweighed(kernel, 0.0)
        noise = max(row_noise - (found.misfit or 0.0), found.noise)
        return replace(found, noise=noise)

    @property
    def row_noise(self) -> float:
        """Noise variance of a row: σ₂², plus the misfit where that counts."""
        return self.noise + (self.misfit or 0.0)

    @property
    def kernel(self) -> Kernel:
        return self.projection.kernel

    @property
    def k(self) -> int:
        return self.basis.m + (self.linear.m if self.linear else 0)

    @property
    def weights(self) -> Array:
        """u = weights · v  (k, r)."""
        return with_linear(self.linear, self.projection.features)

    @property
    def whole_kernel(self) -> Kernel:
        """The kernel of all columns of X."""
        return self.kernel if self.still is None else self.still.kernel(self.kernel)

    def moving(self, X: Array) -> Array:
        """Columns of X that basis, density and kernel know."""
        return X if self.still is None else np.ascontiguousarray(X[:, self.still.moving])

    def nodes(self, q: int) -> tuple[Array, Array]:
        """Nodes of the density, in all columns of X, and their weights."""
        points, weights = self.density.nodes(q)
        return (points if self.still is None else self.still.whole(points)), weights

    def columns(self, X: Array) -> Array:
        """[linear, φ](x)  (n, k)."""
        X = self.moving(X)
        Phi = self.basis(X)
        return np.hstack([self.linear(X), Phi]) if self.linear else Phi

    def conditional(self, X: Array) -> tuple[Array, Array]:
        """E[f(x) | v] = a(x)ᵀv  (n, r), and var[f(x) | v]  (n,)."""
        inner = self.moving(X)
        a = self.projection.conditional(inner)
        left = self.projection.left(inner, a)
        if self.still is not None:
            away = (self.still.away(X) ** 2).sum(axis=1)
            rho = np.exp(-0.5 * away)
            a = rho[:, None] * a
            left = rho**2 * left + (1.0 - rho**2) * self.kernel.diag(inner)
            left = left + (self.linear.sd**2 * away if self.linear else 0.0)
        return (np.hstack([self.linear.sd * self.linear(inner), a]) if self.linear else a), left

    def prior_covariance(self, X: Array) -> Array:
        """Covariance of f at several inputs, but for the linear part that v has  (n, n)."""
        K = self.kernel.value(self.moving(X))
        if self.still is None:
            return K
        away = self.still.away(X)
        slopes = self.linear.sd**2 * linalg.gram(away) if self.linear else 0.0
        return K * RBF(1.0, 1.0).value(away) + slopes

    def covers(self, X: Array) -> Array:
        """Whether the density expects inputs there, and columns are still  (n,)."""
        found = self.density.covers(self.moving(X))
        if self.still is None:
            return found
        return found & (X[:, self.still.still] == self.still.values).all(axis=1)

    def covered(self, X: Array) -> Array:
        """1 where the density covers inputs, 0 elsewhere  (n,).

        Rows outside are ignored: the basis is not fitted there, and its errors are correlated.
        """
        return self.covers(X).astype(float)

    def add(self, sums: Sums, X: Array, Y: Array, w: Array) -> Sums:
        """Add rows to the sums, each w times."""
        for start in range(0, X.shape[0], TUNING.block):
            part = slice(start, start + TUNING.block)
            columns = self.columns(X[part])
            sums = sums.add(columns, Y[part], w[part] * self.covered(X[part]))
        return sums


def with_linear(linear: LinearPart | None, features: Array) -> Array:
    """[sd·I 0; 0 features]."""
    if linear is None:
        return features
    (m, r), l = features.shape, linear.m
    W = np.zeros((l + m, l + r))
    W[:l, :l] = linear.sd * np.eye(l)
    W[l:, l:] = features
    return W


@dataclass(frozen=True, eq=False)
class Posterior:
    """v | rows ~ N(mean, root rootᵀ)."""

    mean: Array  # (r, p)
    root: Array  # (r, r)
    log_evidence: Array  # per output  (p,)

    @classmethod
    def of(cls, model: FilterModel, sums: Sums) -> Posterior:
        """Least squares: |v|² + |RWv − Z|²/σ₂², [R Z; 0 ρ] = T (eqs 2.10–2.11, square roots)."""
        k, sigma = model.k, np.sqrt(model.row_noise)
        A = sums.triangle[:k, :k] @ model.weights / sigma
        Z, rest = sums.triangle[:k, k:] / sigma, sums.triangle[k:, k:] / sigma
        r, p = A.shape[1], Z.shape[1]
        stack = np.block([[np.eye(r), np.zeros((r, p))], [A, Z]])
        T = linalg.triangle(stack)
        L = np.ascontiguousarray(T[:r, :r].T)  # LLᵀ = I + AᵀA, up to signs
        L *= np.sign(L.diagonal())
        b = T[:r, r:] * np.sign(T.diagonal()[:r])[:, None]
        misfit = (T[r:, r:] ** 2).sum(axis=0) + (rest**2).sum(axis=0)
        log_evidence = -0.5 * (
            misfit + linalg.log_det(L) + sums.weight * (LOG_2PI + np.log(model.row_noise))
        )
        root = linalg.solve_upper(L, np.eye(r))
        return cls(linalg.solve_upper(L, b), root, log_evidence)

    def of_model(self, model: FilterModel, X: Array) -> Prediction:
        """P_M f: V(x)ᵀv (level "model")."""
        return self._linear_in_v(model.columns(X) @ model.weights)

    def of_function(self, model: FilterModel, X: Array) -> Prediction:
        """f: a(x)ᵀv, plus var[f | v] (level "function")."""
        a, left = model.conditional(X)
        found = self._linear_in_v(a)
        return Prediction(found.mean, found.variance + left)

    def one_step_ahead(self, model: FilterModel, rows: Rows) -> tuple[Array, Array]:
        """Mean and variance (n, p) of y at each of some rows, given those before it.

        y ~ N(m, C) jointly; with C = LLᵀ and z = L⁻¹(y − m) the mean of a row is y − L_ii z_i, its
        variance L_ii². (Rows do not fade while they are predicted.)
        """
        a, left = model.conditional(rows.X)
        C = linalg.mirror(linalg.gram(a @ self.root))
        linalg.add_diagonal(C, left + model.noise / np.maximum(rows.w, 1e-300))
        L, _ = linalg.cholesky(C, float(C.diagonal().max()), overwrite=True)
        own = L.diagonal()[:, None]
        mean = rows.y - own * linalg.solve_lower(L, rows.y - a @ self.mean)
        return mean, np.broadcast_to(own**2, mean.shape)

    def as_published(self, model: FilterModel, X: Array) -> Prediction:
        """f: V(x)ᵀv, the variances of P_M f and of f − P_M f added (level "paper").

        f − P_M f = (a − V)ᵀv + (f − aᵀv), of variance |a − V|² + var[f | v] under the prior. Given
        rows it is correlated with P_M f, which this sum leaves out.
        """
        found, (a, left) = self.of_model(model, X), model.conditional(X)
        beyond = a - model.columns(X) @ model.weights
        return Prediction(found.mean, found.variance + left + (beyond * beyond).sum(axis=1))

    def _linear_in_v(self, design: Array) -> Prediction:
        spread = design @ self.root
        return Prediction(design @ self.mean, (spread * spread).sum(axis=1))

    def joint(self, model: FilterModel, X: Array, level: str) -> Array:
        """Covariance of P_M f, or of f, at several inputs  (n, n)."""
        projected = model.columns(X) @ model.weights
        if level == MODEL:
            return linalg.gram(projected @ self.root)
        design, _ = model.conditional(X)
        a = design[:, design.shape[1] - model.projection.r :]
        left = linalg.mirror(linalg.subtract_gram(model.prior_covariance(X), a))
        if level != PAPER:
            return left + linalg.gram(design @ self.root)
        return left + linalg.gram(design - projected) + linalg.gram(projected @ self.root)
