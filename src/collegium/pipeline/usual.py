"""Cells by default: where held-out rows lose next to nothing by them, decided without a clock.

A few rows of a few cells are answered twice, by their cell as it would be without them and by the
nearest of the other rows. Under the model the variances v of y by cells and u by nearest rows tell
what that costs on average, with much less chance in it than errors of few rows have:

    log density  mean ½ log(v/u) + mean ½ (ρ − 1 − log ρ),  ρ = v over the variance that cells give
    RMSE         √(mean v / mean u)

Cells give variances from their first rows, to a power by which these are closest to v. Cells have
more rows than `n_local`, so v may be smaller than u on average, for which the scale of errors was
learnt; a kernel that is too smooth believes too much in rows far away. Ways that lose little even
if v is taken as no less than u on average come first. Errors at the rows have the last word: where
they are clearly larger by cells, nearest rows answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ..answers.cells.cells import Cells, scaled_variance
from ..answers.cells.predictor import CellPredictor
from ..answers.predictors import LocalPredictor, nearest_apart
from ..answers.tuning import TUNING as ANSWERS
from ..numerics.cache import Cache
from ..rows.rows import Prediction
from .answering import with_cells
from .layers import inputs_checksum
from .model import CommitteeModel
from .tuning import TUNING

Array = np.ndarray


def with_usual_cells(
    model: CommitteeModel, say: Callable[[str], None]
) -> tuple[CommitteeModel, Any]:
    """Answer by cells, where that is about as good as from nearest rows; and the predictor, where
    it is made already."""
    found, own = usual_cells(model)
    say(f"answers by {'nearest rows' if found is None else f'cells of {found.k} rows'}")
    if found is None or own is None:
        return model, None
    rows = inputs_checksum(model.committee.rows().X)
    model = replace(model, answering=replace(model.answering, cells=found, rows=rows))
    return model, model.predictor(replace(own, cells=found, cache=Cache(found.memory)))


def usual_cells(model: CommitteeModel) -> tuple[Cells | None, CellPredictor | None]:
    """Choose cells, and make a predictor by such; None: queries are answered from their own
    nearest rows."""
    t, sizes, kept = TUNING.usual, model.sizes, model.kept
    if (
        not kept.in_memory or model.all_rows or model.averaged or sizes.query_size
        or sizes.n_local < t.fewest_local or len(kept) < t.fewest_rows
    ):  # fmt: skip
        return None, None
    some, first, tried = kept.take(kept.sample(t.cells)).X, None, set[int]()
    for cells in _candidates(model):
        if cells.k in tried:
            continue
        own = with_cells(model, cells).summed_predictor()
        if not isinstance(own, CellPredictor) or not isinstance(own.accurate, LocalPredictor):
            return None, None
        first = own if first is None else replace(own, accurate=first.accurate)  # with its design
        if first.all_bytes(some) > cells.memory:
            continue
        trial = Trial.of(first, first.places.names(some)[0][: t.cells])
        ways = [] if trial is None else list(trial.ways())
        for found in ways:
            larger = replace(first, cells=found, cache=Cache(found.memory))
            if found.near == cells.near:
                return found, first
            if larger.all_bytes(some) <= cells.memory:
                return found, larger
        if not ways:  # otherwise fewer cells, each of more rows, may fit
            tried.add(cells.k)
    return None, None


def _candidates(model: CommitteeModel) -> Iterator[Cells]:
    """Cells of few rows and of more, by formula; of each first small ones, of which there are many,
    then larger ones, which fit the memory."""
    t, n_local, rows = TUNING.usual, model.sizes.n_local, model.committee.rows()
    prior = float(model.kernel.diag(rows.X).max(initial=0.0))
    least = float(rows.psi(model.sum.noise).min(initial=np.inf))
    single = 1e-15 < prior < 1e15 and least >= ANSWERS.cells.enough_noise * prior
    most = rows.w.size // t.share
    for k in dict.fromkeys(min(int(times * n_local), most) for times in t.times):
        for larger in t.larger:
            size = int(larger * ANSWERS.cells.size)
            cells = Cells.of(
                model.kernel, rows.X, k, min(t.near[0], k), t.memory,
                shared=ANSWERS.cells.shared, single=single, size=size,
            )  # fmt: skip
            if not cells.centres.size:
                yield replace(cells, k=min(n_local, k), near=min(t.near_in_box, k), shared=0)
                return
            yield cells


@dataclass(frozen=True, eq=False)
class Trial:
    """Rows answered by cells and from nearest rows."""

    cells: Cells
    nears: tuple[int, ...]  # rows that variances may use
    y: Array  # (h, p)
    noise: Array  # of y, known noise included  (h,)
    by_cells: Prediction
    given: Array  # variances of f given so many rows  (·, h)
    by_rows: Prediction
    lacks: dict[int, Array]  # whether the cell lacks one of so many nearest rows  (h,)

    @classmethod
    def of(cls, own: CellPredictor, names: list) -> Trial | None:
        """Ask at some rows of these cells; None where too few are in them."""
        t, cells = TUNING.usual, own.cells
        nears = tuple(near for near in t.near if near <= cells.k) if cells.shared else (cells.near,)
        found = own.without_rows(names, t.rows, nears)
        at = np.concatenate([one.own for one in found])
        if at.size < t.fewest_asked:
            return None
        label = np.repeat(np.arange(len(found)), [one.own.size for one in found])
        rows = own.rows.take(at)
        by_rows = own.accurate.left_out(at, rows.X, label)
        near = nearest_apart(own.near, rows.X, t.own, at, label, label)
        there = np.concatenate([np.isin(near[label == i], one.rows) for i, one in enumerate(found)])
        levels = bool(own.near.metric.level_columns())  # then centres have few of them
        lacks = {k: np.asarray(~there[:, :k].all(axis=1)) for k in (int(levels), t.own)}
        return cls(
            cells, nears, rows.y, own.committee.noise + rows.known(),
            Prediction(*(np.concatenate([getattr(one, part) for one in found])
                         for part in ("mean", "variance"))),
            np.concatenate([one.given for one in found], axis=1), by_rows, lacks,
        )  # fmt: skip

    def ways(self) -> Iterator[Cells]:
        """Cells that lose little: first such as do so without a gain from more rows."""
        t, cells = TUNING.usual, self.cells
        v, u = self.by_cells.variance + self.noise, self.by_rows.variance + self.noise
        no_less = v * np.exp(max(0.0, -np.log(v / u).mean()))
        for own, lacks in self.lacks.items() if cells.shared else [(0, self.lacks[0])]:
            there = ~lacks
            if there.mean() < t.most_there:
                continue
            for target in (no_less, v):
                for near, given in zip(self.nears, self.given):
                    power = matching_power(given, cells.prior, self.noise, target)
                    if self._loses_little(target, given, power, there):
                        yield replace(cells, near=near, own=own, power=power)

    def _loses_little(self, v: Array, given: Array, power: float, there: Array) -> bool:
        """Whether log density, RMSE and squared errors are about those from nearest rows."""
        t, u = TUNING.usual, self.by_rows.variance + self.noise
        most = t.nats_around if self.cells.shared else t.nats
        ratio = v / (scaled_variance(given, self.cells.prior, power) + self.noise)
        lost = 0.5 * np.log(v / u) + 0.5 * (ratio - 1.0 - np.log(ratio))
        nats = float(np.where(there, lost, 0.0).mean())
        spread = float(np.sqrt(np.where(there, v, u).mean() / u.mean())) - 1.0
        return nats < most and spread < t.rmse and not self._worse(there)

    def _worse(self, there: Array) -> bool:
        """Whether squared errors are clearly larger by cells."""
        u = (self.by_rows.variance + self.noise)[:, None]
        more = ((self.y - self.by_cells.mean) ** 2 - (self.y - self.by_rows.mean) ** 2) / (2.0 * u)
        each = np.where(there, more.mean(axis=1), 0.0)
        error = each.std() / np.sqrt(each.size)
        return bool(each.mean() - TUNING.usual.clearly * error > TUNING.usual.nats)


def matching_power(given: Array, prior: float, noise: Array, target: Array) -> float:
    """The power of `scaled_variance` by which log(variance + noise) is closest to that of v."""

    def loss(power: float) -> float:
        found = scaled_variance(given, prior, power) + noise
        return float(((np.log(np.maximum(found, 1e-300)) - np.log(target)) ** 2).mean())

    return float(minimize_scalar(loss, bounds=TUNING.usual.powers, method="bounded").x)
