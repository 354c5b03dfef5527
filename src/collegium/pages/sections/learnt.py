"""Words for what was learnt; what a ledger has; how to make the page again."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

import numpy as np

from ...diagnostics.numbers import count, digits, percent
from ...interface.words.brief import brief_of
from ...numerics.version import __version__
from ..markup import Safe, element, paragraph, put_together, table, visible
from ..material import Material

#: Letters of a line of words; events of a ledger that are listed.
LETTERS, EVENTS = 400, 10


def learnt_section(own: Material) -> Safe:
    """The lines of `summary()`, as a table."""
    if not hasattr(own.model, "summary"):
        return paragraph(visible(brief_of(own.model), LETTERS))
    lines = own.model.summary().splitlines()[1:]
    width = len(re.match(r"\s+\S+\s+", lines[0])[0])  # type: ignore[index]
    rows = [[visible(line[:width]), visible(line[width:], LETTERS)] for line in lines]
    told = stream_rows(own.model)
    return table(f"{type(own.model).__name__}, in words", ["what", "found"], [*rows, *told])


def stream_rows(model: Any) -> list[list[str]]:
    """Say what a stream has seen of itself."""
    check = getattr(model, "stream_", None)
    if check is None or not check.checked:
        return []
    text = (
        f"{count(check.rows, 'row')} came, {check.checked:,} of them predicted first: intervals of "
        f"95 % held {percent(check.coverage)}, of late {percent(check.recent_coverage)}; mean log "
        f"density {digits(check.log_density)}, of late {digits(check.recent_log_density)}"
    )
    return [["stream", text]]


def ledger_part(ledger: Any) -> Safe:
    """The last events of a ledger, with its hash."""
    events = ledger.events()
    rows = [
        [str(one.lsn), visible(one.at, 30), one.kind, visible(one.who), visible(one.reason, 120)]
        for one in events[-EVENTS:]
    ]
    more = f" (the last {EVENTS} of {len(events):,})" if len(events) > EVENTS else ""
    words = f"The model comes from a ledger of {count(len(events), 'event')}; its state is "
    return put_together([
        paragraph(words, element("code", visible(ledger.state, 70)), "."),
        table(f"Events{more}", ["number", "at (UTC)", "kind", "by", "reason"], rows),
    ])  # fmt: skip


def fingerprint_of(own: Material) -> str:
    """A hash of the rows that the page is made from."""
    found = sha256(np.ascontiguousarray(own.X).tobytes())
    found.update(" ".join(map(str, np.asarray(own.y).tolist())).encode("utf-8", "replace"))
    return found.hexdigest()[:16]


def again(own: Material, command: str) -> Safe:
    """The command that makes the page, and what it was made from."""
    said = (
        f"Made by collegium {__version__} from {count(own.n, 'row')} with the fingerprint "
        f"{fingerprint_of(own)}, seed {own.seed}. The same model and rows give the same page, byte "
        "by byte."
    )
    return put_together([element("pre", visible(command, 1_000)), paragraph(said, class_="note")])
