"""How much to do: the arguments, the rows, and the limits on time and memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...answers.preconditioner import group_size
from ...answers.tuning import TUNING as ANSWERS
from ...kernels import Kernel
from ...kernels.composite import Composite
from ...laplace.learning import LatentEffort
from ...laplace.tuning import TUNING as LATENT
from ...learning.effort import Effort
from ...likelihoods.base import Observation
from ...numerics import memory
from ...numerics.clock import Clock
from ..settings import Settings
from ..tuning import TUNING
from .cost import Speed, committee_bytes, refining_bytes

#: From little to much; the usual effort is the last.
EFFORTS = (
    Effort(
        family=False, second=False, at_once=200, rough_rows=200, family_chunks=1, family_size=200,
        first_chunks=3, final_chunks=3, final_size=200, near_rows=1, near_neighbours=100,
    ),
    Effort(
        second=False, at_once=300, rough_rows=300, close_rows=3_000, family_chunks=3,
        family_size=200, first_chunks=5, final_chunks=5, final_size=300, near_rows=50,
        near_neighbours=200,
    ),
    Effort(
        at_once=400, rough_rows=400, close_rows=5_000, family_chunks=4, family_size=250,
        first_chunks=6, final_chunks=15, final_size=350, near_rows=80, near_neighbours=300,
    ),
    Effort(),
)  # fmt: skip
#: Shares of a time limit: for learning, expected and at most, and for each pass of messages (a
#: check makes two more).
LEARNING, LEARNING_AT_MOST, MESSAGES = 0.4, 0.65, 0.12
#: Conjugate gradients are worth starting where so many iterations fit the time; a step takes
#: about so much of a product in double precision.
ITERATIONS, STEP = 3, 0.45
#: Passes that a check of the error bars makes, or a few more; safety factor on the estimated time;
#: rows, at least, that are worth a check.
CHECKS, CAREFUL, FEWEST = 2, 1.3, 200


#: Evaluations of the evidence that learning a family takes, and those on clusters; sweeps.
EVALUATIONS, EVALUATIONS_ON_CLUSTERS, SWEEPS = 10, 9, 5
#: A Laplace approximation of one latent function over the Gaussian evidence of as many rows: by
#: itself, and coupled to others by a softmax. What comes after the sweeps, over all before.
LAPLACE, COUPLED, AFTER = 6.0, 10.0, 1.3


@dataclass(frozen=True)
class Plan:
    """The work of a fit with Gaussian noise, and what it is expected to take."""

    clock: Clock
    effort: Effort
    most_anchors: int
    refine: bool  # asked for, or likely to fit
    seconds: float  # of the whole fit; nan: not estimated
    bytes: int  # of the whole fit
    messages: float  # seconds to add the messages of all chunks
    passing: float  # seconds to add those of the rows that are not held out
    answering: float  # seconds to predict one held-out row
    refining: float  # seconds of a few steps of refining; infinite where it is not allowed
    last: float  # seconds after the last of these steps, the scale of errors included
    product: float  # seconds of a product with the covariance of all rows

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
        if not (estimate or np.isfinite(clock.limit)):
            whole, needed = Effort().for_rows(n), work.bytes(m, refine)
            return cls(clock, whole, m, refine, np.nan, needed, 0.0, 0.0, 0.0, np.inf, 0.0, 0.0)
        speed = Speed.measured(d)
        efforts = [effort.for_rows(n) for effort in EFFORTS]
        learning = [effort.steps() * speed.step / work.jobs for effort in efforts]
        at = max(i for i, t in enumerate(learning) if i == 0 or t <= LEARNING * clock.limit)
        while work.free and m > 50 and work.messages(speed, m) > MESSAGES * clock.limit:
            m = max(50, m // 2)
        seconds = messages = work.messages(speed, m)
        passing, answering = work.checking(speed, m)
        if settings.learning.on:
            seconds += learning[at]
            check = CHECKS * (passing + held * answering)
            seconds += min(check, max(clock.limit - seconds, 0.0))
        product = work.product(speed)
        after = work.errors(speed, m, held)
        refining, last = (seconds + after for seconds in work.refining(speed, m))
        allowed = settings.can_refine and not (work.exact or streaming)
        if not allowed or work.bytes(m, True) > settings.memory_limit:
            refining = np.inf
        refine = refine or (np.isfinite(clock.limit) and seconds + refining <= clock.limit)
        seconds += refining if refine and np.isfinite(refining) else 0.0
        needed = work.bytes(m, refine)
        return cls(
            clock, efforts[at], m, refine, seconds, needed, messages, passing, answering, refining,
            last, product,
        )  # fmt: skip

    def with_kernel(self, kernel: Kernel) -> Plan:
        """Now that it is known: a product takes as much longer as the kernel has more terms."""
        more = (_terms(kernel) - 1) * self.product
        refining = self.refining + (ITERATIONS * STEP + 1.0) * more
        return replace(self, refining=refining, last=self.last + more)

    def held_out(self, asked: int) -> int:
        """Rows to check the error bars with: as many as asked, or as there is time for; 0: none."""
        if not np.isfinite(self.clock.limit):
            return asked
        each = (self.clock.left() - self.messages) / (CAREFUL * CHECKS)
        number = min(asked, int(max(each - self.passing, 0.0) / max(self.answering, 1e-9)))
        return number if number >= min(asked, FEWEST) else 0

    def goes_on(self, number: int) -> bool:
        """Whether there is time for one more pass of a check with so many rows."""
        once = self.passing + number * self.answering
        return self.clock.left() - self.messages > CAREFUL * once

    def refines(self, settings: Settings, say: Callable[[str], None]) -> bool:
        """Whether means are to be refined: because they should, or because there is time."""
        asked = settings.answers.refine is not None
        if asked or not np.isfinite(self.clock.limit + self.refining):
            return asked
        enough = self.refining <= self.clock.left()
        if not enough:
            say(
                f"no refining: it wants {self.refining:.0f} s, and only "
                f"{self.clock.left():.0f} s are left"
            )
        return enough

    def enough(self) -> bool:
        """Whether refining has to end now, to be done in time."""
        return self.clock.left() < self.last

    def announce(self, settings: Settings, say: Callable[[str], None]) -> None:
        """The estimate in words; refuses what cannot fit the memory."""
        refuse_beyond(settings.memory_limit, self.bytes)
        announce(self.seconds, self.bytes, say)
        if self.messages > 0.2 * self.clock.limit:
            say(
                f"of these about {self.messages:.1f} s pass over all rows once, which is done "
                "whatever limits says"
            )


def announce(seconds: float, needed: int, say: Callable[[str], None]) -> None:
    words = f"{memory.in_words(needed)} beyond the rows as given"
    say(f"expecting about {max(seconds, 1.0):.0f} s on an idle machine, and {words}")


def refuse_beyond(memory_limit: float, needed: int) -> None:
    """Raise where a fit cannot keep the memory limit."""
    if needed > memory_limit:
        raise ValueError(
            f"limits: this fit would take {memory.in_words(needed)}, and "
            f"{memory.in_words(memory_limit)} are allowed. Give n_local=0 (no rows are kept), "
            "fewer anchors or smaller chunks; or pass the rows in parts to partial_fit"
        )


@dataclass(frozen=True)
class Work:
    """Seconds and bytes of the parts of a fit, by the number of anchors."""

    settings: Settings
    n: int
    d: int
    p: int

    @property
    def chunk(self) -> int:
        return min(self.settings.chunk_rows(self.n), self.n)

    @property
    def exact(self) -> bool:
        return self.chunk >= self.n

    @property
    def jobs(self) -> int:
        """Workers that have something to do."""
        jobs = getattr(self.settings.engine, "n_jobs", 1)
        return max(1, min(jobs, -(-self.n // self.chunk)))

    @property
    def free(self) -> bool:
        """Whether the number of anchors is ours to choose."""
        return self.settings.anchors.free

    def anchors(self, memory_limit: float) -> int:
        """Their number within the memory of one worker: not to depend on how many there are."""
        if self.settings.anchors.Z is not None:
            return len(self.settings.anchors.Z)
        m = self.settings.anchor_count(self.n)
        while self.free and m > 50 and self._committee(m, 1) > memory_limit:
            m = max(50, m // 2)
        return m

    def bytes(self, m: int, refine: bool) -> int:
        group = group_size(self.n)
        given = ANSWERS.refining.given * group
        more = refining_bytes(self.n, self.d, self.p, group, given, m, self.jobs)
        return self._committee(m, self.jobs) + (more if refine else 0)

    def _committee(self, m: int, jobs: int) -> int:
        in_memory = self.settings.store is None
        keep = self.settings.answers.keeps_rows and in_memory
        most = ANSWERS.predictors.design_bytes
        design = 0 if self.exact or not keep else min(8 * self.n * m, most)
        n = self.n if in_memory else 0
        return design + committee_bytes(n, self.d, self.p, self.chunk, m, jobs, keep=keep)

    def messages(self, speed: Speed, m: int) -> float:
        return 0.0 if self.exact else speed.messages(self.n, self.chunk, m) / self.jobs

    def checking(self, speed: Speed, m: int) -> tuple[float, float]:
        """Seconds of a pass without the held-out rows, and of the answer to one of these."""
        if self.exact:
            return 0.0, 0.0
        k = min(self.settings.answers.local_rows(self.d), TUNING.checking.near)
        design = speed.design(self.n, m) if self.settings.answers.keeps_rows else 0.0
        return self.messages(speed, m) + design, speed.answers(1, k, m) / self.jobs

    def errors(self, speed: Speed, m: int, held: int) -> float:
        """Seconds for the answers at held-out rows that the scale of errors is learnt from."""
        if self.exact or not self.settings.scale_wanted:
            return 0.0
        k, number = self.settings.answers.local_rows(self.d), min(held, TUNING.checking.error_rows)
        return self.checking(speed, m)[0] + speed.answers(number, k, m) / self.jobs

    def product(self, speed: Speed) -> float:
        return speed.product(self.n) / self.jobs

    def refining(self, speed: Speed, m: int) -> tuple[float, float]:
        """Seconds for some steps, and those after the last of them."""
        product = self.product(speed)
        last = product + self.messages(speed, m)
        group = group_size(self.n)
        given = ANSWERS.refining.given * group
        first = speed.conditioning(self.n, group, given, m) / self.jobs
        return first + ITERATIONS * STEP * product + last, last


def _terms(kernel: Kernel) -> int:
    """Kernels that it is made of."""
    return sum(map(_terms, kernel.parts)) if isinstance(kernel, Composite) else 1


@dataclass(frozen=True)
class SweptPlan:
    """The work of sweeps for n rows and all latent functions of some likelihoods."""

    settings: Settings
    n: int
    d: int
    problems: int
    latents: int  # of one problem: more than one are coupled

    @classmethod
    def of(
        cls, settings: Settings, n: int, d: int, likelihoods: Sequence[Observation]
    ) -> SweptPlan:
        return cls(settings, n, d, len(likelihoods), likelihoods[0].latents)

    @property
    def functions(self) -> int:
        return self.problems * self.latents

    def bytes(self) -> int:
        """Bytes of one output with Gaussian noise, and what each latent function adds."""
        work = Work(self.settings, self.n, self.d, 1)
        m, chunk = work.anchors(self.settings.memory_limit), work.chunk
        if work.exact:
            m = 0
        in_memory = self.settings.store is None
        kept = -(-self.n // chunk) * m**2 if in_memory else 0  # every chunk keeps its messages
        rows = 5 * self.n if in_memory else 0  # targets, sites
        factor = self.n**2 if work.exact else 0  # of the predictor
        each = (self.functions - 1) * (kept + rows + factor)
        coupled = 2 * work.jobs * (self.latents - 1) * chunk**2
        return work.bytes(m, False) + 8 * max(each, coupled + each - self.functions * factor)

    def seconds(self, speed: Speed) -> float:
        """Learning, sweeps, and what comes after."""
        s, n = self.settings, self.n
        work = Work(s, n, self.d, 1)
        each = self.functions * (COUPLED if self.latents > 1 else LAPLACE) * speed.step

        def approximation(rows: int) -> float:
            return each * (rows / 400.0) ** 3

        effort, total = LatentEffort(), 0.0
        if s.learning.on:
            families = len(LATENT.learning.families) if s.prior.kernel is None else 1
            total += EVALUATIONS * families * approximation(min(n, effort.rough_rows))
            if n > effort.rough_rows:
                clusters = effort.clusters(self.problems)
                total += EVALUATIONS_ON_CLUSTERS * clusters * approximation(effort.size)
        sweeps = 1 if work.exact else SWEEPS
        total += sweeps * (n / work.chunk) * approximation(work.chunk) / work.jobs
        return AFTER * total

    def announce(self, say: Callable[[str], None], *, estimate: bool) -> None:
        """Refuse what cannot fit the memory; say what is expected where that is asked for."""
        needed = self.bytes()
        refuse_beyond(self.settings.memory_limit, needed)
        if estimate:
            if self.functions > 1:
                say(f"{self.functions} latent functions: the work grows with their number")
            announce(self.seconds(Speed.measured(self.d)), needed, say)
