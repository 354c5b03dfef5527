"""Messages added where the chunks are: on this machine, or on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ..sources.pieces import BadChunkError
from ..sources.source import Skipped, Source
from .message import Message
from .total import Total


def add_up(engine: Any, send: Callable[[Any], Message], chunks: Sequence, start: Total) -> Total:
    """start + Σ send(chunk), with the same bits on any engine.

    An engine with `reduce` adds on its workers and returns one sum.
    """
    return added(engine, send, chunks, start, partial(Total.zero, start.m, start.p))


def add_up_source(
    engine: Any, send: Callable[[Any], Message], source: Source, start: Total
) -> Total:
    """start + Σ send(chunk) over a source; skipped chunks are recorded there."""
    if source.on_bad_chunk == "raise":
        return add_up(engine, send, source.chunks, start)
    blank = partial(_blank, start.m, start.p)
    found = added(engine, Tolerant(send), source.chunks, Tolerated(start), blank)
    for left_out in sorted(found.skipped, key=lambda one: one.id):
        source.leave_out(left_out)
    return found.total


def added(engine: Any, f: Callable, chunks: Sequence, start: Any, blank: Callable) -> Any:
    """start + Σ f(chunk); `blank()` is an empty sum, sums have `plus(terms)` and +."""
    reduce = getattr(engine, "reduce", None)
    if reduce is None or not chunks:
        return start.plus(engine.imap(f, chunks))
    return start + reduce(f, chunks, partial(_plus, blank))


def _plus(blank: Callable, messages: Iterable) -> Any:
    return blank().plus(messages)


def _blank(m: int, p: int) -> Tolerated:
    return Tolerated(Total.zero(m, p))


@dataclass(frozen=True)
class Tolerant:
    """send(chunk), or `Skipped` if the chunk cannot be used."""

    send: Callable[[Any], Message]

    def __call__(self, chunk: Any) -> Message | Skipped:
        try:
            return self.send(chunk)
        except (BadChunkError, OSError) as error:
            return Skipped(chunk.id, chunk.file, chunk.n, str(error))

    def lost(self, chunk: Any, why: str) -> Skipped:
        """Skip a chunk that ended its process."""
        return Skipped(chunk.id, chunk.file, chunk.n, str(chunk.bad(why)))


@dataclass(frozen=True)
class Tolerated:
    """A sum of messages, and the chunks that were skipped."""

    total: Total
    skipped: list[Skipped] = field(default_factory=list)

    def plus(self, terms: Iterable[Message | Skipped]) -> Tolerated:
        skipped = list(self.skipped)

        def good() -> Iterable[Message]:
            for term in terms:
                if isinstance(term, Skipped):
                    skipped.append(term)
                else:
                    yield term

        return replace(self, total=self.total.plus(good()), skipped=skipped)

    def __add__(self, other: Tolerated) -> Tolerated:
        return Tolerated(self.total + other.total, self.skipped + other.skipped)
