"""Grow boosted trees by scikit-learn, and keep them as plain arrays.

The one place that knows the private records of `HistGradientBoostingRegressor`; a test compares
answers with scikit-learn's own, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numerics.records import record
from ..numerics.threads import late_import, single_threaded
from ..rows.rows import Rows
from .columns import TreeColumns
from .folds import folds_of
from .forest import Forest, GrownTree
from .tuning import TUNING

Array = np.ndarray


@record("members.grown/1")
@dataclass(frozen=True, eq=False)
class Grown:
    """Boosted trees of one output: t(x)."""

    columns: TreeColumns
    forest: Forest

    def __call__(self, X: Array) -> Array:
        return self.forest(self.columns(X))


def grow_trees(
    rows: Rows, levels: tuple[int, ...], seed: int,
    hopeless: Callable[[Grown], bool] = lambda grown: False, *, loss: str = "squared_error",
) -> Grown | None:  # fmt: skip
    """Grow trees on rows of one output; None where the first of them are hopeless.

    `levels`: columns of codes. `loss`: that of scikit-learn; "poisson" and "gamma" grow logs. The
    same rows give the same trees for any number of threads.
    """
    kind = late_import("sklearn.ensemble", "HistGradientBoostingRegressor")
    t, y = TUNING.growing, rows.y[:, 0]
    n, share = y.size, rows.w / rows.w.mean()
    if not admissible(loss, y, share):
        return None
    columns = TreeColumns.of(rows.X, y, rows.w, levels)
    X = columns.for_growing(rows.X, y, rows.w, folds_of(rows.X, TUNING.folds.exact))
    model = boosted(kind, n, len(columns.levels), seed, loss=loss)
    X, y, weight = spelled_out(X, y, rows.w)
    with single_threaded():
        model.fit(X, y, sample_weight=weight)
        found = Grown(columns, forest_of(model))
        if hopeless(found):
            return None
        if model.n_iter_ < t.first_trees:
            return found
        model.set_params(max_iter=t.most_trees).fit(X, y, sample_weight=weight)
    return Grown(columns, forest_of(model))


def spelled_out(X: Array, y: Array, w: Array) -> tuple[Array, Array, Array | None]:
    """Repeat rows of whole weights, where few have more than one: without weights, scikit-learn
    finds the bins of columns in a fiftieth of the time. None: all weights are equal."""
    if np.ptp(w) == 0.0:
        return X, y, None
    if (w == np.round(w)).all() and w.min() >= 1.0 and w.sum() <= TUNING.growing.longer * w.size:
        every = np.repeat(np.arange(w.size), w.astype(int))
        return X[every], y[every], None
    return X, y, w / w.mean()


def admissible(loss: str, y: Array, w: Array) -> bool:
    """Whether a loss is defined for these y: rates and amounts have a logarithm."""
    if loss == "poisson":
        return bool((y >= 0.0).all() and w @ y > 0.0)
    return loss != "gamma" or bool((y > 0.0).all())


def boosted(kind: Any, n: int, levels: int, seed: int, **others: Any) -> Any:
    """Make a HistGradientBoosting model for n rows whose first columns are of levels; it has few
    trees until `max_iter` is raised."""
    t = TUNING.growing
    return kind(
        learning_rate=t.few_rate if n <= t.few else t.rate,
        max_leaf_nodes=t.few_leaves if n <= t.few else t.leaves,
        max_iter=t.first_trees,
        categorical_features=list(range(levels)) or None,
        early_stopping=True,
        validation_fraction=t.validation,
        n_iter_no_change=t.patience,
        warm_start=True,
        random_state=seed,
        **others,
    )


def forest_of(model: Any, k: int = 0) -> Forest:
    """Copy the trees of a fitted HistGradientBoosting model: of its one output, or of class k."""
    trees = [_tree(each[k]) for each in model._predictors]
    return Forest.joined(float(np.ravel(model._baseline_prediction)[k]), trees)


def _tree(one: Any) -> GrownTree:
    nodes = one.nodes
    leaf, split = nodes["is_leaf"].astype(bool), nodes["is_categorical"].astype(bool)
    return GrownTree(
        feature=np.where(leaf, -1, nodes["feature_idx"]),
        threshold=np.where(leaf | split, np.inf, nodes["num_threshold"]),
        left=np.where(leaf, -1, nodes["left"].astype(np.int64)),
        right=np.where(leaf, -1, nodes["right"].astype(np.int64)),
        missing=nodes["missing_go_to_left"].astype(bool),
        levels=np.where(split & ~leaf, nodes["bitset_idx"].astype(np.int64), -1),
        sets=one.raw_left_cat_bitsets,
        value=np.where(leaf, nodes["value"], 0.0),
    )
