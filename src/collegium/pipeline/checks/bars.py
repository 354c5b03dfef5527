"""Check a model on held-out rows, answered by a committee of the others."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...answers.predictors import LocalPredictor, predict_each
from ...answers.transductive import Joint
from ...kernels import Kernel
from ...learning.calibration import STEP, Correction, Look, Misses, calibrate
from ...learning.dof import degrees_of_freedom
from ...learning.regions import Regions
from ...messages.committee import Committee
from ...rows.groups import tenths_of_groups
from ...rows.metric import Metric, column_scales
from ...rows.partition import chunk_groups, evenly_spaced, lowest
from ...rows.rows import Prediction, Rows
from ..kept.kept import Kept
from ..kept.memory import InMemory
from ..settings import Settings
from ..tuning import TUNING

Array = np.ndarray


class QuerySizeWarning(UserWarning):
    """A joint committee was given fewer query points than the data have degrees of freedom."""


def check_query_size(
    settings: Settings, size: int, dof: float, n: int, say: Callable[[str], None]
) -> None:
    """Warn where a joint committee has fewer query points than there are degrees of freedom."""
    words = f"query_size={size} is below the {dof:.0f} effective degrees of freedom of the rows"
    if size >= min(dof, n):
        return
    say(words)
    if settings.answers.query_size is not None:
        warnings.warn(
            f"{words}: the committee may lose accuracy; give at least {min(int(dof) + 1, n)}, or "
            "leave it out",
            QuerySizeWarning,
            stacklevel=2,
        )


def check_bars(
    model: Any, left: HeldOut, regions: Regions, more: Callable[[], bool] = lambda: True
) -> Correction:
    """Choose noise and kernel by the density of held-out rows and regions; see `calibrate`.

    The first two ratios are answered together: they share neighbours and covariances.
    """
    n_local = near_rows(model, left)
    ask = partial(model.answerer, n_local=n_local, kept=left.others)
    seen = dict[float, Misses]()

    def look(ratio: float) -> Look:
        if ratio not in seen:
            both = not seen and not left.settings.clock.limited
            some = (ratio, STEP * ratio) if both else (ratio,)
            seen.update(zip(some, left.errors(model.prior_to_check(), ask, some)))
        return Look(ratio, seen[ratio], regions.look(ratio))

    return calibrate(look, more=more)


def near_rows(model: Any, left: HeldOut) -> int:
    """Nearest rows that a check asks: as many as queries do, or fewer where many are held out."""
    n_local, t = model.sizes.n_local, TUNING.checking
    return n_local if left.held.size <= t.error_rows else min(n_local, t.near)


def with_answers(model: Any, left: HeldOut, bars: Correction) -> HeldOut:
    """Keep what a check has found, where it asked as queries do: errors are learnt from it."""
    if bars.misses is None or near_rows(model, left) < model.sizes.n_local:
        return left
    y = left.rows.y[left.held]
    return replace(left, answered=Prediction(y - bars.misses.errors, bars.misses.function))


def hold_out(
    kept: Any, settings: Settings, rng: np.random.Generator, number: int
) -> HeldOut | None:
    """Hold out `number` rows to check a model with."""
    if settings.answers.transductive:  # a joint committee needs no anchors, nor all of many chunks
        kept = around_one_place(kept, rng)
    found = kept.held_out(number, rng)
    if found is None:
        return None
    rows, held, others = found
    return HeldOut(rows, held, others, settings)


def hold_out_of_few(
    kept: Any, settings: Settings, rng: np.random.Generator, number: int, chunks: int
) -> HeldOut | None:
    """Hold out `number` rows of so many chunks of a model that has all messages already."""
    if settings.answers.transductive or settings.answers.experts:
        return None
    found = kept.held_out_of_few(number, chunks, rng)
    if found is None:
        return None
    return Swapped(
        found.rows, found.held, found.others, settings, chunks=found.chunks, rest=found.rest
    )


def check_joint(scaled: Rows, settings: Settings, kernel: Kernel, noise: float) -> Correction:
    """Judge how well the joint committee with this kernel and noise answers held-out rows."""
    n, d = scaled.X.shape
    rng, size = np.random.default_rng(0), settings.chunk_rows(n, streaming=True)
    points = settings.answers.query_points(degrees_of_freedom(kernel, noise, scaled))
    groups = chunk_groups(
        Metric.of(kernel, scaled.X).forward(scaled.X), settings.chunks.rule, size, rng
    )
    ask = partial(Joint.of, size=points, tolerance=settings.answers.screening)
    kept = around_one_place(InMemory(scaled, tuple(groups)), rng)
    rows, held, others = kept.held_out(held_out_rows(scaled.y), rng)
    left = HeldOut(rows, held, others, settings)
    prior = Committee.start(kernel, noise, np.empty((0, d)), scaled.y.shape[1])
    return Look(1.0, left.errors(prior, ask, (1.0,))[0]).best()


def around_one_place(kept: InMemory, rng: np.random.Generator) -> InMemory:
    """Keep a few of the chunks, those nearest to one of them."""
    X, groups = kept.rows.X, kept.groups
    if len(groups) <= TUNING.checking.chunks:
        return kept
    centres = np.array([X[group].mean(axis=0) for group in groups]) / column_scales(X)
    distance = ((centres - centres[rng.integers(len(groups))]) ** 2).sum(axis=1)
    some = np.flatnonzero(lowest(distance, TUNING.checking.chunks))
    return InMemory(kept.rows, tuple(groups[i] for i in some), tuple(range(some.size)))


def telling(y: Array) -> int:
    """Number of rows to hold out: more where y has heavy tails, up to five times as many.

    The mean square of these rows is as precise as that of `held_out` normal ones.

    The variance of a mean square is (κ − 1)/n, with the kurtosis κ = 3 of the normal.
    """
    squares = (y - y.mean(axis=0)) ** 2
    spread = np.maximum(squares.mean(axis=0), 1e-300)
    kurtosis = float(((squares / spread) ** 2).mean(axis=0).max(initial=0.0))
    return int(TUNING.checking.held_out * np.clip(0.5 * (kurtosis - 1.0), 1.0, 5.0))


def held_out_rows(y: Array) -> int:
    """Count the rows to hold out: those that tell enough, and not above a tenth."""
    return min(telling(y), max(1, y.shape[0] // 10))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out rows, and the others, which make committees that predict them."""

    rows: Rows  # scaled: all rows in memory; of a store only those held out
    held: Array  # numbers of the held-out ones among `rows`
    others: Kept
    settings: Settings
    answered: Prediction | None = None  # f at the held-out rows, by the others, if known already

    @classmethod
    def tenths(
        cls, kept: InMemory, settings: Settings, rng: np.random.Generator, number: int
    ) -> list[HeldOut]:
        """Hold out tenths of the rows (or of their groups) in turn, until `number` or all have
        been."""
        n = len(kept)
        size = min(number, n // 10)
        if not size:
            return []
        if kept.rows.group is not None:
            each = tenths_of_groups(kept.rows.group, number, rng)
        else:
            some = rng.permutation(n)[: size * min(10, -(-number // size))]
            each = [np.sort(held) for held in some.reshape(-1, size)]
        return [cls(kept.rows, held, kept.but(held), settings) for held in each]

    def committee(self, prior: Committee, ratio: float = 1.0) -> Committee:
        """Add up messages of the other rows, under a prior whose noise is `ratio` times that given.

        Where rows near a query correct it, some of the chunks tell enough about the anchors, and
        the near rows are those of all chunks: the committee keeps none.
        """
        answers = self.settings.answers
        if not answers.corrected:
            return self.whole_committee(prior, ratio)
        chunks = self.others.some_cells(near=True)
        return self._blank(prior, ratio).add(chunks, self.settings.engine, keep=False)

    def whole_committee(self, prior: Committee, ratio: float = 1.0) -> Committee:
        """Add up the messages of all other rows, and keep these if answers need them."""
        near, engine = self.settings.answers.keeps_rows, self.settings.engine
        keep = near and self.others.in_memory
        return self._blank(prior, ratio).add(self.others.some_cells(near=False), engine, keep=keep)

    def _blank(self, prior: Committee, ratio: float) -> Committee:
        basis, p = prior.basis, self.rows.y.shape[1]
        noise = prior.noise * ratio
        return Committee.start(basis.kernel, noise, basis.Z, p, type(prior.expert))

    def errors(
        self, prior: Committee, ask: Callable[[Committee], Any], ratios: Sequence[float]
    ) -> list[Misses]:
        """Errors and variances at the held-out rows, with the noise times each of the ratios.

        `ask` makes the predictor of a committee. Nearest rows, and their covariances without the
        noise, are computed once.
        """
        rows, engine = self.rows.take(self.held), self.settings.engine
        committees = [self.committee(prior, ratio) for ratio in ratios]
        first = ask(committees[0])
        if isinstance(first, LocalPredictor) and isinstance(first.rows, Rows):
            others = [first.with_noise(one, ratios[0] / r) for one, r in zip(committees, ratios)]
            found = predict_each(others, rows.X, engine)
        else:
            found = [ask(committee).predict(rows.X, engine) for committee in committees]
        known = 0.0 if rows.extra is None else rows.extra
        return [
            Misses(rows.y - one.mean, one.variance, committee.noise + known, group=rows.group)
            for committee, one in zip(committees, found)
        ]

    def some(self, number: int) -> HeldOut:
        """Look at no more than so many of the held-out rows; the others stay held out too."""
        k = evenly_spaced(self.held.size, number)
        answered = None if self.answered is None else self.answered.take(k)
        return replace(self, held=self.held[k], answered=answered)


@dataclass(frozen=True, eq=False)
class Swapped(HeldOut):
    """Held-out rows of a few chunks: in a committee of all, only the messages of these change."""

    chunks: Sequence[Any] = ()  # as they were
    rest: Sequence[Any] = ()  # without the held-out rows

    def committee(self, prior: Committee, ratio: float = 1.0) -> Committee:
        """Take the held-out rows out of `prior`, which has all messages."""
        if ratio != 1.0:
            raise ValueError("messages that were added with one noise hold for that alone")
        engine = self.settings.engine
        less = prior.without(self.chunks, engine)
        return less.add(self.rest, engine, keep=bool(prior.arrived))
