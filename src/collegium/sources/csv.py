"""CSV files with a header: pieces are runs of lines, located by their bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..tables.reading import Found
from .arrow import columns, floats, pyarrow
from .pieces import BOOLEAN, DATE, NUMERAL, TEXT, Type, unique
from .plain import bad_text, first_lines, no_table, parsed, row_bounds, row_spans
from .stamps import Stamp

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class CsvPiece:
    """Lines of a file from byte `start` to byte `stop`, whose first is row `offset`."""

    file: str
    group: None
    offset: int
    n: int
    start: int
    stop: int
    types: dict[str, Type]

    def read(self, names: Sequence[str]) -> Array:
        return floats(self._batches(names), names, self.n)

    def columns(self, names: Sequence[str]) -> list[Found]:
        return columns(self._batches(names), names, self.n)

    def _batches(self, names: Sequence[str]) -> list[Any]:
        types = {name: _arrow_type(self.types[name]) for name in names}
        try:
            return self._table(types).to_batches()
        except ValueError as error:
            self._explain(types)
            raise ValueError(f"{error}: correct the line, or leave out the file") from error

    def _table(self, types: dict[str, Any]) -> Any:
        csv = pyarrow("csv")
        lines = self._lines()
        return csv.read_csv(
            pyarrow().BufferReader(lines),
            csv.ReadOptions(
                use_threads=False, block_size=len(lines) + 1, column_names=list(self.types)
            ),
            csv.ParseOptions(newlines_in_values=True),
            csv.ConvertOptions(
                column_types=types, include_columns=list(types), strings_can_be_null=True
            ),
        )

    def _lines(self) -> bytes:
        with open(self.file, "rb") as file:
            file.seek(self.start)
            return file.read(self.stop - self.start)

    def _explain(self, types: dict[str, Any]) -> None:
        """Raise an error that names the first bad row, or the first value that is not a number."""
        parsed(self._lines(), self.offset, list(self.types))
        text = pyarrow().string()
        table = self._table(dict.fromkeys(types, text))
        compute = pyarrow("compute")
        for name, type in types.items():
            column = compute.utf8_trim_whitespace(table.column(name).combine_chunks())
            row = _first_bad(column, type)
            if row is not None:
                word = "date" if self.types[name].kind == DATE else "number"
                raise bad_text(name, row, self.offset, column.to_pylist(), f"not a {word}")


def _first_bad(column: Any, type: Any) -> int | None:
    """Position of the first value that cannot be cast, by bisection."""

    def fails(low: int, high: int) -> bool:
        try:
            column.slice(low, high - low).cast(type)
        except ValueError:
            return True
        return False

    low, high = 0, len(column)
    if not fails(low, high):
        return None
    while high - low > 1:  # the first is in [low, high)
        middle = (low + high) // 2
        low, high = (low, middle) if fails(low, middle) else (middle, high)
    return low


@dataclass(frozen=True, eq=False)
class CsvTable:
    """A CSV file: columns are typed by their first values, rows counted when it is cut."""

    file: str
    types: dict[str, Type]
    target: tuple[str, ...] = ()
    stamps: tuple[Stamp, ...] = ()

    @classmethod
    def of(cls, path: str) -> CsvTable:
        csv, lines = pyarrow("csv"), first_lines(path)
        parse = csv.ParseOptions(newlines_in_values=True)
        try:
            names = csv.read_csv(pyarrow().BufferReader(lines), None, parse).column_names
            every = csv.ConvertOptions(column_types=dict.fromkeys(names, pyarrow().string()))
            table = csv.read_csv(pyarrow().BufferReader(lines), None, parse, every)
        except ValueError as error:
            raise no_table(path, lines, error) from error
        unique(path, names)
        if table.num_rows > 1:
            raise ValueError(f"lines of {path} end in \\r alone: write it again with \\n")
        first = {n: table.column(n)[0].as_py() if table.num_rows else "" for n in names}
        gaps = [name for name, value in first.items() if _missing(value)]
        return cls(path, {n: _type(v) for n, v in (first | _later(path, names, gaps)).items()})

    def pieces(self, most: int) -> Iterator[CsvPiece]:
        for offset, n, start, stop in row_spans(self.file, most):
            yield CsvPiece(self.file, None, offset, n, start, stop, self.types)


def _missing(value: str) -> bool:
    return value in pyarrow("csv").ConvertOptions().null_values


def _later(path: str, names: list[str], gaps: list[str]) -> dict[str, str]:
    """First values, in the first block of a file, of columns whose first row is missing."""
    starts, stops = next(row_bounds(path))
    if not gaps or not stops.size:
        return {}
    texts, span = dict.fromkeys(names, Type(TEXT, "text")), (int(starts[0]), int(stops[-1]))
    piece = CsvPiece(path, None, 0, stops.size, *span, texts)
    try:
        table = piece._table(dict.fromkeys(gaps, pyarrow().string()))
    except ValueError:  # reported when its chunk is read
        return {}
    there = {name: table.column(name).drop_null() for name in gaps}
    return {name: column[0].as_py() for name, column in there.items() if len(column)}


def _arrow_type(type: Type) -> Any:
    pa = pyarrow()
    if type.kind == DATE:
        unit, _, zone = type.name.removeprefix("date of ").partition(" ")
        return pa.timestamp(unit, zone or None)
    known = {BOOLEAN: pa.bool_(), NUMERAL: pa.float64(), TEXT: pa.string()}
    return known[type.kind]


def _date(value: str) -> Type | None:
    """Type of a date and time in ISO 8601; None if it is not one."""
    pa = pyarrow()
    for name in ("us", "us UTC", "ns", "ns UTC"):
        unit, _, zone = name.partition(" ")
        try:
            pa.array([value]).cast(pa.timestamp(unit, zone or None))
        except ValueError:
            continue
        return Type(DATE, f"date of {name}")
    return None


def _type(value: str) -> Type:
    """Type of a column by its first value."""
    if value.strip().lower() in ("true", "false"):
        return Type(BOOLEAN, "true or false")
    try:
        float(value or "nan")
    except ValueError:
        if _missing(value):
            return Type(NUMERAL, "numbers")
        return _date(value.strip()) or Type(TEXT, f"text such as {value!r}")
    return Type(NUMERAL, "numbers")
