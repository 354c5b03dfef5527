"""Rates of forgetting side by side: the one that has predicted best of late is followed.

Each rate has a model of its own, and all of them learn from the same rows. After every block of
rows the log densities of these rows, each predicted before it was learnt from, are added to two
totals in which earlier rows fade, one of the last few hundred rows and one of more. A faster rate
is followed as soon as it leads among the last rows; a slower one where it does not trail there and
leads clearly among more rows, since a small advantage takes long to be seen. A model that forgets
more slowly and trails clearly describes something that is no longer so: it begins again as a copy
of the model that is followed, and from then on forgets at its own rate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from ...numerics.records import record
from ...rows.rows import Rows
from ..model import without_rows
from .waiting import Waiting

Array = np.ndarray
#: Rows between two comparisons, the same however calls cut a stream.
BLOCK = 50
#: Rows after which a log density counts 1/e times, in the two totals.
COMPARED = 100.0, 1000.0
#: Nats by which a faster rate must lead in the first total to be followed, a slower one in the
#: second.
FASTER, SLOWER = 1.0, 4.0
#: Nats by which a slower rate must trail in the first total to begin again.
BEHIND = 5.0
#: Squared errors in units of the predicted variance count as no more than this.
LARGEST_SQUARE = 25.0


@record("stream.rates/1")
@dataclass(frozen=True, eq=False)
class Rates:
    """Models of one stream, one per rate of forgetting; other attributes are the followed one's.

    A model has `scored(rows)`, which adds rows and returns the log density of each before it was
    learnt from too, and `again_from(other)`, which goes on from what the model of another rate
    believes, by rules of its own.
    """

    models: tuple[Any, ...]  # the slowest first
    rates: tuple[float, ...]  # λ of each
    totals: Array  # Σ log p(row | the rows before it), earlier rows faded; see COMPARED  (2, k)
    block: Array  # of the rows since the last comparison  (k,)
    followed: int = 0  # position of the rate that answers
    block_rows: int = 0
    n_restarted: int = 0
    since: int = 0  # rows that came since another rate was followed
    waiting: Waiting | None = None
    n_seen: int = 0
    length: int = BLOCK  # rows between two comparisons

    @classmethod
    def start(
        cls, begin: Callable[[float], Any], rates: Sequence[float], length: int = BLOCK
    ) -> Rates:
        """Start before any row; `begin(rate)` makes a model."""
        models = tuple(begin(rate) for rate in rates)
        totals = np.zeros((len(COMPARED), len(models)))
        return cls(models, tuple(rates), totals, np.zeros(len(models)), length=length)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "models" not in vars(self):
            raise AttributeError(name)
        return getattr(self.model, name)

    @property
    def model(self) -> Any:
        """The model that is followed."""
        return self.models[self.followed]

    @property
    def forgetting(self) -> float:
        """The rate that is followed."""
        return self.rates[self.followed]

    def with_rows(self, rows: Rows, *, again: bool = True) -> Rates:
        """Add rows in their order; `again`: whether rates that are behind begin again."""
        own = self
        for part in self._parts(rows.w > 0.0):
            own = own._added(rows.take(part), again)
        return own

    def predicted(self, rows: Rows) -> tuple[Rates, Array, Array]:
        """Add rows; return mean and variance (n, p) before each too, by the followed model."""
        own, found = self, []
        for part in self._parts(rows.w > 0.0):
            some = rows.take(part)
            found.append(own.model.predicted(some)[1:])
            own = own._added(some.take(some.w > 0.0), again=True)
        mean, variance = (np.concatenate(each) for each in zip(*found, strict=True))
        return replace(own, n_seen=self.n_seen + rows.w.size), mean, variance

    def compared_by(self, begun: Sequence[Any], rows: Rows) -> Rates:
        """Compare rates by rows that these models have learnt from all at once.

        `begun` are models of the same rates without rows, which predict each row and then learn it.
        """
        own = replace(self, models=tuple(begun)).with_rows(rows, again=False)
        own = own._compared(again=False) if own.block_rows else own
        return replace(own, models=self.models)

    def without_rows(self) -> Rates:
        """Drop rows that answers do not need, of every rate."""
        return replace(self, models=tuple(map(without_rows, self.models)), waiting=None)

    def _with(self, changed: dict[int, Any]) -> Rates:
        models = tuple(changed.get(k, model) for k, model in enumerate(self.models))
        return replace(self, models=models)

    def _parts(self, used: Array) -> Iterator[slice]:
        """Cut rows where blocks of the stream end; rows of no weight do not count."""
        before = self.block_rows + np.cumsum(used) - used
        starts = np.flatnonzero(np.diff(before // self.length, prepend=0)).tolist()
        for start, stop in zip([0, *starts], [*starts, used.size]):
            if stop > start:
                yield slice(start, stop)

    def _added(self, rows: Rows, again: bool) -> Rates:
        """Add rows that do not go beyond the end of this block."""
        found = [model.scored(rows) for model in self.models]
        own = replace(
            self, models=tuple(model for model, _ in found),
            block=self.block + [float(densities.sum()) for _, densities in found],
            block_rows=self.block_rows + rows.w.size,
        )  # fmt: skip
        return own if own.block_rows < self.length else own._compared(again)

    def _compared(self, again: bool) -> Rates:
        """Follow the rate that is ahead; slower ones that are clearly behind may begin again."""
        fade = np.exp(-self.length / np.array(COMPARED))[:, None]
        totals = fade * self.totals + self.block
        followed = _ahead(totals - totals[:, [self.followed]], self.followed)
        late = [k for k in range(followed) if again and totals[0, followed] - totals[0, k] > BEHIND]
        own = replace(
            self, totals=totals, block=np.zeros_like(self.block), block_rows=0, followed=followed,
            n_restarted=self.n_restarted + len(late),
            since=self.since + self.length if followed == self.followed else 0,
        )  # fmt: skip
        totals[:, late] = totals[:, [followed]]
        return own._with({k: self.models[k].again_from(own.model) for k in late})


def _ahead(lead: Array, followed: int) -> int:
    """Position of the rate to follow next, by the leads of all over the present one  (2, k)."""
    best = int(np.argmax(lead[0]))
    if best > followed and lead[0, best] > FASTER:
        return best
    slower = [k for k in range(followed) if lead[0, k] >= 0.0 and lead[1, k] > SLOWER]
    return max(slower, key=lambda k: lead[1, k], default=followed)


def changed(model: Any, change: Callable[[Any], Any]) -> Any:
    """Change a model; of several rates the one that is followed."""
    if not isinstance(model, Rates):
        return change(model)
    return model._with({model.followed: change(model.model)})


def rested(model: Any, rows: int) -> bool:
    """Whether a model has one rate, or has followed the present one for so many rows."""
    return not isinstance(model, Rates) or model.since >= rows


def bounded_log_density(y: Array, mean: Array, variance: Array) -> Array:
    """log N(y | mean, variance), errors cut at five deviations so that no outlier decides."""
    z2 = np.minimum((y - mean) ** 2 / variance, LARGEST_SQUARE)
    return -0.5 * (z2 + np.log(2.0 * np.pi * variance))


def check_rates(value: Any, auto: tuple[float, ...]) -> tuple[float, ...]:
    """Read `forgetting`: one rate, several from slow to fast, or "auto" for those of `auto`."""
    if isinstance(value, str) and value == "auto":
        return auto
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not given or not all(_is_rate(rate) for rate in given) or list(given) != _sorted(given):
        raise ValueError(
            f"forgetting={value!r}: give a number above 0 and at most 1, 'auto', or a tuple of "
            "such numbers, the largest first"
        )
    return tuple(float(rate) for rate in given)


def _is_rate(rate: Any) -> bool:
    number = isinstance(rate, Real) and not isinstance(rate, (bool, np.bool_))
    return number and 0.0 < float(rate) <= 1.0


def _sorted(rates: Sequence[float]) -> list[float]:
    return sorted(rates, reverse=True)
