"""Integrals of a projection: H = ∫φpφᵀ, C = ∬φ p V₀ p φᵀ, c(x) = ∫V₀(x, ξ)p(ξ)φ(ξ)dξ.

A rule computes them for a basis and a density. E (m, r) makes the basis orthonormal, EᵀHE = I,
without the directions whose mean square under p is below `cut` of the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np

from ..kernels import Kernel
from ..kernels.composite import Composite
from ..kernels.constant import Constant
from ..kernels.stationary import Stationary
from ..kernels.stationary.hat import Hat
from ..kernels.stationary.matern import RBF
from ..numerics.records import record
from .bases import Cosines, FilterBasis, GaussianBumps, LinearSplines, RandomFourier
from .closed import BumpIntegrals, WaveIntegrals
from .densities import Density, NormalInputs, UniformBox, legendre, tensor
from .tuning import TUNING

Array = np.ndarray
ROUNDING = 2.0**-52


class Rule(Protocol):
    """Interface of a rule."""

    def orthonormal(self, cut: float) -> Array:
        """E  (m, r)."""

    def covariance(self, kernel: Kernel, E: Array) -> Array:
        """EᵀCE  (r, r)."""

    def covariance_vjp(self, kernel: Kernel, E: Array, S_bar: Array) -> Array:
        """θ̄ from a symmetric ∂ℒ/∂(EᵀCE)."""

    def cross(self, kernel: Kernel, X: Array) -> Array:
        """c(x)  (n, m)."""

    def finer(self) -> Rule | None:
        """Refine the rule by more nodes; None where it is exact or has no more."""


@record("filter.nodes/1")
@dataclass(frozen=True, eq=False)
class Nodes:
    """∫ g p ≈ Σ ω g: quadrature, or an average over a sample of inputs."""

    points: Array  # ξ  (q, d)
    weights: Array  # ω  (q,)
    values: Array  # Φ(ξ)  (q, m)

    @classmethod
    def of(cls, basis: FilterBasis, density: Density, q: int) -> Nodes:
        points, weights = density.nodes(q)
        return cls(points, weights, basis(points))

    def orthonormal(self, cut: float) -> Array:
        """E from the singular values of √ω Φ, which are not squared."""
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


class Raw:
    """Base of rules with a cheap C: derivatives with respect to θ by differences."""

    def raw(self, kernel: Kernel) -> Array:
        """C  (m, m)."""
        raise TypeError("abstract rule")

    def covariance(self, kernel: Kernel, E: Array) -> Array:
        return E.T @ self.raw(kernel) @ E

    def covariance_vjp(self, kernel: Kernel, E: Array, S_bar: Array) -> Array:
        return five_points(lambda moved: self.raw(moved), kernel, E @ S_bar @ E.T)


def five_points(raw: Callable[[Kernel], Array], kernel: Kernel, C_bar: Array) -> Array:
    """Σ C̄ ∂C/∂θ with errors of order step⁴; exact for the variance of a stationary kernel."""
    theta, step, found = kernel.theta, TUNING.step, []

    def along(i: int, t: float) -> float:
        return float((C_bar * raw(kernel.with_theta(theta + t * np.eye(theta.size)[i]))).sum())

    for i, (kind, _) in enumerate(kernel.labels):
        if kind == "variance" and isinstance(kernel, Stationary):
            found.append(along(i, 0.0))
            continue
        near = along(i, step) - along(i, -step)
        far = along(i, 2.0 * step) - along(i, -2.0 * step)
        found.append((8.0 * near - far) / (12.0 * step))
    return np.array(found)


@record("filter.panels/1")
@dataclass(frozen=True, eq=False)
class Panels(Raw):
    """Linear splines of one column, uniform p: Gauss–Legendre on panels between the knots.

    H is exact. A kernel may have a kink at equal arguments: the squares on the diagonal
    are integrated as two triangles, and c(x) in two parts, left and right of x.
    """

    knots: Array  # (m,)
    cuts: int  # panels between two knots

    @property
    def edges(self) -> Array:
        k, t = self.knots, np.linspace(0.0, 1.0, self.cuts, endpoint=False)
        return np.append((k[:-1, None] + np.diff(k)[:, None] * t).ravel(), k[-1])

    def _nodes(self) -> Nodes:
        x, weights = legendre(self.edges, TUNING.order)
        return Nodes(x[:, None], weights / self.width, LinearSplines((self.knots,))(x[:, None]))

    def gram(self) -> Array:
        """H: on an interval of length h, ∫ of a squared hat is h/3, of two hats h/6."""
        h = np.diff(self.knots) / self.width
        own = np.append(h, 0.0) + np.append(0.0, h)
        return np.diag(own / 3.0) + np.diag(h / 6.0, 1) + np.diag(h / 6.0, -1)

    def orthonormal(self, cut: float) -> Array:
        return of_gram(self.gram(), cut)

    def raw(self, kernel: Kernel) -> Array:
        nodes = self._nodes()
        K = kernel.value(nodes.points, nodes.points)
        K[self._same_panel()] = 0.0
        P = nodes.weights[:, None] * nodes.values
        return P.T @ (K @ P) + self._diagonal(kernel)

    def covariance_vjp(self, kernel: Kernel, E: Array, S_bar: Array) -> Array:
        nodes, C_bar = self._nodes(), E @ S_bar @ E.T
        P = nodes.weights[:, None] * nodes.values
        K_bar = P @ C_bar @ P.T
        K_bar[self._same_panel()] = 0.0
        theta = kernel.vjp(nodes.points, nodes.points, K_bar)
        return theta + five_points(self._diagonal, kernel, C_bar)

    def _same_panel(self) -> tuple[Array, Array]:
        """Index pairs of nodes on the same panel."""
        within = np.indices((TUNING.order, TUNING.order)).reshape(2, 1, -1)
        start = TUNING.order * np.arange(self.edges.size - 1)[:, None]
        return (within[0] + start).ravel(), (within[1] + start).ravel()

    def _diagonal(self, kernel: Kernel) -> Array:
        """Σ over panels of ∬φVφ on [a, b]²: ξ₁ = a + hs, ξ₂ = a + hst, and the mirrored half."""
        s, weight = legendre(np.array([0.0, 1.0]), TUNING.order + 2)
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
        """Values of the two hats that are not zero between knots `at` and `at` + 1."""
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
        t, weight = legendre(np.array([0.0, 1.0]), TUNING.order)
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


@record("filter.kronecker/1")
@dataclass(frozen=True, eq=False)
class Kronecker(Raw):
    """Tensor splines, uniform p, a kernel that is a product over columns: V₀ = σ₁² Π V(Δₖ)."""

    columns: tuple[Panels, ...]

    def orthonormal(self, cut: float) -> Array:
        """E of the tensor product: the Kronecker product of the columns' E."""
        return reduce(np.kron, [panels.orthonormal(cut) for panels in self.columns])

    def raw(self, kernel: Kernel) -> Array:
        return reduce(
            np.kron, [panels.raw(part) for panels, part in zip(self.columns, _columns(kernel))]
        )

    def cross(self, kernel: Kernel, X: Array) -> Array:
        found = np.ones((X.shape[0], 1))
        for k, (panels, part) in enumerate(zip(self.columns, _columns(kernel))):
            own = panels.cross(part, X[:, k : k + 1])
            found = (found[:, :, None] * own[:, None, :]).reshape(X.shape[0], -1)
        return found

    def finer(self) -> Kronecker:
        return Kronecker(tuple(panels.finer() for panels in self.columns))


def _columns(kernel: Kernel) -> list[Kernel]:
    """One kernel per column; the first carries the variance."""
    assert isinstance(kernel, RBF | Hat)
    scales = np.atleast_1d(kernel.length_scale)
    return [
        type(kernel)(kernel.variance if k == 0 else 1.0, length) for k, length in enumerate(scales)
    ]


@record("filter.closed/1")
@dataclass(frozen=True, eq=False)
class Closed(Raw):
    """Bumps or waves, normal p, squared exponential: all integrals are Gaussian."""

    integrals: BumpIntegrals | WaveIntegrals

    def orthonormal(self, cut: float) -> Array:
        return of_gram(self.integrals.gram(), cut)

    def raw(self, kernel: Kernel) -> Array:
        assert isinstance(kernel, RBF)
        return self.integrals.covariance(kernel.variance, _lengths(kernel, self))

    def covariance_vjp(self, kernel: Kernel, E: Array, S_bar: Array) -> Array:
        """θ̄ by the derivatives of the integrals.

        E would multiply the rounding errors of differences by up to 1/cut.
        """
        assert isinstance(kernel, RBF)
        C_bar, lengths = E @ S_bar @ E.T, _lengths(kernel, self)
        return kernel.gradient(
            variance=(C_bar * self.raw(kernel)).sum(),
            length_scale=self.integrals.length_vjp(kernel.variance, lengths, C_bar),
        )

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
    keep = h > max(cut, h.size * ROUNDING) * h[-1]
    return U[:, keep] / np.sqrt(h[keep])


def pairs(kernel: Kernel, A: Array, B: Array, block: int = 32) -> Array:
    """k(aᵢ, bᵢ)  (n,)."""
    if isinstance(kernel, Stationary):
        return kernel.value(A - B, np.zeros((1, A.shape[1])))[:, 0]
    found = np.empty(A.shape[0])
    for i in range(0, A.shape[0], block):
        found[i : i + block] = kernel.value(A[i : i + block], B[i : i + block]).diagonal()
    return found


def rule_for(basis: FilterBasis, density: Density, kernel: Kernel) -> Rule:
    """Choose closed forms or panels where possible, nodes otherwise."""
    if isinstance(basis, LinearSplines) and isinstance(density, UniformBox):
        ends = np.array([[k[0], k[-1]] for k in basis.knots])
        if np.allclose(ends.T, [density.low, density.high]):
            return _of_splines(basis, kernel)
    if isinstance(density, NormalInputs) and isinstance(kernel, RBF):
        if isinstance(basis, GaussianBumps):
            return Closed(BumpIntegrals(density.mean, density.sd, basis.centres, basis.widths))
        if isinstance(basis, RandomFourier):
            return Closed(WaveIntegrals(density.mean, density.sd, basis.frequencies))
    return Nodes.of(basis, density, _enough(basis))


def _of_splines(basis: LinearSplines, kernel: Kernel) -> Rule:
    """Choose panels where they resolve the kernel, else Gauss–Legendre nodes between the knots.

    Using the same nodes for C and c(x) keeps var[f | v] from falling below zero.
    """
    if isinstance(kernel, RBF | Hat) and len(basis.knots) > 1:
        columns = [_panels(k, part) for k, part in zip(basis.knots, _columns(kernel))]
        if all(panels is not None for panels in columns):
            return Kronecker(tuple(columns))  # type: ignore[arg-type]
    if len(basis.knots) == 1:
        panels = _panels(basis.knots[0], kernel)
        if panels is not None:
            return panels
    d, gaps = len(basis.knots), np.prod([k.size - 1 for k in basis.knots], dtype=float)
    order = int(np.clip((TUNING.most_nodes / gaps) ** (1.0 / d), 2, 2 * TUNING.order))
    points, weights = tensor([legendre(k, order) for k in basis.knots])
    return Nodes(points, weights / weights.sum(), basis(points))


def _panels(knots: Array, kernel: Kernel) -> Panels | None:
    """Make panels no longer than the shortest length scale.

    None where these are too many, or the kernel is not stationary.
    """
    shortest = _shortest(kernel)
    if shortest is None:
        return None
    cuts = np.ceil(np.diff(knots).max() / shortest)
    most = max(1, 2 * TUNING.nodes // (TUNING.order * (knots.size - 1)))
    return Panels(knots, int(max(cuts, 1))) if cuts <= most else None


def _shortest(kernel: Kernel) -> float | None:
    """Shortest scale on which a stationary kernel of one column varies; None for others."""
    if isinstance(kernel, Composite):
        parts = [_shortest(part) for part in kernel.parts if not isinstance(part, Constant)]
        return None if None in parts or not parts else min(parts)  # type: ignore[type-var]
    if not isinstance(kernel, Stationary):
        return None
    length = float(np.min(kernel.length_scale))
    return length / 8.0 if isinstance(kernel, Hat) else length  # a kink at the length itself


def _enough(basis: FilterBasis) -> int:
    """Number of nodes that resolves the functions: some per function, and per wave."""
    q = max(TUNING.nodes, 4 * basis.m)
    if isinstance(basis, Cosines):
        q = max(q, int(min(np.prod(3.0 * basis.orders.max(axis=0) + 8.0), TUNING.most_nodes)))
    return q
