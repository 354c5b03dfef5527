"""Predictions: requests that wait are answered together, by one model that never changes.

A model is swapped whole. Requests gather while a call computes; where others are likely to come
within some milliseconds, a call waits for them, as several rows take little more time than one. A
call takes few rows, so that a long request does not hold up the short ones; all rows of a request
are answered by the model that answered its first ones.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..interface.frames.encoded import KnownColumns
from ..interface.functions.warming import warm_up
from ..modelfile.files import model_of_bytes
from .given import Row, TableShape, as_numbers
from .refusals import Refusal

Array = np.ndarray
#: Rows of a call where several requests wait, and where one does.
SOME, MANY = 64, 512
#: Seconds that the oldest request waits for company, where the next one is expected by then; and
#: the weight of the last pause in the mean of pauses between requests.
COMPANY, LAST_PAUSE = 0.005, 0.1
#: Pieces of work that may wait until no request does.
MOST_LATER = 100


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model that answers, and the event up to which it has learnt."""

    model: Any
    lsn: int
    shape: TableShape

    @classmethod
    def of_bytes(cls, data: bytearray, lsn: int, *, first: bool) -> ServedModel:
        """Read a model file, and make a few predictions; the first model compiles everything."""
        model = model_of_bytes(data, verify=False)
        found = cls.of_model(model, lsn)
        if first:
            warm_up(model)
        X = np.zeros((1, len(model.encoding_.names)))
        for rows in (X, np.repeat(X, 2, axis=0)):
            found.answers(rows, AnswerOptions(interval=None if found.labels else 0.9))
        return found

    @classmethod
    def of_model(cls, model: Any, lsn: int) -> ServedModel:
        return cls(model, lsn, TableShape.of(model))

    @property
    def labels(self) -> bool:
        """Whether labels are predicted."""
        return hasattr(self.model, "classes_")

    @property
    def exposed(self) -> bool:
        """Whether the likelihood is one of counts, which may have exposures."""
        return any(one.takes_exposure for one in self.model.model_.likelihoods)

    def answers(
        self, X: Array, options: AnswerOptions, exposure: Array | None = None
    ) -> dict[str, Array]:
        """Predict encoded rows."""
        X = np.ascontiguousarray(X).view(KnownColumns)
        if self.labels:
            return {"probability": self.model.predict_proba(X)}
        more = {} if exposure is None else {"exposure": exposure}
        found = self.model.predict(
            X, return_std=True, interval=options.interval, level=options.level, **more
        )
        return dict(zip(("mean", "std", "lower", "upper"), found))


@dataclass(frozen=True)
class AnswerOptions:
    """Options of predictions; requests with equal ones are answered together."""

    interval: float | None = None
    level: str = "observation"
    exposed: bool = False


@dataclass(eq=False)
class WaitingRows:
    """Rows of one request that wait for their predictions."""

    rows: Sequence[Row]  # as they came
    options: AnswerOptions
    exposure: Array | None
    served: ServedModel
    future: asyncio.Future[Any]
    came: float
    X: Array | None = None  # the same as numbers
    done: int = 0
    parts: list[dict[str, Array]] = field(default_factory=list)

    @property
    def left(self) -> int:
        assert self.X is not None
        return len(self.X) - self.done

    def together_with(self) -> tuple[int, AnswerOptions]:
        return id(self.served), self.options

    def found(self) -> dict[str, Array]:
        names = self.parts[0]
        return {name: np.concatenate([one[name] for one in self.parts]) for name in names}


class Batcher:
    """Answers requests by a thread of its own, the short ones first."""

    def __init__(self) -> None:
        self.served: ServedModel | None = None
        self._asked: list[WaitingRows] = []
        self._later: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()
        self._some, self._closed = threading.Condition(), False
        self.calls = self.rows = 0
        self._pause, self._came = 1.0, 0.0  # between requests, on average; when the last one came
        threading.Thread(target=self._work, daemon=True).start()

    def close(self) -> None:
        with self._some:
            self._closed = True
            self._some.notify()

    async def ask(
        self, rows: Sequence[Row], options: AnswerOptions, exposure: Array | None = None
    ) -> tuple[dict[str, Array], ServedModel]:
        """Predict rows by the present model; and that model."""
        served = self.present()
        future = asyncio.get_running_loop().create_future()
        with self._some:
            now = time.monotonic()
            self._pause += LAST_PAUSE * (min(now - self._came, 1.0) - self._pause)
            self._came = now
            self._asked.append(WaitingRows(rows, options, exposure, served, future, now))
            self._some.notify()
        return await future, served

    def present(self) -> ServedModel:
        """Return the model that answers now."""
        if self.served is None:
            words = "there is no model yet: the ledger has no rows, or they are being read"
            raise Refusal(503, words, headers={"Retry-After": "1"})
        return self.served

    async def later(self, work: Callable[[], Any]) -> Any:
        """Do some work of milliseconds in the thread of predictions, when no request waits."""
        future = asyncio.get_running_loop().create_future()
        with self._some:
            if len(self._later) >= MOST_LATER:
                raise Refusal(503, "too much waits to be done later")
            self._later.append((work, future))
            self._some.notify()
        return await future

    def _work(self) -> None:
        while True:
            with self._some:
                while not (self._asked or self._later or self._closed):
                    self._some.wait()
                while self._asked and (left := self._for_company()) > 0.0:
                    self._some.wait(left)
                if self._closed:
                    return
                self._asked = [one for one in self._asked if not one.future.cancelled()]
                new = [one for one in self._asked if one.X is None]
                work = None if self._asked or not self._later else self._later.popleft()
            for one in new:
                self._encode(one)
            if work is not None:
                self._do(*work)
            elif group := self._group():
                self._call(group)

    def _for_company(self) -> float:
        """Seconds to wait for further requests: none unless all that wait are new and short, and
        the next is expected soon."""
        if self._pause > COMPANY or len(self._asked) >= SOME or self._closed:
            return 0.0
        if any(one.X is not None or len(one.rows) > 1 for one in self._asked):
            return 0.0
        return self._asked[0].came + COMPANY - time.monotonic()

    def _do(self, work: Callable[[], Any], future: asyncio.Future[Any]) -> None:
        try:
            found = work()
        except Exception as error:
            found = error
        hand_over(future, found)

    def _encode(self, one: WaitingRows) -> None:
        try:
            one.X = as_numbers(one.served.model, one.rows)
        except Exception as error:
            self._end(one, error)

    def _group(self) -> list[WaitingRows]:
        """Choose the requests that can be answered by one call with the shortest one."""
        with self._some:
            some = [one for one in self._asked if one.X is not None]
        if not some:
            return []
        first = min(some, key=lambda one: one.left).together_with()
        return [one for one in some if one.together_with() == first]

    def _call(self, group: list[WaitingRows]) -> None:
        most = MANY if len(group) == 1 and len(self._asked) <= 1 else SOME
        taken, room = [], most
        for one in sorted(group, key=lambda one: one.left):
            if room <= 0:
                break
            taken.append((one, min(one.left, room)))
            room -= taken[-1][1]
        try:
            found, start = self._predicted(taken), 0
            for one, n in taken:
                one.parts.append({name: own[start : start + n] for name, own in found.items()})
                one.done, start = one.done + n, start + n
                if not one.left:
                    self._end(one, one.found())
        except Exception as error:
            for one, _ in taken:
                self._end(one, error)
            return
        self.calls, self.rows = self.calls + 1, self.rows + start

    def _predicted(self, taken: list[tuple[WaitingRows, int]]) -> dict[str, Array]:
        parts = [one.X[one.done : one.done + n] for one, n in taken if one.X is not None]
        first, exposure = taken[0][0], None
        if first.options.exposed:
            own = [(one.exposure, one.done, n) for one, n in taken if one.exposure is not None]
            exposure = np.concatenate([e[a : a + n] for e, a, n in own])
        X = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return first.served.answers(X, first.options, exposure)

    def _end(self, one: WaitingRows, result: Any) -> None:
        with self._some:
            if one in self._asked:
                self._asked.remove(one)
        hand_over(one.future, result)


def hand_over(future: asyncio.Future[Any], result: Any) -> None:
    """Hand a result, or an error, to who waits for it in the event loop."""

    def tell() -> None:
        if future.done():
            return
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)

    with suppress(RuntimeError):  # the loop is closed
        future.get_loop().call_soon_threadsafe(tell)
