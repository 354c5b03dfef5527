"""The front of a service: the model that answers, the learner, and what is known of both."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from ..interface.functions.warming import warm_up
from ..ledger.ledger import Ledger
from ..numerics.memory import give_back
from ..numerics.version import __version__
from .child import LearnerLink
from .gauges import Requests, counter, gauge, resident_bytes
from .refusals import Refusal
from .scores import PROMISED, RunningScores
from .serving import Batcher, ServedModel
from .settings import ServiceSettings

#: Pieces of slow work (models of the past, explanations, reports) that may wait.
MOST_SLOW = 4
#: Seconds that a request to forget waits for the model without those rows.
WITHOUT = 30.0
#: Rows of the model by which everything is compiled at the start.
REHEARSED = 2_500


async def _nothing() -> None:
    pass


def model_of_first(ledger: Ledger) -> Any:
    """Make a model of the first rows of a ledger, on its basis; None: it has no basis."""
    if not ledger.basis_id:
        return None
    rows, last = 0, 0
    for one in sorted(ledger.chunks(), key=lambda one: one.lsn):
        rows, last = rows + one.n, one.lsn
        if rows >= REHEARSED:
            break
    return ledger.as_of(last)


class Service:
    """Everything that requests share; its methods are called in the event loop."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings, self.requests, self.batcher = settings, Requests(), Batcher()
        self.scores, self.ledger = RunningScores(self.batcher), dict[str, Any]()
        self.learnt_rows, self.swaps, self.why = 0, 0, ""
        self._changes: deque[tuple[int, float]] = deque()  # events that no model has, and when
        self._swapped = asyncio.Event()
        self._loading, self._slow = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._slow_count, self._past = 0, (0, "", None)
        self._rehearsed: Any = None
        self.warm = False
        self.ask_itself: Callable[[], Awaitable[None]] = _nothing
        self.link = LearnerLink(settings.path, self.on_state, self.on_model)

    # -- what the learner tells ------------------------------------------------------------------

    def on_state(self, said: dict[str, Any]) -> None:
        """Note where the ledger is."""
        if said["lsn"] > self.ledger.get("lsn", -1):
            self._changes.append((said["lsn"], time.monotonic()))
        self.ledger = {name: own for name, own in said.items() if name != "do"}

    def rehearse(self) -> None:
        """Compile with a model of the first rows, while the learner makes that of all."""
        self._rehearsed = asyncio.get_running_loop().run_in_executor(self._loading, self._warm)

    def _warm(self) -> bool:
        """Ask a model of some rows; False: the first model has to compile."""
        try:
            model = self.reading(model_of_first)
            if model is not None:
                warm_up(model)
            return model is not None
        except Exception:  # of a ledger that is odd: the learner will tell
            return False

    def on_model(self, said: dict[str, Any], data: bytearray | None) -> None:
        """Load a model, and let it answer once it is warm."""
        if data is None:
            self.batcher.served, self.why = None, said["why"]
            self.link.taken(0.0)
            return
        asyncio.get_running_loop().create_task(self._swap(data, said["lsn"]))

    async def _swap(self, data: bytearray, lsn: int) -> None:
        loop, first = asyncio.get_running_loop(), self.batcher.served is None
        cold = first and not await self._rehearsed

        def load() -> tuple[ServedModel, float]:
            start = time.thread_time()
            found = ServedModel.of_bytes(data, lsn, first=cold)
            return found, time.thread_time() - start

        try:
            self.batcher.served, seconds = await loop.run_in_executor(self._loading, load)
        except Exception as error:  # it is told where it is asked for; the last one goes on
            self.why, seconds = str(error), 1.0
        else:
            self.swaps += 1
            if first:
                with suppress(Exception):  # the first request would show it
                    await self.ask_itself()
                self.warm = True
            while self._changes and self._changes[0][0] <= lsn:
                self._changes.popleft()
            self._swapped.set()
            self._swapped = asyncio.Event()
            await loop.run_in_executor(self._loading, give_back, first)
        self.link.taken(0.0 if first else seconds)

    async def model_has(self, lsn: int) -> bool:
        """Wait until the model that answers has learnt from an event, or has forgotten by it."""
        end = time.monotonic() + WITHOUT
        while self.batcher.served is None or self.batcher.served.lsn < lsn:
            try:
                await asyncio.wait_for(self._swapped.wait(), max(end - time.monotonic(), 0.001))
            except TimeoutError:
                return False
        return True

    # -- slow work -------------------------------------------------------------------------------

    async def slowly(self, work: Callable[[], Any]) -> Any:
        """Do work of seconds, one piece at a time."""
        if self._slow_count >= MOST_SLOW:
            words = "too many requests for models of the past, explanations and reports"
            raise Refusal(429, words, headers={"Retry-After": "5"})
        self._slow_count += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._slow, work)
        finally:
            self._slow_count -= 1

    def reading(self, work: Callable[[Ledger], Any]) -> Any:
        """Do something with the ledger as a reader, which is closed afterwards."""
        with Ledger(self.settings.path) as ledger:
            return work(ledger)

    def past(self, when: int | str) -> Any:
        """Make the model as of some time; the last one is kept while the ledger stays as it is."""
        lsn, name = self.ledger["lsn"], repr(when)
        if self._past[:2] != (lsn, name):
            self._past = lsn, name, self.reading(lambda ledger: ledger.as_of(when))
        return self._past[2]

    def forget_rows(self) -> None:
        """Drop what may hold rows that were forgotten."""
        self._past = (0, "", None)
        self.scores.clear()

    # -- what is known ---------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        return self.batcher.served is not None and self.warm

    @property
    def lag(self) -> tuple[int, float]:
        """Events that the model has not learnt from, and the age of the first of them."""
        served = self.batcher.served
        events = self.ledger.get("lsn", 0) - (served.lsn if served else 0)
        return max(events, 0), time.monotonic() - self._changes[0][1] if self._changes else 0.0

    def described(self) -> dict[str, Any]:
        """Describe the model and the ledger."""
        served, (events, seconds) = self.batcher.served, self.lag
        model: dict[str, Any] | None = None
        if served is not None:
            own = served.model
            model = {
                "lsn": served.lsn, "class": type(own).__name__, "kernel": str(own.kernel_),
                "columns": served.shape.names, "kinds": served.shape.kinds,
                "rows": int(own.model_.total_weight),
            }  # fmt: skip
            if served.labels:
                model["labels"] = own.classes_.tolist()
        return {
            "name": self.settings.name, "version": __version__, "model": model,
            "ledger": self.ledger, "lag": {"events": events, "seconds": seconds},
            "learner": "alive" if self.link.alive else "is being started again",
        }  # fmt: skip

    def metrics(self) -> str:
        """Write all numbers as Prometheus reads them."""
        served, (events, seconds), own = self.batcher.served, self.lag, self.scores
        lines = [
            *gauge("collegium_info", 1, "Version of the library.", {"version": __version__}),
            *gauge("collegium_ready", int(self.ready), "Whether a warm model answers."),
            *gauge("collegium_learner_alive", int(self.link.alive), "Whether the learner runs."),
            *counter("collegium_learner_restarts_total", self.link.restarts,
                     "Learners that ended and were started again."),
            *gauge("collegium_ledger_lsn", self.ledger.get("lsn"), "Last event of the ledger."),
            *gauge("collegium_model_lsn", served.lsn if served else None,
                   "Last event that the model has learnt from."),
            *counter("collegium_models_total", self.swaps, "Models that have answered."),
            *gauge("collegium_lag_events", events, "Events that the model has not learnt from."),
            *gauge("collegium_lag_seconds", seconds, "Age of the first of these events."),
            *gauge("collegium_ledger_rows", self.ledger.get("rows"), "Rows that count."),
            *gauge("collegium_queue_rows", self.link.rows, "Rows that wait to be learnt."),
            *counter("collegium_learnt_rows_total", self.learnt_rows, "Rows acknowledged."),
            *counter("collegium_predicted_rows_total", self.batcher.rows, "Rows predicted."),
            *counter("collegium_prediction_calls_total", self.batcher.calls,
                     "Calls that predicted them."),
            *counter("collegium_scored_rows_total", own.count,
                     "Rows that were predicted before they were learnt."),
            *gauge("collegium_coverage", own.coverage,
                   "Share of the last of these within their intervals; of labels, of right ones.",
                   {"promised": PROMISED}),
            *gauge("collegium_log_density", own.log_density, "Their mean log density."),
        ]  # fmt: skip
        for name, pid in (("front", os.getpid()), ("learner", self.link.child.process.pid)):
            labels = {"process": name}
            found = gauge("collegium_resident_bytes", resident_bytes(pid), "Memory.", labels)
            lines += found if name == "front" else found[2:]
        return "\n".join([*lines, *self.requests.lines(), ""])

    def close(self) -> None:
        """End the learner and the threads."""
        self.link.close()
        self.batcher.close()
        for one in (self._loading, self._slow):
            one.shutdown(wait=False, cancel_futures=True)
