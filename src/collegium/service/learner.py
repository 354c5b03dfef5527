"""The process that learns: it alone writes the ledger, and makes the models that answer.

It reads commands from the standard input and tells results on the standard output, in frames
(`wire.py`). What it has told as learnt is on the disk. It ends when the other end is closed.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ..ledger.adding import IdTaken, LedgerFull
from ..ledger.errors import LedgerError
from ..ledger.ledger import Ledger
from ..modelfile.files import model_bytes
from .given import dated
from .wire import Frames

#: Learning waits for so many seconds after the first rows, or until there are so many rows.
WAIT, ROWS = 0.25, 500
#: Seconds between two models at least, and how many times as long as both processes took to make
#: one ready: a twentieth of their time at most goes into that.
PAUSE, TIMES = 1.0, 19.0
#: Seconds to wait for a writer that is just ending.
PATIENCE = 3.0
BUSY, FULL = 503, 507
Command = dict[str, Any]


class Learner:
    """Carries out commands one by one, those that learn in groups."""

    def __init__(self, ledger: Ledger, frames: Frames) -> None:
        self.ledger, self.frames = ledger, frames
        self.commands: queue.Queue[Command | None] = queue.Queue()
        self.next: Command | None = None
        self.gone = forgotten_ids(ledger)
        self.publisher = Publisher(ledger, frames)

    def run(self) -> None:
        """Work until the other end closes its pipe; then the last commit has been told."""
        threading.Thread(target=self._listen, daemon=True).start()
        self.tell_state()
        self.publisher.start()
        while (group := self._group()) is not None:
            if group[0]["do"] == "learn":
                self.learn(group)
            else:
                self.change(group[0])

    def _listen(self) -> None:
        while (said := self.frames.hear()) is not None:
            assert isinstance(said, dict)
            if said["do"] == "taken":
                self.publisher.taken(said["seconds"])
            elif said["do"] != "close":
                self.commands.put(said)
            else:
                break
        self.commands.put(None)

    def _group(self) -> list[Command] | None:
        """Wait for commands: those that learn within a quarter of a second, or another one."""
        first, self.next = self.next or self.commands.get(), None
        if first is None or first["do"] != "learn":
            return None if first is None else [first]
        group, rows, end = [first], first["n"], time.monotonic() + WAIT
        while rows < ROWS:
            try:
                more = self.commands.get(timeout=max(end - time.monotonic(), 0.0))
            except queue.Empty:
                break
            if more is None or more["do"] != "learn":
                self.next = more
                if more is None:
                    self.commands.put(None)
                break
            group.append(more)
            rows += more["n"]
        return group

    def learn(self, group: Sequence[Command]) -> None:
        """Add the rows of several requests as one event, and tell each what became of it."""
        refused: dict[int, ValueError] = {}
        answers: dict[int, dict[str, Any]] = {}
        known = {k: one for k, one in enumerate(group) if one["batch"]["id"] not in self.gone}
        places = list(known)
        try:
            batches = [batch_of(known[k]) for k in places]
            lsns = self.ledger.add_all(batches, refused=refused) if batches else []
        except Exception as error:
            answers = {k: failed(error) for k in places}
        else:
            for at, (k, lsn) in enumerate(zip(places, lsns)):
                one = known[k]
                done = {"id": one["batch"]["id"], "lsn": lsn, "rows": one["n"]}
                answers[k] = failed(refused[at]) if at in refused else {"code": 202, "answer": done}
        for k, one in enumerate(group):
            if k not in answers:
                answers[k] = self._forgotten(one["batch"]["id"])
            self.frames.tell({"do": "answer", "number": one["number"], **answers[k]})
        self._changed()

    def _forgotten(self, id: Any) -> dict[str, Any]:
        words = (
            f"id={id!r} is one of rows that were forgotten: they are not learnt again under it. If "
            "these rows may be learnt, give another id"
        )
        return {"code": 409, "error": words}

    def change(self, command: Command) -> None:
        """Forget rows, by their description or by an event that they came after."""
        work: Any = {"forget": self.forget, "rollback": self.roll_back}[command["do"]]
        try:
            said = {"code": 200, "answer": work(**command["what"])}
        except Exception as error:
            said = failed(error)
        self._changed(now=True)
        self.frames.tell({"do": "answer", "number": command["number"], **said})

    def forget(self, **what: Any) -> dict[str, Any]:
        done = self.ledger.forget(**what).as_dict()
        left = {one.id for one in self.ledger.chunks()}
        self.gone |= {id for id in done["chunks"] if id not in left}
        return done

    def roll_back(self, to: int, reason: str, confirm: bool) -> dict[str, Any]:
        """Forget all chunks that were added after an event, as a new event."""
        lsn, events = self.ledger.lsn, self.ledger.events()
        if not 0 <= to <= lsn:
            raise ValueError(f"to={to}: events are numbered from 0 to {lsn}")
        after = [one for one in events if one.lsn > to]
        if lost := [f"{one.lsn} ({one.kind})" for one in after if one.kind == "replace"]:
            raise IdTaken(
                f"events {', '.join(lost[:5])} replaced rows, and forgetting erases the earlier "
                "ones too: replace these chunks by hand, then roll back"
            )
        new = [one for one in self.ledger.chunks() if one.lsn > to]
        stays = [
            f"event {one.lsn} ({one.kind})" for one in after if one.kind in ("forget", "relearn")
        ]
        found = {
            "to": to, "chunks": len(new), "rows": sum(one.n for one in new), "stays": stays,
            "done": confirm,
        }  # fmt: skip
        if not confirm or not new:
            return found
        words = f"rollback to event {to}" + (f": {reason}" if reason else "")
        return {**found, "certificate": self.forget(ids=[one.id for one in new], reason=words)}

    def _changed(self, now: bool = False) -> None:
        self.tell_state()
        self.publisher.changed(now)

    def tell_state(self) -> None:
        """Tell where the ledger is."""
        own = self.ledger
        said = {"lsn": own.lsn, "state": own.state, "head": own.head, "rows": own.n_rows}
        roles = {"target": own.target, "kept": list(own.kept_columns), "basis": own.basis_id}
        self.frames.tell({"do": "ledger", **said, **roles})


class Publisher(threading.Thread):
    """Makes models of the last state, while rows are being added, and sends them."""

    def __init__(self, ledger: Ledger, frames: Frames) -> None:
        super().__init__(daemon=True)
        self.ledger, self.frames = ledger, frames
        self._wake, self._free = threading.Event(), threading.Event()
        self._urgent, self._seconds = threading.Event(), 0.0
        self._wake.set()

    def changed(self, now: bool) -> None:
        """Note that there is something to publish; `now`: without a pause."""
        self._wake.set()
        if now:
            self._urgent.set()

    def taken(self, seconds: float) -> None:
        """Note that the last model answers, and the CPU seconds that making it ready took."""
        self._seconds += seconds
        self._free.set()

    def run(self) -> None:
        with suppress(BrokenPipeError):  # the other end was killed
            self._work()

    def _work(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            self._urgent.clear()
            self._free.clear()
            start = time.thread_time()
            said, data = self.publish()
            self._seconds = time.thread_time() - start
            self.frames.tell(said, data)
            self._free.wait()
            self._urgent.wait(max(PAUSE, TIMES * self._seconds))

    def publish(self) -> tuple[dict[str, Any], bytes | None]:
        """Make the model of the last state as the bytes of a model file."""
        try:
            model, lsn = self.ledger.model_and_lsn()
            return {"do": "model", "lsn": lsn}, model_bytes(model)
        except (LedgerError, ValueError) as error:
            return {"do": "no model", "why": str(error)}, None


def batch_of(command: Command) -> dict[str, Any]:
    """Make the arguments of `Ledger.add` of a command."""
    batch = command["batch"]
    return {**batch, "X": dated(batch["X"], command["dates"])}


def failed(error: Exception) -> dict[str, Any]:
    """Tell what went wrong, with a code of HTTP."""
    words = str(error)
    if isinstance(error, LedgerError):
        return {"code": FULL if "make room on the disk" in words else BUSY, "error": words}
    if isinstance(error, LedgerFull):
        return {"code": FULL, "error": words}
    if not isinstance(error, ValueError):
        traceback.print_exception(error)
        return {"code": 500, "error": "an internal error: nothing was changed"}
    return {"code": 409 if isinstance(error, IdTaken) else 422, "error": words}


def forgotten_ids(ledger: Ledger) -> set[int | str]:
    """Ids of chunks that were forgotten completely."""
    events = [one for one in ledger.events() if one.kind == "forget"]
    gone = {id for one in events for id in one.details["chunks"]}
    return gone - {one.id for one in ledger.chunks()}


def own_ledger(path: str) -> Ledger:
    """Open a ledger to write, waiting a little for a writer that is just ending."""
    end = time.monotonic() + PATIENCE
    while True:
        ledger = Ledger(path, who="service")
        try:
            with ledger.together():
                return ledger
        except LedgerError as error:
            ledger.close()
            if "is being written" not in str(error) or time.monotonic() > end:
                raise
        time.sleep(0.1)


def learn_for_front(path: str) -> int:
    """Learn for the process at the other end, until that ends; the exit code."""
    told = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed is words
    frames = Frames(os.fdopen(0, "rb", buffering=0), told)
    warnings.simplefilter("ignore")
    try:
        ledger = own_ledger(path)
    except (LedgerError, ValueError, OSError) as error:
        frames.tell({"do": "refused", "why": str(error)})
        return 4
    try:
        Learner(ledger, frames).run()
    except BrokenPipeError:  # the other end was killed
        pass
    finally:
        ledger.close()
    return 0


if __name__ == "__main__":
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal, for the process that began this
    code = learn_for_front(sys.argv[1])
    sys.stderr.flush()
    os._exit(code)  # a model may be in the making
