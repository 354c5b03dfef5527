"""CSV files without pyarrow: where rows are, by their bytes, and the values in them by the standard
library. Values are those that pyarrow would read."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from ..tables.levels import coded, date_seconds
from ..tables.reading import DATE as DATES
from ..tables.reading import LEVELS, NUMBER, Found
from .pieces import BOOLEAN, DATE, NUMERAL, TEXT, BadChunkError, BadValueError, Type, unique
from .stamps import Stamp

Array = np.ndarray
#: Bytes read at a time.
BLOCK = 1 << 20
NEWLINE, RETURN, QUOTE = b'\n\r"'
BOM = b"\xef\xbb\xbf"
#: Missing values, as pyarrow knows them.
NULLS = frozenset(
    "|#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|N/A|NA|NULL|NaN|n/a|nan|"
    "null".split("|")
)
TRUTHS = {
    **dict.fromkeys(("1", "True", "TRUE", "true"), 1.0),
    **dict.fromkeys(("0", "False", "FALSE", "false"), 0.0),
}
ISO = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}(:\d{2}){0,2}(\.\d{1,9})?(Z|[+-]\d{2}(:?\d{2})?)?)?")
NOT_UTF8 = "this is not UTF-8: write the file again in that encoding (iconv -f latin1 -t utf-8)"
SEPARATORS = "write numbers without separators of thousands and with a decimal point"


def line_bounds(path: str) -> Iterator[tuple[Array, Array]]:
    """Yield the bytes at which non-blank lines start and stop; a quoted newline ends no line."""
    rest, done = b"", 0
    with open(path, "rb") as file:
        while True:
            block = file.read(BLOCK)
            data = rest + (block or b"\n" * bool(rest))
            if not data:
                return
            found = np.frombuffer(data, dtype=np.uint8)
            ends = np.flatnonzero(found == NEWLINE)
            if QUOTE in data:
                ends = ends[np.cumsum(found == QUOTE)[ends] % 2 == 0]
            if not block and not ends.size:
                raise bad_line(
                    path, 1 + _newlines(path, done),
                    "the file ends inside a quoted value: close the quotes of this line",
                )  # fmt: skip
            starts = np.concatenate(([0], ends[:-1] + 1))[: ends.size]
            size = ends - starts
            full = (size > 1) | ((size == 1) & (found[starts] != RETURN))
            yield starts[full] + done, ends[full] + 1 + done
            used = int(ends[-1]) + 1 if ends.size else 0
            rest, done = data[used:] if block else b"", done + used


def row_bounds(path: str) -> Iterator[tuple[Array, Array]]:
    """Yield the bytes at which rows start and stop, block by block, without the header."""
    header = True
    for starts, stops in line_bounds(path):
        if header and starts.size:
            starts, stops, header = starts[1:], stops[1:], False
        yield starts, stops


def first_lines(path: str) -> bytes:
    """Read the header and the first row."""
    stop, missing = 0, 2
    for _, stops in line_bounds(path):
        if stops.size:
            stop, missing = int(stops[:missing][-1]), missing - min(missing, stops.size)
        if not missing:
            break
    with open(path, "rb") as file:
        found = file.read(stop)
    return found if found.endswith(b"\n") else found + b"\n"


def row_spans(path: str, most: int) -> Iterator[tuple[int, int, int, int]]:
    """(offset, n, first byte, last byte) of runs of at most `most` rows."""
    offset, begin, end, count = 0, 0, 0, 0
    for starts, stops in row_bounds(path):
        at = 0
        while at < starts.size:
            begin = begin if count else int(starts[at])
            more = min(most - count, starts.size - at)
            at, count = at + more, count + more
            end = int(stops[at - 1])
            if count == most:
                yield offset, count, begin, end
                offset, count = offset + count, 0
    if count:
        yield offset, count, begin, end


def line_number(path: str, row: int) -> int:
    """Number of the line, from 1, at which a row (from 0) begins."""
    before = 0
    for starts, _ in row_bounds(path):
        if row < before + starts.size:
            return 1 + _newlines(path, int(starts[row - before]))
        before += starts.size
    raise ValueError(f"{path} has {before} rows, and row {row} is asked for")


def _newlines(path: str, stop: int) -> int:
    """Count newlines before a byte."""
    found = 0
    with open(path, "rb") as file:
        while stop > 0 and (block := file.read(min(stop, BLOCK))):
            found, stop = found + block.count(b"\n"), stop - len(block)
    return found


def bad_line(path: str, line: int, why: str) -> BadChunkError:
    """Make the error that a line of a file cannot be read."""
    found = BadChunkError(f"{path}, line {line}: {why}")
    found.file, found.line, found.why = path, line, why
    return found


def no_table(path: str, lines: bytes, error: Exception) -> ValueError:
    """Say why the first lines of a file are not a header and a row."""
    what = f"{path} is not a CSV file in UTF-8 with a header"
    try:
        text = lines.removeprefix(BOM).decode("utf-8")
        header, *rows = filter(None, csv.reader(io.StringIO(text, newline="")))
    except UnicodeDecodeError as wrong:
        line, why = 1 + lines[: wrong.start].count(b"\n"), NOT_UTF8
    except (ValueError, csv.Error):
        return ValueError(f"{what} ({error}): write it again, or leave it out")
    else:
        odd = next((one for one in ";\t|" if len(header) == 1 and one in header[0]), None)
        if odd is not None:
            line, why = 1, f"values are separated by {odd!r}: write the file with commas between "
            why += "values and a decimal point in numbers"
        elif rows and len(rows[0]) != len(header):
            line, why = line_number(path, 0), _ragged(rows[0], header)
        else:
            return ValueError(f"{what} ({error}): write it again, or leave it out")
    found = bad_line(path, line, why)
    found.args = (f"{what} (line {line}: {why})",)
    return found


def _ragged(row: Sequence[str], header: Sequence[str]) -> str:
    values = "1 value" if len(row) == 1 else f"{len(row)} values"
    names = "1 name" if len(header) == 1 else f"{len(header)} names"
    return (
        f"{values} where the header has {names}: quote values that have commas in them, and "
        f"{SEPARATORS}"
    )


def missing_text(value: str) -> bool:
    """Whether a text stands for a missing value."""
    return value in NULLS


def parsed(lines: bytes, offset: int, names: Sequence[str]) -> list[list[str]]:
    """Split rows into texts; refuse rows that are not UTF-8 or have another number of values."""
    try:
        text = lines.removeprefix(BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        before = lines[: error.start]
        row = sum(1 for _ in csv.reader(io.StringIO(before.decode("utf-8"), newline="")))
        ends = before.endswith(b"\n") or not before
        raise BadValueError(
            offset + row - (not ends), None, repr(lines[error.start : error.end])[2:-1], NOT_UTF8
        ) from error
    found = list[list[str]]()
    try:
        for one in csv.reader(io.StringIO(text, newline=""), strict=True):
            if not one:
                continue
            if len(one) != len(names):
                value = ",".join(one)[:60]
                raise BadValueError(offset + len(found), None, value, _ragged(one, names))
            found.append(one)
    except csv.Error as error:
        raise BadValueError(
            offset + len(found), None, None, f"{error}: write the line again"
        ) from error
    return found


def number_of(text: str) -> float:
    """A number as it is written in a file; ValueError of other texts."""
    if "_" in text:
        raise ValueError(text)
    return float(text)


def iso_date(text: str) -> datetime:
    """A date and time in ISO 8601; ValueError of other texts."""
    if not ISO.fullmatch(text):
        raise ValueError(text)
    return datetime.fromisoformat(text)


def column_of_texts(name: str, type: Type, texts: Sequence[str], offset: int) -> Found:
    """Read a column of texts by its type."""
    own = [one.strip() for one in texts] if type.kind != TEXT else texts
    if type.kind == TEXT:
        gaps = [None if missing_text(one) else one for one in own]
        codes, keys = coded(np.fromiter(gaps, object, len(gaps)))
        return Found(name, LEVELS, codes, tuple(keys))
    if type.kind == BOOLEAN:
        truths = [np.nan if missing_text(one) else TRUTHS.get(one, None) for one in own]
        if None in truths:
            raise bad_text(name, truths.index(None), offset, own, "neither true nor false")
        return Found(name, NUMBER, np.array(truths, np.float64), boolean=True)
    values, read = np.full(len(own), np.nan), number_of
    if type.kind == DATE:
        read = lambda text: date_seconds(iso_date(text))  # noqa: E731
    for k, one in enumerate(own):
        if not missing_text(one):
            try:
                values[k] = read(one)
            except ValueError:
                word = "date" if type.kind == DATE else "number"
                raise bad_text(name, k, offset, own, f"not a {word}") from None
    return Found(name, DATES if type.kind == DATE else NUMBER, values)


def bad_text(
    name: str, k: int, offset: int, texts: Sequence[str], what: str
) -> BadValueError:  # fmt: skip
    """Make the error that a text cannot be read."""
    text = texts[k]
    remedy = "correct it, or leave out the row or the column"
    if what == "not a number" and "," in text:
        remedy += f"; {SEPARATORS}"
    return BadValueError(offset + k, name, text, f"{text!r} is {what}: {remedy}")


def text_type(value: str) -> Type:
    """Type of a column by its first value."""
    if value.strip().lower() in ("true", "false"):
        return Type(BOOLEAN, "true or false")
    try:
        number_of(value or "nan")
    except ValueError:
        pass
    else:
        return Type(NUMERAL, "numbers")
    if missing_text(value):
        return Type(NUMERAL, "numbers")
    try:
        zone = iso_date(value.strip()).tzinfo
    except ValueError:
        return Type(TEXT, f"text such as {value!r}")
    return Type(DATE, "date of us" if zone is None else "date of us UTC")


@dataclass(frozen=True, eq=False)
class PlainCsvPiece:
    """Lines of a file from byte `start` to byte `stop`, whose first is row `offset`."""

    file: str
    group: None
    offset: int
    n: int
    start: int
    stop: int
    types: dict[str, Type]

    def read(self, names: Sequence[str]) -> Array:
        found = self.columns(names)
        return np.stack([one.values for one in found], axis=1) if found else np.empty((self.n, 0))

    def columns(self, names: Sequence[str]) -> list[Found]:
        with open(self.file, "rb") as file:
            file.seek(self.start)
            rows = parsed(file.read(self.stop - self.start), self.offset, list(self.types))
        if len(rows) != self.n:
            raise ValueError(f"{len(rows)} rows instead of {self.n}: the file has changed")
        at, each = list(self.types), list(zip(*rows))
        return [
            column_of_texts(name, self.types[name], each[at.index(name)], self.offset)
            for name in names
        ]


@dataclass(frozen=True, eq=False)
class PlainCsvTable:
    """A CSV file: columns are typed by their first values, rows counted when it is cut."""

    file: str
    types: dict[str, Type]
    target: tuple[str, ...] = ()
    stamps: tuple[Stamp, ...] = ()

    @classmethod
    def of(cls, path: str) -> PlainCsvTable:
        lines = first_lines(path)
        try:
            head = lines.removeprefix(BOM).decode("utf-8")
            names, *rows = filter(None, csv.reader(io.StringIO(head, newline=""), strict=True))
            if rows and len(rows[0]) != len(names):
                raise ValueError("the first row is not as long as the header")
        except (ValueError, csv.Error) as error:
            raise no_table(path, lines, error) from error
        unique(path, names)
        if len(rows) > 1:
            raise ValueError(f"lines of {path} end in \\r alone: write it again with \\n")
        first = dict(zip(names, rows[0])) if rows else {}
        if rows:
            first |= _later(path, names, [n for n in names if missing_text(first[n].strip())])
        return cls(path, {name: text_type(first.get(name, "")) for name in names})

    def pieces(self, most: int) -> Iterator[PlainCsvPiece]:
        for offset, n, start, stop in row_spans(self.file, most):
            yield PlainCsvPiece(self.file, None, offset, n, start, stop, self.types)


def _later(path: str, names: list[str], gaps: list[str]) -> dict[str, str]:
    """First values, in the first block of a file, of columns whose first row is missing."""
    if not gaps:
        return {}
    starts, stops = next(row_bounds(path))
    with open(path, "rb") as file:
        file.seek(int(starts[0]))
        lines = file.read(int(stops[-1]) - int(starts[0]))
    try:
        each = dict(zip(names, zip(*parsed(lines, 0, names))))
    except ValueError:  # reported when its chunk is read
        return {}
    there = {name: [one for one in each[name] if not missing_text(one.strip())] for name in gaps}
    return {name: texts[0] for name, texts in there.items() if texts}
