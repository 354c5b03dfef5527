"""Certificates: what was forgotten, how exactly, and what still depends on it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .storage.events import Event

#: How exact forgetting is, by kind of model.
EXACT = "bitwise: the sum is that of a ledger on the same basis that never had these rows"
SWEPT = "bitwise: messages were found anew from the rows that are left, on the same basis"
FITTED = "complete: the model is fitted to the rows that are left, and nothing else is kept"


@dataclass(frozen=True)
class Certificate:
    """A record of one forgetting."""

    ledger: str  # name of the file
    lsn: int
    at: str
    reason: str
    rows: int  # forgotten, among those that counted
    chunks: tuple[int | str, ...]  # that had them
    before: str  # hash of the state
    after: str
    exactness: str
    remembers: tuple[str, ...]  # parts of the basis that were learnt with these rows; "perhaps":
    # the basis was learnt outside of the ledger
    erased: bool  # whether no byte of the rows is left in the files of the ledger
    rebuilt: bool  # whether the state was computed again from the rows that are left, and is equal

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        shown = ", ".join(map(repr, self.chunks[:5])) + (" …" if len(self.chunks) > 5 else "")
        lines = {
            "ledger": self.ledger, "event": f"{self.lsn}, {self.at} UTC",
            "reason": self.reason or "none given",
            "forgotten": f"{self.rows} rows of the chunks {shown}" if self.chunks else "no rows",
            "state before": self.before, "state after": self.after, "exactness": self.exactness,
            "rebuilt": "yes, and equal" if self.rebuilt else "not asked for",
            "still remember": ", ".join(self.remembers) + " (until relearn())"
            if self.remembers else "nothing",
            "bytes": "erased from all files of the ledger" if self.erased
            else "not erased yet (a reader, the disk, a step that goes on): the next step does it",
        }  # fmt: skip
        return "\n".join(f"{name:14}  {value}" for name, value in lines.items())


def certificate_of(
    name: str, event: Event, remembers: tuple[str, ...], *, erased: bool, rebuilt: bool
) -> Certificate:
    """Make the certificate of an event."""
    said = event.details
    return Certificate(
        name, event.lsn, event.at, event.reason, said["rows"], tuple(said["chunks"]),
        event.before, event.after, said["exactness"], remembers, erased, rebuilt,
    )  # fmt: skip
