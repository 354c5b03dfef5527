"""How much to do: the arguments, the rows, and the limits on time and memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.budget import Speed, committee_bytes, refining_bytes
from ..core.clock import Clock
from ..core.learning import Effort
from ..core.refine import anchor_count
from .progress import Progress
from .settings import Settings

#: From little to much; the usual effort is the last.
EFFORTS = (
    Effort(
        family=False, second=False, rough_rows=200, family_chunks=1, family_size=200,
        first_chunks=3, final_chunks=3, final_size=200, near_rows=1, near_neighbours=100,
    ),
    Effort(
        second=False, rough_rows=300, family_chunks=3, family_size=200, first_chunks=5,
        final_chunks=5, final_size=300, near_rows=50, near_neighbours=200,
    ),
    Effort(
        rough_rows=400, family_chunks=4, family_size=250, first_chunks=6, final_chunks=15,
        final_size=350, near_rows=80, near_neighbours=300,
    ),
    Effort(),
)  # fmt: skip
#: Shares of a time limit: for learning, and for each pass of messages (a check makes two more).
LEARNING, MESSAGES = 0.4, 0.12
#: Conjugate gradients are worth starting where so many iterations fit the time; a step takes
#: about so much of a product in double precision.
ITERATIONS, STEP = 4, 0.8


@dataclass(frozen=True)
class Plan:
    """What a fit does, what it may take, and what it is expected to."""

    clock: Clock
    effort: Effort
    most_anchors: int
    check: bool  # the error bars, by rows left out
    refine: bool
    seconds: float
    bytes: int
    last: float  # seconds that refining needs after its last step

    @classmethod
    def of(cls, settings: Settings, n: int, d: int, p: int, clock: Clock) -> Plan:
        """The most that fits the limits, by estimate."""
        limit, jobs = clock.limit, settings.engine.n_jobs
        speed = Speed.measured(d, settings.engine)
        chunk, k = min(settings.chunk_rows(n), n), min(settings.local_rows(d), 200)
        exact = chunk >= n
        efforts = [effort.for_rows(n) for effort in EFFORTS]
        learning = [effort.steps() * speed.step / jobs for effort in efforts]
        at = max(i for i, t in enumerate(learning) if i == 0 or t <= LEARNING * limit)

        def messages(m: int) -> float:
            return 0.0 if exact else speed.messages(n, chunk, m, d) / jobs

        def memory(m: int) -> int:
            return committee_bytes(n, d, p, chunk, m, jobs, keep=settings.keeps_rows)

        m = settings.anchor_count(n)
        while settings.n_anchors is None and m > 50 and (
            messages(m) > MESSAGES * limit or memory(m) > settings.memory_limit
        ):  # fmt: skip
            m = max(50, m // 2)
        seconds = messages(m) + (learning[at] if settings.learn else 0.0)
        check = 2.0 * (messages(m) + speed.answers(800, k, m) / jobs)
        checks = settings.learn and not exact and seconds + check <= 0.8 * limit
        seconds += check if checks else 0.0
        inner = anchor_count(n)  # of the preconditioner
        product, more = speed.product(n) / jobs, refining_bytes(n, d, p, chunk, inner)
        last = product + messages(m)
        refining = 2.0 * messages(inner) + ITERATIONS * STEP * product + last
        refines = settings.refine and not exact
        if not settings.refine and np.isfinite(limit) and settings.can_refine and not exact:
            fits = memory(m) + more <= settings.memory_limit
            refines = fits and seconds + refining <= limit
        seconds += refining if refines else 0.0
        total = memory(m) + (more if refines else 0)
        return cls(clock, efforts[at], m, checks, refines, seconds, total, last)

    def enough(self) -> bool:
        """Whether refining has to end now, to be done in time."""
        return self.clock.left() < self.last

    def announce(self, settings: Settings, say: Progress) -> None:
        """The estimate in words; refuses what cannot fit the memory."""
        words = f"{self.bytes / 1e9:.2f} GB beyond the rows as given"
        say(f"expecting about {self.seconds:.0f} s and {words}")
        if self.bytes > settings.memory_limit:
            raise ValueError(
                f"memory_limit: this fit would take {self.bytes / 1e9:.2f} GB, and "
                f"{settings.memory_limit / 1e9:.2f} GB are allowed. Give n_local=0 (no rows are "
                "kept), fewer n_anchors or a smaller chunk_size; or pass the rows in parts to "
                "partial_fit"
            )
