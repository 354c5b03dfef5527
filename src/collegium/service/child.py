"""The learner as the front sees it: it is begun, asked, and begun again when it ends."""

from __future__ import annotations

import asyncio
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from .refusals import Refusal
from .wire import Frames

#: Seconds before a learner that ended is begun again: the first time, and at most.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
#: Seconds that a learner has to end.
ENDING = 20.0
Said = dict[str, Any]


class ServiceRefused(RuntimeError):
    """Raised where a service cannot begin."""


class Child:
    """One learner process; its frames arrive in a thread, and commands leave in another."""

    def __init__(self, path: str) -> None:
        command = [sys.executable, "-m", f"{__package__}.learner", path]
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
            env={**os.environ, **threads},
        )  # fmt: skip
        assert self.process.stdin is not None and self.process.stdout is not None
        self.frames = Frames(self.process.stdout, self.process.stdin)  # type: ignore[arg-type]
        self._out: queue.Queue[Said | None] = queue.Queue()

    def listen(self, hear: Callable[[Any], None]) -> None:
        """Read and write until the learner ends; `hear` gets each frame, and None at the end."""

        def reading() -> None:
            while (said := self._next()) is not None:
                hear(said)
            hear(None)

        threading.Thread(target=reading, daemon=True).start()
        threading.Thread(target=self._writing, daemon=True).start()

    def _next(self) -> Any:
        try:
            return self.frames.hear()
        except (OSError, ValueError):
            return None

    def _writing(self) -> None:
        while (said := self._out.get()) is not None:
            try:
                self.frames.tell(said)
            except (OSError, ValueError):
                return

    def tell(self, said: Said) -> None:
        self._out.put(said)

    def end(self) -> None:
        """Ask the learner to end, and wait until it has."""
        self.tell({"do": "close"})
        try:
            self.process.wait(ENDING)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._out.put(None)


class LearnerLink:
    """Requests to the learner, and what it tells: states of the ledger, and models."""

    def __init__(
        self, path: str, on_state: Callable[[Said], None], on_model: Callable[[Said, Any], None]
    ) -> None:
        self.path, self.on_state, self.on_model = path, on_state, on_model
        self.waiting: dict[int, tuple[asyncio.Future[Said], int]] = {}
        self.rows, self.count, self.restarts = 0, 0, 0  # rows that wait, commands, restarts
        self.alive, self.ending = False, False
        self._pause, self._said = FIRST_PAUSE, Said()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.child = Child(path)

    def check(self) -> None:
        """Wait for the first word of the learner; raise where it is refused."""
        first = self.child._next()
        if first is None or first["do"] == "refused":
            self.child.process.wait()
            why = "the learner ended" if first is None else first["why"]
            raise ServiceRefused(why)
        self.on_state(first)
        self.alive = True

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Hear the learner within an event loop."""
        self._loop = loop
        self._attach(self.child)

    def _attach(self, child: Child) -> None:
        loop = self._loop
        assert loop is not None

        def hear(said: Any) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._hear, child, said)

        child.listen(hear)

    def _hear(self, child: Child, said: Any) -> None:
        if child is not self.child:
            return
        if said is None:
            self._lost()
        elif isinstance(said, bytearray):
            self.on_model(self._said, said)
        elif said["do"] == "answer":
            self._answered(said)
        elif said["do"] == "ledger":
            self.alive, self._pause = True, FIRST_PAUSE
            self.on_state(said)
        elif said["do"] == "model":
            self._said = said
        elif said["do"] == "no model":
            self.on_model(said, None)

    def _answered(self, said: Said) -> None:
        future, rows = self.waiting.pop(said["number"], (None, 0))
        self.rows -= rows
        if future is not None and not future.done():
            future.set_result(said)

    def _lost(self) -> None:
        """Tell those who wait that they are not answered, and begin another learner."""
        self.alive = False
        self.child.process.wait()
        self.child._out.put(None)
        self.child.frames.close()
        waiting, self.waiting, self.rows = self.waiting, {}, 0
        for future, _ in waiting.values():
            if not future.done():
                future.set_exception(self.refusal())
        if not self.ending and self._loop is not None:
            self.restarts += 1
            self._loop.call_later(self._pause, self._again)
            self._pause = min(2.0 * self._pause, LONGEST_PAUSE)

    def _again(self) -> None:
        if not self.ending:
            self.child = Child(self.path)
            self._attach(self.child)

    def refusal(self) -> Refusal:
        words = "the learner is being started again: send the same request, with the same id, again"
        return Refusal(503, words, headers={"Retry-After": "1"})

    async def ask(self, command: Said, rows: int = 0) -> Said:
        """Send a command, and wait for its answer."""
        if not self.alive or self._loop is None:
            raise self.refusal()
        self.count += 1
        number, future = self.count, self._loop.create_future()
        self.waiting[number] = future, rows
        self.rows += rows
        self.child.tell({**command, "number": number})
        return await asyncio.shield(future)

    def taken(self, seconds: float) -> None:
        """Tell that the last model answers."""
        self.child.tell({"do": "taken", "seconds": seconds})

    def close(self) -> None:
        """End the learner, which stores what it has."""
        self.ending = True
        start = time.monotonic()
        self.child.end()
        self.alive = False
        if time.monotonic() - start > ENDING:
            sys.stderr.write("the learner was slow to end\n")
