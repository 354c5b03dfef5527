"""Explanations of single predictions: contributions, their errors, and parts of the error bar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..tables.reading import LEVELS
from .asking import AskedModel, plain_values
from .explanation import Explanation, NearestRows
from .products import KernelSums
from .shapley import MixedPoints, Orders, all_coalitions, by_coalitions, by_orders, distinct_points
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Question:
    """Hold what is to be explained, and what helps."""

    asked: AskedModel  # the prediction, with the error bar of an observation
    function: AskedModel  # the same of the function: its errors are those of the posterior
    X: Array  # rows to explain, as the model sees them  (n, D)
    background: Array  # (B, D)
    reach: tuple[Array, Array]  # the box of the rows that the model has learnt from  (D,), (D,)
    sums: KernelSums | None = None  # the prediction as a sum of kernels, where it is one
    places: Any = None  # X -> where the kernels of `sums` see it
    nearest: NearestRows | None = None


def explain_rows(
    q: Question, n_orders: int, *, error: bool, rng: np.random.Generator
) -> Explanation:
    """Explain predictions, by the quickest exact way there is, or else by random orders."""
    f, groups = q.asked.mean, q.asked.groups
    prediction, start = f(q.X), f(q.background)
    base = float(start.mean())
    found = exact_sums(q, prediction - base, float(np.abs(start - base).max(initial=0.0)))
    sampling = np.zeros((len(q.X), len(groups)))
    if found is not None:
        values, method = found, "exact, by factors of the kernel"
    elif 2 ** len(groups) <= TUNING.coalitions:
        values = by_coalitions(f, q.X, q.background, groups, TUNING.points_at_once)
        method = "exact, by all coalitions"
    else:
        orders = Orders.drawn(len(groups), len(q.background), n_orders, rng)
        values, sampling = by_orders(f, q.X, q.background, groups, orders, TUNING.points_at_once)
        method = f"{orders.donor.size} random orders"
    values = adding_up(values, prediction - base)
    errors, words = posterior_errors(q, rng) if error else (np.full(values.shape, np.nan), "none")
    sd, shares = parts_of_bar(q)
    columns = range(len(groups))
    data = np.empty(values.shape, dtype=object)
    for j in columns:
        data[:, j] = plain_values(q.asked.values(j, q.X))
    return Explanation(
        q.asked.names, data, base, values, prediction, errors, sampling, sd, shares, q.nearest,
        f"contributions {method}, over {len(q.background)} background rows; errors: {words}",
        q.asked.words,
    )  # fmt: skip


def exact_sums(q: Question, total: Array, spread: float) -> Array | None:
    """Contributions by factors of the kernel; None where that is not the prediction."""
    if q.sums is None:
        return None
    found = q.sums.contributions(q.places(q.X), q.places(q.background), q.asked.groups)
    if found is None:
        return None
    scale = max(spread, float(np.abs(total).max(initial=0.0)), 1e-300)
    wrong = np.abs(found.sum(axis=1) - total).max(initial=0.0)
    return found if wrong <= TUNING.rounding * scale else None


def adding_up(values: Array, total: Array) -> Array:
    """Contributions that add up: what rounding left is shared out by their size."""
    rest = total - values.sum(axis=1)
    size = np.abs(values)
    whole = size.sum(axis=1, keepdims=True)
    share = np.divide(size, whole, out=np.zeros_like(size), where=whole > 0.0)
    return values + share * rest[:, None]


# -- errors -----------------------------------------------------------------------------------


def posterior_errors(q: Question, rng: np.random.Generator) -> tuple[Array, str]:
    """√diag(A C Aᵀ): standard deviations of contributions, which are linear in f  (n, d).

    C is the posterior covariance at the points that contributions are made of. Where these are
    too many, a smaller background takes the place of the whole; an average over fewer rows is
    known less well, so that errors are rather too large than too small.
    """
    design, background, words = small_design(q, rng)
    found = np.empty((len(q.X), len(q.asked.groups)))
    by_sds = False
    for i, x in enumerate(q.X):
        points, A = distinct_points(design, design.points(x, background, q.asked.groups))
        C = q.function.joint(points)
        if C is None:
            found[i], by_sds = np.abs(A) @ q.function.moments(points)[1], True
        else:
            found[i] = np.sqrt(np.maximum(np.einsum("js,js->j", A @ C, A), 0.0))
    return found, "bounds, as the model has no covariances" if by_sds else words


def small_design(q: Question, rng: np.random.Generator) -> tuple[MixedPoints, Array, str]:
    """The points of contributions, few enough for a covariance, and the background for them."""
    d, B = len(q.asked.groups), len(q.background)
    every = 2**d <= TUNING.coalitions
    per_row = 2**d if every else 2 * d
    n = int(np.clip(TUNING.joint_points // per_row, 1, B))
    some = q.background[np.sort(rng.choice(B, n, replace=False))]
    design = all_coalitions(d, n) if every else Orders.drawn(d, n, 1, rng).design()
    if every and n == B:
        return design, some, "exact, by the posterior covariance"
    return design, some, f"by the posterior covariance, over {n} background rows"


def parts_of_bar(q: Question) -> tuple[Array, Array]:
    """Standard deviations of predictions, and shares of their variance: noise, lack of rows,
    extrapolation  (n,), (n, 3).

    Extrapolation is by how much the function is known less well than at the nearest place within
    the ranges of the rows that the model has learnt from; lack of rows is the rest of what is not
    known about the function; noise would be there even if that were known.
    """
    sd = q.asked.moments(q.X)[1]
    scale = np.where((sd > 0.0) & np.isfinite(sd), sd, 1.0)  # squares of sd may leave the range
    of_function = (np.minimum(q.function.moments(q.X)[1], sd) / scale) ** 2
    inside = q.X.copy()
    for j, own in enumerate(q.asked.groups):
        if q.asked.columns[j].kind != LEVELS:
            inside[:, own[0]] = np.clip(q.X[:, own[0]], q.reach[0][own[0]], q.reach[1][own[0]])
    there = of_function.copy()
    moved = (inside != q.X).any(axis=1)
    if moved.any():
        nearest = (q.function.moments(inside[moved])[1] / scale[moved]) ** 2
        there[moved] = np.minimum(nearest, of_function[moved])
    shares = np.stack([1.0 - of_function, there, of_function - there], axis=1)
    shares[sd == 0.0] = [0.0, 1.0, 0.0]
    shares[np.isinf(sd)] = [1.0, 0.0, 0.0]
    return sd, shares
