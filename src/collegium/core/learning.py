"""Hyperparameters from data: which rows to look at, which kernel family to take.

Targets are expected centred and of unit variance. Learning happens on a few clusters of rows
in the learnt metric: they show the local density of the data, and so its true noise level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from . import kernels, partition
from .basis import Anchors
from .calibration import Correction, calibrate
from .chunk import Chunk, cut
from .evidence import anchored, factorised
from .experts import Block, Expert
from .kernels import Kernel
from .local import Prediction, Rows, Shared, correct, nearest
from .message import LOG_2PI, Belief, normalise
from .optimise import Learnt, Scales, maximise
from .scales import Metric

Array = np.ndarray

#: The families tried when no kernel is given, roughest first.
FAMILIES = ("Matern12", "Matern32", "Matern52", "RBF")
#: A rougher family is taken where its three log densities together are within so many standard
#: errors of the best: to be too rough costs less than to be too smooth.
ROUGHER = 2.0


def trivial_value(chunks: Sequence[Chunk]) -> float:
    """Log evidence per row of pure noise: what a kernel has to beat."""
    y = np.concatenate([chunk.y for chunk in chunks])
    w = np.concatenate([chunk.w for chunk in chunks])
    variance = np.maximum((w[:, None] * y**2).sum(axis=0) / w.sum(), 1e-300)
    return float(-0.5 * (LOG_2PI + np.log(variance) + 1.0).sum())


def gap_density(
    kernel: Kernel, noise: float, rows: Rows, groups: Sequence[tuple[Array, Array]], engine: Any
) -> Array:
    """Mean log predictive density of each chunk left out, given the rows around it.

    `groups` are pairs (rows left out, rows given).
    """
    basis, belief = _no_anchors(kernel, rows)

    def density(group: tuple[Array, Array]) -> float:
        out, given = group
        found = Shared.of(basis, noise, rows.take(given)).predict(basis, belief, rows.X[out])
        return _log_density(found, noise, rows.y[out])

    return np.array(engine.map(density, groups))


def near_check(
    kernel: Kernel, noise: float, rows: Rows, asked: Array, neighbours: Array, engine: Any
) -> Correction:
    """Single rows left out, given those nearest to each: is the noise enough? See `calibrate`."""
    parts = np.array_split(np.arange(asked.size), max(1, asked.size // 50))

    def answer(ratio: float) -> tuple[Array, Array]:
        basis, belief = _no_anchors(kernel, rows)

        def predict(part: Array) -> Prediction:
            Xs = rows.X[asked[part]]
            found = correct(basis, noise * ratio, rows, Xs, neighbours[part])
            return found.predict(basis, belief, Xs)

        found = Prediction.joined(engine.map(predict, parts))
        return rows.y[asked] - found.mean, found.variance + noise * ratio

    return calibrate(answer)


def roughest_good(values: Array, by_chunk: Array, by_row: Array) -> int:
    """The first family whose three scores together are within `ROUGHER` errors of the best.

    Standard errors are those of paired differences, over chunks and over rows left out; the
    evidence is taken to be as uncertain as the chunks.
    """
    scores = values + by_chunk.mean(axis=1) + by_row.mean(axis=1)
    best = int(np.argmax(scores))

    def squared_error(each: Array) -> Array:
        return (each - each[best]).var(axis=1) / max(1, each.shape[1] - 1)

    error = np.sqrt(2.0 * squared_error(by_chunk) + squared_error(by_row))
    return int(np.flatnonzero(scores >= scores[best] - ROUGHER * error)[0])


def _no_anchors(kernel: Kernel, rows: Rows) -> tuple[Anchors, Belief]:
    basis = Anchors.at(kernel, np.empty((0, rows.X.shape[1])))
    return basis, normalise(basis.prior(rows.y.shape[1]))


def _log_density(found: Prediction, noise: float, y: Array) -> float:
    variance = (found.variance + noise)[:, None]
    z2 = (y - found.mean) ** 2 / variance
    return float(-0.5 * (LOG_2PI + np.log(variance) + z2).sum(axis=1).mean())


@dataclass(frozen=True)
class Effort:
    """How much data learning looks at."""

    rough_rows: int = 600
    family_chunks: int = 6
    family_size: int = 400
    final_chunks: int = 20
    final_size: int = 400
    near_rows: int = 300
    near_neighbours: int = 400


def learn(
    rows: Rows,
    kernel: Kernel | None,
    noise: float | None,
    rng: np.random.Generator,
    engine: Any,
    *,
    noise_start: float | None = None,
    n_starts: int = 1,
    effort: Effort | None = None,
    judge: Callable[[Kernel, float], Correction] | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Learnt:
    """Kernel and noise for standardised targets; `kernel` gives family and start, noise is kept.

    `judge` says how well a kernel and a noise do at rows left out, where the family is to be
    chosen by that alone.
    """
    effort = effort or Effort()
    learner = _Learner(rows, noise, noise_start, rng, engine, n_starts, effort, judge, say)
    return learner.run(kernel)


def refine(
    kernel: Kernel, noise: float, Z: Array, chunks: Sequence[Chunk], engine: Any,
    *, noise_fixed: bool, max_iter: int = 40, expert: type[Expert] = Block,
) -> Learnt:  # fmt: skip
    """Go on from a kernel and a noise by the committee's own evidence, anchors and all chunks."""
    prior = Scales.of(np.concatenate([chunk.X for chunk in chunks])).prior(kernel)
    weight = float(sum(chunk.w.sum() for chunk in chunks))

    def objective(k: Kernel, s: float) -> tuple[float, Array]:
        return anchored(k, s, Z, chunks, engine, expert)

    return maximise(
        objective, kernel, noise, prior, weight, noise_fixed=noise_fixed, max_iter=max_iter
    )


@dataclass(eq=False)
class _Learner:
    rows: Rows
    noise: float | None
    noise_start: float | None
    rng: np.random.Generator
    engine: Any
    n_starts: int
    effort: Effort
    judge: Callable[[Kernel, float], Correction] | None
    say: Callable[[str], None]

    def __post_init__(self) -> None:
        self.scales = Scales.of(self.rows.X)
        self.n, self.d = self.rows.X.shape

    def run(self, kernel: Kernel | None) -> Learnt:
        e = self.effort
        if self.n <= e.rough_rows:
            chunks = self._cut([np.arange(self.n)])
            if kernel is not None:
                return self._fit(kernel, None, chunks, final=True)
            tried = [self._fit(self._default(f), None, chunks) for f in FAMILIES]
            best = max(tried, key=lambda learnt: learnt.value)
            return self._fit(best.kernel, best.noise, chunks, final=True)
        sample = np.sort(self.rng.choice(self.n, e.rough_rows, replace=False))
        rough_kernel = self._default("Matern32") if kernel is None else kernel
        rough = self._fit(rough_kernel, None, self._cut([sample]), max_iter=30)
        if kernel is None:
            rough = self._choose_family(rough)
        chunks = self._cut(self._clusters(rough.kernel, e.final_size, e.final_chunks))
        return self._fit(rough.kernel, rough.noise, chunks, final=True)

    def _choose_family(self, rough: Learnt) -> Learnt:
        e = self.effort
        groups = self._clusters(rough.kernel, e.family_size, e.family_chunks)
        chunks = self._cut(groups)
        starts = [
            getattr(kernels, family)(
                variance=rough.kernel.variance,  # type: ignore[attr-defined]
                length_scale=rough.kernel.length_scale,  # type: ignore[attr-defined]
            )
            for family in FAMILIES
        ]
        tried: list[Learnt] = []
        for family, start in zip(FAMILIES, starts):
            found = self._fit(start, rough.noise, chunks)
            if tried and found.value < tried[-1].value:  # too smooth, or a bad start?
                again = self._fit(self._default(family), None, chunks)
                found = max(found, again, key=lambda learnt: learnt.value)
            tried.append(found)
        if self.judge is not None:
            return self._judged(tried)
        return self._roughest(rough.kernel, groups, tried)

    def _judged(self, tried: list[Learnt]) -> Learnt:
        """The family that answers rows left out best, by the committee that will be asked."""
        assert self.judge is not None
        densities = [-self.judge(learnt.kernel, learnt.noise).after for learnt in tried]
        for family, learnt, density in zip(FAMILIES, tried, densities):
            self.say(
                f"{family}: log density a row by evidence {learnt.value:.3f}, of rows left out "
                f"{density:.3f}"
            )
        return tried[int(np.argmax(densities))]

    def _roughest(self, kernel: Kernel, groups: list[Array], tried: list[Learnt]) -> Learnt:
        """By evidence, chunks left out and rows left out; see `roughest_good`."""
        gaps, near = self._gaps(kernel, groups), self._near(kernel)
        by_chunk, by_row = [], []
        for family, learnt in zip(FAMILIES, tried):
            by_chunk.append(gap_density(learnt.kernel, learnt.noise, self.rows, gaps, self.engine))
            check = near_check(learnt.kernel, learnt.noise, self.rows, *near, self.engine)
            by_row.append(-check.each.sum(axis=1))
            self.say(
                f"{family}: log density a row by evidence {learnt.value:.3f}, of chunks left out "
                f"{by_chunk[-1].mean():.3f}, of rows left out {by_row[-1].mean():.3f}"
            )
        values = np.array([learnt.value for learnt in tried])
        return tried[roughest_good(values, np.array(by_chunk), np.array(by_row))]

    def _fit(
        self, kernel: Kernel, noise: float | None, chunks: list[Chunk], *,
        max_iter: int | None = None, final: bool = False,
    ) -> Learnt:  # fmt: skip
        """One L-BFGS run; a second from the data's own scales where the first found nothing."""
        prior = self.scales.prior(kernel)
        weight = float(sum(chunk.w.sum() for chunk in chunks))
        start_noise = self._noise(noise or self.noise_start or 0.1)

        def objective(k: Kernel, s: float) -> tuple[float, Array]:
            return factorised(k, s, chunks, self.engine)

        def run(start: Kernel, s: float) -> Learnt:
            return maximise(
                objective, start, s, prior, weight, noise_fixed=self.noise is not None,
                max_iter=max_iter or (100 if final else 40),
            )  # fmt: skip

        found = [run(kernel, start_noise)]
        if found[0].value < trivial_value(chunks) + 0.02:
            found.append(run(kernel.with_theta(prior.centre[:-1]), self._noise(0.1)))
        for _ in range(self.n_starts - 1 if final else 0):
            theta = found[0].kernel.theta + self.rng.normal(size=kernel.theta.size)
            theta = np.clip(theta, prior.low[:-1], prior.high[:-1])
            found.append(run(kernel.with_theta(theta), start_noise))
        best = max(found, key=lambda learnt: learnt.value)
        if final:
            self.say(f"learnt {best.kernel!r}, noise {best.noise:.3g} (standardised targets)")
            best.warn_if_unsettled()
        return best

    def _noise(self, start: float) -> float:
        return start if self.noise is None else self.noise

    def _default(self, family: str) -> Kernel:
        return getattr(kernels, family)(length_scale=self.scales.columns * np.sqrt(self.d))

    def _cut(self, groups: list[Array]) -> list[Chunk]:
        return cut(self.rows.X, self.rows.y, self.rows.w, groups)

    def _seen(self, kernel: Kernel) -> Array:
        return Metric.of(kernel, self.rows.X).forward(self.rows.X)

    def _clusters(self, kernel: Kernel, size: int, count: int) -> list[Array]:
        """Some of the balanced clusters in the kernel's metric."""
        groups = partition.balanced(self._seen(kernel), size, self.rng)
        pick = self.rng.choice(len(groups), min(count, len(groups)), replace=False)
        return [groups[i] for i in np.sort(pick)]

    def _gaps(self, kernel: Kernel, groups: list[Array]) -> list[tuple[Array, Array]]:
        """Each group with the rows around it: those nearest to its centre, its own left out."""
        X = self._seen(kernel)
        gaps = []
        for group in groups:
            distance = ((X - X[group].mean(axis=0)) ** 2).sum(axis=1)
            distance[group] = np.inf
            count = min(600, self.n - group.size)
            around = np.argpartition(distance, count - 1)[:count] if count else np.arange(0)
            gaps.append((group, np.sort(around)))
        return gaps

    def _near(self, kernel: Kernel) -> tuple[Array, Array]:
        """Some rows, and for each the rows nearest to it but itself."""
        asked = self.rng.choice(self.n, min(self.n, self.effort.near_rows), replace=False)
        X = self._seen(kernel)
        k = min(self.n - 1, self.effort.near_neighbours)
        found = nearest(cKDTree(X), X[asked], k + 1)
        own = found == asked[:, None]
        own[~own.any(axis=1), -1] = True  # duplicates crowded it out: drop the farthest
        return asked, found[~own].reshape(asked.size, k)
