"""Try columns as numbers, levels or scores, on the same clusters and held-out rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...kernels import Kernel
from ...kernels.wrapped.scored import LevelScores, Scored
from ...messages.evidence import factorised
from ...rows.chunk import cut_rows
from ..families import near_check
from ..optimise import Learnt, Scales, maximise
from ..pool import Pool
from ..tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Tried:
    """A kernel fitted to clusters, and log densities of held-out rows  (n,)."""

    levels: tuple[int, ...]
    learnt: Learnt  # its kernel is the whole one
    density: Array

    def better(
        self, old: Tried, name: str, say: Callable[[str], None], *, together: bool = False
    ) -> bool:
        """Whether held-out rows gain enough, and clusters do not lose more than that.

        `together`: or both together gain enough, and held-out rows lose no more than by chance.
        """
        t = TUNING.trials
        gain = np.clip(self.density - old.density, -t.most, t.most)
        mean, error = float(gain.mean()), float(gain.std() / np.sqrt(gain.size))
        clusters = self.learnt.value - old.learnt.value
        least = max(t.least, t.errors * error)
        taken = mean > least and clusters > -mean
        taken |= together and mean + clusters > least and mean > -error
        say(
            f"{name}: log density of held-out rows {mean:+.3f} ± {error:.3f}, of clusters "
            f"{clusters:+.3f}; {'used' if taken else 'not used'}"
        )
        return taken


@dataclass(frozen=True, eq=False)
class Trials:
    """Clusters and held-out rows that all attempts share."""

    pool: Pool
    noise: float | None
    engine: Any
    groups: list[Array]
    held: Array

    @classmethod
    def of(
        cls, pool: Pool, noise: float | None, engine: Any, levels: tuple[int, ...],
        offered: tuple[int, ...] = (),
    ) -> Trials:  # fmt: skip
        """Make half the clusters with columns as they are, half with the offered ones as levels."""
        t, X, rng = TUNING.trials, pool.sample.X, np.random.default_rng(0)
        held = rng.choice(X.shape[0], min(X.shape[0], t.held_out), replace=False)
        both = [Scales.of(X, own).kernel("Matern32") for own in (levels, (*levels, *offered))]
        groups = [g for k in both for g in pool.clusters(k, t.size, t.clusters // 2, rng)]
        return cls(pool, noise, engine, groups, held)

    def attempt(self, levels: tuple[int, ...], scores: tuple[LevelScores, ...] = ()) -> Tried:
        """Fit a Matérn 3/2 to the clusters, and predict the held-out rows."""
        scales = Scales.of(self.pool.sample.X, levels).with_scores(len(scores))
        chunks = cut_rows(self.pool.rows, self.groups)
        kernel, noise = scales.kernel("Matern32"), self.noise

        def objective(k: Kernel, s: float) -> tuple[float, Array]:
            return factorised(with_scores(k, scores), s, chunks, self.engine)

        found = maximise(
            objective, kernel, 0.1 if noise is None else noise, scales.prior(kernel),
            float(sum(chunk.w.sum() for chunk in chunks)), noise_fixed=noise is not None,
            max_iter=TUNING.trials.iterations,
        )  # fmt: skip
        whole = Learnt(with_scores(found.kernel, scores), found.noise, found.value)
        near = self.pool.near(whole.kernel, self.held, TUNING.trials.near)
        check = near_check(whole.kernel, whole.noise, self.pool.rows, self.held, near, self.engine)
        return Tried(levels, whole, -check.each.sum(axis=1))


def with_scores(kernel: Kernel, scores: tuple[LevelScores, ...]) -> Kernel:
    """Let a kernel also see scores, as columns behind the others, if there are any."""
    return Scored(kernel, scores) if scores else kernel
