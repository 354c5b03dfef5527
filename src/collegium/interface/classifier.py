"""Base of classifiers: labels checked and coded, answers from probabilities."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import _check_sample_weight

from ..answers.arrived import Arrived, look
from ..conformal.scores import class_scores, likely_classes, smallest_classes
from ..maps.dataset import as_dataset, xarray_library
from ..maps.grid import Grid
from ..rows.rows import Rows
from ..rows.scaling import MOST_COPIES
from .checks.arguments import check_coverage, check_is_fitted, whole_number
from .checks.groups import apart_from_groups
from .checks.rows import check_range, check_weights, refuse_collections, refuse_missing
from .estimator import Estimator, all_or_nothing
from .explaining import asked_of_classifier
from .frames.encoded import KnownColumns, validated
from .frames.writing import write_answers
from .guarantees import MADE, bounds, calibration_rows, proba_of_calibration, required_rows
from .mapping import class_map, grid_of
from .streams.watching import ProgressiveClasses
from .turns import of_one_state

Array = np.ndarray


class Classifier(ClassifierMixin, Estimator):
    """Labels in, probabilities out. A subclass has `predict_proba` and sets `classes_`."""

    explained_level = "probability"

    @of_one_state
    def predict(self, X: ArrayLike) -> Array:
        """The most probable class of each query.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Queries.

        Returns
        -------
        label : array of shape (n,)
        """
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    @of_one_state
    def predict_set(
        self,
        X: ArrayLike,
        coverage: float = 0.95,
        *,
        method: str = "split",
        groups: ArrayLike | str | None = None,
    ) -> Array:
        """Sets of classes that hold the class of a row with probability `coverage`.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Queries.
        coverage : float, default=0.95
        method : {"split", "model"}, default="split"
            "split": all classes that are at least as probable as the classes of `coverage` of the
            rows of `calibrate`: covers new rows of the same kind with at least this probability,
            whatever the model. "model": the fewest classes whose probabilities add up to it.
        groups : array-like of n labels, or the name of a column of the frame X, default=None
            With "split": cover in each group, by the calibration rows of that group.

        Returns
        -------
        sets : bool array of shape (n, n_classes)
            A column for each of `classes_`; the most probable class is always in the set.
        """
        check_is_fitted(self)
        check_coverage(coverage)
        if method not in ("split", "model"):
            raise ValueError(f"method={method!r}: give 'split' or 'model'")
        if groups is not None and method == "model":
            raise ValueError("groups mean nothing with method='model': give method='split'")
        X, groups = apart_from_groups(X, groups)
        probability = self.predict_proba(X)
        if method == "model":
            return smallest_classes(probability, coverage)
        rows = required_rows(self)
        known = proba_of_calibration(self, lambda X: self.predict_proba(X.view(KnownColumns)))
        scores = class_scores(known, rows.y[:, 0].astype(int))
        return likely_classes(probability, bounds(rows, scores, groups, len(probability), coverage))

    @all_or_nothing
    def calibrate(
        self, X: ArrayLike, y: ArrayLike, *, groups: ArrayLike | str | None = None
    ) -> Self:
        """Keep rows that the model has not learnt from, for `predict_set`.

        They replace those of an earlier call, and are stored in the model file. Their
        probabilities are computed anew when the model has changed, so that sets hold after
        `partial_fit`, `forget` and `merge` too, as long as these rows are not learnt from. `fit`
        drops them.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,), labels among `classes_`
        groups : array-like of n labels, or the name of a column of the frame X, default=None
            Groups that are to be covered one by one, of at least 100 rows each.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        X, groups = apart_from_groups(X, groups)
        table, words = self._check(X, y, reset=False)
        codes = self._coded(table, words, self.classes_, None)[0].y
        self.conformal_ = calibration_rows(table, codes, np.zeros(len(codes)), groups)
        self._made = self._made.without(MADE)
        return self

    @of_one_state
    def predict_to(
        self, data: Any, path: str | os.PathLike[str] | BinaryIO, *, keep: Sequence[str] = ()
    ) -> int:
        """Predict the rows of files and write labels and probabilities to another.

        Parameters
        ----------
        data : path, glob, frame, a list of these, or a `Source`
            Queries. Of named columns those that the model was fitted to are taken.
        path : path or open binary file
            Parquet, Arrow IPC, CSV or .npy (a structured array), by its ending. It is there once
            it is complete. CSV is written to an open file.
        keep : list of str, default=()
            Columns of `data` to copy: numbers that say which row is which.

        Returns
        -------
        n : int
            The number of rows. Columns are "label" and, for each class, `probability_` and its
            name.
        """
        check_is_fitted(self)
        words = all(type(name) is str for name in self.classes_)
        names = self.classes_.astype(str) if words else self.classes_

        def ask(X: Array) -> dict[str, Array]:
            probability = self.predict_proba(X.view(KnownColumns))
            label = names[probability.argmax(axis=1)]
            each = dict(zip(self.classes_, np.ascontiguousarray(probability.T)))
            return {"label": label, **{f"probability_{name}": p for name, p in each.items()}}

        return write_answers(self, data, path, keep, ask)

    @of_one_state
    def predict_grid(
        self,
        x: Any = None,
        y: Any = None,
        by: Any = None,
        *,
        label: Any = None,
        at: Mapping[Any, Any] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Map probabilities over two columns, as an `xarray.Dataset`, in bounded memory.

        Parameters
        ----------
        x, y : coordinates, name of a column, or {column: coordinates}, default=None
            Coordinates are an array; (start, stop, step), stop included where a step ends there;
            a number: a step, whose multiples cover the range of the rows; or None: 200 steps over
            that range. Without a column, x is along the first and y along the second.
        by : values, name of a column, or {column: values}, default=None
            A third column with a map for each of its values.
        label : default=None
            The class to map; None: all of them, along a first dimension "class".
        at : dict, default=None
            Values of other columns; where none is given, the median of the rows, or their most
            frequent level.
        attrs : dict, default=None
            Attributes to keep, such as {"crs": "EPSG:32618"}.

        Returns
        -------
        map : xarray.Dataset
            "probability", of dimensions (by,) y, x, which are named as the columns.
            Needs xarray: pip install 'collegium[geo]'.
        """
        xarray_library()
        grid, found, classes = self._grid_answers(x, y, by, at, label)
        known = {**(attrs or {}), **({} if label is None else {"label": label})}
        return as_dataset(grid, found, known, classes)

    def _grid_answers(
        self, x: Any, y: Any, by: Any, at: Any, label: Any = None
    ) -> tuple[Grid, dict[str, Array], Array | None]:
        """A grid, arrays of its answers, and the classes of their first dimension."""
        check_is_fitted(self)
        grid = grid_of(self, x, y, by, at)
        ask = lambda X: self.predict_proba(X.view(KnownColumns))  # noqa: E731
        return grid, *class_map(self, grid, ask, label)

    @all_or_nothing
    def progressive(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        batch: int = 100,
    ) -> ProgressiveClasses:
        """Predict rows, then learn from them, batch by batch: the honest score of a stream.

        Parameters
        ----------
        X, y, classes, sample_weight : as in `partial_fit`, which learns
        batch : int, default=100
            Rows that are predicted together before they are learnt from.

        Returns
        -------
        found : ProgressiveClasses
            `found.probability` (n, n_classes), NaN for the first batch of a new stream, and
            scores: `found.accuracy`, `found.log_loss`.
        """
        first, size = not hasattr(self, "model_"), whole_number(batch, "batch")
        table, words = self._check(X, y, reset=first)
        known = self._known(classes, first)
        codes = self._coded(table, words, known, None)[0].y[:, 0].astype(int)
        w = self._weights(table, sample_weight)
        probability = np.full((codes.size, known.size), np.nan)
        for start in range(0, codes.size, size):
            part = slice(start, start + size)
            if hasattr(self, "model_"):
                probability[part] = self.predict_proba(table[part].view(KnownColumns))
            if (w[part] > 0).any():
                own = table[part].view(KnownColumns)
                self.partial_fit(own, words[part], known, w[part])
        return ProgressiveClasses.scored(probability, codes)

    def _asked(self, X: Any, level: str | None, output: Any) -> tuple[Array, Any]:
        """Rows as the model sees them, and what explanations ask about them."""
        return asked_of_classifier(self, X, level or "probability", output)

    def _arrived(self, rows: Rows) -> Arrived | None:
        """Compare rows of a stream with the model's answers, before it learns from them."""
        if not hasattr(self, "model_") or not rows.w.size:
            return None

        def ask(positions: Array) -> Arrived:
            some = rows.take(positions)
            return Arrived.of_classes(self._watched_log_proba(some.X), some.y[:, 0].astype(int))

        return look(ask, rows.w.size, self._few_checked())

    def _watched_log_proba(self, X: Array) -> Array:
        """The log probabilities that a stream is checked by."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X.view(KnownColumns)))

    def _check(self, X, y, *, reset):
        refuse_collections(X, y)
        refuse_missing(y)
        X, y = validated(self, X, y, reset=reset, dtype=np.float64, order="C", ensure_min_samples=1)
        check_classification_targets(y)
        check_range(X, "X")
        return X, y

    def _known(self, classes, first: bool) -> Array:
        if classes is None:
            if first:
                raise ValueError("classes must be given in the first call of partial_fit")
            return self.classes_
        known = distinct_labels(classes)
        if not first and not np.array_equal(known, self.classes_):
            raise ValueError(f"classes={classes!r} differ from those of the first call")
        return known

    def _coded(self, X, y, classes, sample_weight) -> tuple[Rows, Array]:
        """Rows with positions among the classes as y, those of weight zero left out."""
        unknown = np.setdiff1d(y, classes)
        if unknown.size:
            raise ValueError(f"y has labels that are not among the classes: {unknown[:5]}")
        if classes.size < 2:
            raise ValueError("there is one class only: give rows of at least two")
        w = self._weights(X, sample_weight)
        codes = np.searchsorted(classes, y).astype(float)
        return Rows(X, codes[:, None], w).take(w > 0), classes

    def _weights(self, X, sample_weight) -> Array:
        if sample_weight is None:
            return np.ones(X.shape[0])
        w = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        check_weights(w, MOST_COPIES)
        return w


def distinct_labels(y) -> Array:
    """In order, objects as objects."""
    found = unique_labels(y)
    return found.astype(object) if np.asarray(y).dtype == object else found
