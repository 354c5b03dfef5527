"""Equal rows merged, weights for learning, targets centred and scaled."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..numerics.records import record
from .ids import Owners
from .metric import column_scales
from .nearest import nearest_others
from .order import sorted_rows
from .partition import evenly_spaced, first_of_equals
from .rows import Rows
from .tuning import TUNING

Array = np.ndarray
#: Largest size of scaled targets: squares beyond it overflow.
LARGEST = 1e152
#: Larger noise variances of scaled targets are reduced to this.
MOST_NOISE = 1e100
#: Largest weight of a row: beyond it the sites of a Laplace approximation lose all digits of the
#: other rows.
MOST_COPIES = 1e12


def merged(rows: Rows, labels: Array | None, *, in_order: bool) -> tuple[Rows, Array | None]:
    """Drop rows of weight zero; merge rows of equal x, y, known noise, group and label, adding
    weights.

    Rows are sorted by value unless their order matters (`in_order`). So a weight of two or a
    repeated row, and any order of the same rows, give the same model to the last bit. The order of
    columns does not change that of up to 2,000 rows, unless columns have the same distribution: see
    `columns_by_content`.
    """
    positive = rows.w > 0
    own = [one for one in (rows.extra, rows.group, labels) if one is not None]
    table = np.column_stack([rows.X, rows.y, *own])[positive]
    w = rows.w[positive]
    first, number = first_of_equals(table)
    if first.size < w.size:  # so that sums round alike, in whatever order copies came
        at = np.lexsort((w, number))
        number, w = number[at], w[at]
    weight = np.bincount(number, weights=w)
    if in_order:
        order = np.argsort(first)
        first, weight = first[order], weight[order]
    elif rows.X.shape[1] > 1 and 0 < first.size <= TUNING.by_content:
        table = table[first]
        d, p = rows.X.shape[1], rows.y.shape[1]
        order = sorted_rows(table[:, :d], table[:, d : d + p], *table[:, d + p :].T[::-1])
        first, weight = first[order], weight[order]
    kept = np.flatnonzero(positive)[first]
    return replace(rows.take(kept), w=weight), None if labels is None else labels[kept]


def merged_apart(
    rows: Rows, owners: Owners | None, *, in_order: bool
) -> tuple[Rows, Owners | None]:
    """Merge equal rows of the same owner."""
    rows, of_row = merged(rows, None if owners is None else owners.of_row, in_order=in_order)
    if owners is None or of_row is None:
        return rows, None
    return rows, replace(owners, of_row=of_row.astype(int))


def capped(w: Array) -> Array:
    """min(w, c), c the largest for which no share of the total exceeds `most_share` or 2/n."""
    share = max(TUNING.most_share, 2.0 / w.size)
    if w.size < 2 or w.max() <= share * w.sum():
        return w
    ranked = np.sort(w)[::-1]
    k = np.arange(1, int(np.ceil(1.0 / share)))  # so many may be cut: k·share < 1
    rest = (w.sum() - np.cumsum(ranked))[: k.size]
    level = share * np.maximum(rest, 0.0) / (1.0 - k * share)  # c = share·(k·c + rest)
    return np.minimum(w, level[np.argmax(level >= ranked[1 : k.size + 1])])


@record("rows.balance/1")
@dataclass(frozen=True)
class Balance:
    """min(wᵃ/unit, most): the weights by which hyperparameters are learnt.

    The noise variance of a row is modelled as σ²/wᵃ. With a = 1 weights are precisions; with a = 0
    they say how much a row matters, and nothing about its noise. Copies of a row have equal
    targets, which would look noise-free: so `unit` makes the mean weight one. Small whole numbers
    count as copies, a = 1; otherwise a is learnt.
    """

    power: float  # a
    unit: float
    most: float

    @classmethod
    def of(cls, rows: Rows) -> Balance:
        """Learn the balance from rows, equal ones merged."""
        if rows.w.size == 0 or rows.w.min() == rows.w.max():
            return cls(1.0, float(rows.w.max(initial=1.0)), TUNING.most_times)
        w = rows.w / rows.w.max()
        copies = rows.w.max() <= TUNING.most_times and (rows.w == np.floor(rows.w)).all()
        a = 1.0 if copies else noise_power(replace(rows, w=w))
        raised = w**a
        unit = float(raised.mean())
        most = max(TUNING.most_times, float(capped(raised).max()) / unit)
        return cls(a, unit * float(rows.w.max()) ** a, most)

    def __call__(self, w: Array) -> Array:
        return np.minimum(w**self.power / self.unit, self.most)


def noise_power(rows: Rows) -> float:
    """Estimate a, between 0 and 1, where the noise of rows has variance σ²/wᵃ.

    It is minus the slope of log e² on log w, where e is the difference of a target from those of
    the nearest other rows. log e² has variance π²/2 (of log χ²), and a has a normal prior about 1.
    """
    order = np.argsort(rows.w, kind="stable")
    some = order[evenly_spaced(order.size, TUNING.pilot_rows)]
    X, y, w = rows.take(some).fields()
    if w.size <= TUNING.pilot_near:
        return 1.0
    near = nearest_others(X / column_scales(X), np.arange(w.size), TUNING.pilot_near)
    share = w[near] / w[near].sum(axis=1, keepdims=True)
    unit = y / (np.abs(y).max(axis=0) + (y == 0.0).all(axis=0))
    e2 = ((unit - np.einsum("nk,nkp->np", share, unit[near])) ** 2).mean(axis=1)
    log_e2, log_w = np.log(np.maximum(e2, 1e-12 * e2.mean() + 1e-300)), np.log(w)
    log_w -= log_w.mean()
    precision = float(log_w @ log_w) / (0.5 * np.pi**2)
    seen = -float(log_w @ log_e2) / (0.5 * np.pi**2)  # precision · slope
    prior = 1.0 / TUNING.prior_spread**2
    return float(np.clip((seen + prior) / (precision + prior), 0.0, 1.0))


def for_learning(rows: Rows, *, noisy: bool = True) -> Rows:
    """Give rows the weights for learning hyperparameters (see `Balance`), none above its share.

    Inputs with several targets, which do show the noise, keep their weights. If the likelihood
    has no noise (`noisy` is false), the other weights are divided by their mean.
    """
    if (rows.w == 1.0).all():
        return rows
    _, inverse, count = np.unique(rows.X, axis=0, return_inverse=True, return_counts=True)
    single = count[inverse.reshape(-1)] == 1
    w = rows.w.copy()
    if single.any():
        w[single] = (
            Balance.of(rows.take(single))(w[single]) if noisy else w[single] / w[single].mean()
        )
    return replace(rows, w=capped(w))


@record("rows.scaling/1")
@dataclass(frozen=True, eq=False)
class Scaling:
    """y = centre + scale · (scaled targets), one centre and one scale per output."""

    centre: Array  # (p,)
    scale: Array  # (p,)

    @classmethod
    def of(cls, y: Array, w: Array) -> Scaling:
        """Mean and standard deviation, with weights capped at their share (`capped`).

        y is divided by its largest magnitude first."""
        size = np.abs(y).max(axis=0)
        size[size == 0.0] = 1.0
        unit = y / size
        w = capped(w / w.max())
        share = w[:, None]
        mean = (share * unit).sum(axis=0) / share.sum()
        sd = np.sqrt((share * (unit - mean) ** 2).sum(axis=0) / share.sum())
        sd[sd <= 1e-13] = 1.0  # constant to rounding
        return cls(mean * size, np.maximum(sd * size, 1.0 / LARGEST))

    @classmethod
    def robust(cls, y: Array, w: Array) -> Scaling:
        """Weighted median and median absolute deviation of one output, times 1.4826 as for a
        normal.

        If more than half of the values are equal, the mean absolute deviation is used, with
        deviations capped at `outlying` medians of those that are not zero. Weights are capped at
        their share (`capped`).
        """
        size = float(np.abs(y).max()) or 1.0
        unit = y[:, 0] / size
        w = capped(w / w.max())
        middle = _median(unit, w)
        away = np.abs(unit - middle)
        spread = 1.4826 * _median(away, w)
        rounding = 1e-13 * abs(middle)  # of the median: outliers do not change the other digits
        if spread <= rounding:
            others = away > rounding
            most = TUNING.outlying * _median(away[others], w[others]) if others.any() else 0.0
            spread = 1.2533 * float(np.minimum(away, most) @ w) / float(w.sum())
        spread = spread if spread > rounding else 1.0
        return cls(np.array([middle * size]), np.array([max(spread * size, 1.0 / LARGEST)]))

    @classmethod
    def none(cls) -> Scaling:
        return cls(np.zeros(1), np.ones(1))

    def forward(self, y: Array) -> Array:
        with np.errstate(over="ignore"):
            scaled = (y - self.centre) / self.scale
        if np.abs(scaled).max(initial=0.0) > LARGEST:
            raise ValueError(
                f"y has values {LARGEST:.0e} times the scale of the rows of the first fit: fit "
                "again, or give y in other units"
            )
        return scaled

    def mean(self, mean: Array) -> Array:
        return self.centre + self.scale * mean

    def rows(self, rows: Rows) -> Rows:
        """Scale targets and known noise variances; with the latter all outputs have one scale."""
        extra = None if rows.extra is None else self.known(rows.extra)
        return replace(rows, y=self.forward(rows.y), extra=extra)

    def known(self, extra: Array) -> Array:
        """Scale noise variances; beyond MOST_NOISE a row carries no information."""
        with np.errstate(over="ignore"):
            return np.minimum(extra / self.scale[0] ** 2, MOST_NOISE)

    def rows_in_units(self, rows: Rows) -> Rows:
        """Scale targets back to the units of y."""
        extra = None if rows.extra is None else rows.extra * self.scale[0] ** 2
        return replace(rows, y=self.mean(rows.y), extra=extra)

    def relative_to_first(self, ratios: Array) -> Scaling:
        """Give scales these ratios to the first; the geometric mean of scale/ratio stays."""
        own = self.scale / ratios
        return Scaling(self.centre, np.exp(np.log(own).mean()) * ratios)


def _median(values: Array, w: Array) -> float:
    """Weighted median: half of the weight lies on either side."""
    order = np.argsort(values, kind="stable")
    ranked, share = values[order], np.cumsum(w[order])
    half = 0.5 * share[-1]
    low = np.searchsorted(share, half * (1.0 - 1e-12))
    high = np.searchsorted(share, half * (1.0 + 1e-12))
    return 0.5 * float(ranked[low] + ranked[min(high, ranked.size - 1)])


def choose_scaling(rows: Rows, noise: Array | None) -> Scaling:
    """Scale each output by itself where all noise is learnt, else in the given proportions."""
    scaling, p = Scaling.of(rows.y, rows.w), rows.y.shape[1]
    if noise is None:
        return scaling if rows.extra is None else scaling.relative_to_first(np.ones(p))
    if noise.size not in (1, p):
        raise ValueError(f"noise has {noise.size} values, but y has {p} outputs")
    if noise[0] == 0.0:
        return scaling.relative_to_first(np.ones(p))
    return scaling.relative_to_first(np.broadcast_to(np.sqrt(noise / noise[0]), (p,)))
