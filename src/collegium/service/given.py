"""Rows in requests: JSON that is checked value by value, so that a refusal names row and column."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any

import numpy as np

from ..interface.frames.dicts import columns_of_dicts
from ..interface.frames.encoded import KnownColumns
from ..tables.reading import DATE, NUMBER, objects_column
from .refusals import Refusal

Array = np.ndarray
Row = dict[str, Any] | list[Any]
#: Characters of an id, and of other texts that are recorded.
LONGEST_ID, LONGEST_TEXT = 200, 1_000
#: Texts of values.
LONGEST_VALUE = 10_000


def parsed_body(data: bytes) -> dict[str, Any]:
    """Read a JSON object; refuse what JSON does not have, and names that come twice."""
    try:
        found = json.loads(data.decode(), parse_constant=_no_number, object_pairs_hook=_once)
    except UnicodeDecodeError as error:
        raise Refusal(400, f"the body is not in UTF-8: byte {error.start}") from error
    except RecursionError as error:
        raise Refusal(400, "the body is nested too deeply") from error
    except ValueError as error:  # of json too
        raise Refusal(400, f"the body is not JSON: {error}"[:300]) from error
    if not isinstance(found, dict):
        raise Refusal(400, 'the body is not a JSON object: give {"rows": [...]}')
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON; null is a missing value")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name comes twice in one object")
    return found


@dataclass(frozen=True)
class TableShape:
    """Columns that a model has: their names, and which of them are numbers."""

    names: tuple[str, ...] | None  # None: they have none
    kinds: tuple[str, ...]

    @classmethod
    def of(cls, model: Any) -> TableShape:
        names = getattr(model, "feature_names_in_", None)
        own = None if names is None else tuple(str(name) for name in names)
        return cls(own, tuple(one.kind for one in model.encoding_.columns))

    @property
    def dates(self) -> list[str]:
        """Names of the columns of dates, which JSON has as texts."""
        return [name for name, kind in zip(self.names or (), self.kinds) if kind == DATE]


def given_rows(body: Mapping[str, Any], most: int) -> list[Row]:
    """Take `rows` or `columns` of a request as rows, each a dict or a list of plain values."""
    if ("rows" in body) == ("columns" in body):
        raise Refusal(422, 'give "rows", a list of objects or lists, or "columns", an object')
    rows = _rows_of_columns(body["columns"], most) if "columns" in body else body["rows"]
    if not isinstance(rows, list) or not rows:
        raise Refusal(422, '"rows" is a list of at least one row')
    if len(rows) > most:
        raise too_many(len(rows), most)
    kind = type(rows[0])
    if kind not in (dict, list):
        raise Refusal(422, "a row is an object or a list", row=0)
    for i, row in enumerate(rows):
        if type(row) is not kind:
            raise Refusal(422, "rows are all objects or all lists", row=i)
        if not row:
            raise Refusal(422, "a row has no values", row=i)
        if len(row) != len(rows[0]):
            raise Refusal(422, f"this row has {len(row)} values, the first {len(rows[0])}", row=i)
        values: Any = row.items() if isinstance(row, dict) else enumerate(row)
        for name, value in values:
            check_value(value, i, name)
    return rows


def too_many(n: int, most: int) -> Refusal:
    return Refusal(413, f"{n:,} rows: a request has at most {most:,}. Send several requests")


def _rows_of_columns(columns: Any, most: int) -> list[Row]:
    if not isinstance(columns, dict) or not columns:
        raise Refusal(422, '"columns" is an object of lists, one for each column')
    lengths = dict[str, int]()
    for name, values in columns.items():
        if not isinstance(values, list):
            raise Refusal(422, "a column is a list of values", column=name)
        lengths[name] = len(values)
        if len(values) != next(iter(lengths.values())):
            raise Refusal(422, f"columns differ in their length: {lengths}"[:300], column=name)
        if len(values) > most:
            raise too_many(len(values), most)
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def check_value(value: Any, row: int, column: Any) -> None:
    """Refuse what is no finite number, text, true, false or null."""
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, (int, float)):
        try:
            finite = math.isfinite(value)
        except OverflowError:
            finite = False
        if not finite:
            raise Refusal(422, "the number is too large", row=row, column=column)
    elif isinstance(value, str):
        if len(value) > LONGEST_VALUE or not is_text(value):
            raise Refusal(422, "the text is too long or not Unicode", row=row, column=column)
    else:
        words = "give a number, a text, true, false or null, not a list or an object"
        raise Refusal(422, words, row=row, column=column)


def is_text(value: Any) -> bool:
    """Whether a value is a text that can be written in UTF-8."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def as_numbers(model: Any, rows: Sequence[Row]) -> Array:
    """Encode rows as the numbers that a model sees; a refusal names row and column."""
    shape = TableShape.of(model)
    _check_names(shape, rows)
    rows = dated(rows, shape.dates)
    try:
        return _encoded(model, shape, rows)
    except (ValueError, OverflowError) as error:
        first = _first_bad(model, shape, rows)
        words, column = str(error), None
        if first is not None:
            try:
                _encoded(model, shape, rows[first : first + 1])
            except (ValueError, OverflowError) as one:
                words = str(one)
            found = re.search(r"column '([^']*)'|has no '([^']*)'|^X: '([^']*)'", words)
            column = None if found is None else next(filter(None, found.groups()), None)
        raise Refusal(422, words, row=first, column=column) from error


def _encoded(model: Any, shape: TableShape, rows: Sequence[Row]) -> Array:
    if shape.names is None:
        columns = [_objects(one) for one in zip(*rows)]
        found = [objects_column(f"x{k}", one) for k, one in enumerate(columns)]
    else:
        found = columns_of_dicts(rows, shape.names)  # type: ignore[arg-type]
    return model.encoding_.encoded(found).view(KnownColumns)


def _objects(values: Sequence[Any]) -> Array:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _check_names(shape: TableShape, rows: Sequence[Row]) -> None:
    """Refuse rows without the columns of the model, or with texts in columns of numbers."""
    if (shape.names is None) != isinstance(rows[0], list):
        if shape.names is None:
            raise Refusal(422, f"this model has {len(shape.kinds)} columns without names: rows are "
                               "lists of numbers", row=0)  # fmt: skip
        raise Refusal(422, f"this model has columns {list(shape.names)}: rows are objects", row=0)
    if shape.names is None and len(rows[0]) != len(shape.kinds):
        words = f"a row has {len(rows[0])} values, and the model has {len(shape.kinds)} columns"
        raise Refusal(422, words, row=0)
    names: Sequence[Any] = range(len(shape.kinds)) if shape.names is None else shape.names
    for i, row in enumerate(rows):
        for name, kind in zip(names, shape.kinds):
            if isinstance(row, dict) and name not in row:
                raise _no_column(name, row, i)
            value = row[name]
            if kind == NUMBER and isinstance(value, str):
                words = f"{value[:50]!r} is a text, and this column has numbers"
                raise Refusal(422, words, row=i, column=name)


def _no_column(name: str, row: Mapping[str, Any], i: int) -> Refusal:
    others = {key.lower(): key for key in row}
    near = get_close_matches(name.lower(), list(others), n=1, cutoff=0.6)
    hint = f" (it has {others[near[0]]!r}: is that meant?)" if near else ""
    words = f"a row has no {name!r}{hint}; null is a missing value"
    return Refusal(422, words, row=i, column=name)


def dated(rows: Sequence[Row], names: Sequence[str]) -> Sequence[Row]:
    """Read the texts of columns of dates as dates, in UTC where they have a zone."""
    if not names:
        return rows
    found = []
    for i, row in enumerate(rows):
        own: Any = dict(row)
        for name in names:
            try:
                own[name] = None if own[name] is None else date_of(own[name])
            except (ValueError, TypeError) as error:
                words = f"{str(own[name])[:50]!r} is no date in ISO 8601"
                raise Refusal(422, words, row=i, column=name) from error
        found.append(own)
    return found


def date_of(text: str) -> datetime:
    """Read a date and time in ISO 8601."""
    when = datetime.fromisoformat(text)
    return when if when.tzinfo is None else when.astimezone(UTC).replace(tzinfo=None)


def _first_bad(model: Any, shape: TableShape, rows: Sequence[Row]) -> int | None:
    """The first row at which encoding fails: by bisection, as rows before it are fine."""
    low, high = 0, len(rows)  # rows[:low] are fine, rows[:high] are not
    while high - low > 1:
        middle = (low + high) // 2
        try:
            _encoded(model, shape, rows[:middle])
            low = middle
        except (ValueError, OverflowError):
            high = middle
    return low if high else None


def given_text(body: Mapping[str, Any], name: str, *, longest: int = LONGEST_TEXT) -> str:
    """Take a text of a request that may be missing."""
    value = body.get(name, "")
    if not is_text(value) or len(value) > longest:
        raise Refusal(422, f"{name!r} is a text of at most {longest} characters", column=name)
    return value


def given_id(body: Mapping[str, Any], header: str | None) -> int | str:
    """Take the id of rows that are to be learnt, by which they are learnt once."""
    id = body.get("id", header)
    if id is None:
        raise Refusal(422, 'give "id", a name for these rows: sent again under it, they are learnt '
                           "once", column="id")  # fmt: skip
    number = isinstance(id, int) and not isinstance(id, bool) and 0 <= id < 2**63
    text = is_text(id) and 0 < len(id) <= LONGEST_ID and id.isprintable()
    if not (number or text):
        words = f'"id" is a text of 1 to {LONGEST_ID} printable characters, or a whole number'
        raise Refusal(422, words, column="id")
    return id


def only(body: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse parts of a request that mean nothing."""
    for name in body:
        if name not in names:
            near = get_close_matches(name, names, n=1, cutoff=0.6)
            hint = f": is {near[0]!r} meant?" if near else f"; it may have {list(names)}"
            raise Refusal(422, f"a request has no {name[:50]!r}{hint}", column=name[:50])
