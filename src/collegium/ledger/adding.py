"""Chunks that are to be added together: read, checked and cut before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..pipeline.stream.assembling import NamedRows
from ..rows.ids import Id
from .errors import LedgerError
from .forgetting import check_id
from .state import State
from .table import Columns, GivenRows, TableRoles, check_text
from .template import Template

#: Rows that are read into memory at most: by `relearn`, and by models that do not add up.
MOST_ROWS = 3_000_000
#: Arguments that one chunk may have.
ARGUMENTS = ("X", "y", "id", "source", "kept", "sample_weight", "exposure")


class IdTaken(ValueError):
    """Raised where an id is that of other rows."""


class LedgerFull(ValueError):
    """Raised where a ledger would have more rows than it may."""


@dataclass(frozen=True, eq=False)
class NewChunk:
    """A chunk before it is written."""

    id: Id
    rows: GivenRows
    columns: Columns  # kept
    sha256: str
    source: str
    named: NamedRows | None  # rows cut on the basis; None: there is none


class NewChunks:
    """Chunks that one step will add, and what the first rows decide about columns."""

    def __init__(self, roles: TableRoles, template: Template, state: State, *, first: bool) -> None:
        self.roles, self.template, self.state, self.first = roles, template, state, first
        self.chunks: list[NewChunk] = []
        self.n = state.n
        self.shas: dict[Id, str] = {}  # of the new ones

    def take(self, given: Mapping[str, Any], free: Callable[[Mapping[Id, Any]], Id]) -> int:
        """Read one chunk; return the number of the event that added it or will add it."""
        if wrong := [name for name in given if name not in ARGUMENTS]:
            raise ValueError(f"{wrong[0]!r} is no argument of a chunk: give {list(ARGUMENTS)}")
        roles, rows, columns = self.roles.read(
            given.get("X"), given.get("y"), given.get("sample_weight"), given.get("exposure"),
            given.get("kept"), first=self.first or self.roles.keep is None,
        )  # fmt: skip
        id, known = given.get("id"), self.state.entries
        id = free({**known, **self.shas}) if id is None else check_id(id)
        sha, next_lsn = rows.digest(columns), self.state.lsn + 1
        if id in known or id in self.shas:
            same = sha == (known[id].sha256 if id in known else self.shas[id])
            if not same:
                raise IdTaken(
                    f"id={id!r} is a chunk of other rows: give another id, or replace that chunk"
                )
            return known[id].lsn if id in known else next_lsn
        self.put(id, rows, columns, check_text(given.get("source", ""), "source"), sha, roles)
        return next_lsn

    def put(
        self, id: Id, rows: GivenRows, columns: Columns, source: str, sha: str | None = None,
        roles: TableRoles | None = None,
    ) -> None:  # fmt: skip
        """Check rows that were read, and put them with the others."""
        roles = self.roles if roles is None else roles
        sha = rows.digest(columns) if sha is None else sha
        check_size(self.template, self.n + rows.n)
        template = self.template
        if template.names != roles.names:
            template = replace(template, names=roles.names)
        named = template.checked(id, rows)
        self.chunks.append(NewChunk(id, rows, columns, sha, source, named))
        self.roles, self.template, self.first = roles, template, False
        self.n, self.shas[id] = self.n + rows.n, sha


def check_size(template: Template, n: int) -> None:
    """Refuse more rows than can be in memory, where a model needs all of them there."""
    if n > MOST_ROWS and not template.exact:
        raise LedgerFull(
            f"a ledger of models that are fitted to all rows, or have another likelihood than "
            f"'gaussian', holds at most {MOST_ROWS:,} rows, and this would make {n:,}: begin "
            "another, or fit rows on disk (store=)"
        )


def check_relearning(n: int) -> None:
    """Refuse to learn a basis from more rows than can be in memory."""
    if n > MOST_ROWS:
        raise LedgerError(
            f"relearn() reads all rows into memory, at most {MOST_ROWS:,}, and there are {n:,}: "
            "fit a model to the rows with store=, and begin another ledger with it"
        )
