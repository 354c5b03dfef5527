"""Base of classifiers: labels checked and coded, answers from probabilities."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import _check_sample_weight

from ..answers.arrived import Arrived, look
from ..rows.rows import Rows
from ..rows.scaling import MOST_COPIES
from .checks.arguments import check_is_fitted, whole_number
from .checks.rows import check_range, check_weights, refuse_collections
from .estimator import Estimator, all_or_nothing
from .frames.encoded import KnownColumns, validated
from .frames.writing import write_answers
from .streams.watching import ProgressiveClasses
from .turns import of_one_state

Array = np.ndarray


class Classifier(ClassifierMixin, Estimator):
    """Labels in, probabilities out. A subclass has `predict_proba` and sets `classes_`."""

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
    def predict_to(
        self, data: Any, path: str | os.PathLike[str], *, keep: Sequence[str] = ()
    ) -> int:
        """Predict the rows of files and write labels and probabilities to another.

        Parameters
        ----------
        data : path, glob, frame, a list of these, or a `Source`
            Queries. Of named columns those that the model was fitted to are taken.
        path : path
            Parquet, Arrow IPC, CSV or .npy (a structured array), by its ending. It is there once
            it is complete.
        keep : list of str, default=()
            Columns of `data` to copy: numbers that say which row is which.

        Returns
        -------
        n : int
            The number of rows. Columns are "label" and, for each class, "probability_" and its
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
        X, y = validated(self, X, y, reset=reset, dtype=np.float64, order="C", ensure_min_samples=1)
        refuse_missing_labels(y)
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


def refuse_missing_labels(y: Array) -> None:
    """Raise an error that counts labels that are None."""
    if y.dtype == object and (lost := sum(label is None for label in y.ravel())):
        raise ValueError(f"y has {lost} labels that are None: drop those rows")


def distinct_labels(y) -> Array:
    """In order, objects as objects."""
    found = unique_labels(y)
    return found.astype(object) if np.asarray(y).dtype == object else found
