"""Names of records in model files.

A record is a dataclass of arrays, numbers, strings and other records. Its tag, such as
"messages.message/1", stays when the class moves or is renamed. After the slash comes a version: a
field that is added with a default keeps it, any other change of the fields needs a new one, and
then a function that makes the new record from the old fields is registered under the old tag.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any, TypeVar

Record = TypeVar("Record", bound=type)
#: Functions that make a record from its fields, by tag; the tag of each class.
_makers: dict[str, Callable[..., Any]] = {}
_tags: dict[type, str] = {}
#: Imports of public estimators, by tag.
_imports: dict[str, Callable[[], Any]] = {}
#: The field of a record that holds the inputs of training rows.
_inputs: dict[type, str] = {}


def record(tag: str, *, rows: str | None = None) -> Callable[[Record], Record]:
    """Give a class its tag; `rows` names the field that holds the inputs of rows, if any."""

    def decorate(cls: Record) -> Record:
        if tag in _makers:
            raise ValueError(f"tag {tag!r} is taken by {_makers[tag]!r}")
        _makers[tag], _tags[cls] = cls, tag
        if rows is not None:
            _inputs[cls] = rows
        return cls

    return decorate


def register(family: str, cls: type) -> None:
    """Tag a class of this package by its family and name, such as "kernel.matern52/1"."""
    if cls.__module__.partition(".")[0] == __name__.partition(".")[0]:
        record(f"{family}.{cls.__name__.lower()}/1")(cls)


def tag_of(cls: type) -> str | None:
    """Return the tag of a class; "own.<name>/1" for a dataclass of a user."""
    if cls in _tags:
        return _tags[cls]
    ours = cls.__module__.partition(".")[0] == __name__.partition(".")[0]
    return own_tag(cls) if is_dataclass(cls) and not ours else None


def own_tag(cls: type) -> str:
    """Return the tag of a class that a user wrote."""
    return f"own.{cls.__name__}/1"


def maker_of(tag: str) -> Callable[..., Any] | None:
    """Find the function that makes a record of this tag from its fields; None if unknown."""
    return _makers.get(tag)


def expect_estimator(tag: str, importing: Callable[[], Any]) -> None:
    """Name the import of a public estimator, which gives it this tag."""
    _imports[tag] = importing


def estimator_of(tag: str) -> Any:
    """Import the public estimator of a tag; None where there is none."""
    if tag not in _imports:
        return None
    _imports[tag]()
    return maker_of(tag)


def field_of_rows(cls: type) -> str | None:
    """Name the field of a record that holds the inputs of rows; None if there is none."""
    return _inputs.get(cls)
