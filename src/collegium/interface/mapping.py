"""Maps of fitted models: from columns and coordinates to a grid, and from a grid to answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..explain.asking import decoded
from ..maps.coordinates import coordinates_of, map_order
from ..maps.dataset import refuse_names
from ..maps.grid import Grid, Side, on_grid
from ..tables.encoding import Column
from ..tables.reading import DATE, LEVELS, NUMBER, array_column
from .checks.rows import check_exposure
from .frames.encoded import columns_of

Array = np.ndarray
#: Levels of a column that are mapped where none are named.
MOST_SLICES = 20
#: Slices of a column of numbers where none are given: at these quantiles of the rows.
QUANTILES = (0.1, 0.5, 0.9)


def grid_of(estimator: Any, x: Any, y: Any, by: Any, at: Mapping[Any, Any] | None) -> Grid:
    """The grid that arguments of `predict_grid` describe, over columns as a model sees them."""
    own = MapColumns(estimator)
    sides = [own.side("y", y, 1), own.side("x", x, 0)]
    if by is not None:
        sides.insert(0, own.side("by", by, 2))
    grid = Grid(tuple(sides), np.zeros(own.width))
    mapped = {side.column for side in sides}
    refuse_names([side.name for side in sides])
    held = own.held(mapped, at)
    return Grid(grid.axes, held)


class MapColumns:
    """The columns of a fitted model, and the rows that it kept."""

    def __init__(self, estimator: Any) -> None:
        self.columns = own_columns(estimator)
        names = columns_of(estimator).names
        self.width = len(self.columns) if names is None else len(names)
        self.rows = known_inputs(estimator.model_)

    def side(self, word: str, asked: Any, usual: int) -> Side:
        """A side of the grid, from {column: coordinates}, a name, or coordinates of the usual
        column."""
        column, wanted = usual, asked
        if isinstance(asked, Mapping):
            if len(asked) != 1:
                raise ValueError(f"{word}={asked!r}: give one column, {{name: coordinates}}")
            ((name, wanted),) = asked.items()
            column = self.position(name, word)
        elif isinstance(asked, str):
            column, wanted = self.position(asked, word), None
        elif usual >= len(self.columns):
            raise ValueError(
                f"{word}: the model has {len(self.columns)} column"
                f"{'s' * (len(self.columns) > 1)}: {word} needs another, {usual + 1} in all"
            )
        own = self.columns[column]
        if own.kind == LEVELS or word == "by":
            return self._slices(word, own, column, wanted)
        values = self._numbers(own, wanted)
        values = coordinates_of(values, self._of(column), word)
        return Side(own.name, column, values, _labels(own, values))

    def _numbers(self, own: Column, wanted: Any) -> Any:
        """Coordinates of a column of dates in seconds from its first; others as they are."""
        if own.kind != DATE or wanted is None:
            return wanted
        if isinstance(wanted, np.timedelta64) or hasattr(wanted, "total_seconds"):
            return float(np.timedelta64(wanted) / np.timedelta64(1, "s"))
        return map_order(_encoded(own, wanted), own.name)

    def _slices(self, word: str, own: Column, column: int, wanted: Any) -> Side:
        if word != "by":
            raise ValueError(f"{word}: {own.name!r} holds levels, which have no order; give it as "
                             "by=, for one map each")  # fmt: skip
        if wanted is None:
            wanted = self._usual_slices(own, column)
        labels = np.atleast_1d(np.asarray(wanted))
        if labels.ndim != 1 or not labels.size:
            raise ValueError(f"by={wanted!r}: give values of {own.name!r} in one dimension")
        values = _encoded(own, labels)
        if own.kind != LEVELS and not np.isfinite(values).all():
            raise ValueError(f"by={wanted!r}: give finite values of {own.name!r}")
        if np.unique(values).size < values.size:
            raise ValueError(f"by={wanted!r}: a value of {own.name!r} is there twice")
        return Side(own.name, column, values, labels)

    def _usual_slices(self, own: Column, column: int) -> Any:
        if own.kind == LEVELS:
            if len(own.levels) > MOST_SLICES:
                raise ValueError(
                    f"by={own.name!r}: it has {len(own.levels)} levels: give those to map, "
                    f"{{{own.name!r}: [level, …]}}"
                )
            found = decoded(own, np.arange(float(len(own.levels))))
            return found.tolist() if all(isinstance(one, str) for one in found) else found
        rows = self._of(column)
        if rows is None:
            raise ValueError(f"by={own.name!r}: the model keeps no rows: give the values to map")
        found = np.unique(np.quantile(rows, QUANTILES))
        labels = _labels(own, found)
        return found if labels is None else labels

    def position(self, name: Any, word: str) -> int:
        """The position of a column, by its name or position."""
        names = [one.name for one in self.columns]
        if isinstance(name, str) and name in names:
            return names.index(name)
        whole = isinstance(name, (int, np.integer)) and not isinstance(name, bool)
        if whole and -len(names) <= name < len(names):
            return int(name) % len(names)
        raise ValueError(f"{word}: there is no column {name!r}, but {names}: give a name or a "
                         "position")  # fmt: skip

    def held(self, mapped: set[int], at: Mapping[Any, Any] | None) -> Array:
        """Values of the columns that are not mapped: as given, or medians of the rows, and the
        most frequent level  (width,)."""
        if at is not None and not isinstance(at, Mapping):
            raise ValueError(f"at={at!r}: give {{column: value}}")
        given = {self.position(name, "at"): value for name, value in (at or {}).items()}
        twice = mapped & set(given)
        if twice:
            name = self.columns[min(twice)].name
            raise ValueError(f"at: {name!r} is mapped; hold another column")
        held = np.zeros(self.width)
        for k, own in enumerate(self.columns):
            if k in given:
                held[k] = self._one(own, given[k])
            elif k not in mapped:
                held[k] = self._middle(own, k)
        return held

    def _one(self, own: Column, value: Any) -> float:
        found = _encoded(own, np.array([value], dtype=object))
        if not np.isfinite(found).all():
            raise ValueError(f"at: {own.name!r} is {value!r}: give one finite value")
        return float(found[0])

    def _middle(self, own: Column, column: int) -> float:
        rows = self._of(column)
        if rows is None:
            raise ValueError(
                f"at: the model keeps no rows for a median of {own.name!r}: give its value, "
                f"at={{{own.name!r}: …}}"
            )
        if own.kind == LEVELS:
            known = rows[rows >= 0]  # missing, only where no row has a level
            codes, count = np.unique(known if known.size else rows, return_counts=True)
            return float(codes[count.argmax()])
        return float(np.median(rows))

    def _of(self, column: int) -> Array | None:
        return None if self.rows is None else self.rows[:, column]


def own_columns(estimator: Any) -> tuple[Column, ...]:
    """The columns of the table that a model was fitted to."""
    encoding = getattr(estimator, "encoding_", None)
    if encoding is not None:
        return encoding.columns
    names = getattr(estimator, "feature_names_in_", None)
    names = [f"x{k}" for k in range(estimator.n_features_in_)] if names is None else names
    return tuple(Column(str(name), NUMBER) for name in names)


def known_inputs(model: Any) -> Array | None:
    """Rows that were kept, or points where none were, as `predict` takes them; None: neither."""
    try:
        X = model.some_inputs()
    except TypeError:
        return None
    inputs = getattr(getattr(model, "warping", None), "inputs", None)
    X = X if inputs is None else inputs.backward(X)
    return X if X.shape[0] else None


def _encoded(own: Column, values: Any) -> Array:
    """Values of one column as a model sees them; an unknown level or another kind is refused."""
    found = array_column(own.name, np.asarray(values).reshape(-1))
    if found.gone.any():
        raise ValueError(f"{own.name!r} has missing values: give values of the column")
    codes = own.numbers(found)
    if own.kind == LEVELS and (codes < 0).any():
        lost = np.asarray(values).reshape(-1)[int((codes < 0).argmax())]
        texts = [text for _, text in own.levels[:MOST_SLICES]]
        raise ValueError(f"{own.name!r} has no level {str(lost)!r}, but {texts}")
    return codes


def _labels(own: Column, values: Array) -> Array | None:
    """Dates of seconds from the first; None: numbers are their own labels. In nanoseconds, as
    frames have them, where these reach so far: from the year 1678 to 2261."""
    if own.kind != DATE:
        return None
    found = np.round((own.origin + values) * 1e6).astype("M8[us]")
    far = found.astype("M8[Y]").astype(int) + 1970
    return found if ((far < 1678) | (far > 2261)).any() else found.astype("M8[ns]")


# -- answers ----------------------------------------------------------------------------------


def regression_map(
    estimator: Any, grid: Grid, ask: Callable[..., tuple[Array, ...]], exposure: Any
) -> dict[str, Array]:
    """mean, sd, lower, upper and, where an estimator can tell, outside, on a grid.

    `ask`: these, from points and what is added to latent functions there.
    """
    model = estimator.model_
    if model.scaling.scale.size > 1:
        raise ValueError(
            f"the model has {model.scaling.scale.size} outputs: fit one of the output to map"
        )
    if np.ndim(exposure):
        raise ValueError("exposure: give one number for the whole map")
    shift = model.units.shift
    if exposure is not None or model.units.exposed:
        e = check_exposure(exposure, 1, model.likelihoods[0], used=model.units.exposed)
        shift = shift + np.log(e[0])

    def answered(X: Array) -> dict[str, Array]:
        return dict(zip(("mean", "sd", "lower", "upper", "outside"),
                        ask(X, np.full(X.shape[0], shift))))  # fmt: skip

    return on_grid(grid, answered, done=progress(estimator, grid))


def class_map(
    estimator: Any, grid: Grid, ask: Callable[[Array], Array], label: Any
) -> tuple[dict[str, Array], Array | None]:
    """Probability of one class, or of all of `classes_`, which are returned too."""
    known = list(estimator.classes_)
    if label is not None and label not in known:
        raise ValueError(f"label={label!r}: give one of the classes {known}, or None for all")
    chosen = range(len(known)) if label is None else [known.index(label)]

    def answered(X: Array) -> dict[str, Array]:
        probability = ask(X)
        return {f"{k}": np.ascontiguousarray(probability[:, k]) for k in chosen}

    found = on_grid(grid, answered, done=progress(estimator, grid))
    if label is None:
        return {"probability": np.stack(list(found.values()))}, estimator.classes_
    return {"probability": found[f"{known.index(label)}"]}, None


def progress(estimator: Any, grid: Grid) -> Callable[[Any], None]:
    """A function that draws how many tiles are done."""
    tiles = sum(1 for _ in grid.tiles())
    return estimator._say("mapping").counting(lambda tile: None, tiles)
