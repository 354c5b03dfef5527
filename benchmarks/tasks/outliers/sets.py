"""A robot arm, some of whose training targets have a large error; test rows are clean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.harness.data import Split, load, random_split
from benchmarks.tasks.outliers.plan import TASK

#: The share of targets that is spoilt, and by how many standard deviations.
SHARE, BY = 0.1, 10.0


def split(folder: Path | str, name: str, most: int | None = None) -> Split:
    found = random_split(load(folder, TASK.file(name)), most)
    return spoilt(found) if name.endswith("_outliers") else found


def spoilt(split: Split) -> Split:
    """Add errors of many standard deviations to a share of the training targets."""
    rng = np.random.default_rng(0)
    hit = rng.permutation(split.y.size)[: int(SHARE * split.y.size)]
    y = split.y.copy()
    y[hit] += BY * rng.normal(size=hit.size)  # training targets have unit variance
    return replace(split, y=y)
