"""Try other forms of the columns of labelled rows: how well do they predict rows left out in turn?

Labels are taken as numbers, one column of ±1 per class or for the second of two, and a Gaussian
process is fitted to some of them by least squares: much cheaper than Laplace's method, and enough
to compare forms. From the mean m and the variance v of each row given all others

    p(class k) ∝ share_k exp(a m_k / √(1 + πa²v/8))

with the one factor a by which held-out rows are most probable (Rasmussen & Williams 2006, 6.5).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ..answers.leave_one_out import leave_one_out
from ..kernels import Kernel
from ..learning.optimise import Learnt, Scales, maximise
from ..messages.evidence import factorised
from ..rows.chunk import cut_rows
from ..rows.groups import error_of_mean
from ..rows.rows import Prediction, Rows
from ..rows.scaling import for_learning
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class LossGain:
    """Mean gain of held-out rows in log probability."""

    mean: float
    error: float  # its standard error
    loss: float  # the log loss before

    @property
    def enough(self) -> bool:
        t = TUNING.trials
        return self.mean > max(t.least, t.share * self.loss, t.errors * self.error)


@dataclass(frozen=True, eq=False)
class LabelTrials:
    """Rows on which forms of their columns are tried."""

    rows: Rows  # y are positions among the classes  (n, 1)
    engine: Any

    @property
    def codes(self) -> Array:
        """Positions among the classes that came  (n,)."""
        return np.unique(self.rows.y[:, 0], return_inverse=True)[1].reshape(-1)

    def log_probability(self, X: Array, levels: tuple[int, ...] = ()) -> Array:
        """log p of the class of each row given the other rows, with these columns  (n,)."""
        codes = self.codes
        rows = replace(self.rows, X=X, y=label_targets(codes, self.rows.w))
        learnt = self._learnt(rows, levels)
        found = leave_one_out(learnt.kernel, learnt.noise, rows)
        table = partial(class_log_probabilities, found, log_shares(codes, self.rows.w))
        own, share = np.arange(codes.size), self.rows.w / self.rows.w.sum()

        def loss(log_factor: float) -> float:
            return -float(share @ table(np.exp(log_factor))[own, codes])

        bounds = TUNING.trials.log_factors
        best = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 0.01})
        return table(np.exp(best.x))[own, codes]

    def gain(self, new: Array, old: Array) -> LossGain:
        """Compare log probabilities of two forms, each row's difference cut at ±2."""
        most, share = TUNING.trials.most, self.rows.w / self.rows.w.sum()
        each = np.clip(new - old, -most, most)
        error = error_of_mean(share, each, self.rows.group)
        return LossGain(float(share @ each), error, -float(share @ old))

    def _learnt(self, rows: Rows, levels: tuple[int, ...]) -> Learnt:
        """Learn a Matérn 3/2 and a noise from some of the rows."""
        t, scales = TUNING.trials, Scales.of(rows.X, levels)
        n = rows.w.size
        some = np.sort(np.random.default_rng(0).permutation(n)[: min(t.learnt_from, n // 2)])
        kernel: Kernel = scales.kernel("Matern32")
        prior = scales.prior(kernel)
        # labels that are clear would have no noise at all, and kernels no length
        prior = replace(prior, low=np.append(prior.low[:-1], np.log(t.least_noise)))
        chunks = cut_rows(for_learning(rows), [some])
        return maximise(
            partial(factorised, chunks=chunks, engine=self.engine), kernel, t.first_noise, prior,
            float(chunks[0].w.sum()), max_iter=t.iterations,
        )  # fmt: skip


def label_targets(codes: Array, w: Array) -> Array:
    """Labels as numbers about zero, of mean square one: a column per class, one for two  (n, p)."""
    each = np.eye(int(codes.max()) + 1)[codes]
    each = each[:, 1:] if each.shape[1] == 2 else each
    share = (w / w.sum())[:, None]
    each = each - (share * each).sum(axis=0)
    size = np.sqrt(float((share * each**2).sum()) / each.shape[1])
    return each / size if size > 0.0 else each


def log_shares(codes: Array, w: Array) -> Array:
    """log of each class's share of the weight, half a row added to each  (K,)."""
    count = np.bincount(codes, w / w.mean()) + 0.5
    return np.log(count / count.sum())


def class_log_probabilities(found: Prediction, log_share: Array, factor: float) -> Array:
    """log p(class k) ∝ log share_k + a m_k/√(1 + πa²v/8)  (n, K)."""
    shrunk = factor / np.sqrt(1.0 + np.pi * factor**2 * found.variance / 8.0)
    m = found.mean * shrunk[:, None]
    if m.shape[1] == 1:
        m = np.hstack([np.zeros_like(m), m])
    table = log_share + m
    table = table - table.max(axis=1, keepdims=True)
    return table - np.log(np.exp(table).sum(axis=1, keepdims=True))
