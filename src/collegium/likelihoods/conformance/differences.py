"""Derivatives against differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ..base import Observation
from .methods import ORDINALS
from .tuning import TUNING

Array = np.ndarray


def check_derivatives(likelihood: Observation, y: Array, f: Array) -> None:
    """Derivatives in f agree with differences."""
    for k, order in enumerate(ORDINALS):
        found = likelihood.derivatives(y, f)[k]
        numeric = _in_each(partial(_lower, likelihood, y, k), f)
        _compare(f"the {order} derivative", likelihood, found, numeric, y, f)


def _lower(likelihood: Observation, y: Array, k: int, f: Array) -> Array:
    """Return the function whose derivative is number k."""
    return likelihood.derivatives(y, f)[k - 1] if k else likelihood.log_density(y, f)


def _in_each(of: Callable[[Array], Array], f: Array) -> Array:
    """∂/∂f by differences, in each latent number alone."""
    if f.ndim == 1:
        return _slope(lambda t: of(f + t))
    columns = []
    for j, own in enumerate(np.eye(f.shape[1])):
        one = _slope(partial(_along, of, f, own))
        columns.append(one if one.ndim == 1 else one[:, j])
    return np.stack(columns, axis=1)


def _along(of: Callable[[Array], Array], f: Array, direction: Array, t: float) -> Array:
    return of(f + t * direction)


def check_parameters(likelihood: Observation, y: Array, f: Array) -> None:
    """Derivatives in the log of the free parameter agree with differences."""
    if any(np.shape(one)[0] for one in replace(likelihood, fixed=likelihood.free)
           .theta_derivatives(y, f)):  # fmt: skip
        raise ValueError(
            f"theta_derivatives of {type(likelihood).__name__} must have no rows where its "
            "parameter is fixed: cut them by [: len(self._names())]"
        )
    if not likelihood.theta.size:
        return
    theta, name = likelihood.theta, likelihood._names()[0]
    for k, found in enumerate(likelihood.theta_derivatives(y, f)):

        def at(t: float, k: int = k) -> Array:
            return _lower(likelihood.with_theta(theta + t), y, k, f)

        what = ("log p", "∂ log p", "∂² log p")[k]
        _compare(
            f"theta_derivatives: ∂/∂ log {name} of {what}", likelihood, found[0], _slope(at), y, f
        )


def _slope(of: Callable[[float], Array]) -> Array:
    """Slope of a function of one number at zero, by five points."""
    near, far = of(TUNING.step) - of(-TUNING.step), of(2 * TUNING.step) - of(-2 * TUNING.step)
    return (8.0 * near - far) / (12.0 * TUNING.step)


def _compare(what: str, likelihood: Observation, found: Array, numeric: Array, y: Array, f: Array):
    error = np.abs(found - numeric) - TUNING.relative * np.abs(numeric)
    wrong = error > TUNING.absolute * max(float(np.abs(numeric).max()), 1.0)
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0])
        raise ValueError(
            f"{what} of {type(likelihood).__name__} is wrong: at y = {y[at[0], 0]:g}, f = "
            f"{f[at[0]]} it is {found[at]:.6g}, and differences say {numeric[at]:.6g}"
        )
