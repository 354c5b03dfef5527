"""Splits, scores, CPU time and memory for the benchmark scripts."""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from collegium.metrics import coverage, interval_score, nlpd

Array = np.ndarray


@dataclass(frozen=True)
class Split:
    """Standardised on the training part."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array


def load(folder: str, name: str) -> dict[str, Array]:
    """The arrays of a data set; says so and stops where the folder does not have it."""
    path = Path(folder) / f"{name}.npz"
    if not path.exists():
        print(f"skipped: no {path.name} in {folder}; give the data folder as an argument")
        sys.exit(0)
    with np.load(path) as arrays:
        return {key: arrays[key] for key in arrays.files}


def random_split(arrays: dict[str, Array], seed: int = 0, share: float = 0.1) -> Split:
    """A random tenth for testing, standardised with the training rows' statistics."""
    X, y = arrays["X"].astype(float), arrays["y"].astype(float)
    order = np.random.default_rng(seed).permutation(y.size)
    n_test = int(share * y.size)
    return standardised(X, y, order[n_test:], order[:n_test])


def standardised(X: Array, y: Array, train: Array, test: Array) -> Split:
    centre, scale = X[train].mean(axis=0), X[train].std(axis=0)
    scale[scale == 0.0] = 1.0
    X = (X - centre) / scale
    y = (y - y[train].mean()) / y[train].std()
    return Split(X[train], y[train], X[test], y[test])


class Meter:
    """CPU and wall seconds of a block."""

    def __enter__(self) -> Meter:
        self._cpu, self._wall = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_) -> None:
        self.cpu = time.process_time() - self._cpu
        self.wall = time.perf_counter() - self._wall


def peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def scores(y: Array, mean: Array, std: Array, z: float = 1.959963984540054) -> dict[str, float]:
    lower, upper = mean - z * std, mean + z * std
    return {
        "RMSE": float(np.sqrt(np.mean((y - mean) ** 2))),
        "NLPD": float(nlpd(y, mean, std)),
        "coverage": float(coverage(y, lower, upper)),
        "interval": float(interval_score(y, lower, upper, coverage=0.95)),
    }


def table(rows: list[dict]) -> str:
    """Plain text, one line a row."""
    heads = list(rows[0])
    cells = [[_cell(row.get(head, "")) for head in heads] for row in rows]
    widths = [max(len(head), *(len(c[i]) for c in cells)) for i, head in enumerate(heads)]
    lines = ["  ".join(head.rjust(w) for head, w in zip(heads, widths))]
    lines += ["  ".join(c.rjust(w) for c, w in zip(row, widths)) for row in cells]
    return "\n".join(lines)


def _cell(value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
