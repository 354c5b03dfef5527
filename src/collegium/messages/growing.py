"""Change the basis of a sum of messages: append anchors, drop some, change the kernel.

Whitened coordinates are v = L⁻¹u, LLᵀ = K(Z, Z). With anchors Z₊ appended after the old ones,

    L₊ = [L 0; B D]        B = K(Z₊, Z)L⁻ᵀ        DDᵀ = K(Z₊, Z₊) − BBᵀ

so the first coordinates of v do not change, and a message about v, padded with zeros, is one about
v₊: exact, without any row. Dropping an anchor marginalises its value: the belief about the others
stays, the information of rows between them is projected onto them (Csató & Opper 2002). Under
another kernel the messages about u = f(Z), computed under the old kernel, are kept. The last two
are approximations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..kernels import Kernel
from ..numerics import linalg
from .basis import Anchors
from .message import Message, normalise

Array = np.ndarray


def appended(basis: Anchors, Z: Array) -> Anchors:
    """Append anchors Z (k, d) to a basis; the old part of its factor keeps every bit."""
    if not basis.m:
        return Anchors.at(basis.kernel, Z)
    m, k = basis.m, Z.shape[0]
    B = basis.design(Z).T
    rest = linalg.subtract_gram(basis.kernel.value(Z), B)
    B[:, : basis.first] = 0.0  # values at anchors are those without the trend
    D, jitter = linalg.cholesky(rest, basis.scale(Z), overwrite=True)
    L = np.zeros((m + k, m + k))
    L[:m, :m], L[m:, :m], L[m:, m:] = basis.factor, B, np.tril(D)
    return Anchors(basis.kernel, np.vstack([basis.Z, Z]), L, max(basis.jitter, jitter))


def badly_seen(basis: Anchors, X: Array, least: float, most: int, spare: int = 0) -> Array:
    """Choose rows of X as further anchors, by pivoted Cholesky factorisation of K(X, X) − VᵀV,
    until var[f(x) | v] is above `least` at no more than `spare` rows; at most `most` positions."""
    V = basis.design(X)
    left = basis.residual_diag(X, V)
    G, steps = np.empty((0, X.shape[0])), list[int]()
    while len(steps) < most and np.count_nonzero(left > least) > spare:
        i = int(np.argmax(left))
        row = basis.kernel.value(X, X[i : i + 1])[:, 0] - V.T @ V[:, i] - G.T @ G[:, i]
        row /= np.sqrt(left[i])
        G = np.vstack([G, row])
        left = np.maximum(left - row**2, 0.0)
        left[i] = 0.0
        steps.append(i)
    return np.array(steps, dtype=int)


def dropped(basis: Anchors, totals: Sequence[Message], keep: int) -> tuple[Anchors, list[Message]]:
    """Marginalise all but `keep` anchors; each of `totals` is the prior and some messages.

    The anchor with the smallest αᵢ²/(QSQ)ᵢᵢ, Q = K(Z, Z)⁻¹, α = Qμ, S the covariance of u, summed
    over totals, is dropped first: this is the change of the mean without it, in units of its
    spread.
    """
    beliefs = [normalise(total) for total in totals]
    roots = [linalg.solve_lower(one.factor, basis.factor.T).T for one in beliefs]  # S = RRᵀ
    stay = _most_informative(basis, [one.mean for one in beliefs], roots, keep)
    return marginal(basis, totals, np.sort(stay[basis.first :]) - basis.first)


def marginal(
    basis: Anchors, totals: Sequence[Message], stay: Array
) -> tuple[Anchors, list[Message]]:
    """Marginalise all anchors but those at the positions `stay`; `totals` as in `dropped`.

    Return the remaining basis and the messages alone, with the same evidence.
    """
    small, found = Anchors.at(basis.kernel, basis.Z[stay]), []
    stay = np.concatenate([np.arange(basis.first), basis.first + stay])
    for belief in map(normalise, totals):
        root = linalg.solve_lower(belief.factor, basis.factor.T).T[stay]
        C, _ = linalg.cholesky(linalg.gram(linalg.solve_lower(small.factor, root)), 1.0)
        precision = linalg.mirror(linalg.inverse_posdef(C))
        mean = linalg.solve_lower(small.factor, (basis.factor @ belief.mean)[stay])
        shift = precision @ mean
        scale = belief.log_evidence - 0.5 * (shift * mean).sum(axis=0) - 0.5 * linalg.log_det(C)
        found.append(Message(precision - np.eye(stay.size), shift, scale))
    return small, found


def _most_informative(
    basis: Anchors, means: Sequence[Array], roots: Sequence[Array], keep: int
) -> Array:
    """Positions of the coordinates to keep, those of a trend first."""
    inverse = linalg.solve_lower(basis.factor, np.eye(basis.m))
    Q = inverse.T @ inverse
    alphas = [inverse.T @ mean for mean in means]
    Ps = [(Q @ root) @ (Q @ root).T for root in roots]
    stay = np.arange(basis.m)
    while stay.size > keep:
        scores = [
            (alpha**2).sum(axis=1) / np.maximum(P.diagonal(), 1e-12 * Q.diagonal())
            for alpha, P in zip(alphas, Ps)
        ]
        i = basis.first + int(np.argmin(np.sum(scores, axis=0)[basis.first :]))
        a, rest = Q[:, i] / Q[i, i], np.arange(stay.size) != i
        own = np.ix_(rest, rest)
        Ps = [
            (P - np.outer(a, P[i]) - np.outer(P[i], a) + P[i, i] * np.outer(a, a))[own] for P in Ps
        ]
        Q = (Q - np.outer(a, Q[i]))[own]
        alphas = [(alpha - np.outer(a, alpha[i]))[rest] for alpha in alphas]
        stay = stay[rest]
    return stay


def spread_out(basis: Anchors, most: int) -> Array:
    """Choose at most `most` anchors, one by one, that best determine the others; positions."""
    nothing = Anchors.at(basis.kernel, basis.Z[:0])
    return np.sort(badly_seen(nothing, basis.Z, 0.0, most))


def carried(
    message: Message, old: Anchors, kernel: Kernel, power: float
) -> tuple[Anchors, Message]:
    """Raise the message about u = f(Z) to a power, in the coordinates of another kernel.

    v = Tv₊ with T = L⁻¹L₊, so Λ₊ = TᵀΛT and h₊ = Tᵀh.
    """
    new = Anchors.at(kernel, old.Z)
    T = linalg.solve_lower(old.factor, new.factor)
    precision = T.T @ message.precision @ T
    return new, power * Message(
        0.5 * (precision + precision.T), T.T @ message.shift, message.log_scale
    )
