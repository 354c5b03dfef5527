"""One Student t about the means and standard deviations of a peer, learnt from held-out rows.

A normal is a poor density where errors have heavy tails, whoever predicts. So that the comparison
is fair, each peer that gives a mean and a standard deviation is scored a second time, with

    (y − m) / sd ~ s · t_ν,

s and ν by maximum likelihood on rows that it was not fitted to: those that it held out itself, or
else a tenth of the training rows, at most 1,000, answered by a second fit to the others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.stats import t

from benchmarks.harness.data import Array, Split

#: log ν is sought within: from a Cauchy to all but a normal.
LOG_NU = (0.0, np.log(1e4))
MOST_HELD = 1_000
#: y, means and standard deviations of rows held out.
Held = tuple[Array, Array, Array]


def of_peer(
    split: Split, answer: tuple[Array, Array], held: Held | None, again: Callable[..., tuple]
) -> dict:
    """NLPD with that t. `again(X, y, Xs)` fits a second time and gives (mean, std)."""
    own = held is not None
    y, mean, std = held if held is not None else second_fit(split, again)
    s, nu = fitted((y - mean) / std)
    found = {"scale": s, "nu": nu, "rows": int(y.size), "from": "its own" if own else "second fit"}
    return {"NLPD_t": nlpd(split.y_test, *answer, s, nu), "t": found}


def second_fit(split: Split, again: Callable[..., tuple]) -> Held:
    n = split.y.size
    out, kept = np.split(np.random.default_rng(0).permutation(n), [min(n // 10, MOST_HELD)])
    return split.y[out], *again(split.X[kept], split.y[kept], split.X[out])


def fitted(z: Array) -> tuple[float, float]:
    """s and ν that maximise Σ log t_ν(z/s) − log s."""

    def loss(at: Array) -> float:
        return -float(t.logpdf(z, np.exp(at[1]), scale=np.exp(at[0])).mean())

    middle = np.log(max(float(np.median(np.abs(z))), 1e-12))
    starts = [(middle, np.log(nu)) for nu in (1.5, 6.0, 50.0)]
    bounds = [(middle - 10.0, middle + 10.0), LOG_NU]
    best = min(
        (minimize(loss, start, method="Nelder-Mead", bounds=bounds) for start in starts),
        key=lambda found: found.fun,
    )
    return float(np.exp(best.x[0])), float(np.exp(best.x[1]))


def log_density(y: Array, mean: Array, std: Array, s: float, nu: float) -> Array:
    return t.logpdf(y, nu, mean, s * std)


def nlpd(y: Array, mean: Array, std: Array, s: float, nu: float) -> float:
    return -float(log_density(y, mean, std, s, nu).mean())
