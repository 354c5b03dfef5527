"""Events: what was done to a ledger, each with a hash that covers all before it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any

from ...numerics.fingerprint import fingerprint
from ..errors import LedgerError

COLUMNS = "lsn, at, kind, who, reason, before, after, detail, hash"


@dataclass(frozen=True)
class Event:
    """One change of a ledger."""

    lsn: int  # log sequence number: 0, 1, …
    at: str  # UTC, ISO 8601
    kind: str  # "begin", "fitted", "add", "forget", "replace", "merge", "relearn" or "rebuild"
    who: str
    reason: str
    before: str  # hash of the state
    after: str
    detail: str  # JSON
    hash: str  # of all this and the hash of the event before

    @classmethod
    def next(
        cls, last: str, lsn: int, at: str, kind: str, who: str, reason: str, before: str,
        after: str, detail: dict[str, Any],
    ) -> Event:  # fmt: skip
        """Chain an event to the hash of the last one."""
        text = json.dumps(detail, sort_keys=True, separators=(",", ":"))
        own = lsn, at, kind, who, reason, before, after, text
        return cls(*own, fingerprint(last, *own))

    @property
    def row(self) -> tuple[Any, ...]:
        return (
            self.lsn, self.at, self.kind, self.who, self.reason, self.before, self.after,
            self.detail, self.hash,
        )  # fmt: skip

    @property
    def details(self) -> dict[str, Any]:
        return json.loads(self.detail)


def read_events(con: Any) -> list[Event]:
    return [Event(*row) for row in con.execute(f"SELECT {COLUMNS} FROM event ORDER BY lsn")]


def write_event(con: Any, event: Event) -> None:
    con.execute(f"INSERT INTO event({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", event.row)


def check_chain(events: Iterable[Event]) -> None:
    """Raise where an event is not as it was written, or one is missing."""
    last, after, lsn = "", "", 0
    for one in events:
        own = one.row[:-1]
        if one.lsn != lsn or one.before != after or one.hash != fingerprint(last, *own):
            raise LedgerError(
                f"event {one.lsn} ({one.kind}, {one.at}) is not as it was written, or events "
                "before it are missing: the ledger was changed by other means. Put back a copy"
            )
        last, after, lsn = one.hash, one.after, lsn + 1
    if not lsn:
        raise LedgerError("the ledger has no events: it was changed by other means")


def moment(when: Any, name: str) -> str:
    """Write a date (its end), or a date and time (UTC where it has no zone), as text."""
    if isinstance(when, str):
        try:
            when = date.fromisoformat(when) if len(when) <= 10 else datetime.fromisoformat(when)
        except ValueError as error:
            raise ValueError(f"{name}={when!r}: give a date and time in ISO 8601") from error
    if type(when) is date:
        when = datetime.combine(when, time.max)
    if not isinstance(when, datetime):
        raise ValueError(f"{name}={when!r}: give a date, a datetime, or a text in ISO 8601")
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    return when.replace(tzinfo=None).isoformat(" ", "microseconds")


def now() -> str:
    return moment(datetime.now(UTC), "at")
