"""Conditions on kept columns: expressions of SQL that can read these columns and nothing else."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from typing import Any

from .chunks import quoted

#: Functions that a condition may call.
FUNCTIONS = {
    "abs", "coalesce", "date", "datetime", "glob", "ifnull", "instr", "julianday", "length", "like",
    "lower", "max", "min", "nullif", "round", "strftime", "substr", "trim", "upper",
}  # fmt: skip
#: Columns of chunks that a condition may name beside the kept ones.
OF_CHUNKS = ("id", "site", "source", "at", "lsn")
TOKEN = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--|/\*|[();?:@$#]|.""", re.S
)
LONGEST = 10_000


def matching(con: Any, where: Any, keep: Sequence[str]) -> dict[int, list[int] | None]:
    """Find the rows that meet a condition: their positions, by key of chunk; None: all of them.

    The condition is compiled with an authorizer that denies everything but reading the kept
    columns and id, site, source, at and lsn of chunks.
    """
    _check_text(where, keep)
    rows = bool(keep)
    sql = (
        f"SELECT kept._chunk, kept._row FROM kept JOIN chunk ON chunk._key = kept._chunk "
        f"WHERE (\n{where}\n) ORDER BY 1, 2"
        if rows
        else f"SELECT _key, 0 FROM chunk WHERE (\n{where}\n)"
    )
    con.set_authorizer(_Reading(keep))
    try:
        found = con.execute(sql).fetchall()
    except (sqlite3.Error, sqlite3.Warning) as error:
        names = [*keep, *OF_CHUNKS]
        raise ValueError(
            f"where={where!r}: {error}. Give a condition on the columns {names}, such as "
            f"{names[0]!r} = 7, with and, or, not, in, between, like and is null"
        ) from error
    finally:
        con.set_authorizer(None)
    each: dict[int, list[int] | None] = {}
    for key, row in found:
        if rows:
            each.setdefault(key, []).append(row)  # type: ignore[union-attr]
        else:
            each[key] = None
    return each


def _check_text(where: Any, keep: Sequence[str]) -> None:
    """Refuse texts that are more than one expression, and quoted names that are no columns."""
    if not isinstance(where, str) or not where.strip() or len(where) > LONGEST:
        raise ValueError(f'where={where!r}: give a condition, such as where="customer = 7"')
    depth, known = 0, {name.lower() for name in (*keep, *OF_CHUNKS)}
    for token in TOKEN.findall(where):
        depth += (token == "(") - (token == ")")
        if depth < 0 or token in ("--", "/*", ";", "?", ":", "@", "$", "#", "\0"):
            raise ValueError(f"where={where!r}: {token!r} has no place in a condition")
        name = token[1:-1].replace('""', '"').lower()
        if len(token) > 1 and token[0] in '"`[' and name not in known:
            raise ValueError(f"where={where!r}: there is no column {token}; texts are written 'so'")
    if depth:
        raise ValueError(f"where={where!r}: parentheses are not closed")


class _Reading:
    """Decide what a condition may do: one SELECT that reads some columns."""

    def __init__(self, keep: Sequence[str]) -> None:
        self.columns = {("kept", name) for name in (*keep, "_chunk", "_row")}
        self.columns |= {("chunk", name) for name in (*OF_CHUNKS, "_key")}
        self.selects = 0

    def __call__(self, action: int, first: Any, second: Any, *_: Any) -> int:
        if action == sqlite3.SQLITE_SELECT:
            self.selects += 1
            return sqlite3.SQLITE_OK if self.selects == 1 else sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_READ:
            return sqlite3.SQLITE_OK if self._reads(first, second) else sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_FUNCTION:
            known = str(second).lower() in FUNCTIONS
            return sqlite3.SQLITE_OK if known else sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_DENY

    def _reads(self, table: Any, column: Any) -> bool:
        return (table, column) in self.columns or (table in ("kept", "chunk") and column == "")


def groups_of(con: Any, column: str, keep: Sequence[str]) -> dict[Any, dict[int, list[int] | None]]:
    """Find the rows of each value of a column, of chunks that count, by key of chunk."""
    if column in keep:
        found = con.execute(
            f"SELECT kept._chunk, kept._row, kept.{quoted(column)} FROM kept JOIN chunk ON "
            "chunk._key = kept._chunk WHERE chunk.gone IS NULL ORDER BY 1, 2"
        )
        each: dict[Any, dict[int, list[int] | None]] = {}
        for key, row, value in found:
            each.setdefault(value, {}).setdefault(key, []).append(row)  # type: ignore[union-attr]
        return each
    if column not in ("source", "site", "id"):
        names = [*keep, "source", "site", "id"]
        raise ValueError(f"{column!r} is not a column of this ledger: it has {names}")
    each = {}
    for key, value in con.execute(f"SELECT _key, {column} FROM chunk WHERE gone IS NULL"):
        each.setdefault(value, {})[key] = None
    return each
