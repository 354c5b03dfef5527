"""Predictions of rows whose y is known: asked once, drawn as often as you like."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ..diagnostics.predicted import count_rows, predicted_rows, take_rows
from ..interface.checks.arguments import check_coverage, check_is_fitted, whole_number
from ..rows.partition import evenly_spaced
from ..tables.reading import Found, names_of, read_columns

Array = np.ndarray
#: Rows that a model is asked about for a picture, evenly spaced, where there are more.
MOST = 10_000


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of rows whose y is known, and the ends of their intervals.

    Attributes
    ----------
    y, mean, lower, upper : arrays of shape (n,)
        Targets, means, and the ends of the intervals.
    coverage : float
        The share of targets that the intervals promise to hold.
    total : int
        The rows that these n were taken from.
    name : str
        What y is called.
    pit : array of shape (n,) or None
        P(Y ≤ y) by the model, for `calibration` and `pit`.
    """

    y: Array
    mean: Array
    lower: Array
    upper: Array
    coverage: float = 0.95
    total: int = 0
    name: str = "y"
    pit: Array | None = None

    def __post_init__(self) -> None:
        for name in ("y", "mean", "lower", "upper"):
            values = np.asarray(getattr(self, name), dtype=float)
            if values.ndim != 1 or values.shape != np.shape(self.y) or not values.size:
                raise ValueError(
                    f"{name} has shape {values.shape}: give one number per row, of one output"
                )
            object.__setattr__(self, name, values)

    @property
    def inside(self) -> Array:
        """1{l ≤ y ≤ u}  (n,)."""
        return (self.lower <= self.y) & (self.y <= self.upper)

    @property
    def covered(self) -> float:
        """Share of the targets inside their intervals."""
        return float(self.inside.mean())


def predictions(model, X, y, *, coverage=0.95, most=MOST, **exposure) -> Predictions:
    """Predict rows whose y is known: for `residuals`, `intervals`, `calibration` and `pit`.

    Parameters
    ----------
    model : fitted regressor
    X : array-like or frame of shape (n, d)
    y : array-like of shape (n,)
    coverage : float, default=0.95
        The share of targets that intervals are to hold.
    most : int, default=10_000
        Rows that are predicted, evenly spaced, where there are more.
    exposure : array-like of shape (n,)
        Of counts, as in `predict`.

    Returns
    -------
    found : Predictions

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import CommitteeRegressor, plots
    >>> X = np.linspace(0, 5, 60)[:, None]
    >>> y = np.sin(2 * X[:, 0])
    >>> model = CommitteeRegressor(random_state=0).fit(X[::2], y[::2])
    >>> found = plots.predictions(model, X[1::2], y[1::2])
    >>> ax = plots.residuals(found)
    >>> ax = plots.intervals(found)
    """
    return _predicted(model, X, y, coverage, most, exposure, whole=True)


def _predicted(
    model: Any, X: Any, y: Any, coverage: Any, most: Any, exposure: dict[str, Any], *, whole: bool
) -> Predictions:
    """Predict rows; `whole`: with P(Y ≤ y), which takes longer."""
    check_coverage(coverage)
    check_model(model)
    if is_classifier(model):
        raise ValueError(
            f"model is a {type(model).__name__}, and this picture is for regressors: for "
            "classifiers there are plots.calibration and plots.importance"
        )
    some, seen, total = some_rows(X, y, most)
    if seen.ndim != 1:
        raise ValueError(
            f"y has {seen.shape[1]} columns: draw one output at a time, with "
            "plots.Predictions(y[:, 0], mean[:, 0], lower[:, 0], upper[:, 0])"
        )
    given: dict[str, Any] = {name: exposed_rows(e, total, most) for name, e in exposure.items()}
    mean, lower, upper = model.predict(some, interval=coverage, **given)
    u = predicted_rows(model, some, seen, **given).pit if whole else None
    return Predictions(seen, mean, lower, upper, float(coverage), total, target_name(y), u)


def exposed_rows(exposure: Any, n: int, most: int) -> Array:
    """Exposures of the rows that are predicted."""
    return np.broadcast_to(np.asarray(exposure, dtype=float), n)[evenly_spaced(n, most)]


def given_predictions(model, X, y, coverage: float, most: int, exposure: dict) -> Predictions:
    """Return predictions that were made before, given in place of a model; else make them."""
    if isinstance(model, Predictions):
        if X is not None or y is not None:
            raise ValueError("give predictions alone, or a model with X and y")
        return model
    if X is None or y is None:
        raise ValueError("give X and y with a model, or plots.predictions(model, X, y) alone")
    return _predicted(model, X, y, coverage, most, exposure, whole=False)


def check_model(model: Any) -> None:
    """Refuse what has no predictions."""
    if not hasattr(model, "predict"):
        raise ValueError(f"model={model!r}: give a fitted model")
    check_is_fitted(model)


def some_rows(X: Any, y: Any, most: Any) -> tuple[Any, Array, int]:
    """Take at most `most` rows, evenly spaced, and their y; the number of all."""
    whole_number(most, "most")
    seen = np.asarray(y)
    n = seen.shape[0] if seen.ndim else 0
    if count_rows(X) != n:
        raise ValueError(f"X has {count_rows(X)} rows and y has {n}: give one y for each row")
    rows = evenly_spaced(n, most)
    return (X, seen, n) if rows.size == n else (take_rows(X, rows), seen[rows], n)


def target_name(y: Any) -> str:
    """Return the name of a series; y where there is none."""
    name = getattr(y, "name", None)
    return "y" if name is None else str(name)


def of_rows(n: int, total: int) -> str:
    """Say how many rows are seen, and of how many."""
    return f"{n:,} rows" if n >= total else f"{n:,} rows (of {total:,})"


def column_at(column: Any, names: list[str]) -> int:
    """Find a column by name or position."""
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, (int, np.integer)) and -len(names) <= column < len(names):
        return int(column) % len(names)
    shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    raise ValueError(f"column={column!r}: give one of {shown}, or a position")


def read_column(X: Any, column: Any) -> Found:
    """Read one column of a table: numbers, dates or levels."""
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    if np.ndim(X) == 1 and not hasattr(X, "columns"):
        X = np.asarray(X)[:, None]
    names = names_of(X) or [f"x{j}" for j in range(X.shape[1])]
    at = column_at(column, names)
    if hasattr(X, "iloc"):
        return read_columns(X.iloc[:, [at]])[0]
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        return read_columns(X.select([names[at]]))[0]
    found = read_columns(np.asarray(X)[:, [at]])[0]
    return Found(names[at], found.kind, found.values, found.keys, found.boolean)


def check_height(value: Any, name: str) -> float:
    number = float(value) if isinstance(value, Real) else np.nan
    if not (np.isfinite(number) and number > 0.0):
        raise ValueError(f"{name}={value!r}: give a positive number")
    return number
