"""Errors as the command line tells them: an exit code, words, and where the fault is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import click

#: Exit codes.
OTHER, USAGE, DATA, MODEL_FILE, LIMIT, INTERRUPTED = 1, 2, 3, 4, 5, 130
#: Where a value stands, counted from 1.
PLACES = ("line", "row group", "row")
LIMIT_REMEDY = (
    "on the command line: --memory sets the limit, --store FOLDER keeps rows on disk, and "
    "--set n_local=0 keeps none"
)


@dataclass
class Failure(Exception):
    """Ends a command. `where` has the file, line, row, column and value, where they are known."""

    code: int
    words: str
    where: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.words


def failure_of(error: BaseException) -> Failure:
    """The exit code and words of any error."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, click.UsageError):
        hint = ""
        if error.ctx is not None:
            hint = f" (see '{error.ctx.command_path} --help')"
        return Failure(USAGE, f"{error.format_message()}{hint}")
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return Failure(INTERRUPTED, "interrupted: no file was written")
    if isinstance(error, click.ClickException):
        return Failure(error.exit_code, error.format_message())
    if isinstance(error, MemoryError):
        return Failure(LIMIT, f"memory is exhausted; {LIMIT_REMEDY}")
    if type(error).__name__ == "LimitError":
        return Failure(LIMIT, f"{error}; {LIMIT_REMEDY}")
    if isinstance(error, ImportError):
        return Failure(USAGE, str(error))
    if isinstance(error, OSError):
        named = "" if error.filename is None else f"{error.filename}: "
        return Failure(OTHER, f"{named}{error.strerror or error}")
    kind = type(error).__name__
    return Failure(OTHER, f"{kind}: {error} (--debug, before the command, shows where)")


@contextmanager
def of_model_file(path: str) -> Iterator[None]:
    """Errors in this block are those of a model file."""
    from ..modelfile.errors import ModelFileError

    try:
        yield
    except ModelFileError as error:
        raise Failure(MODEL_FILE, f"{path}: {error}", {"file": path}) from error
    except OSError as error:
        words = f"{path}: {error.strerror or error}: give the path of a model file (.clg)"
        raise Failure(MODEL_FILE, words, {"file": path}) from error


@contextmanager
def of_data(data: Any) -> Iterator[None]:
    """Errors in this block are those of data: `data` has a name, names of temporary files for
    users, and columns that are needed."""
    from ..numerics.memory import LimitError
    from ..sources.pieces import BadChunkError

    try:
        yield
    except LimitError:
        raise
    except BadChunkError as error:
        raise _bad_chunk(error, data) from error
    except OSError as error:
        if error.errno is not None and error.filename is None:
            raise  # of what is written
        told = f"{error.filename}: {error.strerror}" if error.errno is not None else str(error)
        raise Failure(DATA, _renamed(told, data), {"file": data.name}) from error
    except ValueError as error:
        words = _for_users(_renamed(str(error), data))
        raise Failure(DATA, words, {"file": data.name}) from error


def _bad_chunk(error: Any, data: Any) -> Failure:
    """Say where the first bad value is: by line in CSV, else by row, from 1."""
    from ..sources.plain import line_number

    file, at = data.names.get(error.file, error.file), error.at
    where: dict[str, Any] = {"file": file}
    words, why = [file], error.why
    if at is not None:
        why = at.why
        text = error.file.lower().endswith(".csv")
        if error.group:
            where["row group"] = error.group + 1
        where |= {"line": line_number(error.file, at.row)} if text else {"row": at.row + 1}
        found = {"column": at.column, "value": at.value}
        where |= {name: one for name, one in found.items() if one is not None}
    elif error.line is not None:
        where["line"] = error.line
    words += [f"{name} {where[name]:,}" for name in PLACES if name in where]
    words += [f"column {where['column']!r}"] if "column" in where else []
    if where.get("column") in data.needed:
        why = why.replace(OPTIONS[1][0], "")
        if "missing value" in why:
            why += " (--missing drop)"
    return Failure(DATA, _for_users(_renamed(f"{', '.join(words)}: {why}", data)), where)


def _renamed(words: str, data: Any) -> str:
    for path, name in data.names.items():
        words = words.replace(path, name)
    return words


#: Arguments of the library as options of the command line.
OPTIONS = (
    ("name the columns to use without it: columns=[…]", "name the columns to use: -x a,b,c"),
    (", or leave the column out of `columns`", ", or leave the column out (-x)"),
    ("name at least one in `columns`", "name at least one: -x a,b,c"),
)


def _for_users(words: str) -> str:
    for ours, theirs in OPTIONS:
        words = words.replace(ours, theirs)
    return words


def of_fit(error: ValueError, arguments: Sequence[str]) -> Failure | None:
    """The failure of a fit: usage where the error names an argument, else data."""
    if type(error).__name__ == "LimitError":
        return None
    named = re.match(r"(\w+)(=| means)", str(error))
    usage = named is not None and named[1] in (*arguments, "exposure")
    return Failure(USAGE if usage else DATA, _for_users(str(error)))


def no_column(name: str, option: str, file: str, have: Sequence[str]) -> Failure:
    """Refuse the name of a column that a file does not have, with the nearest spelling."""
    near = get_close_matches(name, have, n=1, cutoff=0.5) or [
        one for one in have if one.strip().lower() == name.strip().lower()
    ]
    words = f"{file} has no column {name!r} ({option})"
    odd = next((one for one in ";\t|" if len(have) == 1 and one in have[0]), None)
    if near:
        words += f": did you mean {near[0]!r}?"
    elif odd is not None:
        words += f": its values are separated by {odd!r}, write it with commas"
    else:
        shown = ", ".join(map(repr, have[:12])) + (", …" if len(have) > 12 else "")
        words += f": it has {shown}"
    return Failure(
        DATA, words, {"file": file, "column": name, "nearest": near[0] if near else None}
    )
