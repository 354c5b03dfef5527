"""How much to do: the arguments, the rows, and the limits on time and memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...kernels import Kernel
from ...learning.pool import Effort
from ...numerics import memory
from ...numerics.clock import Clock
from ..settings import Settings
from ..tuning import TUNING
from .cost import Speed, look
from .work import Costs, Work

#: From little to much; the usual effort is the last.
EFFORTS = (
    Effort(
        family=False, second=False, at_once=200, rough_rows=200, family_chunks=1, family_size=200,
        first_chunks=3, final_chunks=3, final_size=200, near_rows=1, near_neighbours=60,
    ),
    Effort(
        second=False, at_once=300, rough_rows=300, close_rows=3_000, family_chunks=3,
        family_size=200, first_chunks=5, final_chunks=5, final_size=300, near_rows=300,
        near_neighbours=60,
    ),
    Effort(
        at_once=400, rough_rows=400, close_rows=5_000, family_chunks=4, family_size=250,
        first_chunks=6, final_chunks=15, final_size=350, near_rows=600, near_neighbours=100,
    ),
    Effort(),
)  # fmt: skip
#: Shares of a time limit: for learning, expected and at most, and for each pass of messages (a
#: check makes two more); of the time left after learning, for messages.
LEARNING, LEARNING_AT_MOST, MESSAGES, MESSAGES_LEFT = 0.4, 0.65, 0.12, 0.5
#: Passes that a check of the error bars makes, or a few more; safety factor on the estimated time;
#: rows, at least, that are worth a check.
CHECKS, CAREFUL, FEWEST = 2, 1.3, 200
#: Chunks of a check that has little time; it takes this share of a limit in any case, and the
#: least of these checks up to the other.
FEW_CHUNKS, ALWAYS, AT_MOST = (40, 20, 10), 0.1, 0.5
#: Share of a limit by which learning the scale of errors may exceed it.
BEYOND = 0.2


@dataclass(frozen=True)
class Plan:
    """The work of a fit with Gaussian noise, and what it is expected to take."""

    clock: Clock
    work: Work
    effort: Effort
    most_anchors: int
    refine: bool  # asked for, or likely to fit
    seconds: float  # of the whole fit; nan: not estimated
    bytes: int  # of the whole fit
    costs: Costs  # on an idle machine

    @classmethod
    def of(
        cls, settings: Settings, n: int, d: int, p: int, *, streaming: bool = False,
        estimate: bool = True, held: int = TUNING.checking.held_out,
    ) -> Plan:  # fmt: skip
        """The most that fits the limits; without a time limit only an `estimate` needs speeds.

        `held`: rows that a check of the error bars would take.
        """
        work, clock = Work(settings, n, d, p), settings.clock
        m = work.anchors(settings.memory_limit)
        refine = settings.answers.refine is not None and not work.exact
        if not (estimate or clock.limited):
            whole, needed = Effort().for_rows(n), work.bytes(m, refine)
            return cls(clock, work, whole, m, refine, np.nan, needed, Costs())
        speed = Speed.measured(d)
        look(speed, d, clock)
        left = clock.left()
        efforts = [effort.for_rows(n) for effort in EFFORTS]
        learning = [effort.steps() * speed.step / work.jobs for effort in efforts]
        within = LEARNING * left / clock.needs(1.0)
        at = max(i for i, t in enumerate(learning) if i == 0 or t <= within)
        m = _fewer_anchors(work, speed, m, clock, MESSAGES * left)
        allowed = settings.may_refine and not (work.exact or streaming)
        allowed = allowed and work.bytes(m, True) <= settings.memory_limit
        costs = work.costs(speed, m, held, refine=allowed)
        seconds = costs.messages
        if settings.learning.on:
            seconds += learning[at]
            check = CHECKS * costs.check(held) + costs.errors(held)
            seconds += min(check, max(clock.limit - seconds, 0.0))
        fits = clock.needs(seconds + costs.refining) <= left
        refine = refine or (clock.limited and fits)
        seconds += costs.refining if refine and np.isfinite(costs.refining) else 0.0
        return cls(
            clock, work, efforts[at], m, refine, seconds, work.bytes(m, refine), costs
        )  # fmt: skip

    def with_kernel(self, kernel: Kernel) -> Plan:
        """Now that it is known: kernels of more terms take longer."""
        return replace(self, costs=self.costs.with_kernel(kernel))

    def learning_clock(self) -> Clock:
        """The time for learning: what has to come after it is left."""
        least, few = FEWEST // 2, FEW_CHUNKS[-1]
        rest = self.costs.messages + self.costs.check(FEWEST, few)
        rest += self.costs.errors(least, 2 * few)
        return self.clock.share(LEARNING_AT_MOST, rest)

    def revised(self) -> Plan:
        """After learning: fewer anchors, where messages would take too much of what is left."""
        if not self.clock.limited:
            return self
        speed, work = Speed.measured(self.work.d), self.work
        look(speed, work.d, self.clock)
        most = MESSAGES_LEFT * self.clock.left()
        m = _fewer_anchors(work, speed, self.most_anchors, self.clock, most)
        costs = work.costs(speed, m, FEWEST, refine=np.isfinite(self.costs.refining))
        return replace(self, most_anchors=m, costs=costs)

    def held_out(self, asked: int) -> int:
        """Rows to check the error bars with, beside all others: as many as asked, or as there is
        time for; 0: none."""
        if not self.clock.limited:
            return asked
        after = self.clock.needs(self.costs.messages + self.costs.errors(asked))
        each = (self.clock.left() - after) / (CAREFUL * CHECKS * self.clock.needs(1.0))
        spare = max(each - self.costs.passing - self.costs.regions, 0.0)
        number = min(asked, int(spare / max(self.costs.answering, 1e-9)))
        return number if number >= min(asked, FEWEST) else 0

    def few_chunks(self) -> int:
        """Chunks to check the error bars with, where there is no time for all; 0: not for any."""
        clock, limit = self.clock, self.clock.limit
        most = max(clock.left() - clock.needs(self.costs.messages), ALWAYS * limit)
        least = -(-10 * FEWEST // self.work.chunk)  # a tenth of the rows is held out, at most
        numbers = [max(k, least) for k in FEW_CHUNKS]
        needs = [clock.needs(self.costs.check(FEWEST, k)) for k in numbers]
        found = [k for k, t in zip(numbers, needs) if CAREFUL * t <= most]
        return found[0] if found else numbers[-1] * (needs[-1] <= AT_MOST * limit)

    def rounds(self, number: int, chunks: float = np.inf) -> Callable[[], bool]:
        """Say whether there is time for one more pass of a check with so many rows, and learn the
        pace from the passes before it."""
        once, clock, began = self.costs.check(number, chunks), self.clock, [self.clock.spent()]
        rest = self.costs.messages + self.costs.errors(number, chunks)

        def goes_on() -> bool:
            if not clock.limited:
                return True
            clock.pace.note(once, clock.spent() - began[0])
            began[0] = clock.spent()
            return clock.fits(rest + CAREFUL * once)

        return goes_on

    def learns_errors(self, number: int, chunks: float = np.inf) -> bool:
        """Whether there is time to learn the scale of errors from so many rows."""
        return self.clock.fits(self.costs.errors(number, chunks))

    def late_errors(self) -> tuple[int, int]:
        """Rows and chunks to learn the scale of errors from where time is short; 0: no time.

        Intervals that nobody checked are worth little: this may take a pass of messages and a
        share of the limit beyond it.
        """
        clock = self.clock
        most = (1.0 + BEYOND) * clock.limit + clock.needs(self.costs.messages) - clock.spent()
        for number in (FEWEST, FEWEST // 2):
            chunks = max(FEW_CHUNKS[-1], -(-10 * number // self.work.chunk))
            if clock.needs(self.costs.errors(number, 2 * chunks)) <= most:
                return number, chunks
        return 0, 0

    def averages(self) -> bool:
        """Whether there is time to average over hyperparameters."""
        return self.clock.fits(CAREFUL * self.costs.averaging)

    def refines(self, settings: Settings, say: Callable[[str], None]) -> bool:
        """Whether means are to be refined: because they should, or because there is time."""
        asked = settings.answers.refine is not None
        if asked or not np.isfinite(self.clock.limit + self.costs.refining):
            return asked
        enough = self.clock.fits(self.costs.refining)
        if not enough and self.clock.out():
            say("no refining: the time is up")
        elif not enough:
            say(f"no refining: the {self.clock.left():.0f} s that are left are too few")
        return enough

    def enough(self) -> bool:
        """Whether refining has to end now, to be done in time."""
        return not self.clock.fits(self.costs.last)

    def announce(self, settings: Settings, say: Callable[[str], None]) -> None:
        """The estimate in words; refuses what cannot fit the memory."""
        refuse_beyond(settings.memory_limit, self.bytes)
        announce(self.seconds, self.bytes, say)
        if self.costs.messages > 0.2 * self.clock.limit:
            say(
                f"of these about {self.costs.messages:.1f} s pass over all rows once, which is "
                "done whatever limits says"
            )


def _fewer_anchors(work: Work, speed: Speed, m: int, clock: Clock, most: float) -> int:
    """Halve the number of anchors until a pass of messages takes no more than `most` seconds."""
    while work.free and m > 50 and clock.needs(work.messages(speed, m)) > most:
        m = max(50, m // 2)
    return m


def announce(seconds: float, needed: int, say: Callable[[str], None]) -> None:
    words = f"{memory.in_words(needed)} beyond the rows as given"
    say(f"expecting about {max(seconds, 1.0):.0f} s on an idle machine, and {words}")


def refuse_beyond(memory_limit: float, needed: int) -> None:
    """Raise where a fit cannot keep the memory limit."""
    if needed > memory_limit:
        raise memory.LimitError(
            f"limits: this fit would take {memory.in_words(needed)}, and "
            f"{memory.in_words(memory_limit)} are allowed. Give n_local=0 (no rows are kept), "
            "fewer anchors or smaller chunks; or pass the rows in parts to partial_fit"
        )
