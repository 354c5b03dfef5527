"""Integrals over y and over f: densities, moments, predictions, quantiles and draws."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np

from ..base import Scalar
from ..integrals.quadrature import QuadratureWarning
from .methods import LATENT, possible
from .tuning import TUNING

Array = np.ndarray
#: Means and variances of f at which answers are tried.
MEANS, VARIANCES = (-2.3, 0.2, 1.9), (0.0, 0.3, 4.0, 30.0)


def check_moments(likelihood: Scalar) -> None:
    """Moments given f have shapes and signs that moments have; the mean does not decrease."""
    name, grid = type(likelihood).__name__, np.array(LATENT)
    mean, variance = likelihood.mean(grid), likelihood.variance(grid)
    for what, one in (("mean", mean), ("variance", variance)):
        if np.shape(one) != grid.shape or np.isnan(one).any():
            raise ValueError(
                f"{what} of {name} must be a number for each f, as an array of its shape"
            )
    if (np.diff(mean) < 0.0).any():
        raise ValueError(f"mean of {name} falls in f: turn the sign of f")
    if (variance < 0.0).any():
        raise ValueError(f"variance of {name} is negative")
    if likelihood.identity and not np.allclose(mean, grid):
        raise ValueError(f"{name} says identity = True, but mean(f) is not f")


def check_integrals(likelihood: Scalar) -> None:
    """∫p(y | f)dy = 1, and the moments given f are those of the density."""
    name = type(likelihood).__name__
    for f in LATENT:
        at = np.array([f])
        mean, variance = float(likelihood.mean(at)[0]), float(likelihood.variance(at)[0])
        y, weight, ends = likelihood.support.over_all(mean, np.sqrt(variance))
        with np.errstate(all="ignore"):
            p = weight * np.exp(likelihood.log_density(y[:, None], np.full(y.size, f)))
        for what, terms, expected in (
            ("the integral over y of the density", p, 1.0),
            ("mean", y * p, mean),
            ("variance", (y - mean) ** 2 * p, variance),
        ):
            found, size = float(terms.sum()), float(np.abs(terms).sum())
            if not (np.isfinite(expected) and (np.abs(terms[ends]) <= 1e-10 * size).all()):
                continue  # no moment, or a tail too long to sum
            if abs(found - expected) > TUNING.close * (10.0 * size + 1e-9 * mean**2):
                raise ValueError(
                    f"{what} of {name} at f = {f:g} should be {expected:.6g}, and its density "
                    f"gives {found:.6g}"
                )


def _trusted(of: Callable[..., object], *given: Array) -> object | None:
    """Call a function; None where its integrals are not to be trusted."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error", QuadratureWarning)
        try:
            return of(*given)
        except QuadratureWarning:
            return None


def check_answers(likelihood: Scalar) -> None:
    """`predict` and `function` agree with integrals over f, which must be trusted where used."""
    name = type(likelihood).__name__
    m, v = (a.ravel() for a in np.meshgrid(MEANS, VARIANCES))
    for what in ("predict", "function"):
        found = _trusted(getattr(likelihood, what), m, v)
        if found is None:
            raise ValueError(
                f"{what} of {name} is by quadrature, which cannot be trusted at variances of f up "
                f"to {max(VARIANCES):g}: write one in closed form"
            )
        slow = _trusted(partial(getattr(Scalar, what), likelihood), m, v)
        for moment, one, other in zip(("mean", "variance"), found, slow or ()):  # type: ignore
            wrong = np.isfinite(other) & ~np.isclose(one, other, rtol=TUNING.close, atol=1e-12)
            if wrong.any():
                i = int(np.argmax(wrong))
                raise ValueError(
                    f"{what} of {name} is wrong: at m = {m[i]:g}, v = {v[i]:g} its {moment} is "
                    f"{one[i]:.6g}, and the integral over f is {other[i]:.6g}"
                )


def check_predictive(likelihood: Scalar, y: Array) -> None:
    """`log_predictive` agrees with integrals over f."""
    name, rows = type(likelihood).__name__, y[np.abs(y[:, 0]) < 100.0]
    for v in VARIANCES[1:-1]:
        m = np.linspace(min(MEANS), max(MEANS), rows.shape[0])
        given = rows, m, np.full(m.size, v)
        found = _trusted(likelihood.log_predictive, *given)
        if found is None:
            raise ValueError(
                f"log_predictive of {name} is by quadrature, which cannot be trusted at a variance "
                f"of f of {v:g}: write one of its own"
            )
        slow = _trusted(partial(Scalar.log_predictive, likelihood), *given)
        if slow is not None and not np.allclose(np.exp(found), np.exp(slow), TUNING.close, 1e-9):  # type: ignore
            raise ValueError(
                f"log_predictive of {name} is not the log of E[p(y | f)], f ~ N(m, {v:g})"
            )


def check_quantiles(likelihood: Scalar) -> None:
    """Quantiles and draws are possible y; quantiles do not decrease in their level."""
    name = type(likelihood).__name__
    m, v = (a.ravel() for a in np.meshgrid(MEANS, VARIANCES))
    with np.errstate(all="ignore"):
        ends = [likelihood.quantile(level, m, v) for level in (0.005, 0.2, 0.5, 0.9, 0.995)]
        drawn = likelihood.draw(m, np.random.RandomState(0))
    for what, one in (*(("quantile", end) for end in ends), ("draw", drawn)):
        if np.shape(one) != m.shape:
            raise ValueError(
                f"{what} of {name} has shape {np.shape(one)}, and should have {m.shape}"
            )
        impossible = [value for value in one if not possible(likelihood, value)]
        if impossible:
            raise ValueError(f"{what} of {name} gives {impossible[0]:g}, which y cannot be")
    if (np.diff(ends, axis=0) < 0.0).any():
        raise ValueError(f"quantile of {name} falls with its level")
