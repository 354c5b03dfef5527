"""The work of a fit with other likelihoods than the Gaussian."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...laplace.learning import LatentEffort
from ...laplace.tuning import TUNING as LATENT
from ...likelihoods.base import Observation
from ..settings import Settings
from .cost import Speed
from .plan import announce, refuse_beyond
from .work import Work

#: Evaluations of the evidence that learning a family takes, and those on clusters; sweeps.
EVALUATIONS, EVALUATIONS_ON_CLUSTERS, SWEEPS = 10, 9, 5
#: A Laplace approximation of one latent function over the Gaussian evidence of as many rows: by
#: itself, and coupled to others by a softmax. What comes after the sweeps, over all before.
LAPLACE, COUPLED, AFTER = 6.0, 10.0, 1.3


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
