"""Exact Shapley values of sums of products: posterior means whose kernel factors over columns.

With f(x) = Σᵢ αᵢ Π_g k_g(x_g, z_ig), the game of one background row b and one i is the product of
p_g = k_g(x_g, z_ig) for the columns in the coalition and of q_g = k_g(b_g, z_ig) for the others.
By Owen's multilinear extension its Shapley value is

    φ_j = (p_j − q_j) ∫₀¹ Π_{g ≠ j} (t p_g + (1 − t) q_g) dt,

a polynomial of degree d − 1 in t, which ⌈d/2⌉ Gauss-Legendre points integrate exactly. That takes
O(d²) per pair of rows in place of 2ᵈ coalitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from ..kernels import Kernel, Product, Sum
from ..kernels.columns import On, Wrapped
from ..kernels.constant import Constant
from ..kernels.linear import Linear
from ..kernels.stationary.matern import RBF
from ..kernels.white import White
from ..kernels.wrapped.scored import Scored
from ..kernels.wrapped.stepped import Stepped
from ..messages.expansion import Expansion
from .tuning import TUNING

Array = np.ndarray
Groups = Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class KernelSums:
    """A function of rows: a constant, and scale · Σ K(x, P)w with a trend beside it."""

    expansions: tuple[tuple[Expansion, int], ...]  # and the column of its weights
    scale: float  # of y

    def contributions(self, X: Array, background: Array, groups: Groups) -> Array | None:
        """Exact contributions of each row (n, d); None where a kernel does not factor."""
        total = np.zeros((X.shape[0], len(groups)))
        for expansion, k in self.expansions:
            terms = factors(expansion.kernel, groups, X.shape[1])
            if terms is None:
                return None
            for term in terms:
                total += _of_term(term, expansion, k, X, background, groups)
            if expansion.line is not None:
                total += _of_line(expansion, k, X, background, groups)
        return self.scale * total


#: A product of kernels, and the columns of the table whose values each depends on; no columns: all,
#: as a product over them.
Term = tuple[tuple[Kernel, tuple[int, ...]], ...]


def factors(kernel: Kernel, groups: Groups, width: int) -> list[Term] | None:
    """Write a kernel as a sum of products of functions of one column of the table each; None where
    it is not of that form."""
    found: list[Term] = []
    for parts in _products(kernel):
        choices = []
        for part in parts:
            own = _columns(part, groups, width)
            if own is None:
                return None
            choices.append(own)
        found.extend(tuple(choice) for choice in product(*choices))
    return found


def _products(kernel: Kernel) -> list[tuple[Kernel, ...]]:
    """Expand sums and products of kernels into a sum of products of leaves."""
    if isinstance(kernel, Sum):
        return [one for part in kernel.parts for one in _products(part)]
    if isinstance(kernel, Product):
        each = product(*map(_products, kernel.parts))
        return [tuple(leaf for part in parts for leaf in part) for parts in each]
    if isinstance(kernel, White):
        return []  # zero between rows that are not the same
    if isinstance(kernel, (On, Stepped, Scored)):
        inner = _products(kernel.kernel)
        return [tuple(replace(kernel, kernel=leaf) for leaf in parts) for parts in inner]
    return [(kernel,)]


def _columns(
    part: Kernel, groups: Groups, width: int
) -> list[tuple[Kernel, tuple[int, ...]]] | None:
    """Ways to write a kernel as a sum, each with the columns that it depends on."""
    core, positions = part, set(range(width))
    while isinstance(core, Wrapped):
        if isinstance(core, On) and core is part:
            positions = set(core.positions or ())
        core = core.kernel
    used = tuple(j for j, own in enumerate(groups) if positions & set(own))
    if isinstance(core, RBF) or len(used) == 1:
        return [(part, used)]
    if isinstance(core, Constant):
        return [(part, ())]
    if isinstance(core, Linear) and (part is core or isinstance(part, On)):
        return [(part, (j,)) for j in used]
    return None


def _alone(part: Kernel, j: int, groups: Groups, X: Array, Z: Array, at: Array) -> Array:
    """Values of a kernel of rows that differ in one column of the table only, which elsewhere are
    `at`  (n, m)."""
    own = list(groups[j])
    left, right = np.tile(at, (X.shape[0], 1)), np.tile(at, (Z.shape[0], 1))
    left[:, own], right[:, own] = X[:, own], Z[:, own]
    return part.value(left, right)


def _factor(term: Term, j: int, groups: Groups, X: Array, Z: Array, at: Array) -> Array:
    """k_j(x_j, z_j) of a term, without its height  (n, m)."""
    found = np.ones((X.shape[0], Z.shape[0]))
    for part, columns in term:
        if j in columns:
            own = _alone(part, j, groups, X, Z, at)
            found *= own if len(columns) == 1 else own / part.diag(at[None])[0]
    return found


def _height(term: Term, at: Array) -> float:
    """Multiply the heights that a term has beside its factors."""
    each = [float(part.diag(at[None])[0]) for part, columns in term if len(columns) != 1]
    return float(np.prod(each))


def _of_term(
    term: Term, expansion: Expansion, k: int, X: Array, background: Array, groups: Groups
) -> Array:
    """Contributions by one product of kernels, some points at a time  (n, d)."""
    d, (n, B) = len(groups), (X.shape[0], background.shape[0])
    at = _origin(term, X)
    t, weight = np.polynomial.legendre.leggauss((d + 1) // 2)
    t, weight = 0.5 * (t + 1.0), 0.5 * weight
    total = np.zeros((n, d))
    step = max(1, TUNING.product_values // (d * B))
    for start in range(0, expansion.points.shape[0], step):
        Z = expansion.points[start : start + step]
        alpha = _height(term, at) * expansion.weights[start : start + step, k]
        P = np.stack([_factor(term, j, groups, X, Z, at) for j in range(d)])  # (d, n, m)
        Q = np.stack([_factor(term, j, groups, background, Z, at) for j in range(d)])  # (d, B, m)
        for i in range(n):
            p = P[:, i, None]
            for node, w in zip(t, weight):
                others = _without_each(node * p + (1.0 - node) * Q)
                others *= p - Q
                total[i] += w * (others.mean(axis=1) @ alpha)
    return total


def _origin(term: Term, X: Array) -> Array:
    """A row that is equal in all columns but one: any; zero for linear kernels."""
    linear = any(isinstance(_core(part), Linear) for part, _ in term)
    return np.zeros(X.shape[1]) if linear else X[0].copy()


def _core(kernel: Any) -> Any:
    while isinstance(kernel, Wrapped):
        kernel = kernel.kernel
    return kernel


def _without_each(M: Array) -> Array:
    """Products of all but one along the first axis, without divisions; M is overwritten."""
    found = np.empty_like(M)
    found[0] = 1.0
    for j in range(1, len(M)):  # of those before it
        np.multiply(found[j - 1], M[j - 1], out=found[j])
    after = M[-1].copy()
    for j in range(len(M) - 2, -1, -1):  # times those after it
        found[j] *= after
        after *= M[j]
    return found


def _of_line(expansion: Expansion, k: int, X: Array, background: Array, groups: Groups) -> Array:
    """Contributions to a trend, which is a sum of functions of one column each  (n, d)."""
    total = np.empty((X.shape[0], len(groups)))
    for j, own in enumerate(groups):
        moved = np.repeat(background[:1], X.shape[0], axis=0)
        moved[:, list(own)] = X[:, list(own)]
        start = np.repeat(background[:1], background.shape[0], axis=0)
        start[:, list(own)] = background[:, list(own)]
        total[:, j] = expansion.trend(moved)[:, k] - expansion.trend(start)[:, k].mean()
    return total
