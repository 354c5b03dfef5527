"""Audits: everything compared with its hashes, and records for others to check."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from ..interface.frames.encoded import known_parts
from ..messages.probe import probe
from ..modelfile.arrays import sha256_of
from ..modelfile.files import versions
from ..numerics import durable
from ..numerics.fingerprint import fingerprint
from .errors import LedgerError
from .models import Divided, Group, Models
from .state import RunningTotal, State
from .storage.chunks import ChunkEntry, ChunkTable
from .storage.events import Event, check_chain, read_events
from .table import GivenRows
from .template import Template, joined_column

#: Coverage is measured with one row in so many of some chunks, up to so many rows in all.
SHARE, CHUNKS, ROWS, COVERAGE = 5, 20, 500, 0.95


def check_sum(template: Template, state: State, table: ChunkTable) -> None:
    """Raise where the sum is not that of all messages, added up again from the rows."""
    total = RunningTotal(template, None).all(table.each(state.ordered())).result()
    fresh = State.of(template.id, total, state.entries.values())
    if fresh.hash != state.hash:
        raise LedgerError(
            "the sum of messages is not that of the rows: it was made by another kind of processor "
            "or other libraries (the next change adds it up again), or the file is damaged"
        )


def check_listed(table: ChunkTable, entries: Sequence[ChunkEntry], events: Sequence[Event]) -> None:
    """Raise where chunks, columns or the basis are not those that events tell of."""
    for one in entries:
        own = events[one.lsn] if 0 <= one.lsn < len(events) else None
        listed = [] if own is None else own.details.get("chunks", [])
        source = [(c["source"], c["site"]) for c in listed if c["id"] == one.id]
        right = own is not None and own.at == one.at and source == [(one.source, one.site)]
        if one.gone is not None:
            end = events[one.gone] if 0 <= one.gone < len(events) else None
            right &= end is not None and one.id in [c["id"] for c in end.details["chunks"]]
        if not right:
            raise LedgerError(
                f"chunk {one.id!r} is not the one that event {one.lsn} tells of: the ledger was "
                "changed by other means. Put back a copy of it"
            )
    told = {name: [one.details[name] for one in events if name in one.details][-1]
            for name in ("basis", "roles")}  # fmt: skip
    meta = table.con.execute("SELECT value FROM meta WHERE name = 'roles'").fetchone()[0]
    sha = table.con.execute("SELECT sha256 FROM basis").fetchone()[0]
    if (meta, sha) != (told["roles"], told["basis"]):
        raise LedgerError("columns or basis are not those that events tell of: put back a copy")


def verified(name: str, models: Models, head: str | None) -> dict[str, Any]:
    """Check the pages of the file, the chain of events, all rows, the sum and the store."""
    template, state, table = models.template, models.state, models.table
    said = [row[0] for row in table.con.execute("PRAGMA integrity_check(10)")]
    if said != ["ok"]:
        raise LedgerError(f"{name} is damaged ({'; '.join(said[:3])}): put back a copy of it")
    events = read_events(table.con)
    check_chain(events)
    if head is not None and head not in {one.hash for one in events}:
        raise LedgerError(
            f"no event of {name} has the hash {head}: events were rewritten, or this is another "
            "ledger"
        )
    entries = table.entries()
    for one in entries:
        table.checked(one)
    check_listed(table, entries, events)
    check_sum(template, state, table)
    return {
        "ledger": name, "chunks": len(state.entries), "rows": state.n, "events": len(events),
        "earlier versions": len(entries) - len(state.entries), "state": state.hash,
        "head": state.head, "basis": state.basis, "store": models.check_beside(),
    }  # fmt: skip


def records(name: str, models: Models, events: Sequence[Event]) -> dict[str, Any]:
    """List chunks and events with their hashes, the model's identity, and coverage."""
    template, state, table = models.template, models.state, models.table
    chunks = [asdict(one) for one in table.entries()]
    for one in chunks:
        del one["key"]
    return {
        "ledger": name, "state": state.hash, "head": state.head, "lsn": state.lsn,
        "rows": state.n, "basis": state.basis,
        "model": fingerprint(state.hash, sha256_of(template.to_bytes())),
        "class": type(template.estimator).__name__, "probe": probe(), "versions": versions(),
        "coverage": held_out_coverage(models),
        "chunks": chunks, "events": [{**asdict(one), "detail": one.details} for one in events],
    }  # fmt: skip


def held_out_coverage(models: Models) -> dict[str, Any] | None:
    """Predict a fifth of the rows of some chunks by the model of all others; None: too few rows."""
    own = [one for one in models.state.ordered() if one.n >= SHARE]
    if not own:
        return None
    some = [own[k] for k in np.unique(np.linspace(0, len(own) - 1, CHUNKS).astype(int))]
    each = -(-ROWS // len(some))
    group: Group = {one.key: [*range(one.n // SHARE // 2, one.n, SHARE)][:each] for one in some}
    divided = Divided.by(models.state, group)
    held = [one.rows(models.table) for one in divided.inside]
    model = models.of(divided.rest, models.total_without(divided))
    return {"chunks": len(held), **_scores(model, models.template, held)}


def _scores(model: Any, template: Template, parts: Sequence[GivenRows]) -> dict[str, Any]:
    """Compare predictions with rows that were held out."""
    X = known_parts(model, [rows.found(template.names) for rows in parts])
    y = np.concatenate([rows.y for rows in parts])
    if hasattr(model, "predict_proba"):
        return {"rows": len(y), "accuracy": float(np.mean(model.predict(X) == y))}
    exposure = joined_column(parts, "exposure")
    more = {} if exposure is None else {"exposure": exposure}
    lower, upper = model.predict_interval(X, coverage=COVERAGE, **more)
    inside = (lower <= y.reshape(lower.shape)) & (y.reshape(lower.shape) <= upper)
    return {"rows": len(y), "promised": COVERAGE, "covered": float(np.mean(inside))}


def write_json(path: str | os.PathLike[str], found: dict[str, Any]) -> None:
    """Write a file completely or not at all."""
    with durable.replacing(path) as file:
        file.write(json.dumps(found, indent=1, ensure_ascii=False, default=str).encode())
        file.write(b"\n")
