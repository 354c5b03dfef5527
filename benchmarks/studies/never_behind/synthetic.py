"""Made tables on which a method should not lose: each is a function of a seed alone.

A table is (X, y); X is an array, or a frame where it has words. Priors are drawn with kernels
written out here, so that tables do not change with the library.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

Array = np.ndarray
#: An array or a frame, and y.
Table = tuple[Any, Array]


def null_noise(seed: int) -> Table:
    """Nothing to learn: 4,000 rows of six columns, and y is standard normal."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(4_000, 6)), rng.normal(size=4_000)


def null_smooth(seed: int) -> Table:
    """A smooth additive function of four columns of six, with constant normal noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (4_000, 6))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + 0.5 * np.cos(3.0 * X[:, 2]) - 0.7 * X[:, 3]
    return X, f + 0.3 * rng.normal(size=4_000)


@dataclass(frozen=True)
class Prior:
    """A Gaussian process of variance one with a length scale per column, and normal noise."""

    family: str
    lengths: tuple[float, ...]
    noise: float
    rows: int = 3_000

    def draw(self, seed: int) -> Table:
        """Draw exactly, by a factor of the covariance."""
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1.0, 1.0, (self.rows, len(self.lengths)))
        K = FAMILIES[self.family](_distances(X / np.asarray(self.lengths)))
        K.flat[:: self.rows + 1] += 1e-8
        f = np.linalg.cholesky(K) @ rng.normal(size=self.rows)
        return X, f + self.noise * rng.normal(size=self.rows)


def _distances(X: Array) -> Array:
    square = (X * X).sum(axis=1)
    return np.sqrt(np.maximum(square[:, None] + square - 2.0 * X @ X.T, 0.0))


#: Correlations by scaled distance.
FAMILIES: dict[str, Callable[[Array], Array]] = {
    "exponential": lambda r: np.exp(-r),
    "Matérn 3/2": lambda r: (1.0 + np.sqrt(3.0) * r) * np.exp(-np.sqrt(3.0) * r),
    "Matérn 5/2": lambda r: (
        (1.0 + np.sqrt(5.0) * r + 5.0 / 3.0 * r * r) * np.exp(-np.sqrt(5.0) * r)
    ),
    "RBF": lambda r: np.exp(-0.5 * r * r),
}
PRIORS = (
    Prior("Matérn 3/2", (0.5, 0.5), 0.3),
    Prior("RBF", (0.6, 0.6, 0.6), 0.1),
    Prior("exponential", (1.5, 1.5, 1.5, 1.5), 0.2),
    Prior("Matérn 5/2", (0.7, 1.0, 1.5, 2.5, 5.0), 0.3),
    Prior("RBF", (0.8, 0.8, 1.5, 1.5, 20.0, 20.0), 1.0),
    Prior("Matérn 3/2", (0.3, 1.5), 0.001),
)


def leaky_duplicates(seed: int) -> Table:
    """3,000 noisy rows, of which a third appear twice or more often with the same y."""
    X, y = null_smooth(seed)
    keep = np.arange(3_000)
    copies = np.random.default_rng([seed, 1]).choice(keep[:1_000], 1_500)
    rows = np.concatenate([keep, copies])
    return X[rows], y[rows]


def ids(seed: int) -> Table:
    """A column of unique whole numbers beside three that matter."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.permutation(5_000), rng.normal(size=(5_000, 3))])
    f = np.sin(2.0 * X[:, 1]) + X[:, 2] * X[:, 3]
    return X, f + 0.3 * rng.normal(size=5_000)


def heavy(seed: int) -> Table:
    """Errors of a Student t with two degrees of freedom: no variance."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (5_000, 4))
    f = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    return X, f + 0.3 * rng.standard_t(2.0, 5_000)


def ties(seed: int) -> Table:
    """Round y to eleven values."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (5_000, 4))
    f = 5.0 + 3.0 * np.sin(2.0 * X[:, 0]) + 2.0 * X[:, 1] * X[:, 2]
    return X, np.clip(np.round(f + 0.7 * rng.normal(size=5_000)), 0.0, 10.0)


def survey(seed: int, codes: bool = False) -> Table:
    """20 ratings from 0 to 5, four columns of words, 23,000 rows; y is content (1) or not (0)."""
    rng, n = np.random.default_rng(seed), 23_000
    content = rng.normal(size=(n, 3))  # what answers have in common
    loads = rng.uniform(0.0, 1.0, (3, 20)) * (rng.random((3, 20)) < 0.5)
    ratings = np.clip(np.round(3.0 + content @ loads + 0.8 * rng.normal(size=(n, 20))), 0, 5)
    X = pd.DataFrame({f"rating {k}": ratings[:, k] for k in range(20)})
    shares = {"sex": (2, 0.1), "purpose": (3, 0.8), "class": (3, 1.0), "town": (40, 0.5)}
    effect = np.zeros(n)
    for name, (levels, size) in shares.items():
        own = rng.integers(0, levels, n)
        effect += size * rng.normal(size=levels)[own]
        words = np.char.add(f"{name} ", own.astype(str))
        X[name] = own.astype(float) if codes else words
    low = ratings.min(axis=1) < 1.0
    score = 1.5 * (ratings[:, :6].mean(axis=1) - 3.0) - 1.0 * low + effect
    score += 0.5 * (ratings[:, 6] > 3.0) * (ratings[:, 7] - 3.0)
    return X, (rng.random(n) < expit(2.0 * score)).astype(float)


def lognormal_prices(seed: int) -> Table:
    """Used cars: makes and models as words, missing values, a lognormal price."""
    rng, n = np.random.default_rng(seed), 12_000
    model = rng.zipf(1.3, 4 * n) - 1
    model = model[model < 200][:n]
    make, age = model % 30, rng.gamma(2.0, 3.0, n)
    distance = age * rng.lognormal(2.5, 0.5, n)
    fuel, power = rng.choice(["petrol", "diesel", "electric"], n), rng.lognormal(4.7, 0.4, n)
    log_price = (
        9.0 + 0.6 * rng.normal(size=30)[make] + 0.3 * rng.normal(size=200)[model] - 0.12 * age
        - 0.003 * distance + 0.6 * np.log(power / 110.0) + 0.3 * (fuel == "electric")
    )  # fmt: skip
    X = pd.DataFrame({
        "make": np.char.add("make ", make.astype(str)),
        "model": np.char.add("model ", model.astype(str)), "fuel": fuel, "age": age.round(1),
        "distance": distance.round(), "power": power.round(), "doors": rng.integers(2, 6, n),
    })  # fmt: skip
    for name in ("distance", "power", "fuel"):
        X.loc[rng.random(n) < 0.1, name] = None
    scale = 0.15 + 0.02 * age  # older cars vary more
    return X, np.exp(log_price + scale * rng.normal(size=n)).round(-1)


TABLES: dict[str, Callable[[int], Table]] = {
    "null_noise": null_noise,
    "null_smooth": null_smooth,
    **{f"prior_{k}": prior.draw for k, prior in enumerate(PRIORS, 1)},
    "leaky_duplicates": leaky_duplicates,
    "ids": ids,
    "heavy": heavy,
    "ties": ties,
    "survey": survey,
    "survey_codes": partial(survey, codes=True),
    "lognormal_prices": lognormal_prices,
}
