"""Merge the experts of several streams: each sends what it learnt as a message; messages add.

The message of an expert is its natural parameters minus those of the prior: S⁻¹ − S0⁻¹,
S⁻¹μ − S0⁻¹μ0, and a − a0, b − b0, c − c0, d − d0. Each stream weighs its rows by its own h and σ²,
so the sum is not exactly what one stream of all rows would give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..numerics import linalg
from ..rows.partition import first_of_equals
from .committee import LocalCommittee
from .experts import Assumptions, Experts, factored

Array = np.ndarray


def merged_committees(
    committees: Sequence[LocalCommittee], common: LocalCommittee | None
) -> LocalCommittee:
    """Merge experts with the same centre; `common`, the start of all streams, counts once."""
    first = committees[0]
    parts = [(committee.experts, 1.0) for committee in committees]
    if common is not None:
        if first.rules.forgetting < 1.0:
            raise ValueError(
                "common cannot be taken out of models with forgetting < 1, which have forgotten "
                "some of it: merge models that began apart, with the same width and centres"
            )
        parts.append((common.experts, -1.0))
    for committee in [*committees[1:], *([] if common is None else [common])]:
        if not _same(first.assumed, committee.assumed):
            raise ValueError(
                "experts of these models have different widths or priors: begin them as copies "
                "of one model that has settled (copy.deepcopy after some rows), or give width"
            )
    experts = _merged(parts, first.assumed)
    experts = experts.with_room(max(first.rules.max_experts, experts.size))
    rows = np.array([max(committee.scale[1], 1.0) for committee in committees])
    scale = first.scale.copy()
    scale[0] = rows @ [committee.scale[0] for committee in committees] / rows.sum()
    scale[1] = rows.sum()
    past = max(committee.past for committee in committees)
    return replace(first, experts=experts, scale=scale, past=past)


def _same(one: Assumptions, other: Assumptions) -> bool:
    numbers = ("unit", "local", "slope_variance", "level_variance", "a0", "b0", "c0", "d0")
    return all(getattr(one, name) == getattr(other, name) for name in numbers) and np.array_equal(
        one.slope, other.slope
    )


def _merged(parts: list[tuple[Experts, float]], assumed: Assumptions) -> Experts:
    """Σ sign · message; an expert of one stream alone is kept as it is."""
    every = np.concatenate([experts.centres[: experts.size] for experts, sign in parts if sign > 0])
    index, _ = first_of_equals(every)
    found = Experts.at(every[np.sort(index)], assumed)
    variance = assumed.prior_variance()
    where = {centre.tobytes(): k for k, centre in enumerate(found.centres)}
    D = variance.size
    precision = np.zeros((found.size, D, D))
    shift = np.zeros((found.size, D))
    known = np.zeros(found.size, dtype=bool)
    holders = np.zeros(found.size)
    for experts, part in parts:
        S = experts.covariance()
        for j in range(experts.size):
            k = where.get(experts.centres[j].tobytes())
            if k is None:  # pruned in every stream
                continue
            holders[k] += part > 0
            sign = 1.0 if part > 0 else 1.0 - holders[k]  # `common` comes last, and counts once
            if not known[k]:
                found.start[k], known[k] = experts.start[j], True
            inverse = _inverse(S[j], variance)
            Lambda = inverse - np.diag(1.0 / variance)
            precision[k] += sign * Lambda
            # the message about β − μ0, μ0 that of the first stream
            own = experts.start[j] - found.start[k]
            shift[k] += sign * (inverse @ (experts.mu[j] - experts.start[j]) + Lambda @ own)
            found.a[k] += sign * (experts.a[j] - assumed.a0)
            found.b[k] += sign * (experts.b[j] - assumed.b0)
            found.c[k] += sign * (experts.c[j] - assumed.c0)
            found.d[k] += sign * (experts.d[j] - assumed.d0)
            found.seen[k] += sign * experts.seen[j]
            if part > 0:
                found.times[k] = np.maximum(found.times[k], experts.times[j])
    _bounded(found, assumed)
    for k in range(found.size):
        root, mean = _posterior(precision[k], shift[k], variance)
        found.mu[k] = found.start[k] + mean
        found.factor[k] = factored(root) if assumed.local else (root**2).sum(axis=1)[None]
    return found


def _bounded(experts: Experts, assumed: Assumptions) -> None:
    """Bound a and c by the prior's and keep b and d positive.

    Differences may fall below by rounding or pruning.
    """
    np.maximum(experts.a, assumed.a0, out=experts.a)
    np.maximum(experts.c, assumed.c0, out=experts.c)
    np.maximum(experts.b, 1e-9 * assumed.b0 * experts.a, out=experts.b)
    np.maximum(experts.d, 1e-9 * assumed.d0 * experts.c, out=experts.d)
    np.maximum(experts.seen, 0.0, out=experts.seen)


def _inverse(S: Array, variance: Array) -> Array:
    """S⁻¹, where S ≤ S0 = diag(variance)."""
    sd = np.sqrt(variance)
    L, _ = linalg.cholesky(S / np.outer(sd, sd), 1.0, nugget=1e-14)
    return linalg.solve_posdef(L, np.diag(1.0 / sd)) / sd[:, None]


def _posterior(precision: Array, shift: Array, variance: Array) -> tuple[Array, Array]:
    """Upper R with RRᵀ = (precision + S0⁻¹)⁻¹, and RRᵀ·shift."""
    sd = np.sqrt(variance)
    whitened = np.eye(sd.size) + precision * np.outer(sd, sd)
    L, _ = linalg.cholesky(0.5 * (whitened + whitened.T), float(np.trace(whitened)))
    root = sd[:, None] * linalg.solve_lower(L, np.eye(sd.size)).T
    return root, root @ (root.T @ shift)
