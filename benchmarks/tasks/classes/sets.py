"""The data sets of `make bench-classes`: a random tenth for testing, X standardised."""

from __future__ import annotations

import numpy as np

from classes_plan import CLASSES, COUNTS, FILES
from common import Split, load, standardised

Array = np.ndarray
#: Of a robot arm's targets: the share that is spoilt, and by how many standard deviations.
SPOILT, BY = 0.1, 10.0
RULE = "a random tenth for testing"


def task(folder: str, name: str, most: int | None = None) -> Split:
    """y: codes 0 … K − 1, counts, or standardised; `most` training rows."""
    arrays = _bundled(name) if name in ("breast_cancer", "digits") else None
    arrays = arrays or load(folder, FILES.get(name) or name)
    X, y = arrays["X"].astype(float), arrays["y"]
    order = np.random.default_rng(0).permutation(y.size)
    test, train = np.split(order, [int(0.1 * y.size)])
    train = train[:most]
    if name in CLASSES:
        y = np.unique(y, return_inverse=True)[1]
    found = standardised(X, y.astype(float), train, test)
    if name in CLASSES or name in COUNTS:
        return Split(found.X, y[train], found.X_test, y[test])
    return spoilt(found) if name.endswith("_outliers") else found


def spoilt(split: Split) -> Split:
    """Some training targets with an error of many standard deviations; test rows are clean."""
    rng = np.random.default_rng(0)
    hit = rng.permutation(split.y.size)[: int(SPOILT * split.y.size)]
    y = split.y.copy()
    y[hit] += BY * rng.normal(size=hit.size)  # training targets have unit variance
    return Split(split.X, y, split.X_test, split.y_test)


def _bundled(name: str) -> dict[str, Array]:
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return {"X": X, "y": y}
