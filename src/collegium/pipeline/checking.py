"""Check a model on held-out rows, answered by a committee of the others."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.transductive import Joint
from ..errors.errors import neighbours
from ..kernels import Kernel
from ..learning.calibration import Correction, calibrate, judge
from ..learning.dof import degrees_of_freedom
from ..messages.committee import Committee
from ..rows.chunk import cut_rows
from ..rows.metric import Metric, column_scales
from ..rows.partition import chunk_groups, evenly_spaced, lowest
from ..rows.rows import Rows
from .settings import Settings

if TYPE_CHECKING:
    from .model import CommitteeModel

Array = np.ndarray
#: Held-out rows to check the error bars, where y is normal, and the nearest rows used there.
HELD_OUT, CHECK_LOCAL = 800, 200
#: Chunks around one place that a joint committee is checked with.
CHECK_CHUNKS = 40


class QuerySizeWarning(UserWarning):
    """A joint committee was given fewer query points than the data have degrees of freedom."""


def check_query_size(
    settings: Settings, size: int, dof: float, n: int, say: Callable[[str], None]
) -> None:
    """A joint committee wants as many query points as there are degrees of freedom."""
    words = f"query_size={size} is below the {dof:.0f} effective degrees of freedom of the rows"
    if size >= min(dof, n):
        return
    say(words)
    if settings.query_size is not None:
        warnings.warn(
            f"{words}: the committee may lose accuracy; give at least {min(int(dof) + 1, n)}, or "
            "leave it out",
            QuerySizeWarning,
            stacklevel=2,
        )


def check_bars(
    model: CommitteeModel, left: LeftOut, more: Callable[[], bool] = lambda: True
) -> Correction:
    """Noise and scale by the density of held-out rows; see `calibrate`."""
    ask = partial(left.answerer, model, n_local=min(model.n_local, CHECK_LOCAL))
    return calibrate(partial(left.errors, model.prior_to_check(), ask), more=more)


def rows_left_out(
    scaled: Rows, groups: list[Array], settings: Settings, rng: np.random.Generator, number: int
) -> LeftOut:
    """`number` rows to check a model with."""
    if settings.transductive:  # a joint committee needs no anchors, nor all of many chunks
        groups = around(scaled.X, groups, rng)
    return LeftOut.of(scaled, groups, settings, rng, number)


def check_joint(scaled: Rows, settings: Settings, kernel: Kernel, noise: float) -> Correction:
    """How well the joint committee with this kernel and noise answers held-out rows."""
    n, d = scaled.X.shape
    rng, size = np.random.default_rng(0), settings.chunk_rows(n, streaming=True)
    points = settings.query_points(degrees_of_freedom(kernel, noise, scaled))
    groups = chunk_groups(
        Metric.of(kernel, scaled.X).forward(scaled.X), None, settings.rule, size, rng
    )
    ask = partial(Joint.of, size=points, tolerance=settings.screening)
    groups, Z = around(scaled.X, groups, rng), np.empty((0, d))
    left = LeftOut.of(scaled, groups, settings, rng, held_out_rows(scaled.y))
    prior = Committee.start(kernel, noise, Z, scaled.y.shape[1])
    return judge(partial(left.errors, prior, ask))


def around(X: Array, groups: list[Array], rng: np.random.Generator) -> list[Array]:
    """At most CHECK_CHUNKS of the groups, those nearest to one of them."""
    if len(groups) <= CHECK_CHUNKS:
        return groups
    centres = np.array([X[group].mean(axis=0) for group in groups]) / column_scales(X)
    distance = ((centres - centres[rng.integers(len(groups))]) ** 2).sum(axis=1)
    return [groups[i] for i in np.flatnonzero(lowest(distance, CHECK_CHUNKS))]


def telling(y: Array) -> int:
    """Rows whose mean square says as much as that of HELD_OUT normal ones; at most 5 times them.

    The variance of a mean square is (κ − 1)/n, with the kurtosis κ = 3 of the normal.
    """
    squares = (y - y.mean(axis=0)) ** 2
    spread = np.maximum(squares.mean(axis=0), 1e-300)
    kurtosis = float(((squares / spread) ** 2).mean(axis=0).max(initial=0.0))
    return int(HELD_OUT * np.clip(0.5 * (kurtosis - 1.0), 1.0, 5.0))


def held_out_rows(y: Array) -> int:
    """Rows to hold out of all: those that tell enough, and not above a tenth."""
    return min(telling(y), max(1, y.shape[0] // 10))


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Rows that committees of the others answer for."""

    rows: Rows  # all, scaled
    held: Array  # numbers of those left out
    groups: list[Array]  # numbers of the others, chunk by chunk
    settings: Settings

    @classmethod
    def of(
        cls, rows: Rows, groups: list[Array], settings: Settings, rng: np.random.Generator,
        number: int,
    ) -> LeftOut:  # fmt: skip
        """Leave out `number` of the groups' rows, not above a tenth of these."""
        each = np.sort(np.concatenate(groups))
        held = np.sort(rng.choice(each, min(number, max(1, each.size // 10)), replace=False))
        return cls.without(rows, groups, settings, held)

    @classmethod
    def tenths(
        cls, rows: Rows, groups: list[Array], settings: Settings, rng: np.random.Generator,
        number: int,
    ) -> list[LeftOut]:  # fmt: skip
        """Leave out tenths of the rows in turn, until `number` or all have been."""
        n = rows.w.size
        size = min(number, n // 10)
        if not size:
            return []
        some = rng.permutation(n)[: size * min(10, -(-number // size))]
        return [
            cls.without(rows, groups, settings, np.sort(held)) for held in some.reshape(-1, size)
        ]

    @classmethod
    def without(cls, rows: Rows, groups: list[Array], settings: Settings, held: Array) -> LeftOut:
        """Leave out the rows `held`."""
        out = np.zeros(rows.X.shape[0], dtype=bool)
        out[held] = True
        rest = [kept for group in groups if (kept := group[~out[group]]).size]
        return cls(rows, held, rest, settings)

    def committee(self, prior: Committee, ratio: float = 1.0) -> Committee:
        """Of the other rows, under a prior whose noise is `ratio` times that given."""
        chunks = cut_rows(self.rows, self.groups)
        start, keep = self._start(prior, ratio), self.settings.keeps_rows
        return start.add(chunks, self.settings.engine, keep=keep)

    def _start(self, prior: Committee, ratio: float) -> Committee:
        basis, p = prior.basis, self.rows.y.shape[1]
        noise = prior.noise * ratio
        return Committee.start(basis.kernel, noise, basis.Z, p, type(prior.expert))

    def answerer(self, model: CommitteeModel, committee: Committee, n_local: int) -> Any:
        """Who answers for a committee of the other rows."""
        return model.answerer(committee, n_local)

    def neighbours(self, metric: Metric) -> Any:
        """Of the other rows, whose errors tell those of queries near them."""
        return neighbours(metric, self.others())

    def errors(
        self, prior: Committee, ask: Callable[[Committee], Any], ratio: float
    ) -> tuple[Array, Array]:
        """Errors and variances at the rows left out; `ask` makes the predictor of a committee."""
        committee = self.committee(prior, ratio)
        found = ask(committee).predict(self.rows.X[self.held], self.settings.engine)
        known = 0.0 if self.rows.extra is None else self.rows.extra[self.held]
        return self.rows.y[self.held] - found.mean, found.variance + committee.noise + known

    def others(self) -> Rows:
        return self.rows.take(np.concatenate(self.groups))

    def some(self, number: int) -> LeftOut:
        """With at most so many of the rows left out; the others stay left out too."""
        k = evenly_spaced(self.held.size, number)
        return replace(self, held=self.held[k])
