"""A stream that watches itself: arriving rows are predicted before they are learnt from."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from operator import attrgetter

import numpy as np

from ...answers.arrived import TOLERATED, Arrived
from ...conformal.adaptive import kept_scores
from ...numerics.records import record

Array = np.ndarray
#: Rows over which recent figures are averaged, with weights that fall by this time constant.
RECENT = 300.0
#: A cumulative sum of misses beyond those promised and TOLERATED per row warns at ALARM: some forty
#: rows after half of all began to lie outside, and once in 10⁸ rows where a tenth does.
ALARM = 12.0
#: Squared standardised errors count as no more than this.
LARGEST_SQUARE = 10.0


class StreamWarning(UserWarning):
    """Error bars no longer cover the rows of a stream."""


@record("stream.figures/1")
@dataclass(frozen=True)
class StreamFigures:
    """Means over rows that were predicted before they were learnt from; see `StreamCheck`."""

    coverage: float = np.nan
    log_density: float = np.nan
    square: float = np.nan
    outside: float = np.nan

    @classmethod
    def of(cls, arrived: Arrived) -> StreamFigures:
        """Average over the rows of one call."""
        square = np.minimum(arrived.square, LARGEST_SQUARE)
        each = (1.0 - arrived.missed, arrived.log_density, square, arrived.outside)
        return cls(*(float(values.mean()) for values in each))

    def mixed(self, new: StreamFigures, share: float) -> StreamFigures:
        """Average with new figures, which have this share."""
        pairs = zip(asdict(self).values(), asdict(new).values())
        return StreamFigures(*(_mixed(a, b, share) for a, b in pairs))


@record("stream.check/2")
@dataclass(frozen=True, repr=False)
class StreamCheck:
    """How well the rows of a stream were predicted before they were learnt from.

    Attributes
    ----------
    rows, checked : int
        Rows that came, and how many of them were predicted first (of a call at most 64).
    coverage, log_density, square, outside : float
        Over all rows checked: share within 95 % intervals (of classes: share predicted right,
        against `expected`), mean log predictive density, mean squared error in units of the
        predicted variance (each row counting as 10 at most), and share where little was known,
        var[f] being above half the prior's.
    recent_coverage, recent_log_density, recent_square, recent_outside : float
        The same over the last few hundred rows.
    expected : float
        The share that error bars promised to cover.
    alarm : float
        Recent misses beyond those promised and 15 % of the rows; from 12 on a warning is given.
    n_warned : int
        Warnings given.
    forgetting : float
        The rate of forgetting that is followed; NaN where a model has none.
    errors : array or None
        Errors of the 500 rows that were checked last, in units of the predicted standard
        deviation, NaN before the first; of classes ones.
    """

    rows: int = 0
    checked: int = 0
    overall: StreamFigures = StreamFigures()
    recent: StreamFigures = StreamFigures()
    expected: float = np.nan
    alarm: float = 0.0
    n_warned: int = 0
    forgetting: float = np.nan
    errors: Array | None = field(default=None, compare=False)  # |y − mean|/deviation of the last

    def after(self, n: int, arrived: Arrived | None) -> StreamCheck:
        """With n more rows, of which some were checked."""
        if arrived is None or not arrived.missed.size:
            return replace(self, rows=self.rows + n)
        k = arrived.missed.size
        whole, late = k / (self.checked + k), recent_share(k, self.checked)
        new = StreamFigures.of(arrived)
        return replace(
            self, rows=self.rows + n, checked=self.checked + k,
            overall=self.overall.mixed(new, whole), recent=self.recent.mixed(new, late),
            expected=_mixed(self.expected, 1.0 - float(arrived.promised.mean()), whole),
            alarm=_cumulative(self.alarm, arrived.missed - arrived.promised - TOLERATED),
            errors=kept_scores(self.errors, np.sqrt(arrived.square)),
        )  # fmt: skip

    def warned(self, remedy: str, stacklevel: int) -> StreamCheck:
        """Warn where error bars have stopped covering, once until they cover again."""
        if self.alarm < ALARM:
            return self
        warnings.warn(
            f"error bars cover {self.recent_coverage:.0%} of the rows that came last, and should "
            f"cover {self.expected:.0%}: what the stream describes has changed, or its inputs are "
            f"new ({self.recent_outside:.0%} lie where little is known). {remedy}",
            StreamWarning,
            stacklevel=stacklevel + 1,
        )
        return replace(self, alarm=0.0, n_warned=self.n_warned + 1)

    coverage = property(attrgetter("overall.coverage"))
    log_density = property(attrgetter("overall.log_density"))
    square = property(attrgetter("overall.square"))
    outside = property(attrgetter("overall.outside"))
    recent_coverage = property(attrgetter("recent.coverage"))
    recent_log_density = property(attrgetter("recent.log_density"))
    recent_square = property(attrgetter("recent.square"))
    recent_outside = property(attrgetter("recent.outside"))

    def _figures(self) -> dict[str, float]:
        """Collect all figures by name."""
        recent = {f"recent_{name}": value for name, value in asdict(self.recent).items()}
        forgets = {} if np.isnan(self.forgetting) else {"forgetting": self.forgetting}
        return {
            "rows": self.rows, "checked": self.checked, **asdict(self.overall), **recent,
            "expected": self.expected, "alarm": self.alarm, "n_warned": self.n_warned, **forgets,
        }  # fmt: skip

    def __str__(self) -> str:
        words = [f"{name}={value:.4g}" for name, value in self._figures().items()]
        return f"StreamCheck({', '.join(words)})"

    def __repr__(self) -> str:
        words = [f"{name}={value!r}" for name, value in self._figures().items()]
        return f"StreamCheck({', '.join(words)})"


@dataclass(frozen=True, eq=False)
class Progressive:
    """Predictions of rows that were learnt from only afterwards, and their scores.

    Unpacks as `mean, std`. Rows that came before anything was known are NaN, and not scored.

    Attributes
    ----------
    mean, std : arrays of the shape of y
    rmse, nlpd, coverage : float
        Root mean squared error, mean negative log predictive density, share of rows within
        their 95 % intervals.
    """

    mean: Array
    std: Array
    rmse: float
    nlpd: float
    coverage: float

    def __iter__(self) -> Iterator[Array]:
        return iter((self.mean, self.std))

    @classmethod
    def gaussian(cls, mean: Array, std: Array, y: Array, shaped: Callable[[Array], Array]):
        """From Gaussian predictions (n, p), NaN where there are none, which are then `shaped`."""
        found, known = Arrived.gaussian(y, mean, std**2), np.isfinite(std).all(axis=1)
        missed = np.where(known, found.missed, np.nan)
        return cls.scored(shaped(mean), shaped(std), y, missed, found.log_density)

    @classmethod
    def scored(cls, mean: Array, std: Array, y: Array, missed: Array, density: Array):
        """From predictions and, row by row, shares of misses and log densities."""
        known = np.isfinite(missed)
        errors = (mean - y.reshape(mean.shape))[known]
        if not errors.size:
            return cls(mean, std, np.nan, np.nan, np.nan)
        return cls(
            mean, std, float(np.sqrt((errors**2).mean())), -float(density[known].mean()),
            1.0 - float(missed[known].mean()),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class ProgressiveClasses:
    """Probabilities of rows that were learnt from only afterwards, and their scores.

    Attributes
    ----------
    probability : array of shape (n, n_classes)
    accuracy, log_loss : float
    """

    probability: Array
    accuracy: float
    log_loss: float

    @classmethod
    def scored(cls, probability: Array, codes: Array):
        """From probabilities and the positions of the classes that came."""
        known = np.isfinite(probability[:, 0])
        if not known.any():
            return cls(probability, np.nan, np.nan)
        found, codes = probability[known], codes[known]
        own = np.maximum(found[np.arange(codes.size), codes], 1e-300)
        right = float((found.argmax(axis=1) == codes).mean())
        return cls(probability, right, -float(np.log(own).mean()))


def recent_share(k: int, before: int) -> float:
    """Weight of k new rows in a mean over about RECENT rows, `before` rows having come."""
    fade = np.exp(-k / RECENT)
    old = fade * (1.0 - np.exp(-before / RECENT))
    return float((1.0 - fade) / (1.0 - fade + old))


def _mixed(old: float, new: float, share: float) -> float:
    return new if np.isnan(old) else (1.0 - share) * old + share * new


def _cumulative(start: float, steps: Array) -> float:
    """max(0, …) of a running sum after the last step, at most 2·ALARM; above ALARM it stays."""
    path = start + np.cumsum(steps)
    low = np.minimum(np.minimum.accumulate(path), 0.0)
    reached = path - low
    return float(min(reached.max() if reached.max() >= ALARM else reached[-1], 2.0 * ALARM))
