"""Arguments that the online estimators share, and the rows they begin with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from ..interface.checks.arguments import (
    check_square,
    check_verbose,
    number,
    one_of,
    whole_number,
    yes_or_no,
)
from ..interface.frames.encoded import Columns
from ..interface.streams.rates import check_rates
from ..kernels import Kernel, as_kernel, needs_one_column
from ..rows.rows import Rows
from ..rows.scaling import merged
from .gp import REMOVALS, Rules
from .tuning import TUNING
from .watch import Watch

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class OnlineOptions:
    """Checked arguments of an online estimator."""

    rules: Rules
    n_sweeps: int
    learn: bool
    learn_rows: int
    kernel: Kernel | None
    one_column: bool  # the kernel is a covariance in one dimension only
    rates: tuple[float, ...] = field(default=(1.0,), kw_only=True)  # rules are of the slowest
    levels: tuple[int, ...] = field(default=(), kw_only=True)  # columns of codes

    @classmethod
    def of(cls, estimator) -> OnlineOptions:
        e = estimator
        learn = yes_or_no(e.learn, "learn")
        budget = whole_number(e.budget, "budget")
        check_square(budget + 1, "budget")
        one_of(e.removal, "removal", REMOVALS)
        novelty = number(e.novelty, "novelty", lambda v: 0.0 <= v < 1.0, "at least 0 and below 1")
        rates = check_rates(e.forgetting, TUNING.rates)
        check_verbose(e.verbose)
        return cls(
            rules=Rules(budget, novelty, e.removal, rates[0]),
            n_sweeps=whole_number(e.n_sweeps, "n_sweeps"),
            learn=learn,
            learn_rows=whole_number(e.learn_rows, "learn_rows"),
            kernel=None if e.kernel is None else as_kernel(e.kernel),
            one_column=needs_one_column(e.kernel),
            rates=rates,
        )

    def for_columns(self, seen: Columns) -> Self:
        """Find columns of the kernel by name, and note which columns hold levels."""
        kernel = None if self.kernel is None else seen.known_to(self.kernel)
        return replace(self, kernel=kernel, levels=tuple(seen.levels))

    @property
    def in_order(self) -> bool:
        """Whether the order of rows in one `fit` matters: early ones fade."""
        return self.rates[-1] < 1.0

    def watch(self, d: int, p: int, *, labels: bool = False) -> Watch | None:
        """Start the watch of a stream that learns; None where nothing is learnt."""
        if not self.learn:
            return None
        return Watch.start(self.learn_rows, d, p, self.rules.forgetting, labels=labels)

    def beside(self, rate: float) -> Self:
        """Options for one of the rates."""
        return replace(self, rules=self.rules.beside(rate), rates=(rate,))

    def kernel_for(self, d: int) -> Kernel | None:
        """Given kernel, with one length per column."""
        if self.one_column and d > 1:
            raise ValueError(
                f"kernel has an ExpSineSquared, which is no covariance on {d} columns: give "
                "collegium.kernels.Periodic, a product over columns"
            )
        return None if self.kernel is None else self.kernel.for_width(d)


def shuffled(
    rows: Rows, options: OnlineOptions, rng: np.random.Generator, estimator, *, repeat: bool
) -> Rows:
    """Shuffle the rows of one `fit` into an order that depends on their values and the seed alone.

    Where the past fades they keep their order. Copies are made before the order is drawn: a long
    run of equal labels would pull a site that is not Gaussian along.
    """
    if options.in_order:
        rows = rows.take(rows.w > 0)
        return repeated(rows, estimator) if repeat else rows
    rows, _ = merged(rows, None, in_order=False)
    rows = repeated(rows, estimator) if repeat else rows
    return rows.take(rng.permutation(rows.X.shape[0]))


def repeated(rows: Rows, estimator) -> Rows:
    """Repeat a row of weight w as w rows: only powers of Gaussian sites are Gaussian sites."""
    if (rows.w != np.floor(rows.w)).any():
        raise ValueError(
            f"sample_weight of {type(estimator).__name__} must be whole numbers here (rows are "
            "repeated): leave it out, or round it"
        )
    most = TUNING.largest_total
    if rows.w.sum() > most:
        raise ValueError(
            f"sample_weight asks for {rows.w.sum():.3g} repeated rows, beyond {most:.0e}: "
            "give smaller weights, or fewer rows at a time"
        )
    again = np.repeat(np.arange(rows.X.shape[0]), rows.w.astype(int))
    return Rows(rows.X[again], rows.y[again], np.ones(again.size))


def first_rows(rows: Rows, options: OnlineOptions, rng: np.random.Generator) -> Rows:
    """Choose the rows of one `fit` that hyperparameters are learnt from, in their order."""
    n, count = rows.X.shape[0], options.learn_rows
    if n <= count:
        return rows
    return rows.take(
        np.sort(rng.choice(n, count, replace=False)) if options.in_order else slice(count)
    )
