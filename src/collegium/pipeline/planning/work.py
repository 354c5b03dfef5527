"""Seconds and bytes of the parts of a fit with Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...answers.preconditioner import group_size
from ...answers.tuning import TUNING as ANSWERS
from ...averaging.maps import work as averaging_work
from ...averaging.tuning import TUNING as AVERAGING
from ...kernels import Kernel
from ...kernels.composite import Composite
from ...learning.tuning import TUNING as LEARNING
from ..settings import Settings
from ..tuning import TUNING
from .cost import Speed, committee_bytes, refining_bytes

#: Conjugate gradients are worth starting where so many iterations fit the time; a step takes
#: about so much of a product in double precision.
ITERATIONS, STEP = 3, 0.45
#: Evaluations of the evidence by which few rows are averaged over hyperparameters: of one length
#: scale, and of all with so many more per column.
ONE_LENGTH, ALL_LENGTHS, PER_COLUMN = 60, 200, 4


@dataclass(frozen=True)
class Costs:
    """Seconds of the parts of a fit, on an idle machine."""

    messages: float = 0.0  # to add the messages of all chunks
    passing: float = 0.0  # to add those of the rows that are not held out, for a check
    few: float = 0.0  # to do so for one chunk
    answering: float = 0.0  # to predict one held-out row
    regions: float = 0.0  # to predict the held-out regions
    error: float = 0.0  # to predict one for the scale of errors; 0: it is not learnt
    averaging: float = 0.0  # over hyperparameters
    refining: float = np.inf  # a few steps of refining; infinite where it is not allowed
    last: float = 0.0  # after the last of these steps, the scale of errors included
    product: float = 0.0  # of the covariance of all rows with a vector

    def check(self, rows: int, chunks: float = np.inf) -> float:
        """One pass of a check with so many held-out rows of all chunks, or of some."""
        return min(self.passing, chunks * self.few) + self.regions + rows * self.answering

    def errors(self, rows: int, chunks: float = np.inf) -> float:
        """The scale of errors, from so many rows."""
        rows = min(rows, TUNING.checking.error_rows)
        return (min(self.passing, chunks * self.few) + rows * self.error) if self.error else 0.0

    def with_kernel(self, kernel: Kernel) -> Costs:
        """Now that it is known: a product takes as much longer as the kernel has more terms."""
        more = (terms(kernel) - 1) * self.product
        refining = self.refining + (ITERATIONS * STEP + 1.0) * more
        return replace(self, refining=refining, last=self.last + more)


def group_rows(n: int) -> tuple[int, int]:
    """Rows of a group of the preconditioner, and those it is given: for a few steps, few."""
    size = max(1, min(TUNING.refining.group, n // 8))
    return size, TUNING.refining.given * size


def terms(kernel: Kernel) -> int:
    """Count the kernels that one is made of."""
    return sum(map(terms, kernel.parts)) if isinstance(kernel, Composite) else 1


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

    def costs(self, speed: Speed, m: int, held: int, *, refine: bool) -> Costs:
        """Seconds of all parts; `refine`: whether that is allowed, `held`: rows of a check."""
        if self.exact:
            return Costs(averaging=self.averaging(speed))
        s, jobs = self.settings, self.jobs
        k = s.answers.local_rows(self.d)
        costs = Costs(
            messages=self.messages(speed, m),
            passing=self._passing(speed, m, self._rows_checked()),
            few=self._passing(speed, m, self.chunk),
            answering=speed.answers(1, min(k, TUNING.checking.near), m) / jobs,
            regions=self._regions(speed),
            error=speed.answers(1, k, m) / jobs if s.scale_wanted else 0.0,
            product=speed.product(self.n) / jobs,
        )
        if not refine:
            return costs
        after = costs.errors(held)
        refining, last = (seconds + after for seconds in self._refining(speed, m))
        return replace(costs, refining=refining, last=last)

    def messages(self, speed: Speed, m: int) -> float:
        return 0.0 if self.exact else speed.messages(self.n, self.chunk, m) / self.jobs

    def _rows_checked(self) -> int:
        """Rows whose messages a check adds up: only some, where near rows are asked too."""
        some = self.settings.answers.corrected
        return min(self.n, TUNING.checking.cells * self.chunk) if some else self.n

    def _passing(self, speed: Speed, m: int, n: int) -> float:
        """Seconds to add messages of n rows, and to make what answers from near ones need."""
        design = speed.design(n, m) if self.settings.answers.keeps_rows else 0.0
        return speed.messages(n, self.chunk, m) / self.jobs + design

    def _regions(self, speed: Speed) -> float:
        """Seconds to predict regions, each from the rows around it."""
        t = LEARNING.regions
        some = self.settings.learning.on and self.n >= t.fewest
        around = min(self.n, t.around + t.inner)
        return t.number * speed.answers(1, around, 0) / self.jobs if some else 0.0

    def averaging(self, speed: Speed) -> float:
        """Seconds to average few rows over hyperparameters."""
        one = self.d == 1 or averaging_work(self.n, self.d) > AVERAGING.most_work
        evaluations = ONE_LENGTH if one else ALL_LENGTHS + PER_COLUMN * self.d
        return self.p * evaluations * speed.evidence(self.n)

    def _refining(self, speed: Speed, m: int) -> tuple[float, float]:
        """Seconds for some steps, and those after the last of them; where refining was asked for,
        the residual is computed again."""
        asked = self.settings.answers.refine is not None
        product = speed.product(self.n) / self.jobs
        last = asked * product + self.messages(speed, m)
        group, given = group_rows(self.n)
        if asked:
            group = group_size(self.n)
            given = ANSWERS.refining.given * group
        first = speed.conditioning(self.n, group, given, m) / self.jobs
        return first + ITERATIONS * STEP * product + last, last
