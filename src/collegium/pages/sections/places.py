"""Where to measure next: points within the data's box where the function is known least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...diagnostics.numbers import digits
from ...tables.reading import DATE
from ..markup import Safe, element, paragraph, put_together, table
from ..material import Material

Array = np.ndarray
#: Places that are named.
NAMED = 5
#: Seconds of a day.
DAY = 86_400.0
#: Columns of a place that are shown.
COLUMNS = 8


@dataclass(frozen=True)
class NextPlace:
    """A point where little is known."""

    words: str
    values: tuple[str, ...]  # of the columns that matter most
    prediction: float
    sd: float


def find_places(material: Material) -> tuple[list[NextPlace], float]:
    """Points of largest standard deviation, each given those before it; and the sd at the rows."""
    asked, rng = material.asked, np.random.default_rng(material.seed)
    most = material.budget.compared
    typical = float(np.median(asked.moments(_some(material.X, rng, most))[1]))
    X = place_candidates(material, rng, material.budget.candidates)
    mean, sd = asked.moments(X)
    first = np.argsort(-sd, kind="stable")[:most]
    chosen = first[greedy(asked.joint(X[first]), sd[first], X[first])]
    shown = material.by_importance[:COLUMNS]
    places = []
    for i in chosen:
        values = tuple(material.cell(j, i, X) for j in shown)
        near = [f"{material.names[j]} = {value}" for j, value in zip(shown[:3], values)]
        places.append(NextPlace(", ".join(near), values, float(mean[i]), float(sd[i])))
    return places, typical


def place_candidates(material: Material, rng: np.random.Generator, n: int) -> Array:
    """Points of the box of one or two columns of numbers; else rows, and points halfway between
    two of them, which stay among what occurs together  (n, d)."""
    X, columns = material.X, material.numeric
    if X.shape[1] <= 2 and len(columns) == X.shape[1]:
        low, high = X.min(axis=0), X.max(axis=0)
        return low + rng.uniform(size=(n, X.shape[1])) * (high - low)
    rows = _some(X, rng, n // 2)
    other = rows[rng.permutation(len(rows))]
    between = rows.copy()
    between[:, columns] = 0.5 * (rows[:, columns] + other[:, columns])
    for j in columns:
        own = material.asked.columns[j]
        start, unit = (own.origin, DAY) if own.kind == DATE else (0.0, 1.0)
        steps = (X[:, j] + start) / unit
        if (steps == np.round(steps)).all():  # whole numbers, or days
            between[:, j] = np.round((between[:, j] + start) / unit) * unit - start
    return np.concatenate([rows, between])


def greedy(C: Array | None, sd: Array, X: Array) -> Array:
    """Pick points one by one by their variance given those before: pivots of Cholesky's C = LLᵀ.

    Without covariances the point is taken that is furthest in variance times squared distance.
    """
    if C is None:
        spread = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
        left, picks = sd**2, []
        for _ in range(min(NAMED, len(sd))):
            picks.append(int(np.argmax(left)))
            distance = (((X - X[picks[-1]]) / spread) ** 2).mean(axis=1)
            left = left * np.minimum(distance, 1.0)
        return np.array(picks)
    left, picks = C.diagonal().copy(), list[int]()
    factors = list[Array]()
    for _ in range(min(NAMED, len(left))):
        k = int(np.argmax(left))
        if left[k] <= 1e-9 * C.diagonal().max():
            break
        column = C[:, k] - sum(one * one[k] for one in factors)
        factors.append(column / np.sqrt(left[k]))
        left = left - factors[-1] ** 2
        left[k] = 0.0
        picks.append(k)
    return np.array(picks, dtype=int)


def _some(X: Array, rng: np.random.Generator, n: int) -> Array:
    return X if len(X) <= n else X[np.sort(rng.choice(len(X), n, replace=False))]


def places_section(material: Material, found: tuple[list[NextPlace], float]) -> Safe:
    places, typical = found
    if not places:
        return paragraph("The function is known everywhere.")
    own = material.by_importance[:COLUMNS]
    heads: list[Any] = ["place", *(material.names[j] for j in own), "#prediction", "#± sd"]
    rows = [
        [str(k + 1), *one.values, digits(one.prediction), digits(one.sd)]
        for k, one in enumerate(places)
    ]
    dense = material.X.shape[1] <= 2
    where = "within the range of the data" if dense else "among the rows and halfway between them"
    words = (
        f"A new row would tell most where the function itself, without noise, is known least: the "
        f"points {where} with the largest standard deviation, each chosen with those above it in "
        f"mind. At half of the rows that deviation is below {digits(typical)}."
    )
    caption = f"Where to measure next (of the {material.asked.words})"
    return put_together([paragraph(words), element("div", table(caption, heads, rows))])
