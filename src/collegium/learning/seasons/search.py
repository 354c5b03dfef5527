"""Search for seasons and a trend: terms are added one by one while forecasts clearly gain.

How many harmonics a season has is decided by the evidence of all rows. Whether a season or a trend
is used at all is decided by forecasts of future blocks that were held out, and by the evidence:
both have to gain. Where y is positive, its logarithm is searched too, and is taken if that
forecasts y clearly better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...kernels.season import Season
from ...kernels.stationary.periodic import UNITS
from ...numerics.records import record
from ...rows.rows import Rows
from ..tuning import TUNING
from .futures import Futures
from .periods import periods_of
from .series import Series

Array = np.ndarray


@dataclass(frozen=True)
class Terms:
    """A trend of some degree, and seasons: (period, harmonics) each."""

    degree: int = 0
    seasons: tuple[tuple[float, int], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.degree or self.seasons)

    def plus(self, period: float, harmonics: int) -> Terms:
        return replace(self, seasons=(*self.seasons, (period, harmonics)))


@dataclass(frozen=True, eq=False)
class Design:
    """Features of all terms that are tried: level, powers of t, other columns, harmonics."""

    H: Array  # (n, q)
    others: int
    first: dict[float, int]  # the first column of each period
    harmonics: dict[float, int]  # of each period

    @classmethod
    def of(cls, series: Series, periods: Sequence[float]) -> Design:
        """Make features; a period has as many harmonics as its steps allow."""
        s, t = TUNING.seasons, series.t - series.t[0]
        z = (t - t.mean()) / max(float(t.std()), 1e-300)
        parts = [np.ones((series.n, 1)), *(z[:, None] ** k for k in range(1, s.degree + 1))]
        parts.append(series.others)
        most = min(series.n // s.rows_per_feature // 2, s.harmonics[-1])
        first, number, at = {}, {}, sum(part.shape[1] for part in parts)
        for period in periods:
            J = min(most, int(period / (2.0 * series.step) + 1e-6))
            if J:
                first[period], number[period] = at, J
                parts.append(Season(1.0, period, J).features(series.t[:, None]))
                at += 2 * J
        return cls(np.hstack(parts), series.others.shape[1], first, number)

    def columns(self, terms: Terms) -> Array:
        """Positions of the features of some terms."""
        s = TUNING.seasons
        found = [np.arange(1 + terms.degree), 1 + s.degree + np.arange(self.others)]
        for period, J in terms.seasons:
            at = self.first[period] + np.arange(J)
            found += [at, at + self.harmonics[period]]
        return np.concatenate(found)

    def orders(self, period: float) -> list[int]:
        """Numbers of harmonics to try."""
        most = self.harmonics[period]
        return sorted({min(J, most) for J in TUNING.seasons.harmonics})


@record("learning.seasons/1")
@dataclass(frozen=True)
class FoundSeasons:
    """A trend and seasons that held-out future rows ask for."""

    column: int
    degree: int  # of the trend; 0: none
    seasons: tuple[tuple[float, int], ...]  # period and harmonics of each
    dates: bool  # whether periods are in seconds
    log: bool  # whether they are of log y
    before: float  # RMSE of forecasts of held-out blocks without them, first output
    after: float

    def words(self) -> str:
        """Say what was found, and what it gains."""
        each = [f"season of {period_words(p, dates=self.dates)}" for p, _ in self.seasons]
        trend = {0: [], 1: ["a trend"], 2: ["a trend that bends"]}[self.degree]
        text = " and ".join([*each, *trend]) + " of log y" * self.log
        rmse = f"{self.before:.3g} -> {self.after:.3g}"
        return f"{text}, found on held-out future rows: RMSE {rmse}"


def period_words(period: float, *, dates: bool) -> str:
    """Name a period: of dates in the largest unit of which it is a multiple."""
    if not dates:
        return f"{period:.4g}"
    for name in ("year", "day", "hour"):
        count = period / UNITS[name]
        if count >= 1.0 and abs(count - np.rint(count)) < 1e-9:
            return f"{count:.0f} {name}" + "s" * (count > 1.0)
    return f"{period:.4g} seconds"


def find_seasons(
    rows: Rows, column: int, levels: Sequence[int] = (), *, dates: bool,
    logs: Sequence[bool] = (False, True),
) -> FoundSeasons | None:  # fmt: skip
    """Find a trend and seasons of one column of times; None: forecasts gain by none.

    `dates`: the column is in seconds, and has the seasons of the calendar. `logs`: whether y is
    searched as it is, and whether its logarithm is, where it is positive.
    """
    s, series = TUNING.seasons, Series.of(rows, column, levels)
    if series.n < s.fewest or not np.isfinite(series.span / series.step):
        return None
    searches = []
    for log in logs:
        if not log or (rows.y > 0.0).all():
            own = replace(series, y=np.log(series.y)) if log else series
            searches.append(Search.of(own, series.y, periods_of(own, dates=dates), log=log))
    tried = [(one, one.run()) for one in searches]
    if not tried:
        return None
    best, terms = tried[0]
    if len(tried) > 1 and tried[1][1] and better_in_logs(*tried):
        best, terms = tried[1]
    if not terms:
        return None
    size = float(series.y[:, 0].std())
    before, after = (size * float(np.sqrt(best.losses(one).mean())) for one in (Terms(), terms))
    return FoundSeasons(column, terms.degree, terms.seasons, dates, best.log, before, after)


def better_in_logs(plain: tuple[Search, Terms], logs: tuple[Search, Terms]) -> bool:
    """Whether the logarithm is likelier, densities of y compared, and does not forecast worse."""
    (one, own), (two, other) = plain, logs
    more = two.evidence(other) - two.jacobian() - one.evidence(own) + one.jacobian()
    gains = 0.5 * np.log(one.losses(own) / two.losses(other))
    return bool(more > TUNING.seasons.nats and gains.mean() > 0.0)


@dataclass(frozen=True, eq=False)
class Search:
    """A series, the terms that it may have, and forecasts by them."""

    design: Design
    futures: Futures
    y: Array  # as it came, which forecasts are compared with  (n, p)
    centre: Array
    scale: Array
    log: bool = False

    @classmethod
    def of(cls, series: Series, y: Array, periods: Sequence[float], *, log: bool = False) -> Search:
        """Prepare a search; `y` is the target in its own units, that of the series may be its
        logarithm."""
        s = TUNING.seasons
        design = Design.of(series, periods[: s.tried])
        centre, scale = series.y.mean(axis=0), series.y.std(axis=0)
        scale = np.where(scale > 0.0, scale, 1.0)
        most = tuple((p, min(J, 12)) for p, J in design.harmonics.items())
        choices = Terms(), Terms(1), Terms(s.degree, most)
        columns = [design.columns(one) for one in choices]
        futures = Futures.of(design.H, (series.y - centre) / scale, columns)
        return cls(design, futures, y, centre, scale, log)

    def run(self) -> Terms:
        """Take seasons by evidence, then a trend and those of the seasons by which forecasts
        clearly gain."""
        seasons = self._likely()
        terms = self._bent(seasons)
        for season in seasons:
            rest = tuple(one for one in terms.seasons if one != season)
            fewer = replace(terms, seasons=rest)
            if not clearly_less(self.losses(fewer), self.losses(terms)):
                terms = fewer
        return terms if terms.seasons == seasons else self._bent(terms.seasons)

    def _likely(self) -> tuple[tuple[float, int], ...]:
        """Add seasons while the evidence gains, the likeliest first, beside a trend."""
        terms = Terms(TUNING.seasons.degree)
        evidence = self.evidence(terms)
        while True:
            known = [period for period, _ in terms.seasons]
            tried = [
                terms.plus(period, J)
                for period in self.design.first if period not in known
                for J in self.design.orders(period)
            ]  # fmt: skip
            values = [self.evidence(one) for one in tried]
            if not tried or max(values) < evidence + TUNING.seasons.nats:
                return terms.seasons
            evidence, terms = max(values), tried[int(np.argmax(values))]

    def _bent(self, seasons: tuple[tuple[float, int], ...]) -> Terms:
        """Raise the degree of the trend while forecasts and the evidence clearly gain."""
        terms = Terms(0, seasons)
        for degree in range(1, TUNING.seasons.degree + 1):
            more = Terms(degree, seasons)
            likelier = self.evidence(more) > self.evidence(terms) + TUNING.seasons.trend_nats
            if likelier and clearly_less(self.losses(terms), self.losses(more)):
                terms = more
        return terms

    def evidence(self, terms: Terms) -> float:
        return self.futures.evidence(self.design.columns(terms))

    def jacobian(self) -> float:
        """log |dy/d target| over all rows and outputs, of the target that the evidence is of."""
        own = self.y.shape[0] * float(np.log(self.scale).sum())
        return own + float(np.log(self.y).sum()) if self.log else own

    def losses(self, terms: Terms) -> Array:
        """Mean squared errors of the forecasts of each block, in the units of y  (o,)."""
        found = self.futures.forecasts(self.design.columns(terms))
        true = self.futures.blocks(self.y)
        return np.array([self._loss(mean, y) for mean, y in zip(found, true)])

    def _loss(self, mean: Array, y: Array) -> float:
        mean = self.centre + self.scale * mean
        if self.log:
            mean = np.exp(np.minimum(mean, self.centre + 20.0 * self.scale))
        spread = np.maximum(self.y.var(axis=0), 1e-300)
        return float(max(np.mean((y - mean) ** 2 / spread), 1e-12))


def clearly_less(before: Array, after: Array) -> bool:
    """Whether the RMSE of forecasts falls on average over blocks, beyond chance."""
    s, gains = TUNING.seasons, 0.5 * np.log(before / after)
    error = float(gains.std(ddof=1)) / np.sqrt(gains.size)
    return bool(gains.mean() > max(s.gain, s.errors * error))
