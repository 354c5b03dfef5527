"""Learn the kernel and the noise: from which rows, and with which kernel family.

Targets are centred and of unit variance. Learning uses a few clusters of rows in the metric of
the kernel learnt so far: clusters have the local density of the data, and so show its noise. If
the targets of nearest rows correlate much more in another metric (`neighbour_metric`), half the
clusters are made in that one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from .. import kernels
from ..errors.values import Values
from ..kernels import Kernel
from ..kernels.base import told
from ..kernels.stationary.matern import Matern12, Matern52
from ..kernels.wrapped.scored import LevelScores
from ..messages.basis import Anchors
from ..messages.evidence import anchored
from ..messages.experts.base import Expert
from ..messages.experts.block import Block
from ..numerics.clock import Clock
from ..numerics.linalg import LOG_2PI
from ..rows.chunk import Chunk, cut_rows
from ..rows.metric import Metric
from ..rows.rows import Rows
from .calibration import Correction
from .choice import Compared, Losses
from .families import FAMILIES, Comparison, gap_density, near_losses
from .far import end_to_end, learn_far, reaches_far
from .levels import levels_by_held_out, scores_by_held_out, with_scores
from .neighbour_metric import agreement, find_neighbour_metric
from .optimise import Learnt, Scales, maximise, maximise_chunks
from .pool import Effort, Pool
from .regions import Region, cut_regions
from .tuning import TUNING

Array = np.ndarray


def trivial_value(chunks: Sequence[Chunk]) -> float:
    """Log evidence per row of pure noise: a lower bound for any useful kernel."""
    y = np.concatenate([chunk.y for chunk in chunks])
    w = np.concatenate([chunk.w for chunk in chunks])
    variance = np.maximum((w[:, None] * y**2).sum(axis=0) / w.sum(), 1e-300)
    return float(-0.5 * (LOG_2PI + np.log(variance) + 1.0).sum())


def learn(
    rows: Rows | Pool,
    kernel: Kernel | None,
    noise: float | None,
    rng: np.random.Generator,
    engine: Any,
    *,
    noise_start: float | None = None,
    n_starts: int = 1,
    levels: tuple[int, ...] = (),
    effort: Effort | None = None,
    judge: Callable[[Kernel, float], Correction] | None = None,
    clock: Clock | None = None,
    say: Callable[[str], None] = lambda text: None,
    trend: Kernel | None = None,
) -> Learnt:
    """Learn kernel and noise for standardised targets.

    `rows`: all of them, or a `Pool` where they are not in memory. `kernel` gives the family and
    the start; a given `noise` is kept. `judge` scores a kernel and a noise on held-out rows; if
    given, it alone decides the family. `levels`: columns of codes, which are equal or not.
    `trend`, which has no free parameters, is added to every kernel and is part of the result.
    When the clock runs out, the best so far is returned.
    """
    pool = Pool(rows) if isinstance(rows, Rows) else rows
    effort, clock = (effort or Effort()).for_rows(pool.n), clock or Clock()
    scores: tuple[LevelScores, ...] = ()
    if kernel is None and effort.family:
        levels = levels_by_held_out(pool, levels, noise, engine, clock.out, say)
        scores = scores_by_held_out(pool, levels, noise, engine, clock.out, say)
    learner = _Learner(
        pool, noise, noise_start, rng, engine, n_starts, effort, judge, clock, say, levels, scores,
        trend,
    )  # fmt: skip
    found = learner.run(kernel)
    return replace(found, kernel=learner.whole(found.kernel))


def learn_anchored(
    kernel: Kernel, noise: float, Z: Array, chunks: Sequence[Chunk], engine: Any,
    *, noise_fixed: bool, max_iter: int = 40, expert: type[Expert] = Block,
    stop: Callable[[], bool] = lambda: False,
) -> Learnt:  # fmt: skip
    """Maximise the committee's own evidence, with anchors and all chunks, from a given start."""
    X, w = (np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in "Xw")
    prior, weight = Scales.of(X).prior(kernel), float(w.sum())
    if not noise_fixed:
        noise = expert(noise).first_noise(Anchors.at(kernel, Z), X, w)

    def objective(k: Kernel, s: float) -> tuple[float, Array]:
        return anchored(k, s, Z, chunks, engine, expert)

    return maximise(
        objective, kernel, noise, prior, weight, noise_fixed=noise_fixed, max_iter=max_iter,
        stop=stop,
    )  # fmt: skip


@dataclass(eq=False)
class _Learner:
    """The steps of `learn`."""

    pool: Pool
    noise: float | None
    noise_start: float | None
    rng: np.random.Generator
    engine: Any
    n_starts: int
    effort: Effort
    judge: Callable[[Kernel, float], Correction] | None
    clock: Clock
    say: Callable[[str], None]
    levels: tuple[int, ...] = ()
    scores: tuple[LevelScores, ...] = ()
    trend: Kernel | None = None

    def __post_init__(self) -> None:
        self.scales = Scales.of(self.pool.sample.X, self.levels).with_scores(len(self.scores))
        self.n, self.d = self.pool.sample.X.shape
        self.known: list[tuple[Learnt, Losses]] = []  # candidates at held-out rows
        self.gaps: list[Region] = []  # held out as a whole

    def placed(self, kernel: Kernel) -> Kernel:
        """Let the kernel also see the scores of levels, if there are any; θ stays the same."""
        return with_scores(kernel, self.scores)

    def whole(self, kernel: Kernel) -> Kernel:
        """Add scores and the trend, if there are any."""
        own = self.placed(kernel)
        return own if self.trend is None else own + self.trend

    def run(self, kernel: Kernel | None) -> Learnt:
        """Fit random rows, choose a kernel, then fit clusters in its metric."""
        e = self.effort
        if kernel is not None and reaches_far(kernel) and e.final_size >= TUNING.far.cluster_rows:
            return learn_far(self, kernel, partial(self._clusters, kernel))
        if self.n <= e.at_once:
            chunks = self._cut([np.arange(self.n)])
            if kernel is not None:
                return self._fit(kernel, None, chunks, final=True)
            tried = [self._fit(self.scales.kernel(f), None, chunks) for f in FAMILIES]
            best = max(tried, key=_value)
            return self._fit(best.kernel, best.noise, chunks, final=True)
        sample = np.sort(self.rng.choice(self.n, e.rough_rows, replace=False))
        rough_kernel = self.scales.kernel("Matern32") if kernel is None else kernel
        rough = self._fit(rough_kernel, None, self._cut([sample]), max_iter=30)
        if kernel is None and e.family:
            found = self._with_neighbour_metric(rough)
            if found is not None and not self._doubtful(found, rough):
                return found
            rough = self._choose_kernel(rough)
        if self.clock.out():
            self.say(f"time is up: {told(self.say, rough.kernel)}, noise {rough.noise:.3g}")
            return rough
        groups = self._with_far(self._clusters(rough.kernel, e.final_size, e.final_chunks))
        few = groups[:: max(1, len(groups) // e.first_chunks)]
        found = self._fit(rough.kernel, rough.noise, self._cut(few), final=True)
        if len(few) < len(groups):
            found = self._fit(found.kernel, found.noise, self._cut(groups), max_iter=15)
        if kernel is not None or not e.family or self.judge is not None or self.clock.out():
            return found
        return self._confirmed(found, rough, self._cut(few))

    def _with_neighbour_metric(self, rough: Learnt) -> Learnt | None:
        """Fit a sum of two kernels with two metrics, if nearest rows agree much more in another.

        Under so much noise few rows mislead: it starts from the scales of the columns, with
        twice as many clusters, somewhat smaller. Families hardly differ; the roughest costs
        least.
        """
        t, e, X = TUNING.metric, self.effort, self.pool.sample.X
        if self.d > t.most_columns:
            return None
        broad = self.scales.kernel("Matern12").scaled(0.3)
        width = Metric.of(self.placed(broad), X).width
        sample = np.random.default_rng(0).permutation(self.n)[: e.close_rows_for(width)]
        y = self.pool.sample.y[sample]
        before = agreement(Metric.of(self.placed(rough.kernel), X).forward(X[sample]), y)
        if before > t.enough_agreement:
            return None
        found = find_neighbour_metric(
            Metric.of(self.placed(broad), X), X[sample], y, self.clock.out
        )
        chance = 5.0 / np.sqrt(sample.size)
        if found.agreement < before + max(t.more_agreement, chance):
            return None
        self.say(
            f"targets of nearest rows correlate by {before:.2f} in the metric learnt from "
            f"{e.rough_rows} rows, by {found.agreement:.2f} in another, which is used too"
        )
        close = Matern12(variance=0.3, length_scale=found.lengths, categories=self.levels)
        groups = [self._clusters(k, 3 * e.final_size // 4, e.final_chunks) for k in (close, broad)]
        noise = max(1.0 - found.agreement, 0.05)
        return self._fit(close + broad, noise, self._cut(groups[0] + groups[1]))

    def _choose_kernel(self, rough: Learnt) -> Learnt:
        """Choose one kernel or a sum of two, by held-out rows (`choice`) or by `judge`."""
        e = self.effort
        groups = self._clusters(rough.kernel, e.family_size, e.family_chunks)
        chunks = self._cut(self._with_far(groups))
        self.gaps = cut_regions(self.placed(rough.kernel), self.pool.sample)[
            ::2
        ]  # not those at edges
        tried = self._tried(rough, chunks)
        best = self._best(tried)
        if not e.second or self.clock.out():
            return best
        return self._best([*(tried if self.judge is None else [best]), *self._sums(best, chunks)])

    def _tried(self, rough: Learnt, chunks: list[Chunk]) -> list[Learnt]:
        """Fit Matern52 and Matern12, what is between them if they are about equal, and RBF if the
        smoother one is better; smoothest first."""
        last = self._family("Matern12", rough, chunks)
        smooth = self._family("Matern52", rough, chunks, least=last.value)
        if self.clock.out():
            return [smooth, last]
        more, error = self._compared([smooth, last]).behind(0, 1)
        middle = [self._family("Matern32", rough, chunks)] if abs(more) <= 2.0 * error else []
        first = [self._family("RBF", rough, chunks)] if more <= 0.0 else []
        return [*first, smooth, *middle, last]

    def _sums(self, best: Learnt, chunks: list[Chunk]) -> list[Learnt]:
        """Fit sums of two that start from the best single kernel: a Matern52 and a Matern12, one
        of them with its length scales and the other shorter or longer, and two of its family;
        of several starts the best by evidence."""
        k: Any = best.kernel

        def term(family: type, size: float, stretch: float) -> Kernel:
            return family(size * k.variance, stretch * k.length_scale, categories=k.categories)

        def start(one: type, a: float, two: type, b: float) -> tuple[Kernel, float]:
            return term(one, 0.7, a) + term(two, 0.3, b), best.noise

        own = type(k)
        mixed = [start(Matern52, a, Matern12, b) for a, b in ((1.0, 0.3), (5.0, 1.0), (0.2, 1.0))]
        same = [start(own, 1.0, own, b) for b in (0.3, 3.0)]
        return [self._race(mixed, chunks), self._race(same, chunks)]

    def _family(
        self, family: str, rough: Learnt, chunks: list[Chunk], least: float = -np.inf
    ) -> Learnt:
        """Fit a family from the rough kernel; if that ends below `least`, from the scales too."""
        k: Any = rough.kernel
        start = getattr(kernels, family)(k.variance, k.length_scale, categories=k.categories)
        found = self._fit(start, rough.noise, chunks)
        if found.value >= least:
            return found
        other = self.scales.kernel(family), self._noise(0.1)  # too smooth, or a bad start?
        return self._race([other, (found.kernel, found.noise)], chunks)

    def _race(self, starts: list[tuple[Kernel, float]], chunks: list[Chunk]) -> Learnt:
        """Make a few steps from each start, and go on from the best."""
        t = TUNING.newton
        first = [self._fit(*start, chunks, max_iter=t.first) for start in starts]
        best = max(first, key=_value)
        if best.converged:
            return best
        return self._fit(best.kernel, best.noise, chunks, max_iter=t.sums)

    def _best(self, tried: list[Learnt]) -> Learnt:
        """Choose by `judge` if there is one, else the first that is about as good as the best."""
        if self.judge is not None:
            return self._judged(tried)
        compared = self._compared(tried)
        best = tried[compared.simplest()]
        words = [f"{_name(one)} {loss:+.3f}" for one, loss in zip(tried, compared.means)]
        self.say(f"losses of {compared.share.size} held-out rows: {', '.join(words)}")
        self.say(f"chosen: {_name(best)}, the simplest that is about as good as the best")
        return best

    def _judged(self, tried: list[Learnt]) -> Learnt:
        """Choose the kernel with the highest density of held-out rows, by `judge`."""
        assert self.judge is not None
        densities = [-self.judge(self.whole(learnt.kernel), learnt.noise).after for learnt in tried]
        for learnt, density in zip(tried, densities):
            self.say(
                f"{_name(learnt)}: log density per row by evidence {learnt.value:.3f}, of held-out "
                f"rows {density:.3f}"
            )
        return tried[int(np.argmax(densities))]

    def _compared(self, tried: list[Learnt]) -> Compared:
        """Compare candidates by the same held-out rows, each predicted from rows near it."""
        own = self.pool.sample.take(self.held_out)
        return Compared.of([self._losses(one) for one in tried], own.w, own.group)

    def _losses(self, learnt: Learnt) -> Losses:
        for known, losses in self.known:
            if known is learnt:
                return losses
        near = self.pool.near(
            self.placed(learnt.kernel), self.held_out, self.effort.near_neighbours
        )
        whole = self.whole(learnt.kernel)
        rows, noise = self.pool.rows, learnt.noise
        found = near_losses(whole, noise, rows, self.held_out, near, self.comparison, self.engine)
        if self.gaps:
            lost = -gap_density(whole, noise, self.gaps, self.engine)
            found = replace(found, gaps=lost)
        self.known.append((learnt, found))
        return found

    def _confirmed(self, found: Learnt, before: Learnt, chunks: list[Chunk]) -> Learnt:
        """Take the last fit back where held-out rows clearly lose by it, or where their errors are
        larger than without any model; then learn again from the centre of the prior."""
        if not self._doubtful(found, before):
            return found
        self.say(
            f"held-out rows lose by {told(self.say, found.kernel)}, noise {found.noise:.3g}: "
            "once more"
        )
        start = self.scales.prior(found.kernel)
        again = self._fit(
            start.kernel(found.kernel, start.centre[:-1]), self._noise(0.1), chunks, final=True
        )
        best = self._best([self._flat(found), again, before, found])
        self.say(f"taken: {told(self.say, best.kernel)}, noise {best.noise:.3g}")
        return best

    def _doubtful(self, found: Learnt, before: Learnt) -> bool:
        """Whether held-out rows clearly lose by a kernel, against another or none at all."""
        t, y = TUNING.choice, self.pool.sample.y[self.held_out]
        if self._losses(found).squares.mean() > t.useless * np.mean(y**2):
            return True
        more, error = self._compared([found, before]).behind(0, 1)
        return more > max(t.clear, t.clear_errors * error)

    def _flat(self, learnt: Learnt) -> Learnt:
        """Leave next to nothing but noise: a simple candidate that any useful kernel beats."""
        size = float(learnt.kernel.diag(self.pool.sample.X[:1])[0])
        kernel = learnt.kernel.scaled(TUNING.choice.flat / max(size, 1e-300))
        return replace(learnt, kernel=kernel, noise=self._noise(1.0))

    @cached_property
    def held_out(self) -> Array:
        """Rows by which candidates are compared."""
        number = min(self.n, self.effort.near_rows, self.pool.most_held)
        return np.sort(self.rng.choice(self.n, number, replace=False))

    @cached_property
    def comparison(self) -> Comparison:
        """Held-out rows as densities are compared on them."""
        own = self.pool.sample.take(self.held_out)
        values = [Values.of(column) for column in self.pool.rows.y.T]
        return Comparison(own.y, own.w, values, own.group)

    def _fit(
        self, kernel: Kernel, noise: float | None, chunks: list[Chunk], *,
        max_iter: int | None = None, final: bool = False,
    ) -> Learnt:  # fmt: skip
        """Maximise the evidence; again from the centre of the prior if that finds only noise."""
        prior, t = self.scales.prior(kernel), TUNING.newton
        start_noise = self._noise(noise or self.noise_start or 0.1)

        def run(start: Kernel, s: float) -> Learnt:
            return maximise_chunks(
                chunks, self.engine, start, s, prior, whole=self.whole,
                noise_fixed=self.noise is not None, max_iter=max_iter or (100 if final else 40),
                stop=self.clock.out, gain=t.last_gain if final else t.gain,
            )  # fmt: skip

        found = [run(kernel, start_noise)]
        if found[0].value < trivial_value(chunks) + 0.02:
            found.append(run(prior.kernel(kernel, prior.centre[:-1]), self._noise(0.1)))
        for _ in range(self.n_starts - 1 if final else 0):
            theta = prior.theta(found[0].kernel) + self.rng.normal(size=kernel.theta.size)
            theta = np.clip(theta, prior.low[:-1], prior.high[:-1])
            found.append(run(prior.kernel(kernel, theta), start_noise))
        best = max(found, key=_value)
        if final:
            self.say(
                f"learnt {told(self.say, best.kernel)}, noise {best.noise:.3g} (standardised "
                "targets)"
            )
            if not self.clock.out():
                best.warn_if_not_converged()
        return best

    def fit_groups(self, kernel: Kernel, noise: float | None, groups: list[Array], **how) -> Learnt:
        return self._fit(kernel, noise, self._cut(groups), **how)

    def _noise(self, start: float) -> float:
        return start if self.noise is None else self.noise

    def _cut(self, groups: list[Array]) -> list[Chunk]:
        return cut_rows(self.pool.rows, groups)

    def _clusters(self, kernel: Kernel, size: int, count: int) -> list[Array]:
        return self.pool.clusters(self.placed(kernel), size, count, self.rng)

    def _with_far(self, groups: list[Array]) -> list[Array]:
        """Add rows from end to end where there is a trend: they show how far other terms reach."""
        return (
            groups if self.trend is None else [end_to_end(self.n, self.effort.rough_rows), *groups]
        )


def _value(learnt: Learnt) -> float:
    return float(np.nan_to_num(learnt.value, nan=-np.inf))


def _name(learnt: Learnt) -> str:
    """Name the families of a kernel's terms."""
    parts = getattr(learnt.kernel, "parts", (learnt.kernel,))
    return " + ".join(type(part).__name__ for part in parts)
