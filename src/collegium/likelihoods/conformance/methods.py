"""Methods that a likelihood needs, their shapes, the values at which they are tried, and limits:
values that y cannot take, and f of any size."""

from __future__ import annotations

from dataclasses import MISSING, fields

import numpy as np

from ..base import Observation, Scalar
from ..targets.support import CLASSES

Array = np.ndarray
#: f at which a likelihood is tried.
LATENT = (-6.5, -2.2, -0.3, 0.1, 1.4, 4.8)
#: f at which numbers must stay finite.
EXTREME = (-1e5, -800.0, 800.0, 1e5)
ORDINALS = ("first", "second", "third")


def check_methods(likelihood: Observation) -> None:
    """Raise ValueError that names a missing method, or one with a wrong shape."""
    if isinstance(likelihood, type) or not isinstance(likelihood, Observation):
        raise ValueError(f"{likelihood!r} is no likelihood: give an instance, such as Logit()")
    own, name = type(likelihood), type(likelihood).__name__
    if not own.support:
        raise ValueError(f"{name} has no support: give it SIGNS, COUNTS, POSITIVE, UNIT or REALS")
    for one in fields(likelihood):
        if one.default is MISSING and one.default_factory is MISSING:
            raise ValueError(f"{one.name} of {name} has no default: give it one")
        if one.name in own.may_be_zero and getattr(likelihood, one.name) == 0.0:
            raise ValueError(f"{one.name}=0 of {name} has no density: give a positive number")
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
            f"{name} has {likelihood.theta.size} free parameters, but only one can be learnt: fix "
            f"the others, as in {name}(fixed={tuple(likelihood.free)[1:]!r})"
        )
    y, f = examples(likelihood)
    if y.size:
        _check_shapes(likelihood, y, f)


def examples(likelihood: Observation) -> tuple[Array, Array]:
    """y (n, 1) that can be observed, with f, (n,) or (n, K)."""
    K = likelihood.latents
    values = range(K) if likelihood.support == CLASSES else likelihood.support.examples
    tried = [float(value) for value in values if possible(likelihood, value)]
    y = np.repeat(np.array(tried, dtype=float), len(LATENT))[:, None]
    f: Array = np.tile(LATENT, len(tried))
    if K > 1:
        f = f[:, None] + np.random.default_rng(4).normal(size=(f.size, K))
    return y, f


def possible(likelihood: Observation, value: float) -> bool:
    """Whether y may have this value."""
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
                    f"{(likelihood.theta.size, *f.shape)}: one row per free parameter"
                )
    for what, one in (("log_density", value), *(("derivatives", one) for one in found)):
        if not np.isfinite(one).all():
            i = np.flatnonzero(~np.isfinite(one).reshape(f.shape[0], -1).all(axis=1))[0]
            raise ValueError(f"{what} of {name} is not finite at y = {y[i, 0]:g}, f = {f[i]}")


def check_support(likelihood: Observation) -> None:
    """Values outside the support are refused."""
    own = (float(likelihood.latents),) if likelihood.support == CLASSES else ()
    for wrong in (*likelihood.support.counterexamples, *own):
        if possible(likelihood, wrong):
            raise ValueError(
                f"check of {type(likelihood).__name__} lets y = {wrong:g} pass, which is not among "
                f"{likelihood.support}: call super().check(y) in it"
            )


def check_extremes(likelihood: Observation, y: Array) -> None:
    """Numbers stay finite, and curvatures positive, at any f."""
    name = type(likelihood).__name__
    for size in EXTREME:
        f = np.full(y.shape[0], size)
        if likelihood.latents > 1:
            f = np.stack([f] + [np.zeros_like(f)] * (likelihood.latents - 1), axis=1)
        with np.errstate(all="ignore"):
            values = likelihood.log_density(y, f), *likelihood.derivatives(y, f)
            W, omega = likelihood.curvature(y, f)[0], likelihood.bound(y, f)
        for what, one in zip(("log_density", *(f"the {o} derivative" for o in ORDINALS)), values):
            if not np.isfinite(one).all():
                raise ValueError(
                    f"{what} of {name} is not finite at f = {size:g}: keep exponents within ±300, "
                    "as by np.clip"
                )
        if (W < 0.0).any() or (omega < W).any():
            raise ValueError(f"curvature of {name} must not be negative, nor bound below it")
