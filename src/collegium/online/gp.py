"""Sparse online GP of Csató & Opper (2002): one row at a time, a basis of bounded size.

The belief about f is its mean μ and covariance S at the basis points Z. For a row (x, y), with
k = K(Z, x), Q = K(Z, Z)⁻¹, e = Qk and γ = k(x, x) − kᵀe (the part of f(x) outside the basis),

    m = eᵀμ      v = γ + eᵀSe      c = Se = cov(f(Z), f(x))
    μ += q c     S += r ccᵀ        (q, r: see `likelihoods.integrals.sites`)

A novel row joins the basis: (μ, m) and (S c; cᵀ v) take the same step. Over budget a point is
dropped by deleting its row from μ and its row and column from S: mean and covariance at the
other points are unchanged. A row that is not novel is treated as one that joined and was dropped
at once. Csató & Opper's α and C are Qμ and QSQ − Q; moments are numerically safer on smooth
streams.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..kernels import Kernel
from ..likelihoods.base import Scalar
from ..likelihoods.integrals.sites import GAUSSIAN
from ..messages.expansion import Expansion
from ..numerics import linalg
from ..numerics.linalg import LOG_2PI
from ..numerics.records import record
from ..numerics.threads import single_threaded
from ..numerics.tiles import by_tiles
from ..rows.partition import blocks
from ..rows.rows import Prediction
from .loop import NUGGET, Basis, Expected, LoopLimits, RowBlock, absorb
from .tuning import TUNING

Array = np.ndarray
#: Scores of the point to drop: the change of the mean there in units of its spread (Csató & Opper
#: 2002), or the change of the mean alone.
REMOVALS = ("posterior", "mean")


@record("online.rules/1")
@dataclass(frozen=True)
class Rules:
    """Rules for the points of the basis, and for how fast the past fades."""

    budget: int = 200
    novelty: float = 1e-4  # share of the prior variance that the basis must leave unexplained
    removal: str = "posterior"
    forgetting: float = 1.0  # λ: each row scales the sum of the messages before it
    step: float = TUNING.forget_step  # most that one step of forgetting takes

    @property
    def refresh_every(self) -> int:
        """Rows between two recomputations of Q, which otherwise takes rank-one updates."""
        return max(self.budget, 50)

    @property
    def forget_every(self) -> int:
        """Rows between two steps of forgetting, each by λ to this power."""
        if self.forgetting == 1.0:
            return 0
        return max(1, int(np.log1p(-self.step) / np.log(self.forgetting)))

    @property
    def memory(self) -> float:
        """Rows that the past counts for in the long run, 1/(1 − λ)."""
        return np.inf if self.forgetting == 1.0 else 1.0 / (1.0 - self.forgetting)

    def beside(self, forgetting: float) -> Rules:
        """Rules for a faster rate beside this one: as few points and steps as it needs."""
        if forgetting == self.forgetting:
            return self
        own = replace(self, forgetting=forgetting, step=TUNING.coarse_step)
        return replace(own, budget=int(min(self.budget, TUNING.points * own.memory)))


@record("online.gp/1")
@dataclass(frozen=True, eq=False)
class OnlineGP:
    """N(μ, S) over f(Z), after n rows.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium.likelihoods import Gaussian
    >>> from collegium.online.gp import OnlineGP, Rules
    >>> from collegium.kernels import RBF
    >>> gp = OnlineGP.start(RBF(1.0, 0.5), Gaussian(0.01), d=1, rules=Rules(budget=15))
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(1000, 1))
    >>> gp, before = gp.add(X, np.sin(2 * X))  # `before`: each row predicted from those before it
    >>> found = gp.predict(np.array([[0.3]]))
    >>> gp.Z.shape, bool(abs(found.mean[0, 0] - np.sin(0.6)) < 0.02)
    ((15, 1), True)
    """

    kernel: Kernel
    likelihood: Scalar
    rules: Rules
    Z: Array  # (b, d)
    mean: Array  # μ  (b, p)
    covariance: Array  # S  (b, b)
    Q: Array  # K(Z, Z)⁻¹, nugget included  (b, b)
    alpha: Array  # Qμ  (b, p)
    spread: Array  # the diagonal of QSQ  (b,)
    n_rows: int
    log_evidence: Array  # Σ log Z of the rows, each given those before it  (p,)
    shift: float = 0.0  # added to f before the likelihood sees it; all moments are of f without it

    @classmethod
    def start(
        cls, kernel: Kernel, likelihood: Scalar, d: int, p: int = 1, rules: Rules | None = None,
        shift: float = 0.0,
    ) -> OnlineGP:  # fmt: skip
        """Start with an empty basis, for d columns and p outputs (one, if not Gaussian)."""
        if likelihood.code is None:
            raise ValueError(
                f"{likelihood!r} has no `code`: the online GP takes likelihoods with a branch in "
                "likelihoods/integrals/sites.py"
            )
        return cls(
            kernel, likelihood, rules or Rules(), np.empty((0, d)), np.empty((0, p)),
            np.empty((0, 0)), np.empty((0, 0)), np.empty((0, p)), np.empty(0), 0, np.zeros(p),
            shift,
        )  # fmt: skip

    def add(
        self, X: Array, y: Array, w: Array | None = None, extra: Array | None = None
    ) -> tuple[OnlineGP, Prediction]:
        """Add rows X (n, d), y (n, p), in their order.

        Also returns the prediction of f at each row before it was added. A weight w means w equal
        rows of a Gaussian likelihood; `extra` is the noise variance of each row on top of its own.
        """
        weighted = extra is not None or (w is not None and not (w == 1.0).all())
        if weighted and self.likelihood.code != GAUSSIAN:
            raise ValueError("weights need a Gaussian likelihood: repeat the rows instead")
        w = np.ones(X.shape[0]) if w is None else w
        v = np.zeros(X.shape[0]) if extra is None else extra
        with single_threaded():
            work = _Work(self, X.shape[0])
            parts = blocks(X.shape[0], TUNING.block)
            found = [work.add(X[part], y[part], w[part], v[part]) for part in parts]
            state = work.state()
        mean = [one.mean for one in found] or [np.empty((0, y.shape[1]))]
        variance = [one.variance for one in found] or [np.empty(0)]
        return state, Prediction(np.concatenate(mean), np.concatenate(variance))

    def sweep(
        self, X: Array, y: Array, w: Array | None = None, times: int = 1,
        extra: Array | None = None,
    ) -> OnlineGP:  # fmt: skip
        """Go through all rows several times, each counted once; they must be all rows so far.

        A sweep starts from the prior at the basis of the previous one; the last of several keeps
        the basis fixed. With a Gaussian likelihood that is FITC, in any order of the rows.
        """
        if times > 1 and self.n_rows:
            raise ValueError("several sweeps start from an empty basis: earlier rows would be lost")
        state = self.add(X, y, w, extra)[0]
        for again in range(1, times):
            held = replace(self.rules, novelty=np.inf) if again == times - 1 else self.rules
            state = replace(state.forgotten(), rules=held).add(X, y, w, extra)[0]
        return replace(state, rules=self.rules)

    def forgotten(self) -> OnlineGP:
        """Return to the prior at the same basis, without rows."""
        K = _prior(self.kernel, self.Z)
        empty = replace(
            self, mean=np.zeros_like(self.mean), covariance=K, n_rows=0,
            log_evidence=np.zeros_like(self.log_evidence),
        )  # fmt: skip
        with single_threaded():
            work = _Work(empty)
            work.refresh()
            return work.state()

    def with_prior(self, kernel: Kernel, likelihood: Scalar, known: float = 0.0) -> OnlineGP:
        """Replace the prior, keeping the message of the rows: N(μ, S) without the old prior.

        Λ = S⁻¹ − K⁻¹ and the shift S⁻¹μ are kept, so S becomes (K₊⁻¹ + Λ)⁻¹. An approximation:
        rows were projected onto Z by the old kernel. Where a Gaussian noise has grown to σ₊² they
        count σ²/σ₊² times; where it has fallen they count as before.
        """
        with single_threaded():
            work = _Work(replace(self, kernel=kernel, likelihood=likelihood))
            power = 1.0
            if likelihood.code == GAUSSIAN:
                noises = [one.parameter + known for one in (self.likelihood, likelihood)]
                power = min(1.0, noises[0] / max(noises[1], 1e-300))
            work.change_prior(_prior(self.kernel, self.Z), power)
            return work.state()

    def means(self, Xs: Array) -> Array:
        """kᵀQμ  (q, p)."""
        return Expansion(self.kernel, self.Z, self.Q @ self.mean).at(Xs)

    def predict(self, Xs: Array) -> Prediction:
        """Moments of f: kᵀα, and k(x, x) − kᵀQk + kᵀQSQk as a sum of two non-negative parts."""

        def answer(tile: Array) -> tuple[Array]:
            k = self.kernel.value(tile, self.Z)
            e = k @ self.Q
            left = self.kernel.diag(tile) - np.einsum("qb,qb->q", k, e)
            known = np.einsum("qb,qb->q", e @ self.covariance, e)
            return (np.maximum(left, 0.0) + np.maximum(known, 0.0),)

        return Prediction(self.means(Xs), by_tiles(answer, Xs)[0])

    def joint(self, Xs: Array) -> Array:
        """Covariance of f(X*)  (q, q)."""
        k = self.kernel.value(Xs, self.Z)
        e = k @ self.Q
        total = self.kernel.value(Xs) - k @ e.T + e @ self.covariance @ e.T
        return 0.5 * (total + total.T)


def _prior(kernel: Kernel, Z: Array) -> Array:
    """K(Z, Z), each point with a nugget of its own."""
    K = kernel.value(Z)
    np.fill_diagonal(K, (1.0 + NUGGET) * kernel.diag(Z))
    return K


class _Work:
    """Arrays of a state with room for n more points (budget + 1 at most), changed in place."""

    def __init__(self, owner: OnlineGP, n: int = 0):
        self.owner, self.Z, self.size = owner, owner.Z, owner.Z.shape[0]
        self.n_rows, self.log_evidence = owner.n_rows, owner.log_evidence
        b, p = self.size, owner.mean.shape[1]
        room = max(b, min(b + n, owner.rules.budget + 1))
        self.mean, self.alpha = np.empty((2, room, p))
        self.S, self.Q = np.empty((2, room, room))
        self.spread = np.empty(room)
        self.mean[:b], self.alpha[:b], self.spread[:b] = owner.mean, owner.alpha, owner.spread
        self.S[:b, :b], self.Q[:b, :b] = owner.covariance, owner.Q

    def state(self) -> OnlineGP:
        b = self.size
        return replace(
            self.owner, Z=self.Z, mean=self.mean[:b].copy(), covariance=self.S[:b, :b].copy(),
            Q=self.Q[:b, :b].copy(), alpha=self.alpha[:b].copy(), spread=self.spread[:b].copy(),
            n_rows=self.n_rows, log_evidence=self.log_evidence,
        )  # fmt: skip

    def add(self, X: Array, y: Array, w: Array, v: Array) -> Prediction:
        """Add one block of rows, stopping where Q is recomputed or the past fades."""
        kernel, likelihood, rules = self.owner.kernel, self.owner.likelihood, self.owner.rules
        n, every = X.shape[0], rules.forget_every
        points = np.vstack([self.Z, X])
        K = np.hstack([kernel.value(X, self.Z), kernel.value(X)])  # K(X, points)
        column = np.full(self.S.shape[0], -1)  # of K, for each point of the basis
        column[: self.size] = np.arange(self.size)
        prior = (1.0 + NUGGET) * kernel.diag(X)
        parameter = np.full(n, likelihood.parameter)
        if likelihood.code == GAUSSIAN:
            least = np.maximum(TUNING.least_noise * prior, 1e-150)
            parameter = (np.maximum(parameter, least) + v) / w
        assert likelihood.code is not None  # see `start`
        rows = RowBlock(K, prior, y, parameter, likelihood.code, self.owner.shift)
        basis = Basis(column, self.mean, self.S, self.Q, self.alpha, self.spread)
        limits = LoopLimits(rules.budget, rules.novelty, rules.removal == "posterior")
        expected = Expected(np.empty(y.shape), np.empty(n), np.empty(y.shape))
        at = 0
        while at < n:
            stop = min(n, at + rules.refresh_every - self.n_rows % rules.refresh_every)
            if every:
                stop = min(stop, at + every - self.n_rows % every)
                if self.n_rows and self.n_rows % every == 0:
                    self.fade(rules.forgetting**every)
            self.size = absorb(rows, basis, limits, expected, at, stop, self.size)
            self.n_rows, at = self.n_rows + stop - at, stop
            self.Z = points[column[: self.size]]
            if self.n_rows % rules.refresh_every == 0:
                self.refresh()
        if likelihood.code == GAUSSIAN:  # w equal rows: noise (σ² + e)/w, none between them
            scatter = (w - 1.0) * (LOG_2PI + np.log(parameter * w)) + np.log(w)
            expected.log_z[:] -= 0.5 * scatter[:, None]
        self.log_evidence = self.log_evidence + expected.log_z.sum(axis=0)
        return Prediction(expected.mean, expected.variance)

    def refresh(self) -> None:
        """Recompute Q, α and the diagonal of QSQ without the rounding of their updates."""
        b = self.size
        L = self._root(_prior(self.owner.kernel, self.Z))
        self.Q[:b, :b] = linalg.mirror(linalg.inverse_posdef(L))
        self._moments(self.mean[:b], self._root(self.S[:b, :b]))

    def fade(self, power: float) -> None:
        """S⁻¹ = Q + Λ becomes Q + λΛ, its shift h = S⁻¹μ becomes λh.

        With S = LLᵀ and M = (1 − λ)LᵀQL + λI: S ← LM⁻¹Lᵀ, μ ← λLM⁻¹L⁻¹μ.
        """
        b = self.size
        L = self._root(self.S[:b, :b])
        M = (1.0 - power) * (L.T @ self.Q[:b, :b] @ L)
        linalg.add_diagonal(M, power)
        LM, _ = linalg.cholesky(M, 1.0, overwrite=True)
        mean = power * (L @ linalg.solve_posdef(LM, linalg.solve_lower(L, self.mean[:b])))
        self._moments(mean, linalg.solve_lower(LM, L.T).T)

    def change_prior(self, old: Array, power: float) -> None:
        """S⁻¹ = K⁻¹ + Λ becomes K₊⁻¹ + pΛ, its shift h = S⁻¹μ becomes ph; K is the old prior.

        With S = LLᵀ: M = LᵀK₊⁻¹L + p(I − LᵀK⁻¹L), S ← LM⁻¹Lᵀ, μ ← pLM⁻¹L⁻¹μ.
        """
        b = self.size
        if b == 0:
            return
        L, new = self._root(self.S[:b, :b]), self._root(_prior(self.owner.kernel, self.Z))
        A, B = linalg.solve_lower(self._root(old), L), linalg.solve_lower(new, L)
        told, directions = np.linalg.eigh(np.eye(b) - A.T @ A)  # of LᵀΛL, which are not negative
        N = (directions * np.maximum(told, 0.0)) @ directions.T
        M = B.T @ B + power * N
        LM, _ = linalg.cholesky(M, float(M.diagonal().max()), overwrite=True)
        mean = power * (L @ linalg.solve_posdef(LM, linalg.solve_lower(L, self.mean[:b])))
        self.Q[:b, :b] = linalg.mirror(linalg.inverse_posdef(new))
        self._moments(mean, linalg.solve_lower(LM, L.T).T)

    def _root(self, A: Array) -> Array:
        """Lower L, LLᵀ = A, factorised in units of each point's prior deviation."""
        sd = np.sqrt(self.owner.kernel.diag(self.Z))
        L, _ = linalg.cholesky(A / sd[:, None] / sd, 1.0, overwrite=True)
        return sd[:, None] * L

    def _moments(self, mean: Array, root: Array) -> None:
        """Set μ, S = root·rootᵀ, and what follows from them."""
        b = self.size
        Q = self.Q[:b, :b]
        self.mean[:b], self.S[:b, :b], self.alpha[:b] = mean, linalg.gram(root), Q @ mean
        self.spread[:b] = ((Q @ root) ** 2).sum(axis=1)
