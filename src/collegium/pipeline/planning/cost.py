"""Estimates of seconds and bytes that work will take on this machine.

Rates are measured in a few milliseconds; counts are those of the leading terms. An estimate
within a factor of two is what this is for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ...answers.local import correct
from ...kernels.stationary.matern import Matern32
from ...messages.basis import Anchors
from ...messages.evidence import factorised
from ...numerics.clock import Clock
from ...numerics.threads import single_threaded
from ...rows.chunk import Chunk
from ...rows.rows import Rows

Array = np.ndarray
#: Share of a matrix product's rate that chunks of some hundred rows reach, and of more.
EFFICIENCY, LARGE = 0.5, 0.75
#: Nearest rows and anchors of the queries that are timed.
NEAR, ANCHORS = 200, 50
#: Seconds, and share of a time limit, by which the pace of a moment is found out.
LOOK, LOOK_SHARE = 0.06, 0.02


@dataclass(frozen=True)
class Speed:
    """Speed of one thread of this machine."""

    step: float  # seconds for the evidence of 400 rows, with its gradient
    flops: float  # a second, in matrix products
    entry: float  # seconds for a kernel value
    query: float  # seconds for a query corrected by NEAR rows, beside ANCHORS anchors

    @staticmethod
    @cache
    def measured(d: int) -> Speed:
        """For inputs of d columns, in CPU time: other work on the machine counts in the pace."""
        kernel, chunk = _one_chunk(d)
        X, A = chunk.X, np.random.default_rng(1).normal(size=(400, 400))
        with single_threaded():
            step = _seconds(lambda: factorised(kernel, 0.1, [chunk], _Alone()))
            product = _seconds(lambda: A @ A)
            entry = _seconds(lambda: kernel.value(X, X)) / 400**2
            basis, rows = Anchors.at(kernel, X[:ANCHORS]), Rows(X, X[:, :1], np.ones(400))
            near = np.array([np.roll(np.arange(400), 100 * i)[:NEAR] for i in range(4)])
            query = _seconds(lambda: correct(basis, 0.1, rows, X[:4], near)) / 4
        return Speed(step, 2.0 * 400**3 / product, entry, query)

    def evidence(self, n: int) -> float:
        """The evidence of n rows, with its gradient."""
        return self.step * (n / 400.0) ** 2.5

    def messages(self, n: int, chunk: int, m: int) -> float:
        """n rows in chunks that tell m anchors: factorise R, solve for V, add up."""
        flops = n * (chunk**2 / 3.0 + 3.0 * chunk * m + 2.0 * m**2)
        return flops / (EFFICIENCY * self.flops) + n * (chunk + m) * self.entry

    def answers(self, q: int, k: int, m: int) -> float:
        """q queries, each corrected by its k nearest rows."""
        return q * self.query * self._query(k, m) / self._query(NEAR, ANCHORS)

    def _query(self, k: int, m: int) -> float:
        """Seconds of the leading terms of one correction."""
        flops = k**3 / 3.0 + k**2 * m
        return flops / (EFFICIENCY * self.flops) + (k**2 / 2.0) * self.entry

    def design(self, n: int, m: int) -> float:
        """V of n rows and m anchors, without messages."""
        return n * m * (m / (EFFICIENCY * self.flops) + self.entry)

    def conditioning(self, n: int, group: int, given: int, m: int) -> float:
        """A preconditioner: groups factorised with the rows that they are given, m anchors."""
        both = group + given
        flops = both**3 / 3.0 + group * given**2 + m * both**2 + 2.0 * m * both * (group + m)
        each = flops / (LARGE * self.flops) + both * (0.5 * both + m) * self.entry
        return n / group * each

    def product(self, n: int) -> float:
        """One product of the covariance of n rows with a vector, in double precision."""
        return 0.6 * n**2 * self.entry


def look(speed: Speed, d: int, clock: Clock) -> None:
    """Compare the speed with the pace of this moment, for a short while."""
    if not clock.limited:
        return
    kernel, chunk = _one_chunk(d)
    times = int(np.clip(min(LOOK, LOOK_SHARE * clock.limit) / speed.step, 1, 100))
    with single_threaded(), clock.step(times * speed.step):
        for _ in range(times):
            factorised(kernel, 0.1, [chunk], _Alone())


def _one_chunk(d: int) -> tuple[Matern32, Chunk]:
    """The chunk of 400 rows that steps are timed with."""
    X = np.random.default_rng(0).normal(size=(400, d))
    return Matern32().for_width(d), Chunk(0, X, X[:, :1], np.ones(400))


class _Alone:
    """An engine for one chunk."""

    def sum(self, f: Callable, chunks: list, zero: Any) -> Any:
        return zero + f(chunks[0])


def _seconds(work: Callable[[], Any]) -> float:
    """The best of three, after one that may compile."""
    work()
    times = []
    for _ in range(3):
        start = time.thread_time()
        work()
        times.append(time.thread_time() - start)
    return min(times)


def committee_bytes(n: int, d: int, p: int, chunk: int, m: int, n_jobs: int, *, keep: bool) -> int:
    """Beyond the rows as given: their copies, messages that wait to be added, work in hand."""
    rows = (3 if keep else 2) * n * (d + p + 1)
    waiting = (int(np.log2(max(n / chunk, 1.0))) + 4) * m**2
    work = n_jobs * (4 * chunk**2 + 4 * chunk * m + 2 * m**2)
    return 8 * (rows + waiting + work)


def refining_bytes(n: int, d: int, p: int, group: int, given: int, m: int, n_jobs: int) -> int:
    """Bytes of a preconditioner, most of it in single precision, work in hand, vectors."""
    work = n_jobs * (3 * (group + given) ** 2 + 2 * (group + given) * m)
    waiting = (int(np.log2(max(n / group, 1.0))) + 4) * m**2 + n // group * m * p
    return 4 * n * (2 * group + given + m) + 8 * (n * (d + 8 * p) + work + waiting)
