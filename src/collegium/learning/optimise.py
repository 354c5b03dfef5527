"""Find maximum a posteriori hyperparameters: weak priors, bounds from the data, the search."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from .. import kernels
from ..kernels import Kernel
from ..messages.evidence import factorised
from ..messages.evidence import information as chunk_information
from ..numerics.records import record
from ..rows.chunk import Chunk
from ..rows.metric import column_scales
from . import newton
from .tuning import TUNING

Array = np.ndarray
Objective = Callable[[Kernel, float], tuple[float, Array]]
Information = Callable[[Kernel, float], Array]


@record("learning.scales/1")
@dataclass(frozen=True, eq=False)
class Scales:
    """Scales of the data, from which starts, bounds and priors are made."""

    columns: Array  # standard deviation of each input, 1 for codes of levels  (d,)
    n: int
    levels: tuple[int, ...] = ()  # columns of codes

    @classmethod
    def of(cls, X: Array, levels: tuple[int, ...] = ()) -> Scales:
        scales = column_scales(X)
        scales[list(levels)] = 1.0  # as far as two levels are apart
        return cls(scales, X.shape[0], levels)

    def with_scores(self, count: int) -> Scales:
        """Append columns of variance one."""
        return replace(self, columns=np.concatenate([self.columns, np.ones(count)]))

    def kernel(self, family: str, variance: float = 1.0) -> Kernel:
        """Make a kernel to start from: length scales are √d standard deviations of the columns."""
        lengths = self.columns * np.sqrt(self.columns.size)
        return getattr(kernels, family)(variance, lengths, categories=self.levels)

    def prior(self, kernel: Kernel) -> Prior:
        """Make weak log-normal priors and hard bounds for (θ, log σ²)."""
        d = self.columns.size
        spacing = 0.3 * min(0.1, self.n ** (-1.0 / d))  # least length, in column scales
        rows = []  # centre, spread, low, high, unit
        for theta, (kind, column) in zip(kernel.theta, kernel.labels):
            if kind in ("length", "slope"):
                share, power = np.frexp(self.columns[column % d])
                t = np.log(share)
                ends = t + np.log(spacing), t + np.log(1e4)
                rows.append((t + 0.5 * np.log(d), 2.0, *ends, np.ldexp(1.0, power)))
            elif kind == "mismatch":  # levels are 1 apart, like rows one standard deviation apart
                rows.append((0.5 * np.log(d), 2.0, np.log(0.1), np.log(1e4), 1.0))
            elif kind == "variance":
                rows.append((0.0, 2.0, np.log(1e-4), np.log(1e3), 1.0))
            else:
                rows.append((theta, 1.5, theta - 5.0, theta + 5.0, 1.0))
        rows.append((np.log(0.05), 3.0, np.log(1e-8), np.log(2.0), 1.0))
        return Prior(*np.array(rows).T)


@dataclass(frozen=True, eq=False)
class Prior:
    """Independent normals on the logs, within box bounds.

    Parameters are in units that are powers of two, near the scales of the columns: scaling a
    column by a power of two leaves every step of learning the same to the last bit.
    """

    centre: Array  # (q + 1,)
    spread: Array  # standard deviations
    low: Array
    high: Array
    units: Array | float = 1.0  # of the parameters, 1 for the noise  (q + 1,)

    def theta(self, kernel: Kernel) -> Array:
        """Logs of a kernel's free parameters in these units  (q,)."""
        return kernel.times(1.0 / self._units()).theta

    def kernel(self, like: Kernel, theta: Array) -> Kernel:
        """Set the free parameters of a kernel; its fixed ones stay."""
        return like.with_theta(theta).times(self._units())

    def _units(self) -> Array:
        return np.broadcast_to(self.units, self.centre.shape)[:-1]

    def log_density(self, theta: Array) -> tuple[float, Array]:
        """log p(θ) up to a constant, and its gradient."""
        z = (theta - self.centre) / self.spread
        return -0.5 * float(z @ z), -z / self.spread


@dataclass(frozen=True, eq=False)
class Learnt:
    """A kernel and a noise, with their log evidence."""

    kernel: Kernel
    noise: float
    value: float  # log evidence per row, prior included
    converged: bool = True

    def warn_if_not_converged(self) -> None:
        if not self.converged:
            warnings.warn(
                "hyperparameters had not converged when the iterations ran out; fit again with "
                "kernel=model.kernel_ to continue from here, or with learn=collegium.Learn(…, "
                "n_starts=3)",
                ConvergenceWarning,
                stacklevel=2,
            )


def maximise(
    objective: Objective, kernel: Kernel, noise: float, prior: Prior, n_rows: float,
    *, noise_fixed: bool = False, max_iter: int = 60, stop: Callable[[], bool] = lambda: False,
    information: Information | None = None, gain: float = TUNING.newton.gain,
) -> Learnt:  # fmt: skip
    """Maximise (log evidence + log prior)/n, with the objective's own gradient.

    `information` estimates the negative Hessian of the log evidence in (θ, log σ²), for Newton-like
    steps, which go on while they gain more than `gain` per row; without it, L-BFGS. Once `stop()`
    is true, return the best point so far.
    """
    start = np.append(prior.theta(kernel), np.log(max(noise, 1e-300)))
    free = np.ones(start.size, dtype=bool)
    free[-1] = not noise_fixed
    if not free.any():
        value = objective(kernel, noise)[0] + prior.log_density(start)[0]
        return Learnt(kernel, noise, value / n_rows)

    def at(theta_free: Array) -> tuple[Kernel, float, Array]:
        theta = start.copy()
        theta[free] = theta_free
        own_noise = noise if noise_fixed else float(np.exp(theta[-1]))
        return prior.kernel(kernel, theta[:-1]), own_noise, theta

    def negative(theta_free: Array) -> tuple[float, Array]:
        k, s, theta = at(theta_free)
        value, gradient = objective(k, s)
        log_prior, prior_gradient = prior.log_density(theta)
        total = (value + log_prior) / n_rows
        return -total, -((gradient + prior_gradient) / n_rows)[free]

    def interrupt(_: Array) -> None:
        if stop():
            raise StopIteration

    low, high = prior.low[free], prior.high[free]
    if information is not None:
        known = np.diag(1.0 / prior.spread[free] ** 2)

        def curvature(theta_free: Array) -> Array:
            return (information(*at(theta_free)[:2])[np.ix_(free, free)] + known) / n_rows

        found, converged = newton.descend(
            negative, curvature, start[free], low, high, max_iter=max_iter, gain=gain, stop=stop
        )
        k, s, _ = at(found.x)
        return Learnt(k, s, -found.value, converged)
    result = minimize(
        negative, np.clip(start[free], low, high), jac=True, method="L-BFGS-B",
        bounds=list(zip(low, high)), callback=interrupt,
        options={"maxiter": max_iter, "maxcor": 20, "ftol": 3e-6},
    )  # fmt: skip
    k, s, _ = at(result.x)
    return Learnt(k, s, -float(result.fun), converged=result.status != 1)


def maximise_chunks(
    chunks: Sequence[Chunk], engine: Any, kernel: Kernel, noise: float, prior: Prior,
    *, whole: Callable[[Kernel], Kernel] = lambda kernel: kernel, **how: Any,
) -> Learnt:  # fmt: skip
    """Maximise the evidence of independent chunks; `whole` adds to a kernel what is not learnt."""

    def objective(k: Kernel, s: float) -> tuple[float, Array]:
        return factorised(whole(k), s, chunks, engine)

    def information(k: Kernel, s: float) -> Array:
        return chunk_information(whole(k), s, chunks, engine, TUNING.newton.chunks)

    weight = float(sum(chunk.w.sum() for chunk in chunks))
    return maximise(objective, kernel, noise, prior, weight, information=information, **how)
