"""Rules that choose anchors, among the rows or as cluster centres, and the gain of each anchor.

A rule is a function below `@anchor_rule("name")`; everything else finds it in `RULES`.

Greedy rules draw a random pool of candidates, keep the best of them as a short list, and take
several anchors from it one after the other, each scored given those taken before. A pool costs one
matrix product. As published (Smola & Schölkopf 2000) every anchor has a pool of its own, of 59
candidates, which contains one of the best 5 % with probability 95 %; here by default four anchors
are taken from a pool of twice that size.

Beside groups, the random effects of a sum of kernels, an anchor in a group determines only the sum
of the group's effect and the rest. Anchors in a group without rows determine the rest, up to one
shift for all of them: with one anchor in each of 150 groups the error was 1.14 times that of the
exact GP, with 40 in a group of their own 1.01. The effects are determined by the nearest rows;
where no rows are kept, as many groups as possible get an anchor each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..kernels import Kernel
from ..kernels.columns import On
from ..kernels.composite import Sum
from ..kernels.group import Group
from ..kernels.trend import split_trend
from ..messages.basis import NUGGET, Anchors
from ..numerics import linalg
from ..numerics.records import record
from ..rows.metric import Metric
from ..rows.order import columns_by_content, sorted_rows, varying
from ..rows.partition import distinct, first_of_equals
from ..rows.rows import Rows
from .tuning import TUNING

Array = np.ndarray


@record("learning.selection/1")
@dataclass(frozen=True, eq=False)
class Selection:
    """Anchors in the order in which they were taken, and the gain of each.

    For "postapp" a gain is σ² times the rise of the log posterior, out of ½Σ y²; for the other
    rules it is the decrease of Σᵢ var[f(xᵢ) | anchors], out of Σᵢ k(xᵢ, xᵢ).
    """

    Z: Array  # (m, d)
    index: Array  # their row numbers; empty for k-means  (m,)
    gains: Array  # (m,)
    total: float  # upper bound of the sum of gains
    gap: float = np.nan  # for "postapp": relative distance of the log posterior from its dual bound

    @property
    def remaining(self) -> Array:
        """Share of the total that is left after each anchor  (m,)."""
        return 1.0 - np.cumsum(self.gains) / self.total if self.total > 0 else 0.0 * self.gains


@dataclass(frozen=True)
class CandidatePool:
    """Random candidates that a greedy rule draws at a time, and how many of them it takes."""

    candidates: int = TUNING.anchors.candidates
    picks: int = TUNING.anchors.picks

    @property
    def short_list(self) -> int:
        """Number of candidates that are scored again after each anchor."""
        return max(TUNING.anchors.short_list, self.picks)


@dataclass(frozen=True)
class Stop:
    """When to stop: at a number of anchors, a remaining share of the total, or a gap (PostApp)."""

    number: int
    share: float = 0.0
    gap: float = 0.0
    pool: CandidatePool = CandidatePool()


Rule = Callable[[Kernel, float, Rows, Stop, np.random.Generator], Selection]
#: The rules by name, in the order of this file.
RULES: dict[str, Rule] = {}
#: Rules that draw pools of candidates.
POOLING = ("sgma", "postapp")


def anchor_rule(name: str) -> Callable[[Rule], Rule]:
    """Register a rule under a name."""

    def register(rule: Rule) -> Rule:
        RULES[name] = rule
        return rule

    return register


def described(indent: int) -> str:
    """List the rules, each with the first line of its docstring."""
    first = {name: (rule.__doc__ or "").split("\n")[0] for name, rule in RULES.items()}
    return ("\n" + indent * " ").join(f'"{name}": {line}' for name, line in first.items())


@anchor_rule("random")
def random(
    kernel: Kernel, noise: float, rows: Rows, stop: Stop, rng: np.random.Generator
) -> Selection:
    """Random rows with distinct inputs."""
    first, _ = first_of_equals(rows.X)
    first = first[sorted_rows(rows.X[first], rows.y[first])]
    index = rng.permutation(first)[: stop.number]
    return _measured(kernel, rows, rows.X[index], index, stop)


@anchor_rule("kmeans")
def kmeans_anchors(
    kernel: Kernel, noise: float, rows: Rows, stop: Stop, rng: np.random.Generator
) -> Selection:
    """Centres of k-means in the kernel's metric."""
    metric, none = Metric.of(kernel, rows.X), np.empty(0, dtype=int)
    points = metric.forward(rows.X)
    if stop.share <= 0.0:
        Z = metric.backward(kmeans(points, stop.number, rng))
        return _measured(kernel, rows, Z, none, stop)
    number = min(TUNING.anchors.first_centres, stop.number)
    while True:  # double the number of centres until the remaining share is small enough
        Z = metric.backward(kmeans(points, number, rng))
        spread = Rows(Z, np.zeros((len(Z), 1)), np.ones(len(Z)))
        order = _Greedy(kernel, spread, Stop(len(Z)), rng).pivoted().index
        found = _measured(kernel, rows, Z[order], none, stop)
        if found.remaining[-1] <= stop.share or number >= stop.number:
            return found
        number = min(2 * number, stop.number)


def kmeans(X: Array, m: int, rng: np.random.Generator) -> Array:
    """Find at most m centres of X (n, d), from a sample of its rows.

    Columns are taken in the order of their spread, then by content, so that centres do not depend
    on theirs.
    """
    spread, content = X.std(axis=0), columns_by_content(X)
    falling = -np.round(spread / max(spread.max(), 1e-300), 9)[content]
    columns = content[np.argsort(falling, kind="stable")]
    columns = columns[varying(X)[columns]]
    found = _centres(X[:, columns], m, rng)
    centres = np.repeat(X[:1], len(found), axis=0)  # constant columns stay as they are
    centres[:, columns] = found
    return centres


def _centres(X: Array, m: int, rng: np.random.Generator) -> Array:
    most = TUNING.anchors.rows_per_centre * m
    if X.shape[0] > most:
        X = X[np.sort(rng.choice(X.shape[0], most, replace=False))]
    X, _ = distinct(X)
    if X.shape[0] <= m:
        return X
    from sklearn.cluster import MiniBatchKMeans  # slow to import

    model = MiniBatchKMeans(
        m, n_init=1, max_iter=20, batch_size=max(4096, 4 * m),
        random_state=int(rng.integers(2**31 - 1)),
    )  # fmt: skip
    return distinct(model.fit(X).cluster_centers_)[0]


@anchor_rule("sgma")
def sgma(
    kernel: Kernel, noise: float, rows: Rows, stop: Stop, rng: np.random.Generator
) -> Selection:
    """Sparse greedy matrix approximation (Smola & Schölkopf 2000).

    Takes the candidate j with the largest ‖rⱼ‖²/rⱼⱼ, the decrease of trace(K − GGᵀ), where
    rⱼ = K(X, xⱼ) − Ggⱼ is the residual of its column given the factor G of the anchors so far.
    """
    return _Greedy(kernel, rows, stop, rng).sgma()


@anchor_rule("postapp")
def postapp(
    kernel: Kernel, noise: float, rows: Rows, stop: Stop, rng: np.random.Generator
) -> Selection:
    """Greedy posterior approximation, which uses the targets (Smola & Bartlett 2001).

    Takes the candidate that raises ½hᵀΛ⁻¹h, summed over outputs, most:
    Λ = σ²K(Z, Z) + K(Z, X)WK(X, Z), h = K(Z, X)Wy.
    """
    if not rows.y.any():  # no targets to explain: use the inputs alone
        return sgma(kernel, noise, rows, stop, rng)
    return _Posterior(kernel, rows, stop, rng, max(noise, 1e-300)).run()


@anchor_rule("pivoted-cholesky")
def pivoted_cholesky(
    kernel: Kernel, noise: float, rows: Rows, stop: Stop, rng: np.random.Generator
) -> Selection:
    """Rows of largest variance given the anchors so far (Burt et al. 2020)."""
    return _Greedy(kernel, rows, stop, rng).pivoted()


def _measured(kernel: Kernel, rows: Rows, Z: Array, index: Array, stop: Stop) -> Selection:
    """Compute the gains of a rule that has none, if a share is to be reached."""
    chosen = Selection(Z, index, np.zeros(Z.shape[0]), 0.0)
    if stop.share <= 0.0:
        return chosen
    chosen = measured(kernel, rows.X, chosen)
    enough = int(np.searchsorted(-chosen.remaining, -stop.share)) + 1
    return Selection(Z[:enough], index[:enough], chosen.gains[:enough], chosen.total)


def measured(kernel: Kernel, X: Array, chosen: Selection) -> Selection:
    """Compute the decrease of Σᵢ var[f(xᵢ) | anchors] by each anchor given those before it.

    With V = L⁻¹K(Z, X) the decrease by anchor j is Σᵢ Vⱼᵢ².
    """
    basis = Anchors.at(kernel, chosen.Z)
    gains = np.zeros(chosen.Z.shape[0])
    for start in range(0, X.shape[0], 4096):
        V = basis.design(X[start : start + 4096])
        gains += np.einsum("mn,mn->m", V, V)[basis.first :]
    return Selection(chosen.Z, chosen.index, gains, float(kernel.diag(X).sum()))


@dataclass(eq=False)
class _Taking:
    """Anchors that are taken one after the other, each with its gain."""

    kernel: Kernel
    rows: Rows
    stop: Stop
    rng: np.random.Generator

    def __post_init__(self) -> None:
        self.m = min(self.stop.number, self.rows.X.shape[0])
        self.total = 0.0  # upper bound of the sum of gains
        self.index: list[int] = []
        self.gains: list[float] = []

    def pool(self, open_rows: Array) -> Array:
        """Draw candidates."""
        size = min(self.stop.pool.candidates, open_rows.size)
        return self.rng.choice(open_rows, size, replace=False)

    def selection(self) -> Selection:
        index = np.array(self.index, dtype=int)
        return Selection(self.rows.X[index], index, np.array(self.gains), self.total)


class _Greedy(_Taking):
    """Partial Cholesky factor of K(X, X), with one more row of G for each anchor."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.G = np.empty((self.m, self.rows.X.shape[0]))  # GᵀG ≈ K(X, X)
        self.prior = self.kernel.diag(self.rows.X)
        self.left = self.prior.copy()  # var[f(xᵢ) | taken]
        self.total = float(self.prior.sum())

    def sgma(self) -> Selection:
        while not self._done():
            open_rows = np.flatnonzero(self._open())
            if open_rows.size == 0:
                break
            pool = self.pool(open_rows)
            R = self._columns(pool)
            gains = np.einsum("cn,cn->c", R, R) / self.left[pool]
            best = np.argsort(-gains, kind="stable")[: self.stop.pool.short_list]
            pool, R = pool[best], R[best]
            for _ in range(self.stop.pool.picks):
                own, fit = self.left[pool], self._open()[pool]
                if self._done() or not fit.any():
                    break
                gains = np.einsum("cn,cn->c", R, R)
                gains = np.where(fit, gains / np.where(fit, own, 1.0), -1.0)
                j = int(gains.argmax())
                g = self._take(int(pool[j]), R[j])
                R -= np.outer(g[pool], g)
        return self.selection()

    def pivoted(self) -> Selection:
        while not self._done():
            left = np.where(self._open(), self.left, -1.0)
            j = int(left.argmax())
            if left[j] <= 0.0:
                break
            self._take(j, self._columns(np.array([j]))[0])
        return self.selection()

    def _open(self) -> Array:
        """Rows that may be taken  (n,)."""
        t = TUNING.anchors
        return self.left > np.maximum(t.exhausted * self.prior, t.pivot * self.left.max())

    def _columns(self, pool: Array) -> Array:
        """K(x_pool, X) − g_poolᵀG  (c, n)."""
        b = len(self.index)
        R = self.kernel.value(self.rows.X[pool], self.rows.X)
        if b:
            R -= self.G[:b, pool].T @ self.G[:b]
        return R

    def _take(self, row: int, column: Array) -> Array:
        g = column / np.sqrt(self.left[row])
        self.G[len(self.index)] = g
        self.left = np.maximum(self.left - g * g, 0.0)
        self.left[row] = 0.0
        self.index.append(row)
        self.gains.append(float(g @ g))
        return g

    def _done(self) -> bool:
        b = len(self.index)
        return b >= self.m or float(self.left.sum()) <= self.stop.share * self.total


@dataclass(eq=False)
class _Posterior(_Taking):
    """Cholesky factor of Λ = σ²K(Z, Z) + K(Z, X)WK(X, Z), with one more row for each anchor."""

    noise: float

    def __post_init__(self) -> None:
        super().__post_init__()
        n, p = self.rows.X.shape[0], self.rows.y.shape[1]
        self.root = np.sqrt(self.rows.w)
        self.y = self.root[:, None] * self.rows.y
        self.K = np.empty((self.m, n))  # K(Z, X)W^½
        self.L = np.zeros((self.m, self.m))
        self.z = np.zeros((self.m, p))  # L⁻¹h
        self.open = np.ones(n, dtype=bool)
        self.total = 0.5 * float((self.y**2).sum())

    def run(self) -> Selection:
        while not self._done() and self.open.any():
            pool = self.pool(np.flatnonzero(self.open))
            if self._from(pool) == 0:
                self.open[pool] = False  # linearly dependent on the anchors
        return replace(self.selection(), gap=self.gap() if self.index else np.nan)

    def _from(self, pool: Array) -> int:
        """Take the best of a pool, one after the other; return how many were taken."""
        X, b = self.rows.X, len(self.index)
        Kc = self.kernel.value(X[pool], X) * self.root  # (c, n)
        a = self.noise * self.kernel.diag(X[pool]) + np.einsum("cn,cn->c", Kc, Kc)
        e = Kc @ self.y  # h of the candidates  (c, p)
        T = np.empty((0, pool.size))
        s = a.copy()
        if b:
            B = self.noise * self.kernel.value(X[self.index], X[pool]) + self.K[:b] @ Kc.T
            T = linalg.solve_lower(np.ascontiguousarray(self.L[:b, :b]), B)
            s = a - np.einsum("bc,bc->c", T, T)
            e = e - T.T @ self.z[:b]
        gains = self._gains(a, s, e)
        best = np.argsort(-gains, kind="stable")[: self.stop.pool.short_list]
        pool, T, a, s, e = pool[best], T[:, best], a[best], s[best], e[best]
        Kc, taken = Kc[best], 0
        while taken < self.stop.pool.picks and not self._done():
            gains = self._gains(a, s, e)
            j = int(gains.argmax())
            if gains[j] < 0.0:
                break
            cross = self.noise * self.kernel.value(X[pool[j : j + 1]], X[pool])[0]
            t = (cross + Kc @ Kc[j] - T[:, j] @ T) / np.sqrt(s[j])
            self._take(int(pool[j]), Kc[j], T[:, j], np.sqrt(s[j]), e[j], gains[j])
            z = self.z[len(self.index) - 1]
            T, s, e = np.vstack([T, t]), s - t * t, e - t[:, None] * z
            s[j], taken = 0.0, taken + 1
        return taken

    def _gains(self, a: Array, s: Array, e: Array) -> Array:
        t = TUNING.anchors
        fit = s > np.maximum(t.exhausted * a, t.pivot * s.max())
        return np.where(fit, 0.5 * (e**2).sum(axis=1) / np.where(fit, s, 1.0), -1.0)

    def _take(self, row: int, column: Array, t: Array, root: float, e: Array, gain: float) -> None:
        b = len(self.index)
        self.K[b] = column
        self.L[b, :b], self.L[b, b] = t, root
        self.z[b] = e / root
        self.index.append(row)
        self.gains.append(float(gain))
        self.open[row] = False

    def _done(self) -> bool:
        b = len(self.index)
        if b >= self.m or self.total <= 0.0:
            return True
        reached = sum(self.gains)
        if self.total - reached <= self.stop.share * self.total:
            return True
        look = self.stop.gap > 0.0 and b > 0 and b % self.stop.pool.picks == 0
        return look and self.gap() <= self.stop.gap

    def gap(self) -> float:
        """Relative distance of −½hᵀΛ⁻¹h from its dual bound (Smola & Bartlett 2001)."""
        at = np.array(self.index)
        C = self.kernel.value(self.rows.X[at])
        linalg.add_diagonal(C, self.noise / self.rows.w[at])
        L, _ = linalg.cholesky(C, float(self.kernel.diag(self.rows.X[at]).max()), nugget=NUGGET)
        a = linalg.solve_lower(L, self.rows.y[at])
        primal, dual = -sum(self.gains), self.total - 0.5 * self.noise * float((a * a).sum())
        return 2.0 * (primal + dual) / max(abs(primal) + abs(dual), 1e-300)


def choose_anchors(
    name: str, kernel: Kernel, noise: float, rows: Rows, stop: Stop, rng: np.random.Generator,
    *, near: bool,
) -> Selection:  # fmt: skip
    """Choose anchors by a rule; with k-means, beside groups that have a kernel of their own.

    `near`: whether raw rows near a query show the effect of its group. A trend has coordinates of
    its own.
    """
    kernel = split_trend(kernel)[0]
    columns = group_columns(kernel, rows.X.shape[1]) if name == "kmeans" else []
    if not columns:
        return RULES[name](kernel, noise, rows, stop, rng)
    m = stop.number
    X, levels = rows.X.copy(), [np.unique(rows.X[:, k]) for k in columns]
    X[:, columns] = [unseen(own) for own in levels]
    effects = effects_wanted(m, sum(own.size for own in levels), near=near)
    own = Rows(X, rows.y, rows.w)
    found = RULES[name](kernel, noise, own, Stop(max(1, m - effects)), rng)
    Z = np.vstack([found.Z, _effects(rows.X, X, columns, min(effects, m - len(found.Z)))])
    return Selection(Z, found.index, np.zeros(len(Z)), 0.0)


def group_columns(kernel: Kernel, d: int) -> list[int]:
    """Columns that only groups use, in a sum of groups and other kernels."""
    parts = kernel.parts if isinstance(kernel, Sum) else (kernel,)
    groups = [part for part in parts if isinstance(part, On) and isinstance(part.kernel, Group)]
    rest = [part for part in parts if not any(part is one for one in groups)]
    if not (groups and rest):
        return []
    found = {k for part in groups for k in part._at(d)}
    used = {k for part in rest for one in part.embeddings(d) for k in one.columns}
    used |= {int(k) for part in rest for k in np.flatnonzero(part.inverse_squares(d) > 0)}
    return [] if found & used else sorted(found)


def unseen(levels: Array) -> float:
    """Return a number that is none of these: −1, the code of an unknown level, if that is free."""
    if not (levels == -1.0).any():
        return -1.0
    least = float(np.nanmin(levels))
    return least - max(1.0, abs(least))


def effects_wanted(m: int, groups: int, *, near: bool) -> int:
    """Number of m anchors that represent groups."""
    t = TUNING.anchors
    if m >= groups + t.fewest_rest:
        return groups
    return 0 if near else int(max(0, m - max(t.fewest_rest, round(t.rest_share * m))))


def _effects(X: Array, unseen_X: Array, columns: list[int], count: int) -> Array:
    """Take one row of each of the largest groups, unseen in other columns of groups."""
    parts, sizes = [], []
    for k in columns:
        _, first, size = np.unique(X[:, k], return_index=True, return_counts=True)
        Z = unseen_X[first]
        Z[:, k] = X[first, k]
        parts.append(Z)
        sizes.append(size)
    order = np.argsort(-np.concatenate(sizes), kind="stable")[: max(count, 0)]
    return np.vstack(parts)[np.sort(order)]
