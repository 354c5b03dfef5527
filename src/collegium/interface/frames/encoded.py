"""Tables with words, dates or gaps, as the columns of numbers that a model sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_array,
    check_X_y,
    validate_data,
)

from ...kernels import Kernel
from ...sources.frames import library_of
from ...tables.arrow import is_arrow
from ...tables.encoding import Encoding
from ...tables.reading import DATE, LEVELS, NUMBER, Found
from .dicts import Row, as_dicts, known_columns, learn_columns

Array = np.ndarray


class KnownColumns(np.ndarray):
    """Rows whose columns are known to be those that the model sees, in their order."""


@dataclass(frozen=True)
class Columns:
    """Names and levels of the columns of numbers that a model sees."""

    names: tuple[str, ...] | None = None  # None: X came without
    levels: Mapping[int, str] = field(default_factory=dict)  # positions of codes, and their names
    dates: tuple[int, ...] = ()  # positions of complete columns of dates

    @classmethod
    def named(cls, names: Sequence[Any]) -> Columns:
        return cls(tuple(str(name) for name in names))

    def known_to(self, kernel: Kernel) -> Kernel:
        """The kernel with its columns found by name, which takes codes for levels."""
        if self.names is not None:
            kernel = kernel.on_columns(list(self.names))
        return kernel.on_levels(self.levels) if self.levels else kernel


def columns_of(estimator: Any) -> Columns:
    """Describe the columns of the rows that an estimator is fitted to."""
    encoding = getattr(estimator, "encoding_", None)
    if encoding is None or encoding.plain:
        names = getattr(estimator, "feature_names_in_", None)
        return Columns() if names is None else Columns.named(names)
    levels = {k: encoding.columns[k].name for k in encoding.categories}
    dates = (k for k, one in enumerate(encoding.columns) if one.kind == DATE and not one.gaps)
    return Columns(encoding.names, levels, tuple(dates))


def validated(estimator: Any, X: Any, *y: Any, reset: bool, **checks: Any) -> Any:
    """X, or X and y, as scikit-learn's `validate_data` gives them; tables as numbers."""
    numbers: Array | None
    if isinstance(X, KnownColumns):
        numbers = X.view(np.ndarray)
    elif (rows := as_dicts(X)) is not None and (isinstance(X, (Mapping, list, tuple)) or not reset):
        numbers = encoded_dicts(estimator, rows, reset=reset)
    else:
        refuse_no_table(X)
        numbers = encoded(estimator, X, reset=reset)
    if numbers is None:
        try:
            found = validate_data(estimator, X, *y, reset=reset, **checks)
        except (TypeError, ValueError) as error:
            if _words(error) and not takes_tables(estimator):
                refuse_words(estimator, error)
            raise
        if reset and takes_tables(estimator):
            own = found[0] if y else found
            names = getattr(estimator, "feature_names_in_", None)
            estimator.encoding_ = Encoding.of_numbers(own, names)
        return found
    if not y:
        return check_array(numbers, input_name="X", **checks)
    return check_X_y(numbers, *y, estimator=estimator, **checks)


def refuse_no_table(X: Any) -> None:
    """Refuse a single column of pandas or polars, and a frame that has only an index."""
    if hasattr(X, "to_frame") and getattr(X, "ndim", len(getattr(X, "shape", ()))) == 1:
        raise ValueError(
            f"X is one column (a {type(X).__name__}), and a table is needed: give X.to_frame(). "
            "The index of a frame is not read: X.reset_index() makes it a column"
        )
    if hasattr(X, "reset_index") and not len(X.columns) and len(X):
        raise ValueError("X has no columns: its index is not read, X.reset_index() makes it one")


def _words(error: Exception) -> bool:
    """Whether scikit-learn stumbled over words, or over dates."""
    return "could not convert" in str(error) or "Timestamp" in str(error)


def takes_tables(estimator: Any) -> bool:
    """Whether an estimator takes words, dates and gaps."""
    return getattr(estimator, "takes_tables", False)


def encoded(estimator: Any, X: Any, *, reset: bool) -> Array | None:
    """X as columns of numbers; None where it is numbers already.

    A new estimator learns how, and keeps that as `encoding_`.
    """
    if not takes_tables(estimator) or not _table(X):
        return None
    X = X if _is_frame(X) else _values(X)
    if not reset:
        if not hasattr(estimator, "encoding_") or _numeric(X, estimator.encoding_):
            return None
        if not _named_alike(estimator, X):
            _check_known_names(estimator, X)
            _check_n_features(estimator, X, reset=False)
        return estimator.encoding_.forward(X)
    vars(estimator).pop("encoding_", None)
    asked = getattr(estimator, "categorical_features", "from_dtype")
    encoding = _learnt(X, asked)
    if encoding is None or encoding.plain:
        return None
    if asked is None:
        refuse_levels(encoding, "categorical_features=None takes none")
    _check_feature_names(estimator, X, reset=True)
    _check_n_features(estimator, X, reset=True)
    estimator.encoding_ = encoding
    return encoding.forward(X)


def _named_alike(estimator: Any, X: Any) -> bool:
    """Whether a frame has the columns of the model in their order: scikit-learn's checks, which
    take longer than an answer, would find nothing."""
    names, own = getattr(estimator, "feature_names_in_", None), getattr(X, "columns", None)
    return names is not None and own is not None and list(own) == list(names)


def _check_known_names(estimator: Any, X: Any) -> None:
    """Refuse other columns as scikit-learn does; with more than those of fit, say which to keep."""
    try:
        _check_feature_names(estimator, X, reset=False)
    except ValueError as error:
        names = set(getattr(estimator, "feature_names_in_", ()))
        if names and names < set(getattr(X, "columns", ())):
            raise ValueError(
                f"{error}Leave out the further columns, y among them: "
                "frame[list(model.feature_names_in_)] has those of fit"
            ) from error
        raise


def encoded_dicts(estimator: Any, rows: Sequence[Row], *, reset: bool) -> Array:
    """Rows that came as dicts, as columns of numbers; a new estimator learns how."""
    tables = takes_tables(estimator)
    if reset:
        vars(estimator).pop("encoding_", None)
        found = learn_columns(estimator, rows, tables=tables)
        if tables and getattr(estimator, "categorical_features", "from_dtype") is None:
            refuse_levels(estimator.encoding_, "categorical_features=None takes none")
    else:
        found = known_columns(estimator, rows)
    if hasattr(estimator, "encoding_"):
        return estimator.encoding_.encoded(found)
    words = [one.name for one in found if one.kind != NUMBER]
    if words:
        refuse_words(estimator, ValueError(f"columns {words}"))
    return np.stack([one.values for one in found], axis=1)


def encoded_parts(estimator: Any, parts: Sequence[Sequence[Found]], *, named: bool) -> Array:
    """Encode columns that were read in several parts of rows; a new estimator learns how."""
    names = [one.name for one in parts[0]]
    asked = getattr(estimator, "categorical_features", "from_dtype")
    encoding = Encoding.of_parts(lambda: parts, names, asked)
    if asked is None:
        refuse_levels(encoding, "categorical_features=None takes none")
    estimator.n_features_in_ = len(names)
    vars(estimator).pop("feature_names_in_", None)
    if named:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator.encoding_ = encoding
    return known_parts(estimator, parts)


def known_parts(estimator: Any, parts: Sequence[Sequence[Found]]) -> Array:
    """Encode columns in the order of those that a model was fitted to."""
    each = [estimator.encoding_.encoded(part) for part in parts]
    return np.concatenate(each).view(KnownColumns)


def refuse_levels(encoding: Encoding, why: str) -> None:
    named = [one.name for one in encoding.columns if one.kind == LEVELS]
    if named:
        raise ValueError(
            f"X has words in the columns {named}, and {why}: name them, leave out "
            "categorical_features, or write levels as numbers "
            "(sklearn.preprocessing.OneHotEncoder)"
        )


def refuse_words(estimator: Any, error: Exception) -> None:
    """In place of scikit-learn's words about floats."""
    raise ValueError(
        f"X has words or dates ({error}): {type(estimator).__name__} takes numbers alone. Write "
        "them as numbers (sklearn.preprocessing.OneHotEncoder), or take CommitteeRegressor or "
        "CommitteeClassifier"
    ) from error


def _table(X: Any) -> bool:
    """Whether X has rows and columns in memory, which may hold anything."""
    if _is_frame(X):
        return hasattr(X, "shape") and hasattr(X, "columns") and len(X.shape) == 2
    if issparse(X) or not isinstance(X, (np.ndarray, list, tuple)):
        return False
    return _values(X).ndim == 2 and _values(X).dtype.kind in "biufOUSmM"


def _is_frame(X: Any) -> bool:
    return library_of(X) in ("pandas", "polars") or is_arrow(X)


def _values(X: Any) -> Array:
    """A list of words and numbers as the objects that it has."""
    try:
        values = np.asarray(X)
    except ValueError:
        return np.empty(0)
    return values if isinstance(X, np.ndarray) or values.dtype.kind not in "US" else _objects(X)


def _objects(X: Any) -> Array:
    try:
        return np.array(X, dtype=object)
    except ValueError:
        return np.empty(0)


def _numeric(X: Any, encoding: Encoding) -> bool:
    """Whether a model of plain numbers is asked about numbers without gaps."""
    if not encoding.plain or _is_frame(X):
        return False
    values = _values(X)
    return values.dtype.kind in "biu" or (values.dtype.kind == "f" and not np.isnan(values).any())


def _learnt(X: Any, categories: Any) -> Encoding | None:
    """None where X is numbers without gaps, or has no rows: then scikit-learn has the word."""
    own = categories is None or (isinstance(categories, str) and categories == "from_dtype")
    if not X.shape[0] or not X.shape[1]:
        return None
    if isinstance(X, np.ndarray) and own:
        if X.dtype.kind in "biu" or (X.dtype.kind == "f" and not np.isnan(X).any()):
            return None
    try:
        return Encoding.learn(X, categories)
    except OverflowError as error:
        raise ValueError(f"X has numbers beyond the range of floats: {error}") from error
