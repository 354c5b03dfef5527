"""Kills of the learner and of the front at random moments under load, and what must hold then.

Clients send rows under ids, and send them again until they are acknowledged, as a queue with
at-least-once delivery does. In the end every acknowledged row is in the ledger, none twice, with
the content that was sent, and the state is bitwise that of a ledger which got these chunks in the
first place.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from collegium import Ledger

from .plant import make_plant, plant_rows
from .running import Running

Told = dict[str, tuple[int, int]]  # by id: seed of the rows, and the event that was told


class Sender(threading.Thread):
    """Sends rows again and again until they are acknowledged; some are sent once more then."""

    def __init__(self, port: Any, name: str, seed: int) -> None:
        super().__init__(daemon=True)
        self.port, self.label, self.rng = port, name, random.Random(seed)
        self.acknowledged: Told = {}
        self.sent: dict[str, int] = {}
        self.wrong: list[str] = []
        self.stop, self.connection = threading.Event(), None

    def run(self) -> None:
        count = 0
        while not self.stop.is_set():
            id, seed = f"{self.label} {count}", self.rng.randrange(10**6)
            self.sent[id] = seed
            while not self.stop.is_set():
                if (lsn := self.deliver(id, seed)) is not None:
                    self.acknowledged[id] = seed, lsn
                    break
                time.sleep(0.02)
            if self.acknowledged and self.rng.random() < 0.3:  # delivered twice
                old = self.rng.choice(list(self.acknowledged))
                seed, lsn = self.acknowledged[old]
                again = self.deliver(old, seed)
                if again not in (None, lsn):
                    self.wrong.append(f"{old} was event {lsn} and then {again}")
            count += 1

    def deliver(self, id: str, seed: int) -> int | None:
        """Send rows once; their event, or None where they were not acknowledged."""
        rows = plant_rows(1 + seed % 5, seed)
        connection = HTTPConnection("127.0.0.1", self.port(), timeout=30)
        try:
            body = json.dumps({"id": id, "rows": rows, "source": self.label}).encode()
            connection.request("POST", "/v1/learn", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            data = json.loads(answer.read())
        except (OSError, HTTPException, ValueError):
            return None
        finally:
            connection.close()
        if answer.status == 202:
            return data["lsn"]
        if answer.status not in (429, 503):
            self.wrong.append(f"{answer.status} {data}")
        return None


def ask_on(port: Any, stop: threading.Event) -> None:
    """Predict now and then while the processes are killed."""
    while not stop.is_set():
        with suppress(OSError, HTTPException):
            connection = HTTPConnection("127.0.0.1", port(), timeout=30)
            body = b'{"rows": [{"t": 40, "p": 2}]}'
            connection.request("POST", "/v1/predict", body, {"Content-Type": "application/json"})
            connection.getresponse().read()
            connection.close()
        time.sleep(0.02)


def killed(folder: Path, kills: int, seed: int, *, fronts: float = 0.2, senders: int = 12) -> dict:
    """Kill learner or front so many times under load; counts, after everything was compared."""
    path, rng = folder / "killed.clgdb", random.Random(seed)
    make_plant(path)
    service, fronts_killed, learners_killed = Running(path), 0, 0
    own = [Sender(lambda: service.port, f"site {k}", seed * 100 + k) for k in range(senders)]
    stop = threading.Event()
    asker = threading.Thread(target=ask_on, args=(lambda: service.port, stop), daemon=True)
    for one in (*own, asker):
        one.start()
    try:
        while fronts_killed + learners_killed < kills:
            if rng.random() < 0.9:  # else perhaps in the midst of its start
                wait_alive(service)
            time.sleep(rng.uniform(0.0, 0.8))
            learner = service.learner()
            if rng.random() < fronts:
                service.kill()
                service = Running(path)
                fronts_killed += 1
            elif learner is not None:
                with suppress(ProcessLookupError):
                    os.kill(learner, signal.SIGKILL)
                    learners_killed += 1
        wait_alive(service)
        time.sleep(1.0)
    finally:
        stop.set()
        for one in own:
            one.stop.set()
        for one in (*own, asker):
            one.join(60)
        service.end()
    told: Told = {id: found for one in own for id, found in one.acknowledged.items()}
    sent = {id: seed for one in own for id, seed in one.sent.items()}
    wrong = [words for one in own for words in one.wrong]
    found = compared(path, told, sent, folder / "replay.clgdb")
    return {
        "kills of the learner": learners_killed, "kills of the front": fronts_killed,
        "acknowledged": len(told), "wrong answers": wrong, **found,
    }  # fmt: skip


def wait_alive(service: Running, seconds: float = 120.0) -> None:
    """Wait until the learner works."""
    end = time.monotonic() + seconds
    while service.ask("GET", "/v1/model")[1]["learner"] != "alive":
        assert time.monotonic() < end, "the learner did not come back"
        time.sleep(0.05)


def compared(path: Path, told: Told, sent: dict[str, int], replay: Path) -> dict[str, Any]:
    """Compare a ledger with what was acknowledged, and with a fresh one of the same chunks."""
    make_plant(replay)
    with Ledger(path) as own, Ledger(replay) as fresh:
        chunks = {one.id: one for one in own.chunks()}
        lost = [id for id in told if id not in chunks]
        moved = [id for id, (_, lsn) in told.items() if id in chunks and chunks[id].lsn != lsn]
        new = [id for id in chunks if not str(id).startswith("day ")]
        unknown = [id for id in new if id not in sent]
        batches = [
            {"X": plant_rows(1 + sent[id] % 5, sent[id]), "id": id, "source": chunks[id].source}
            for id in random.Random(1).sample(new, len(new))
        ]
        for start in range(0, len(batches), 100):
            fresh.add_all(batches[start : start + 100])
        return {
            "lost": lost, "at another event": moved, "never sent": unknown,
            "state is the replay": own.state == fresh.state == own.verify()["state"],
            "chunks": len(chunks), "not acknowledged, but there": len(set(new) - set(told)),
        }  # fmt: skip


def is_whole(found: dict[str, Any]) -> bool:
    """Whether nothing was lost, changed or made up."""
    empty = ("lost", "at another event", "never sent", "wrong answers")
    return found["state is the replay"] and not any(found[name] for name in empty)
