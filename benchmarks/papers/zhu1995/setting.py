"""The synthetic problem of Zhu & Rohwer (1995), sec. 4."""

from dataclasses import dataclass

import numpy as np

from benchmarks.harness.data import Array
from collegium import RegressionFilter, kernels, sample_prior
from collegium.filter import LinearSplines, UniformBox

#: Sec. 4: x uniform on [−4, 4], Laplace prior, noise standard deviation.
LOW, HIGH, WIDTH, SIGNAL, NOISE = -4.0, 4.0, 0.5, 1.0, 0.5
GRID = np.linspace(LOW, HIGH, 801)


@dataclass(frozen=True)
class Problem:
    """A function drawn from the prior, and rows that show it with noise."""

    X: Array  # (n, 1)
    y: Array  # (n,)
    f: Array  # the function on GRID  (801,)

    def truth(self, X: Array) -> Array:
        return np.interp(X[:, 0], GRID, self.f)


def problem(n: int, seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.uniform(LOW, HIGH, (n, 1))
    prior = kernels.Matern12(SIGNAL**2, WIDTH)
    f = sample_prior(prior, np.concatenate([GRID[:, None], X]), 1, rng)[:, 0]
    return Problem(X, f[GRID.size :] + NOISE * rng.normal(size=n), f[: GRID.size])


def splines(m: int) -> LinearSplines:
    """m hats with knots at equal distances."""
    return LinearSplines((np.linspace(LOW, HIGH, m),))


def regression_filter(m: int, width: float = WIDTH) -> RegressionFilter:
    """The filter of sec. 4 with an assumed σ₀; nothing is learnt."""
    return RegressionFilter(
        kernels.Matern12(SIGNAL**2, width), noise=NOISE**2, basis=splines(m),
        density=UniformBox(np.array([LOW]), np.array([HIGH])), prior_mean=0.0, linear=False,
        learn=False, misfit=False,
    )  # fmt: skip
