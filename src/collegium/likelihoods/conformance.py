"""Whether a likelihood keeps what it promises: methods, shapes, derivatives by differences."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from .base import SUPPORTS, Observation, Scalar

Array = np.ndarray
#: y and f at which a likelihood is tried.
TRIED = {
    "signs": (-1.0, 1.0), "counts": (0.0, 1.0, 7.0, 300.0), "reals": (-2.1, 0.3, 1.7, 9.0),
}  # fmt: skip
LATENT = (-6.5, -2.2, -0.3, 0.1, 1.4, 4.8)
#: Step of five-point differences; errors that are forgiven, relative to a value and to the largest.
STEP, RELATIVE, ABSOLUTE = 1e-3, 1e-5, 1e-7
ORDINALS = ("first", "second", "third")


def check(likelihood: Observation) -> None:
    """ValueError where a likelihood of your own does not keep what it promises.

    Methods, shapes, values that are finite, derivatives in f and in the logs of free parameters
    against differences, moments, and of labels that probabilities add up to one.

    Examples
    --------
    >>> from collegium import observation
    >>> observation.check(observation.StudentT(dof=3.0))
    """
    check_methods(likelihood)
    y, f = examples(likelihood)
    if not y.size:
        return
    _check_derivatives(likelihood, y, f)
    if likelihood.theta.size:
        _check_parameters(likelihood, y, f)
    if isinstance(likelihood, Scalar):
        _check_moments(likelihood, y, f)


def check_methods(likelihood: Observation) -> None:
    """ValueError that names what is missing, or has the wrong shape."""
    if isinstance(likelihood, type) or not isinstance(likelihood, Observation):
        raise ValueError(f"{likelihood!r} is no likelihood: give an instance, such as Logit()")
    own, name = type(likelihood), type(likelihood).__name__
    if own.support not in SUPPORTS:
        raise ValueError(f"{name} has no support: give it one of {tuple(SUPPORTS)}")
    needed = ["log_density", "derivatives"]
    base: type = Observation
    if isinstance(likelihood, Scalar):
        base, needed = Scalar, [*needed, "mean", "variance"]
    if likelihood.theta.size:
        needed.append("theta_derivatives")
    missing = [method for method in needed if getattr(own, method) is getattr(base, method)]
    if missing:
        raise ValueError(f"{name} has no {' and no '.join(missing)}: write it")
    if likelihood.theta.size > 1:
        raise ValueError(
            f"{name} has {likelihood.theta.size} free parameters, of which one can be learnt: keep "
            f"the others, as in {name}(fixed={tuple(likelihood.free)[1:]!r})"
        )
    y, f = examples(likelihood)
    if y.size:
        _check_shapes(likelihood, y, f)


def examples(likelihood: Observation) -> tuple[Array, Array]:
    """y (n, 1) that can be observed, and f, (n,) or (n, K)."""
    K = likelihood.latents
    values = TRIED.get(likelihood.support, tuple(map(float, range(K))))
    possible = [v for v in values if _possible(likelihood, v)]
    y = np.repeat(np.array(possible, dtype=float), len(LATENT))[:, None]
    f: Array = np.tile(LATENT, len(possible))
    if K > 1:
        f = f[:, None] + np.random.default_rng(4).normal(size=(f.size, K))
    return y, f


def _possible(likelihood: Observation, value: float) -> bool:
    try:
        likelihood.check(np.array([[value]]))
    except ValueError:
        return False
    return True


def _check_shapes(likelihood: Observation, y: Array, f: Array) -> None:
    name = type(likelihood).__name__
    value = likelihood.log_density(y, f)
    words = "y[..., 0] is the column that y has"
    if np.shape(value) != f.shape[:1]:
        raise ValueError(
            f"log_density of {name} has shape {np.shape(value)} for y {y.shape} and f {f.shape}, "
            f"and should have {f.shape[:1]}: {words}"
        )
    found = likelihood.derivatives(y, f)
    if not isinstance(found, tuple) or len(found) != 3:
        raise ValueError(f"derivatives of {name} must be three arrays: ∂, ∂², ∂³ of log p in f")
    for order, one in zip(ORDINALS, found):
        if np.shape(one) != f.shape:
            raise ValueError(
                f"the {order} derivative of {name} has shape {np.shape(one)} for y {y.shape} and f "
                f"{f.shape}, and should have that of f: {words}"
            )
    if likelihood.theta.size:
        for one in likelihood.theta_derivatives(y, f):
            if np.shape(one) != (likelihood.theta.size, *f.shape):
                raise ValueError(
                    f"theta_derivatives of {name} have shape {np.shape(one)}, and should have "
                    f"{(likelihood.theta.size, *f.shape)}: one row a free parameter"
                )
    for what, one in (("log_density", value), *(("derivatives", one) for one in found)):
        if not np.isfinite(one).all():
            i = np.flatnonzero(~np.isfinite(one).reshape(f.shape[0], -1).all(axis=1))[0]
            raise ValueError(f"{what} of {name} is not finite at y = {y[i, 0]:g}, f = {f[i]}")


def _check_derivatives(likelihood: Observation, y: Array, f: Array) -> None:
    for k, order in enumerate(ORDINALS):
        found = likelihood.derivatives(y, f)[k]
        numeric = _in_each(partial(_lower, likelihood, y, k), f)
        _compare(f"the {order} derivative", likelihood, found, numeric, y, f)


def _lower(likelihood: Observation, y: Array, k: int, f: Array) -> Array:
    """What the derivative number k is of."""
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


def _check_parameters(likelihood: Observation, y: Array, f: Array) -> None:
    theta, name = likelihood.theta, likelihood._names()[0]
    for k, found in enumerate(likelihood.theta_derivatives(y, f)):

        def at(t: float, k: int = k) -> Array:
            return _lower(likelihood.with_theta(theta + t), y, k, f)

        what = ("log p", "∂ log p", "∂² log p")[k]
        _compare(
            f"theta_derivatives: ∂/∂ log {name} of {what}", likelihood, found[0], _slope(at), y, f
        )


def _check_moments(likelihood: Scalar, y: Array, f: Array) -> None:
    name, grid = type(likelihood).__name__, np.sort(np.unique(f))
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
    if likelihood.support == "signs":
        up, down = (
            np.exp(likelihood.log_density(np.full((grid.size, 1), s), grid)) for s in (1, -1)
        )
        if not np.allclose(up + down, 1.0, atol=1e-6):
            raise ValueError(f"the probabilities of -1 and 1 of {name} do not add up to one")
        if not np.allclose(up - down, mean, atol=1e-6):
            raise ValueError(f"mean of {name} is not p(1) - p(-1)")


def _slope(of: Callable[[float], Array]) -> Array:
    """Of a function of one number, at zero."""
    near, far = of(STEP) - of(-STEP), of(2 * STEP) - of(-2 * STEP)
    return (8.0 * near - far) / (12.0 * STEP)


def _compare(what: str, likelihood: Observation, found: Array, numeric: Array, y: Array, f: Array):
    error = np.abs(found - numeric) - RELATIVE * np.abs(numeric)
    wrong = error > ABSOLUTE * max(float(np.abs(numeric).max()), 1.0)
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0])
        raise ValueError(
            f"{what} of {type(likelihood).__name__} is wrong: at y = {y[at[0], 0]:g}, f = "
            f"{f[at[0]]} it is {found[at]:.6g}, and differences say {numeric[at]:.6g}"
        )
