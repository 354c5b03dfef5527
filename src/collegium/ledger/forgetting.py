"""Forgetting: which rows are meant, and chunks and sums without them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..interface.checks.arguments import check_chunk_id
from ..rows.ids import Id
from .state import RunningTotal, State
from .storage.chunks import ChunkEntry, ChunkTable
from .storage.where import matching
from .table import check_text
from .template import Template

Array = np.ndarray
#: Versions of chunks that lose rows, and the positions of these; None: all.
Gone = dict[ChunkEntry, Array | None]


def meant(table: ChunkTable, state: State, ids: Any, where: Any, rows: Any) -> Gone:
    """Find the rows that are meant; earlier versions of chunks are included."""
    if where is not None:
        found = matching(table.con, where, table.keep)
        entries = {one.key: one for one in table.entries()}
        return {entries[key]: None if at is None else np.array(at) for key, at in found.items()}
    if ids is not None:
        wanted: dict[Id, Any] = dict.fromkeys(known_ids(ids, state))
    elif isinstance(rows, Mapping):
        wanted = {known_ids(id, state)[0]: at for id, at in rows.items()}
    else:
        raise ValueError(f"rows={rows!r}: give a dict of positions, by id of chunk")
    gone: Gone = {}
    for id, at in wanted.items():
        kind = "text" if isinstance(id, str) else "integer"
        for one in table.entries("id = ? AND typeof(id) = ?", (id, kind)):
            some = at is not None and one.gone is None
            gone[one] = _positions(id, at, one.n) if some else None
    return gone


def known_ids(ids: Any, state: State) -> list[Id]:
    """Return ids of chunks that count, each once."""
    several = isinstance(ids, (list, tuple, set, frozenset, range, np.ndarray))
    found = [check_id(one) for one in (ids if several else [ids])]
    unknown = [id for id in found if id not in state.entries]
    if unknown or not found:
        known = [*state.entries][:5]
        raise ValueError(f"ids: {unknown[:5]} are not chunks of this ledger, such as {known}")
    return list(dict.fromkeys(found))


def check_id(id: Any) -> Id:
    """Return an id that SQLite can store."""
    found = check_chunk_id(id, None)
    if isinstance(found, int) and found < 2**63:
        return found
    return check_text(found, "id")


def _positions(id: Id, at: Any, n: int) -> Array:
    found = np.unique(np.asarray(at))
    whole = found.dtype.kind in "iu" and found.size and 0 <= found[0] and found[-1] < n
    if not whole:
        raise ValueError(f"rows[{id!r}]: give positions from 0 to {n - 1}")
    return found


@dataclass(frozen=True)
class Lost:
    """The state without some rows, and what went."""

    state: State
    rows: int  # among those that counted
    chunks: tuple[Id, ...]
    first: int | None  # the earliest event that added some of them


def less_rows(table: ChunkTable, template: Template, state: State, gone: Gone) -> Lost:
    """Take rows out of chunks, in the file too, and their messages out of the sum."""
    total, lost, entries, count = RunningTotal(template, state.total), list[Id](), [], 0
    for one, at in gone.items():
        rows = table.checked(one)
        stay = np.ones(one.n, dtype=bool)
        stay[slice(None) if at is None else at] = False
        if one.gone is None:
            count += one.n - int(stay.sum())
            lost.append(one.id)
            total.hear(one.id, rows, lost=True)
        if not stay.any():
            table.erase(one)
            continue
        some = np.flatnonzero(stay)
        kept = {name: [values[i] for i in some] for name, values in table.columns(one).items()}
        rest = rows.take(some)
        new = replace(one, n=rest.n, sha256=rest.digest(kept))
        table.update(new, rest, kept)
        if one.gone is None:
            total.hear(one.id, rest)
            entries.append(new)
    names = sorted({one.id for one in gone}, key=lambda id: (isinstance(id, str), id))
    first = min((one.lsn for one in gone), default=None)
    after = state.changed(total.result(), lost, entries)
    return Lost(after, count, tuple(names), first)
