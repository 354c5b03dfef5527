"""The record of explained predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray
#: Parts of an error bar.
PARTS = ("noise", "lack of rows", "extrapolation")


@dataclass(frozen=True, eq=False)
class NearestRows:
    """Rows of the model that moved each prediction most, the strongest first.

    The weight of a row is how much the prediction changes with its y; it moved the prediction by
    this times what its y had to say beyond the anchors.
    """

    data: Array  # values of the rows, in the user's terms  (n, k, d)
    y: Array  # (n, k)
    weight: Array  # (n, k)
    moved: Array  # in the units of y  (n, k)


@dataclass(frozen=True, eq=False)
class Explanation:
    """Predictions as sums: base + values.sum(axis=1) = prediction, to rounding.

    `base` is the mean prediction of the background rows, and values are Shapley values over them.
    """

    columns: tuple[str, ...]  # of the user's table  (d,)
    data: Array  # the values that are explained, None: missing  (n, d)
    base: float
    values: Array  # contributions  (n, d)
    prediction: Array  # (n,)
    error: Array  # standard deviations of the contributions by the posterior  (n, d)
    sampling: Array  # standard errors by random orders of the columns; zero: exact  (n, d)
    sd: Array  # error bars of the predictions  (n,)
    shares: Array  # of the variance: noise, lack of rows, extrapolation; rows add up to one  (n, 3)
    nearest: NearestRows | None  # None: the model has no rows, or none that count alone
    method: str  # how contributions and their errors were found, in words
    words: str = "prediction"  # what is explained

    def __len__(self) -> int:
        return self.prediction.size

    def __repr__(self) -> str:
        n, d = self.values.shape
        return f"Explanation({n} row{'s' * (n != 1)}, {d} column{'s' * (d != 1)}; {self.method})"

    def text(self, row: int = 0, most: int = 10) -> str:
        """Say in lines what made one prediction, the largest contributions first.

        Parameters
        ----------
        row : int, default=0
        most : int, default=10
            Columns that are named; the others are one line together.

        Returns
        -------
        text : str
        """
        names, values, errors = largest(self, row, most)
        width = max(map(len, [*names, self.words, "error bar"]))
        lines = [f"{self.words:<{width}}  {self.prediction[row]:.4g}"]
        lines += [f"{'base':<{width}}  {self.base:.4g}"]
        each = zip(names, values, errors)
        lines += [f"{name:<{width}}  {value:+.4g} ± {error:.2g}" for name, value, error in each]
        parts = ", ".join(f"{part} {share:.0%}" for part, share in zip(PARTS, self.shares[row]))
        lines += [f"{'error bar':<{width}}  sd {self.sd[row]:.2g}: {parts}"]
        return "\n".join(lines)


def largest(found: Explanation, row: int, most: int) -> tuple[list[str], Array, Array]:
    """Labels, contributions and errors of the columns that count most in one row; the others
    together come last. Errors include those of sampling."""
    values, error = found.values[row], np.hypot(found.error[row], found.sampling[row])
    order = np.argsort(-np.abs(values), kind="stable")
    first, rest = (order, order[:0]) if order.size <= most else np.split(order, [most - 1])
    names = [f"{found.columns[j]} = {shown(found.data[row, j])}" for j in first]
    if not rest.size:
        return names, values[first], error[first]
    names.append(f"{rest.size} other columns")
    together = np.sqrt((error[rest] ** 2).sum())
    return names, np.append(values[first], values[rest].sum()), np.append(error[first], together)


def shown(value: Any) -> str:
    """A value as one would write it."""
    if value is None:
        return "missing"
    if isinstance(value, np.datetime64):
        text = str(value.astype("M8[s]"))
        return text.removesuffix("T00:00:00").replace("T", " ")
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    return str(value)
