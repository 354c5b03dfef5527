"""What classifiers share: labels checked and coded, answers from probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..rows.rows import Rows
from ..rows.scaling import MOST_COPIES
from .estimator import Estimator
from .validation import check_range, check_weights

Array = np.ndarray


class Classifier(ClassifierMixin, Estimator):
    """Labels in, probabilities out. A subclass has `predict_proba` and sets `classes_`."""

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

    def _check(self, X, y, *, reset):
        X, y = validate_data(
            self, X, y, reset=reset, dtype=np.float64, order="C", ensure_min_samples=1
        )
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


def signs(codes: Array, n_problems: int) -> list[Array]:
    """±1 of each problem: the second class of two, or each class against the rest."""
    own = [1] if n_problems == 1 else range(n_problems)
    return [np.where(codes == k, 1.0, -1.0) for k in own]
