"""The sets of classes: a random tenth for testing, X standardised, y as codes 0 … K − 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.harness.data import Array, Split, labelled_split, load
from benchmarks.tasks.classes.plan import TASK


def split(folder: Path | str, name: str, most: int | None = None) -> Split:
    file = TASK.file(name)
    arrays = _bundled(name) if file is None else load(folder, file)
    codes = np.unique(arrays["y"], return_inverse=True)[1]
    return labelled_split({"X": arrays["X"], "y": codes}, most)


def _bundled(name: str) -> dict[str, Array]:
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return {"X": X, "y": y}
