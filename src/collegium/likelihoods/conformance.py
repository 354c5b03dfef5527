"""Whether a likelihood keeps what it promises: methods, shapes, derivatives by differences,
densities that add up to one, moments that are theirs, answers that stay where y can be."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import MISSING, fields, replace
from functools import partial

import numpy as np

from .base import SUPPORTS, Observation, Scalar
from .quadrature import QuadratureWarning

Array = np.ndarray
#: y and f at which a likelihood is tried; y that cannot be, and f at which numbers stay finite.
TRIED = {
    "signs": (-1.0, 1.0), "counts": (0.0, 1.0, 7.0, 300.0), "positive": (0.02, 0.7, 3.0, 40.0),
    "reals": (-2.1, 0.3, 1.7, 9.0),
}  # fmt: skip
LATENT = (-6.5, -2.2, -0.3, 0.1, 1.4, 4.8)
IMPOSSIBLE = {
    "signs": (0.0, 2.0), "counts": (-1.0, 1.5), "positive": (-1.0, 0.0), "reals": (),
    "classes": (-1.0, 0.5),
}  # fmt: skip
EXTREME = (-1e5, -800.0, 800.0, 1e5)
#: Means and variances of f at which answers are tried, and their relative error.
MEANS, VARIANCES, CLOSE = (-2.3, 0.2, 1.9), (0.0, 0.3, 4.0, 30.0), 1e-6
#: Nodes of integrals over y, counts that are summed, and deviations of y that count.
NODES, MOST_COUNTS, FAR = 4001, 200_000, 60.0
#: Which of the nodes are ends, where nothing should be left.
ENDS: dict[str, list[int]] = {"signs": [], "counts": [-1], "positive": [0, -1], "reals": [0, -1]}
#: Step of five-point differences; errors that are forgiven, relative to a value and to the largest.
STEP, RELATIVE, ABSOLUTE = 1e-3, 1e-5, 1e-7
ORDINALS = ("first", "second", "third")


def check(likelihood: Observation) -> None:
    """ValueError where a likelihood of your own does not keep what it promises.

    Methods, shapes, values that are finite at any f, derivatives in f and in the logs of free
    parameters against differences, densities that add up to one, moments that are theirs, and
    predictions, quantiles and draws at small and large variances of f.

    Examples
    --------
    >>> from collegium import likelihoods
    >>> likelihoods.check(likelihoods.StudentT(dof=3.0))
    """
    check_methods(likelihood)
    y, f = examples(likelihood)
    if not y.size:
        return
    _check_support(likelihood, y)
    _check_extremes(likelihood, y)
    _check_derivatives(likelihood, y, f)
    if likelihood.free:
        _check_parameters(likelihood, y, f)
    if isinstance(likelihood, Scalar):
        _check_moments(likelihood, y, f)
        _check_integrals(likelihood, np.array(LATENT))
        _check_answers(likelihood)
        _check_predictive(likelihood, y)
        _check_quantiles(likelihood)


def check_methods(likelihood: Observation) -> None:
    """ValueError that names what is missing, or has the wrong shape."""
    if isinstance(likelihood, type) or not isinstance(likelihood, Observation):
        raise ValueError(f"{likelihood!r} is no likelihood: give an instance, such as Logit()")
    own, name = type(likelihood), type(likelihood).__name__
    if own.support not in SUPPORTS:
        raise ValueError(f"{name} has no support: give it one of {tuple(SUPPORTS)}")
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


def _check_support(likelihood: Observation, y: Array) -> None:
    own = (float(likelihood.latents),) if likelihood.support == "classes" else ()
    for wrong in (*IMPOSSIBLE[likelihood.support], *own, np.inf, np.nan):
        if _possible(likelihood, wrong):
            raise ValueError(
                f"check of {type(likelihood).__name__} lets y = {wrong:g} pass, which is not among "
                f"{likelihood.support}: call super().check(y) in it"
            )


def _check_extremes(likelihood: Observation, y: Array) -> None:
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


def _check_integrals(likelihood: Scalar, latent: Array) -> None:
    """Of p(y | f) over y: one, and the moments given f."""
    name, ends = type(likelihood).__name__, ENDS[likelihood.support]
    for f in latent:
        at = np.array([f])
        mean, variance = float(likelihood.mean(at)[0]), float(likelihood.variance(at)[0])
        y, weight = _over_y(likelihood.support, mean, np.sqrt(variance))
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
            if abs(found - expected) > CLOSE * (10.0 * size + 1e-9 * mean**2):
                raise ValueError(
                    f"{what} of {name} at f = {f:g} should be {expected:.6g}, and its density "
                    f"gives {found:.6g}"
                )


def _over_y(support: str, mean: float, sd: float) -> tuple[Array, Array]:
    """Nodes and weights of a sum or an integral over all y, of about this mean and spread."""
    sd = sd if np.isfinite(sd) and sd > 0.0 else 1.0
    if support == "signs":
        return np.array([-1.0, 1.0]), np.ones(2)
    if support == "counts":
        y = np.arange(min(mean + FAR * (sd + 1.0), MOST_COUNTS))
        return y, np.ones(y.size)
    if support == "positive":  # y = mean · e^(c sinh u), dy = y c cosh u du
        c = sd / mean
        u, step = np.linspace(-1.0, 1.0, NODES, retstep=True)
        far = np.arcsinh(300.0 / c)
        y = mean * np.exp(c * np.sinh(far * u))
        return y, y * c * np.cosh(far * u) * far * step
    far = np.arcsinh(1e10)  # y = mean + sd · sinh u
    u, step = np.linspace(-far, far, NODES, retstep=True)
    return mean + sd * np.sinh(u), sd * np.cosh(u) * step


def _trusted(of: Callable[..., object], *given: Array) -> object | None:
    """What a function gives, None where its integrals are not to be trusted."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error", QuadratureWarning)
        try:
            return of(*given)
        except QuadratureWarning:
            return None


def _check_answers(likelihood: Scalar) -> None:
    """`predict` and `function` against integrals over f, which must be good where used."""
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
            wrong = np.isfinite(other) & ~np.isclose(one, other, rtol=CLOSE, atol=1e-12)
            if wrong.any():
                i = int(np.argmax(wrong))
                raise ValueError(
                    f"{what} of {name} is wrong: at m = {m[i]:g}, v = {v[i]:g} its {moment} is "
                    f"{one[i]:.6g}, and the integral over f is {other[i]:.6g}"
                )


def _check_predictive(likelihood: Scalar, y: Array) -> None:
    """`log_predictive` against integrals over f."""
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
        if slow is not None and not np.allclose(np.exp(found), np.exp(slow), CLOSE, 1e-9):  # type: ignore
            raise ValueError(
                f"log_predictive of {name} is not the log of E[p(y | f)], f ~ N(m, {v:g})"
            )


def _check_quantiles(likelihood: Scalar) -> None:
    """Quantiles and draws lie where y can be; quantiles do not fall with their level."""
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
        impossible = [value for value in one if not _possible(likelihood, value)]
        if impossible:
            raise ValueError(f"{what} of {name} gives {impossible[0]:g}, which y cannot be")
    if (np.diff(ends, axis=0) < 0.0).any():
        raise ValueError(f"quantile of {name} falls with its level")


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
