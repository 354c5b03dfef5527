"""Rows as users give them: inputs, targets, and columns that are kept beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..interface.frames.dicts import as_dicts, columns_of_dicts, names_in
from ..numerics.fingerprint import fingerprint
from ..numerics.records import record
from ..sources.frames import library_of
from ..tables.arrow import is_arrow
from ..tables.levels import Key
from ..tables.reading import DATE, LEVELS, NUMBER, Found, ReadTable, array_column, read_columns

Array = np.ndarray
BOOLEAN = "boolean"
#: Names that mean something else in `where`.
TAKEN = {"id", "site", "source", "at", "lsn", "n", "gone", "sha256", "rows", "kept", "chunk"}
Columns = dict[str, list[Any]]


@record("ledger.rows/1", rows="X")
@dataclass(frozen=True, eq=False)
class GivenRows:
    """Rows of a chunk as they were given, so that they can be encoded anew."""

    X: Array  # numbers, dates in seconds since 1970, codes of levels (−1: missing)  (n, d)
    kinds: tuple[str, ...]  # of each column
    keys: tuple[tuple[Key, ...], ...]  # of each column of levels: the meaning of its codes
    y: Array  # (n,) or (n, p)
    w: Array | None = None  # (n,)
    exposure: Array | None = None  # (n,)

    @classmethod
    def of(
        cls, found: Sequence[Found], y: Array, w: Array | None, exposure: Array | None
    ) -> GivenRows:
        kinds = tuple(BOOLEAN if one.boolean else one.kind for one in found)
        X = np.column_stack([np.asarray(one.values, np.float64) for one in found])
        rows = cls(X, kinds, tuple(tuple(one.keys) for one in found), y, w, exposure)
        return rows.take(np.arange(X.shape[0]))

    @property
    def n(self) -> int:
        return self.X.shape[0]

    def found(self, names: Sequence[str] | None) -> list[Found]:
        """Return the columns as they were read."""
        own = names or [f"x{k}" for k in range(self.X.shape[1])]
        return [
            Found(
                name, NUMBER if kind == BOOLEAN else kind,
                x.astype(np.int64) if kind == LEVELS else x, keys, boolean=kind == BOOLEAN,
            )
            for name, kind, x, keys in zip(own, self.kinds, self.X.T, self.keys)
        ]  # fmt: skip

    def take(self, index: Array) -> GivenRows:
        """Select rows; levels that none of them has leave no trace."""
        X, keys = np.ascontiguousarray(self.X[index]), list(self.keys)
        for k, kind in enumerate(self.kinds):
            if kind == LEVELS:
                X[:, k], keys[k] = _sorted_levels(X[:, k].astype(np.int64), self.keys[k])
        w, e = (None if one is None else one[index] for one in (self.w, self.exposure))
        y = self.y[index]
        return replace(self, X=X, keys=tuple(keys), y=_words(y), w=w, exposure=e)

    def digest(self, kept: Columns) -> str:
        """sha256 of rows and the columns kept beside them; equal for equal rows alone."""
        said = json.dumps(kept, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
        return fingerprint(self, said)


def _words(y: Array) -> Array:
    """Texts in the width of the longest of them, so that equal ones have equal bytes."""
    return y if y.dtype.kind not in "OU" else np.array([str(one) for one in y.tolist()])


def _sorted_levels(codes: Array, keys: Sequence[Key]) -> tuple[Array, tuple[Key, ...]]:
    """Recode levels by the order of the keys that are used."""
    used = sorted({keys[k] for k in np.unique(codes[codes >= 0])})
    place = {key: k for k, key in enumerate(used)}
    return np.array([*(place.get(key, -1) for key in keys), -1])[codes], tuple(used)


@dataclass(frozen=True)
class TableRoles:
    """Which columns of a table are inputs, which is the target, and which are kept."""

    names: tuple[str, ...] | None = None  # of inputs; None: they have none, or none came yet
    target: str | None = None
    keep: tuple[str, ...] | None = None  # None: not known before the first rows
    shape: str | None = None  # columns of X, and kind and columns of y, of the first rows

    @classmethod
    def of_text(cls, text: str) -> TableRoles:
        said = json.loads(text)
        names, keep = (None if one is None else tuple(one) for one in (said["names"], said["keep"]))
        return cls(names, said["target"], keep, said["shape"])

    def text(self) -> str:
        return json.dumps(asdict(self))

    def read(
        self, X: Any, y: Any, w: Any, exposure: Any, kept: Any, *, first: bool
    ) -> tuple[TableRoles, GivenRows, Columns]:
        """Read rows; `first`: inputs and kept columns may be chosen by these rows."""
        beside = _beside(kept)
        columns = _columns(X)
        if columns is None:
            own = self._of_array(X)
            roles = self
        else:
            if y is None and self.target is not None:
                y = _target(columns, self.target)
            roles, own, more = self._of_table(columns, first=first, others=list(beside))
            beside = {**more, **beside}
        if y is None:
            raise ValueError("y is missing: give it, or a table with the target column")
        if not own:
            raise ValueError("X has no columns that are inputs")
        y, w, e = _targets(y), _numbers(w, "sample_weight"), _numbers(exposure, "exposure")
        n = own[0].values.size
        e = np.full(n, float(e)) if e is not None and e.ndim == 0 else e
        for name, one in {"y": y, "sample_weight": w, "exposure": e, **beside}.items():
            if one is not None and np.shape(one)[:1] != (n,):
                raise ValueError(f"{name} has shape {np.shape(one)}, and X has {n} rows")
        rows = GivenRows.of(own, y, w, e)
        roles = roles._keeping(tuple(beside))._shaped(rows)
        return roles, rows, {name: beside[name] for name in roles.keep or ()}

    def _of_array(self, X: Any) -> list[Found]:
        if self.names is not None:
            raise ValueError(f"X has no column names: give a table with {list(self.names)}")
        values = np.asarray(X)
        if values.ndim != 2 or not values.shape[0]:
            raise ValueError(f"X has shape {values.shape}: give rows and columns, (n, d)")
        return [array_column(f"x{k}", column) for k, column in enumerate(values.T)]

    def _of_table(
        self, columns: dict[str, Found], *, first: bool, others: Sequence[str]
    ) -> tuple[TableRoles, list[Found], Columns]:
        """Split a table into inputs and kept columns."""
        rest = [name for name in columns if name != self.target]
        keep = None if self.keep is None else [one for one in self.keep if one not in others]
        names = self.names
        if names is None:
            if not first:
                raise ValueError("X has column names, and the first rows had none: give an array")
            names = tuple(name for name in rest if name not in (keep or ()))
        if lost := [name for name in (*names, *(keep or ())) if name not in columns]:
            raise ValueError(f"X has no columns {lost}: it needs {[*names, *(keep or ())]}")
        kept = [name for name in rest if name not in names] if keep is None else keep
        more = [name for name in rest if name not in names and name not in kept]
        if more:
            raise ValueError(
                f"the columns {more} are neither inputs nor among those kept, {kept}: leave them "
                "out, or name them with keep= in a new ledger"
            )
        own = [columns[name] for name in names]
        return replace(self, names=names), own, {one: _plain(columns[one]) for one in kept}

    def _shaped(self, rows: GivenRows) -> TableRoles:
        """Refuse rows of another shape than the first ones."""
        kinds = {"U": "texts", "b": "true or false"}
        outputs = "" if rows.y.ndim == 1 else f" in {rows.y.shape[1]} columns"
        shape = f"{rows.X.shape[1]} inputs, y of {kinds.get(rows.y.dtype.kind, 'numbers')}{outputs}"
        if self.shape not in (None, shape):
            raise ValueError(f"these rows have {shape}, and the first ones had {self.shape}")
        return replace(self, shape=shape)

    def _keeping(self, given: tuple[str, ...]) -> TableRoles:
        keep = given if self.keep is None else self.keep
        if wrong := [one for one in keep if one.lower() in TAKEN or one.startswith("_")]:
            raise ValueError(f"columns {wrong} cannot be kept under these names: rename them")
        if len({one.lower() for one in keep}) < len(keep):
            raise ValueError(f"kept columns {list(keep)} differ in upper and lower case alone")
        if set(given) != set(keep):
            raise ValueError(f"kept columns are {list(keep)}, and these rows have {list(given)}")
        return replace(self, keep=keep)


def _columns(X: Any) -> dict[str, Found] | None:
    """Read the columns of a frame, or of rows that are dicts; None for an array."""
    rows = as_dicts(X)
    if rows is not None:
        return {one.name: one for one in columns_of_dicts(rows, names_in(rows))}
    if isinstance(X, ReadTable) or library_of(X) in ("pandas", "polars") or is_arrow(X):
        return {one.name: one for one in read_columns(X)}
    return None


def _target(columns: dict[str, Found], name: str) -> Array:
    if name not in columns:
        raise ValueError(f"X has no column {name!r}, the target, and y is not given")
    own = columns[name]
    if own.kind == LEVELS:
        return np.array(_plain(own), dtype=object)
    return own.values


def _beside(kept: Any) -> Columns:
    """Read columns that are given beside X."""
    if kept is None:
        return {}
    if isinstance(kept, Mapping):
        found = {str(k): array_column(str(k), _array(v, str(k))) for k, v in kept.items()}
    else:
        own = _columns(kept)
        if own is None:
            raise ValueError("kept: give a table, or a dict of columns")
        found = own
    return {name: _plain(one) for name, one in found.items()}


def _plain(found: Found) -> list[Any]:
    """Return whole numbers, numbers, texts (dates in ISO 8601) and None, as SQLite stores them."""
    gone = found.gone
    if found.kind == LEVELS:
        texts = [*(check_text(text, found.name) for _, text in found.keys), None]
        return [texts[k] for k in found.values]
    if found.kind == DATE:
        return [None if miss else _iso(one) for one, miss in zip(found.values.tolist(), gone)]
    own = found.values if found.objects is None else found.objects
    return [None if miss else _whole(one) for one, miss in zip(own.tolist(), gone)]


def _whole(value: Any) -> int | float:
    if isinstance(value, Integral):
        if abs(int(value)) >= 2**63:
            raise ValueError(f"{value} is too large for a kept column: give it as a text")
        return int(value)
    number = float(value)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat(" ")


def _array(values: Any, name: str) -> Array:
    """Read one column, or several of numbers."""
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _targets(y: Any) -> Array:
    """Read y: numbers, true and false, or labels that are texts."""
    own = _array(y, "y")
    if own.dtype.kind in "iuf":
        return own.astype(np.float64)
    if own.dtype == object:
        if any(one is None for one in own.ravel()):
            raise ValueError("y has values that are None: drop those rows")
        if all(isinstance(one, Real) for one in own.ravel()):
            return own.astype(np.float64)
    if own.dtype.kind not in "bOU" or (own.dtype == object and own.ndim > 1):
        raise ValueError(f"y has values of type {own.dtype}: give numbers, or labels")
    return own


def _numbers(values: Any, name: str) -> Array | None:
    if values is None:
        return None
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from error


def check_text(value: Any, name: str) -> str:
    """Return a text that SQLite can store."""
    try:
        if isinstance(value, str):
            value.encode()
            return value
    except UnicodeEncodeError:
        pass
    raise ValueError(f"{name}={value!r}: give a text")
