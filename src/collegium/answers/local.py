"""Local correction: the rows nearest to a query correct the prediction of the anchors.

Given v, f is Vᵀv plus a residual process, conditioned here on the rows N near the query x*:

    C = K_NN − V_NᵀV_N + Ψ     c = K(X_N, x*) − V_NᵀV*     w = C⁻¹c     t = V* − V_N w
    mean = tᵀE[v] + wᵀy_N      var f* = k(x*, x*) − V*ᵀV* − wᵀc + tᵀΛ⁻¹t

With no rows N it is the prediction of the anchors alone, with the query's own chunk PIC (Snelson &
Ghahramani 2007), with all rows of a single chunk the exact GP. Predictions at different queries do
not depend on each other.

Gaussian sites are rows with y = f̂ + W⁻¹g and Ψ = W⁻¹, written without W⁻¹: with Q = C − Ψ,
w = W^½(I + W^½QW^½)⁻¹W^½c and Ψw = c − Qw, so that wᵀy = wᵀf̂ + (Ψw)ᵀg.

For k rows followed by the query the matrix is [[C, c], [cᵀ, ·]]. The last row of its Cholesky
factor is L⁻¹c, so one factorisation solves for the query too. Arrays are reused from query to query
(`Neighbourhoods`): allocating them takes longer than filling them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csc_matrix

from ..kernels import Kernel
from ..messages.basis import Anchors
from ..messages.expansion import Expansion
from ..messages.message import Belief
from ..numerics import linalg
from ..numerics.tiles import by_tiles
from ..rows import partition
from ..rows.rows import AnyRows, Prediction, Rows
from .tuning import TUNING

Array = np.ndarray


def _observe(C: Array, rows: AnyRows, noise: float) -> Array:
    """C + Ψ, or I + W^½CW^½, on the lower triangle, in place."""
    if isinstance(rows, Rows):
        return linalg.add_diagonal(C, rows.psi(noise))
    root = np.sqrt(rows.W)
    C *= np.outer(root, root)
    return linalg.add_diagonal(C, 1.0)


def _observed_scale(scale: float, rows: AnyRows) -> float:
    """Scale of the diagonal of `_observe`, to which jitter is relative."""
    return scale if isinstance(rows, Rows) else 1.0 + scale * float(rows.W.max(initial=0.0))


#: X ↦ V, where it is prepared (`Anchors.designer`).
Design = Callable[[Array], Array] | None


def predict_global(basis: Anchors, belief: Belief, Xs: Array, design: Design = None) -> Prediction:
    """var f* = k(x*, x*) − V*ᵀV* + V*ᵀΛ⁻¹V*: from the anchors alone (Tresp 2000, eq. 17)."""
    Vs = basis.design(Xs) if design is None else design(Xs)
    T = belief.spread(Vs)
    variance = basis.residual_diag(Xs, Vs) + np.einsum("mn,mn->n", T, T)
    return Prediction(Vs.T @ belief.mean, variance)


def predict_degenerate(
    basis: Anchors, belief: Belief, Xs: Array, design: Design = None
) -> Prediction:
    """var f* = V*ᵀΛ⁻¹V*: subset of regressors, whose variance vanishes far from the anchors."""
    Vs = basis.design(Xs) if design is None else design(Xs)
    T = belief.spread(Vs)
    return Prediction(Vs.T @ belief.mean, np.einsum("mn,mn->n", T, T))


def covariance_global(basis: Anchors, belief: Belief, Xs: Array) -> Array:
    """K(X*, X*) − V*ᵀV* + V*ᵀΛ⁻¹V*."""
    Vs = basis.design(Xs)
    return linalg.mirror(basis.residual(Xs, Vs)) + linalg.gram(belief.spread(Vs).T)


@dataclass(frozen=True, eq=False)
class Shared:
    """One neighbourhood for all queries, factorised once: N = all rows is the exact GP."""

    rows: AnyRows
    V: Array  # V_N  (m, n)
    factor: Array  # C = LLᵀ, or I + W^½QW^½ = LLᵀ
    weights: Array | None = None  # of sites, C⁻¹y = g + A(f̂ − Qg), A = W^½(LLᵀ)⁻¹W^½  (n, 1)

    @classmethod
    def of(cls, basis: Anchors, noise: float, rows: AnyRows, V: Array | None = None) -> Shared:
        """Factorise once for these rows; `V`: their design, if already known."""
        V = basis.design(rows.X) if V is None else V
        C = basis.residual(rows.X, V)
        Qg = 0.0 if isinstance(rows, Rows) else linalg.mirror(C) @ rows.g
        scale = _observed_scale(basis.scale(rows.X) or 1.0, rows)
        L, _ = linalg.cholesky(_observe(C, rows, noise), scale, overwrite=True)
        if isinstance(rows, Rows):
            return cls(rows, V, L)
        root = np.sqrt(rows.W)[:, None]
        return cls(rows, V, L, rows.g + root * linalg.solve_posdef(L, root * (rows.f - Qg)))

    def _given(self, basis: Anchors, Xs: Array) -> tuple[Array, Array, Array]:
        """V*, c, and L⁻¹c (for sites L⁻¹W^½c)."""
        Vs = basis.design(Xs)
        c = basis.kernel.value(Xs, self.rows.X).T - self.V.T @ Vs  # (n, q), columns contiguous
        scaled = c if isinstance(self.rows, Rows) else np.sqrt(self.rows.W)[:, None] * c
        return Vs, c, linalg.solve_lower(self.factor, scaled)

    def _solved(self, a: Array) -> Array:
        """w  (n, q)."""
        w = linalg.solve_upper(self.factor, a)
        return w if isinstance(self.rows, Rows) else np.sqrt(self.rows.W)[:, None] * w

    def predict(self, basis: Anchors, belief: Belief, Xs: Array) -> Prediction:
        """Compute means and variances, tile by tile."""

        def answer(tile: Array) -> Prediction:
            Vs, c, a = self._given(basis, tile)
            w = self._solved(a)
            local = w.T @ self.rows.y if isinstance(self.rows, Rows) else c.T @ self.weights
            t = Vs - self.V @ w
            variance = self._variance(basis, belief, tile, Vs, a, t)
            return Prediction(t.T @ belief.mean + local, variance)

        return Prediction.by_tiles(answer, Xs)

    def variance(self, basis: Anchors, belief: Belief, Xs: Array) -> Array:
        """Compute the variances of `predict`, without anchors at half the cost  (q,)."""

        def answer(tile: Array) -> tuple[Array]:
            Vs, _, a = self._given(basis, tile)
            t = Vs - self.V @ self._solved(a) if basis.m else Vs
            return (self._variance(basis, belief, tile, Vs, a, t),)

        return by_tiles(answer, Xs)[0]

    @staticmethod
    def _variance(
        basis: Anchors, belief: Belief, Xs: Array, Vs: Array, a: Array, t: Array
    ) -> Array:
        T = belief.spread(t)
        left = basis.residual_diag(Xs, Vs) - np.einsum("nq,nq->q", a, a)
        return np.maximum(left, 0.0) + np.einsum("mq,mq->q", T, T)

    def expansion(self, basis: Anchors, belief: Belief) -> Expansion:
        """tᵀE[v] + wᵀy = K(x, Z)L⁻ᵀ(E[v] − V_N β) + K(x, X_N)β, β = C⁻¹(y − V_NᵀE[v])."""
        fitted = self.V.T @ belief.mean
        if isinstance(self.rows, Rows):
            beta = linalg.solve_posdef(self.factor, self.rows.y - fitted)
        else:
            assert self.weights is not None
            root = np.sqrt(self.rows.W)[:, None]
            beta = self.weights - root * linalg.solve_posdef(self.factor, root * fitted)
        rest = basis.expansion(belief.mean - self.V @ beta)
        return expansion_around(basis, belief, self.rows.X, np.concatenate([rest.weights, beta]))

    def covariance(self, basis: Anchors, belief: Belief, Xs: Array) -> Array:
        left, t = self.residual(basis, belief, Xs)
        return left + linalg.gram(belief.spread(t).T)

    def residual(self, basis: Anchors, belief: Belief, Xs: Array) -> tuple[Array, Array]:
        """K** − V*ᵀV* − cᵀC⁻¹c  (q, q), and t  (m, q)."""
        Vs, _, a = self._given(basis, Xs)
        t = Vs - self.V @ self._solved(a)
        return linalg.mirror(linalg.subtract_gram(basis.residual(Xs, Vs), a.T)), t


def expansion_around(basis: Anchors, belief: Belief, X: Array, weights: Array) -> Expansion:
    """x ↦ K(x, (Z, X))W; the trend keeps E[β], since K(x, X)β restores what V_Nβ subtracts."""
    own = basis.expansion(belief.mean)
    points = np.concatenate([own.points, X])
    return Expansion(own.kernel, points, weights, own.line, belief.mean[: basis.first])


@dataclass(frozen=True, eq=False)
class Corrections:
    """Neighbours of each query and their weights, for means and covariances."""

    rows: AnyRows  # the union of all neighbourhoods
    V: Array  # design of these rows  (m, u)
    Vs: Array  # (m, q)
    members: Array  # positions in `rows`  (q, k)
    weights: Array  # w of each query  (q, k)
    left: Array  # k** − V*ᵀV* − wᵀc  (q,)
    noisy: Array  # Ψw of each query  (q, k)

    def _rest(self) -> Array:
        """t = V* − V_N w  (m, q)."""
        return self.Vs - (self.W.T @ self.V.T).T

    @cached_property
    def W(self) -> csc_matrix:
        """Weights as columns over the union of rows  (u, q)."""
        return self._columns(self.weights)

    def _columns(self, values: Array) -> csc_matrix:
        q, k = self.members.shape
        return csc_matrix(
            (values.ravel(), self.members.ravel(), k * np.arange(q + 1)),
            shape=(self.rows.X.shape[0], q),
        )

    def _local(self) -> Array:
        """wᵀy of each query  (q, p)."""
        if isinstance(self.rows, Rows):
            return self.W.T @ self.rows.y
        return self.W.T @ self.rows.f + self._columns(self.noisy).T @ self.rows.g

    def predict(self, basis: Anchors, belief: Belief, Xs: Array) -> Prediction:
        def answer(rest: Array) -> tuple[Array, Array]:
            T = belief.spread(rest.T)
            return rest @ belief.mean, np.einsum("mq,mq->q", T, T)

        mean, known = by_tiles(answer, self._rest().T)
        return Prediction(mean + self._local(), np.maximum(self.left, 0.0) + known)

    def covariance(self, basis: Anchors, belief: Belief, Xs: Array) -> Array:
        """K** − V*ᵀV* − Wᵀc − cᵀW + Wᵀ(K_UU + Ψ − V_UᵀV_U)W + tᵀΛ⁻¹t  (q, q).

        U is the union of neighbourhoods; K_UU is formed in blocks of rows.
        """
        W, kernel = self.W, basis.kernel
        VW = (W.T @ self.V.T).T
        cross = -VW.T @ self.Vs  # Wᵀc  (q, q)
        inner = (W.T @ self._columns(self.noisy)).toarray() - VW.T @ VW
        step = max(1, TUNING.neighbours.covariances // max(1, self.rows.X.shape[0]))
        for start in range(0, self.rows.X.shape[0], step):
            part = slice(start, start + step)
            X_part = self.rows.X[part]
            K_part = kernel.value(X_part, self.rows.X)
            own = np.arange(X_part.shape[0])
            K_part[own, start + own] = kernel.diag(X_part)  # k(x, x) includes white noise
            inner += W[part].T @ (W.T @ K_part.T).T  # WᵀK_UUW
            cross += W[part].T @ kernel.value(X_part, Xs)
        prior = linalg.mirror(basis.residual(Xs, self.Vs))
        T = belief.spread(self._rest())
        total = prior - cross - cross.T + inner + T.T @ T
        return 0.5 * (total + total.T)


def correct(
    basis: Anchors, noise: float, rows: AnyRows, Xs: Array, neighbours: Array,
    VT: Array | None = None, *, single: bool = False,
) -> Corrections:  # fmt: skip
    """Solve Cw = c for each query's neighbours  (q, k), independently of the other queries.

    VT: the design of all rows  (n, m), if already known. Sites carry their own noise. `single`: in
    single precision, except for systems that need double.
    """
    return correct_each(basis, noise, [rows], Xs, neighbours, VT, single=single)[0]


def correct_each(
    basis: Anchors, noise: float, kinds: Sequence[AnyRows], Xs: Array, neighbours: Array,
    VT: Array | None = None, *, single: bool = False,
) -> list[Corrections]:  # fmt: skip
    """Apply `correct` to several latent functions, whose rows differ only in their sites."""
    q, k = neighbours.shape
    union, members = np.unique(np.sort(neighbours, axis=1), return_inverse=True)
    members = members.reshape(q, k)  # ascending in each row
    near = [rows.take(union) for rows in kinds]
    X = near[0].X
    VT = np.ascontiguousarray(basis.design_of(X).T) if VT is None else VT[union]
    V, Vs = VT.T, basis.design_of(Xs)
    near_prior = basis.kernel.diag(X)[members].max(axis=1, initial=0.0)
    prior = np.maximum(basis.kernel.diag(Xs), near_prior)
    weights, noisy = np.empty((len(kinds), q, k)), np.empty((len(kinds), q, k))
    left = np.tile(basis.residual_diag(Xs, Vs), (len(kinds), 1))
    work = Neighbourhoods.of(basis, k, q, single=single)
    for i, C in work.residuals(X, VT, members, Xs, Vs):
        at, scale = members[i], float(prior[i]) or 1.0
        for j, rows in enumerate(near):
            own, found = rows.take(at), None
            if isinstance(own, Rows):
                matrix = C if len(near) == 1 else C.copy()
                found = solve_neighbourhood(matrix, own.psi(noise), 4.0 * scale)
            if found is None:  # sites, or jitter is needed
                found = _solve(*work.again(X[at], VT[at], Xs[i], Vs[:, i]), own, noise, scale)
            weights[j, i], noisy[j, i], known = found
            left[j, i] -= known
    each = zip(near, weights, left, noisy)
    return [Corrections(rows, V, Vs, members, w, rest, Psiw) for rows, w, rest, Psiw in each]


def _solve(
    C: Array, c: Array, rows: AnyRows, noise: float, scale: float
) -> tuple[Array, Array, float]:
    """w = (C + Ψ)⁻¹c, Ψw and cᵀw; the upper triangle of C may be overwritten."""
    if isinstance(rows, Rows):
        L, _ = linalg.cholesky(_observe(C.copy(), rows, noise), scale, overwrite=True)
        a = linalg.solve_lower(L, c)
        w = linalg.solve_upper(L, a)
        return w, rows.psi(noise) * w, float(a @ a)
    root = np.sqrt(rows.W)
    B = linalg.scaled(C, root)
    linalg.add_diagonal(B, 1.0)
    L, _ = linalg.cholesky(B, _observed_scale(scale, rows), overwrite=True)
    a = linalg.solve_lower(L, root * c)
    w = root * linalg.solve_upper(L, a)
    return w, c - linalg.mirror(C) @ w, float(a @ a)


def single_will_do(kernel: Kernel, noise: float, rows: AnyRows, k: int) -> bool:
    """Whether systems of k of these rows may be solved in single precision."""
    if k < TUNING.neighbours.many_rows or not isinstance(rows, Rows):
        return False
    prior = float(kernel.diag(rows.X).max(initial=0.0))
    enough = TUNING.neighbours.enough_noise * prior
    return 1e-15 < prior < 1e15 and float(rows.psi(noise).min()) >= enough


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Fills covariances of k rows and a query, some queries at a time."""

    basis: Anchors
    V: Array  # design of rows and query  (k + 1, m)
    K: Array  # (b, k + 1, k + 1)
    room: Array

    @classmethod
    def of(cls, basis: Anchors, k: int, q: int, *, single: bool) -> Neighbourhoods:
        """Allocate arrays for up to q queries."""
        b = int(np.clip(TUNING.neighbours.at_once // (k + 1) ** 2, 1, max(q, 1)))
        kind = np.float32 if single else np.float64
        K, room = np.empty((2, b, k + 1, k + 1), kind)
        return cls(basis, np.empty((k + 1, basis.m), kind), K, room)

    def residuals(
        self, X: Array, VT: Array, members: Array, Xs: Array, Vs: Array
    ) -> Iterator[tuple[int, Array]]:
        """Yield the number of a query and [[C, c], [cᵀ, ·]], lower triangle, free to overwrite.

        members: positions of the rows of each query in X and VT  (q, k).
        """
        q, k = members.shape
        for part in partition.blocks(q, self.K.shape[0]):
            size = part.stop - part.start
            places = np.concatenate([X[members[part]], Xs[part, None]], axis=1)
            K = self.K[:size]
            self.basis.kernel.fill(places, K, self.room[:size])
            for i, own in zip(range(part.start, part.stop), K):
                self.V[:k], self.V[k] = VT[members[i]], Vs[:, i]
                yield i, linalg.subtract_gram(own, self.V)

    def again(self, X: Array, VT: Array, x: Array, v: Array) -> tuple[Array, Array]:
        """Recompute C (lower triangle) and c of one query in double precision."""
        C = linalg.subtract_gram(self.basis.kernel.value(X), VT)
        return C, self.basis.kernel.value(x[None], X)[0] - VT @ v


def solve_neighbourhood(C: Array, psi: Array, corner: float) -> tuple[Array, Array, float] | None:
    """w = (C + Ψ)⁻¹c, Ψw and cᵀw from [[C, c], [cᵀ, ·]], which is overwritten; None where C + Ψ is
    not positive definite without jitter.

    `corner` stands for the query's own variance: any number above cᵀw works.
    """
    diagonal = C.reshape(-1)[:: C.shape[0] + 1]
    diagonal[:-1] += psi
    diagonal[-1] = corner
    if not linalg.factorise(C):
        return None
    a = C[-1, :-1]
    w = linalg.solve_first_upper(C, a).astype(float, copy=False)
    a = a.astype(float, copy=False)
    return w, psi * w, float(a @ a)
