"""Check a model on held-out rows, answered by a committee of the others."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.transductive import Joint
from ..kernels import Kernel
from ..learning.calibration import Correction, calibrate, judge
from ..learning.dof import degrees_of_freedom
from ..messages.committee import Committee
from ..rows.chunk import cut
from ..rows.metric import Metric, column_scales
from ..rows.partition import chunk_groups, lowest
from ..rows.rows import Rows
from .arguments import Settings

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
    model: CommitteeModel, scaled: Rows, groups: list[Array], Z: Array, settings: Settings,
    rng: np.random.Generator, number: int, more: Callable[[], bool] = lambda: True,
) -> Correction:  # fmt: skip
    """Noise and scale by the density of `number` held-out rows; see `calibrate`."""
    kernel, noise = model.committee.basis.kernel, model.committee.noise
    if model.query_size:  # a joint committee needs no anchors, nor all of many chunks
        Z, groups = Z[:0], around(scaled.X, groups, rng)
    ask = partial(model.answerer, n_local=min(model.n_local, CHECK_LOCAL))
    answer = left_out(kernel, noise, Z, ask, scaled, groups, settings, rng, number)
    return calibrate(answer, more=more)


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
    number = held_out_rows(scaled.y)
    return judge(left_out(kernel, noise, Z, ask, scaled, groups, settings, rng, number))


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


def left_out(
    kernel: Kernel, noise: float, Z: Array, ask: Callable[[Committee], Any], scaled: Rows,
    groups: list[Array], settings: Settings, rng: np.random.Generator, number: int,
) -> Callable[[float], tuple[Array, Array]]:  # fmt: skip
    """noise ratio -> errors and variances at `number` of the groups' rows (not above a tenth of
    these), given the others.

    `ask` makes the predictor of a committee.
    """
    rows = np.sort(np.concatenate(groups))
    held = np.sort(rng.choice(rows, min(number, max(1, rows.size // 10)), replace=False))
    out = np.zeros(scaled.X.shape[0], dtype=bool)
    out[held] = True
    rest = [kept for group in groups if (kept := group[~out[group]]).size]
    chunks = cut(*scaled.fields(), rest)

    def answer(ratio: float) -> tuple[Array, Array]:
        committee = Committee.start(kernel, noise * ratio, Z, scaled.y.shape[1])
        committee = committee.add(chunks, settings.engine, keep=settings.keeps_rows)
        found = ask(committee).predict(scaled.X[held], settings.engine)
        return scaled.y[held] - found.mean, found.variance + noise * ratio

    return answer
