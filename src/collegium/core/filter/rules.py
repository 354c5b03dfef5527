"""The integrals of a projection: H = ∫φpφᵀ, C = ∬φ p V₀ p φᵀ, c(x) = ∫V₀(x, ξ)p(ξ)φ(ξ)dξ.

A rule knows a basis and a density. E (m, r) makes the basis orthonormal, EᵀHE = I, without the
directions whose mean square under p is below `cut` of the largest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np

from ..kernels import Kernel
from ..kernels.hat import Hat
from ..kernels.rbf import RBF
from .bases import FilterBasis, GaussianBumps, LinearSplines, RandomFourier
from .closed import BumpIntegrals, WaveIntegrals
from .densities import Density, Normal, UniformBox, legendre

Array = np.ndarray
#: Nodes of a quadrature, at most; Gauss–Legendre points on a panel.
NODES, ORDER = 1_000, 6
STEP = 1e-5  # of a numerical derivative with respect to θ


class Rule(Protocol):
    """What a projected prior asks."""

    def orthonormal(self, cut: float) -> Array:
        """E  (m, r)."""

    def covariance(self, kernel: Kernel, E: Array) -> Array:
        """EᵀCE  (r, r)."""

    def covariance_vjp(self, kernel: Kernel, E: Array, S_bar: Array) -> Array:
        """θ̄ from a symmetric ∂ℒ/∂(EᵀCE)."""

    def cross(self, kernel: Kernel, X: Array) -> Array:
        """c(x)  (n, m)."""

    def finer(self) -> Rule | None:
        """The same with more nodes; None where it is exact, or knows no more."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """∫ g p ≈ Σ ω g: quadrature, or an average over inputs."""

    points: Array  # ξ  (q, d)
    weights: Array  # ω  (q,)
    values: Array  # Φ(ξ)  (q, m)

    @classmethod
    def of(cls, basis: FilterBasis, density: Density, q: int) -> Nodes:
        points, weights = density.nodes(q)
        return cls(points, weights, basis(points))

    def orthonormal(self, cut: float) -> Array:
        """From the singular values of √ω Φ: nothing is squared."""
        _, s, Ut = np.linalg.svd(np.sqrt(self.weights)[:, None] * self.values, full_matrices=False)
        keep = s * s > cut * (s[:1] ** 2)
        return Ut[keep].T / s[keep]

    def _weighted(self, E: Array) -> Array:
        return self.weights[:, None] * (self.values @ E)

    def covariance(self, kernel: Kernel, E: Array) -> Array:
        P = self._weighted(E)
        return P.T @ (kernel.value(self.points, self.points) @ P)

    def covariance_vjp(self, kernel: Kernel, E: Array, S_bar: Array) -> Array:
        P = self._weighted(E)
        return kernel.vjp(self.points, self.points, np.ascontiguousarray(P @ S_bar @ P.T))

    def cross(self, kernel: Kernel, X: Array) -> Array:
        return kernel.value(X, self.points) @ (self.weights[:, None] * self.values)

    def finer(self) -> None:
        return None


class Numerical:
    """Derivatives with respect to θ by differences: of integrals that are cheap and precise."""

    def covariance_vjp(self, kernel: Kernel, E: Array, S_bar: Array) -> Array:
        theta, found = kernel.theta, []
        for i in range(theta.size):
            step = np.zeros(theta.size)
            step[i] = STEP
            up = self.covariance(kernel.with_theta(theta + step), E)  # type: ignore[attr-defined]
            down = self.covariance(kernel.with_theta(theta - step), E)  # type: ignore[attr-defined]
            found.append(float((S_bar * (up - down)).sum()) / (2.0 * STEP))
        return np.array(found)


@dataclass(frozen=True, eq=False)
class Panels(Numerical):
    """Linear splines of one column, uniform p: Gauss–Legendre on panels between the knots.

    H is exact. A kernel may have a kink where its arguments meet: the squares on the diagonal
    are integrated as two triangles, and c(x) in two parts, left and right of x.
    """

    knots: Array  # (m,)
    cuts: int  # panels between two knots

    @property
    def edges(self) -> Array:
        k, t = self.knots, np.linspace(0.0, 1.0, self.cuts, endpoint=False)
        return np.append((k[:-1, None] + np.diff(k)[:, None] * t).ravel(), k[-1])

    def _nodes(self) -> Nodes:
        x, weights = legendre(self.edges, ORDER)
        return Nodes(x[:, None], weights / self.width, LinearSplines((self.knots,))(x[:, None]))

    def gram(self) -> Array:
        """H: of two hats on an interval of length h, h/3 with itself and h/6 with the other."""
        h = np.diff(self.knots) / self.width
        own = np.append(h, 0.0) + np.append(0.0, h)
        return np.diag(own / 3.0) + np.diag(h / 6.0, 1) + np.diag(h / 6.0, -1)

    def orthonormal(self, cut: float) -> Array:
        return of_gram(self.gram(), cut)

    def covariance(self, kernel: Kernel, E: Array) -> Array:
        nodes = self._nodes()
        K = kernel.value(nodes.points, nodes.points)
        panel = np.arange(nodes.weights.size) // ORDER
        K[panel[:, None] == panel] = 0.0
        P = nodes._weighted(E)
        return P.T @ (K @ P) + E.T @ self._diagonal(kernel) @ E

    def _diagonal(self, kernel: Kernel) -> Array:
        """Σ over panels of ∬φ V φ on [a, b]², ξ₁ = a + hs and ξ₂ = a + hst and their mirror."""
        s, weight = legendre(np.array([0.0, 1.0]), ORDER + 2)
        a, h = self.edges[:-1], np.diff(self.edges)
        st = np.stack([np.repeat(s, s.size), np.multiply.outer(s, s).ravel()])
        one, two = (a[:, None] + h[:, None] * part for part in st)  # (panels, nodes)
        k = pairs(kernel, one.reshape(-1, 1), two.reshape(-1, 1)).reshape(one.shape)
        k *= np.multiply.outer(h**2, np.multiply.outer(weight * s, weight).ravel())
        at = np.arange(a.size) // self.cuts
        left, right = self._two_hats(at, one), self._two_hats(at, two)
        D = np.zeros((self.knots.size, self.knots.size))
        for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
            np.add.at(D, (at + i, at + j), (left[i] * k * right[j]).sum(axis=1))
        return (D + D.T) / self.width**2

    def _two_hats(self, at: Array, x: Array) -> tuple[Array, Array]:
        """The two hats that are not zero between knots `at` and `at` + 1."""
        t = (x - self.knots[at, None]) / (self.knots[at + 1] - self.knots[at])[:, None]
        return 1.0 - t, t

    @property
    def width(self) -> float:
        return float(self.knots[-1] - self.knots[0])

    def cross(self, kernel: Kernel, X: Array) -> Array:
        found = self._nodes().cross(kernel, X)
        inside = np.flatnonzero((X[:, 0] > self.knots[0]) & (X[:, 0] < self.knots[-1]))
        x, edges = X[inside, 0], self.edges
        panel = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, edges.size - 2)
        at = panel // self.cuts
        t, weight = legendre(np.array([0.0, 1.0]), ORDER)
        whole = edges[panel], edges[panel + 1]
        for a, b, sign in ((whole[0], x, 1.0), (x, whole[1], 1.0), (*whole, -1.0)):
            xi = a[:, None] + (b - a)[:, None] * t
            k = pairs(kernel, np.repeat(x, t.size)[:, None], xi.reshape(-1, 1)).reshape(xi.shape)
            k *= sign * (b - a)[:, None] * weight / self.width
            for i, hat in enumerate(self._two_hats(at, xi)):
                found[inside, at + i] += (k * hat).sum(axis=1)
        return found

    def finer(self) -> Panels:
        return Panels(self.knots, 2 * self.cuts)


@dataclass(frozen=True, eq=False)
class Kronecker(Numerical):
    """Tensor splines, uniform p, a kernel that is a product over columns: V₀ = σ₁² Π V(Δₖ)."""

    columns: tuple[Panels, ...]

    def orthonormal(self, cut: float) -> Array:
        """The columns' own, multiplied."""
        return reduce(np.kron, [panels.orthonormal(cut) for panels in self.columns])

    def covariance(self, kernel: Kernel, E: Array) -> Array:
        whole = [
            panels.covariance(part, np.eye(panels.knots.size))
            for panels, part in zip(self.columns, _columns(kernel))
        ]
        return E.T @ reduce(np.kron, whole) @ E

    def cross(self, kernel: Kernel, X: Array) -> Array:
        found = np.ones((X.shape[0], 1))
        for k, (panels, part) in enumerate(zip(self.columns, _columns(kernel))):
            own = panels.cross(part, X[:, k : k + 1])
            found = (found[:, :, None] * own[:, None, :]).reshape(X.shape[0], -1)
        return found

    def finer(self) -> Kronecker:
        return Kronecker(tuple(panels.finer() for panels in self.columns))


def _columns(kernel: Kernel) -> list[Kernel]:
    """One kernel a column; the first carries the variance."""
    assert isinstance(kernel, RBF | Hat)
    scales = np.atleast_1d(kernel.length_scale)
    return [
        type(kernel)(kernel.variance if k == 0 else 1.0, length) for k, length in enumerate(scales)
    ]


@dataclass(frozen=True, eq=False)
class Closed(Numerical):
    """Bumps or waves, normal p, squared exponential: all integrals are Gaussian."""

    integrals: BumpIntegrals | WaveIntegrals

    def orthonormal(self, cut: float) -> Array:
        return of_gram(self.integrals.gram(), cut)

    def covariance(self, kernel: Kernel, E: Array) -> Array:
        assert isinstance(kernel, RBF)
        return E.T @ self.integrals.covariance(kernel.variance, _lengths(kernel, self)) @ E

    def cross(self, kernel: Kernel, X: Array) -> Array:
        assert isinstance(kernel, RBF)
        return self.integrals.cross(kernel.variance, _lengths(kernel, self), X)

    def finer(self) -> None:
        return None


def _lengths(kernel: RBF, rule: Closed) -> Array:
    return np.broadcast_to(kernel.length_scale, rule.integrals.mean.shape)


def of_gram(H: Array, cut: float) -> Array:
    """E with EᵀHE = I, from the eigenvalues of H."""
    h, U = np.linalg.eigh(H)
    keep = h > cut * h[-1]
    return U[:, keep] / np.sqrt(h[keep])


def pairs(kernel: Kernel, A: Array, B: Array, block: int = 32) -> Array:
    """k(aᵢ, bᵢ) one by one  (n,)."""
    found = np.empty(A.shape[0])
    for i in range(0, A.shape[0], block):
        found[i : i + block] = kernel.value(A[i : i + block], B[i : i + block]).diagonal()
    return found


def rule_for(basis: FilterBasis, density: Density, kernel: Kernel) -> Rule:
    """In closed form or by panels where that is known, by nodes otherwise."""
    if isinstance(basis, LinearSplines) and isinstance(density, UniformBox):
        same = all(
            np.isclose(k[0], low) and np.isclose(k[-1], high)
            for k, low, high in zip(basis.knots, density.low, density.high)
        )
        if same and len(basis.knots) == 1:
            return _panels(basis.knots[0], kernel)
        if same and isinstance(kernel, RBF | Hat):
            return Kronecker(
                tuple(_panels(k, part) for k, part in zip(basis.knots, _columns(kernel)))
            )
    if isinstance(density, Normal) and isinstance(kernel, RBF):
        if isinstance(basis, GaussianBumps):
            return Closed(BumpIntegrals(density.mean, density.sd, basis.centres, basis.widths))
        if isinstance(basis, RandomFourier):
            return Closed(WaveIntegrals(density.mean, density.sd, basis.frequencies))
    return Nodes.of(basis, density, max(NODES, 4 * basis.m))


def _panels(knots: Array, kernel: Kernel) -> Panels:
    """Panels no longer than the kernel's length scale, as far as there are nodes for it."""
    with np.errstate(divide="ignore", over="ignore"):
        share = kernel.inverse_squares(1)[0] / max(float(kernel.diag(knots[:1, None])[0]), 1e-300)
    wanted = float(np.diff(knots).max() * np.sqrt(share))
    most = max(1, 2 * NODES // (ORDER * (knots.size - 1)))
    return Panels(knots, int(np.clip(np.ceil(wanted), 1, most)) if np.isfinite(wanted) else most)
