"""How a model answers by cells: sizes, centres and the scale of variances."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...kernels import Kernel, Sum
from ...numerics.records import record
from ...rows.metric import Metric
from ..tuning import TUNING
from . import places

Array = np.ndarray


@record("answers.cells/1")
@dataclass(frozen=True, eq=False)
class Cells:
    """How a model answers by cells."""

    k: int  # rows that means use; 0: the model has means without cells
    near: int  # the nearest of these, which variances use
    centres: Array  # rows (c, d); none: cells are boxes
    memory: float  # bytes of cells that are kept, at most
    prior: float = 0.0  # variance of the terms that fade with distance: see `local_variance`
    anchored: bool = False  # whether there are other terms, which anchors know from all rows
    power: float = 1.0  # of variances relative to `prior`: see `scaled_variance`
    weights: Array | None = None  # of means, per cell (c, m + k, p); None: solved for when needed
    shared: int = 0  # rows near each row in the cell that come first; 0: by the centre alone
    single: bool = False  # whether factors are in single precision
    own: int = 0  # nearest rows of a query that its cell must have: see `CellPredictor`
    size: int = TUNING.cells.size  # rows around a centre, on average

    @classmethod
    def of(
        cls, kernel: Kernel, X: Array, k: int, near: int, memory: float, *, shared: int = 0,
        single: bool = False, size: int = TUNING.cells.size,
    ) -> Cells:  # fmt: skip
        """Place cells among the rows X, around one row of `size` where they are no boxes."""
        metric, prior = Metric.of(kernel, X), local_variance(kernel, X)
        own = X[:0] if places.few_coordinates(metric) else places.random_centres(metric, X, size)
        others = float(kernel.diag(X).max(initial=0.0)) > prior * (1.0 + 1e-9)
        return cls(k, near, own, memory, prior, others, shared=shared, single=single, size=size)

    def rebuilt(self, kernel: Kernel, X: Array) -> Cells:
        """Rebuild the cells for other rows, as large as these."""
        found = Cells.of(
            kernel, X, self.k, self.near, self.memory,
            shared=self.shared, single=self.single, size=self.size,
        )  # fmt: skip
        return replace(found, power=self.power, own=self.own)

    def variance(self, given: Array) -> Array:
        """Variance of a mean of k rows, from that given `near` rows; the power is learnt."""
        return scaled_variance(given, self.prior, self.power)


def scaled_variance(given: Array, prior: float, power: float) -> Array:
    """prior·(given/prior)^power, plus the excess over the prior.

    Far from all rows it equals `given`: the prior's, or more where the kernel grows without bound.
    """
    if prior <= 0.0:
        return given
    return prior * (np.minimum(given, prior) / prior) ** power + np.maximum(given - prior, 0.0)


def local_variance(kernel: Kernel, X: Array) -> float:
    """Prior variance of the terms of a kernel that are stationary and fade with distance."""
    terms = kernel.parts if isinstance(kernel, Sum) else (kernel,)
    far = 1e9 * (np.ptp(X, axis=0, keepdims=True) + 1.0)
    total = 0.0
    for term in terms:
        each, rest = term.diag(X), float(term.reach(far)[0])
        if each.size and np.ptp(each) == 0.0 and rest <= 1e-3 * each[0]:
            total += float(each[0])
    return total
