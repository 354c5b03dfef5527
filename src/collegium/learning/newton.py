"""Minimise within bounds by Newton-like steps, where an estimate of the curvature is known.

The curvature B is asked for at the start and every few steps; in between, each step corrects it
by the change of the gradient along the step (BFGS), so that an estimate from a part of the data
will do. Coordinates at a bound, with the gradient pointing beyond it, are held there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..numerics import linalg
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Point:
    """A place with its value and gradient."""

    x: Array
    value: float
    gradient: Array


def descend(
    f: Callable[[Array], tuple[float, Array]], curvature: Callable[[Array], Array], start: Array,
    low: Array, high: Array, *, max_iter: int, gain: float = TUNING.newton.gain,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[Point, bool]:  # fmt: skip
    """Return the best point found, and whether no step gains more than `gain`.

    `f` gives value and gradient, `curvature` a positive definite estimate of the Hessian. Once
    `stop()` is true, no further step is made.
    """
    t, B, age = TUNING.newton, np.empty(0), 0
    x = np.clip(start, low, high)
    at = Point(x, *f(x))
    for _ in range(max_iter):
        if stop() or not np.isfinite(at.value):
            return at, False
        if age == 0:
            B = curvature(at.x)
        new = _line_search(f, at, _step(at, B, low, high), low, high)
        gained = 0.0 if new is None else at.value - new.value
        if new is not None:
            B, at = _updated(B, new.x - at.x, new.gradient - at.gradient), new
        if gained > gain:
            age = (age + 1) % t.refreshed
        elif age == 0:
            return at, True
        else:  # an old curvature may be to blame
            age = 0
    return at, False


def _step(at: Point, B: Array, low: Array, high: Array) -> Array:
    """−B⁻¹g of the free coordinates, none of them larger than the longest step."""
    g = at.gradient
    free = ~(((at.x <= low) & (g > 0.0)) | ((at.x >= high) & (g < 0.0)))
    step = np.zeros(g.size)
    if free.any():
        own = B[np.ix_(free, free)]
        L, _ = linalg.cholesky(own, float(own.diagonal().max()), nugget=linalg.JITTERS[0])
        step[free] = -linalg.solve_posdef(L, g[free])
    return step * min(1.0, TUNING.newton.longest / max(np.abs(step).max(), 1e-300))


def _line_search(
    f: Callable[[Array], tuple[float, Array]], at: Point, step: Array, low: Array, high: Array
) -> Point | None:
    """Shorten the step, by quadratic interpolation, until the value falls; None: it never does."""
    t, share = TUNING.newton, 1.0
    for _ in range(t.halvings):
        x = np.clip(at.x + share * step, low, high)
        expected = float(at.gradient @ (x - at.x))
        if expected >= 0.0:  # bounds have cut off what was downhill
            share *= 0.5
            continue
        value, gradient = f(x)
        if np.isfinite(value) and value <= at.value + t.enough * expected:
            return Point(x, value, gradient)
        bend = value - at.value - expected  # ½ s²φ″, above zero here
        share *= float(np.clip(-0.5 * expected / bend, 0.1, 0.5)) if np.isfinite(bend) else 0.1
    return None


def _updated(B: Array, s: Array, y: Array) -> Array:
    """B − Bs sᵀB/(sᵀBs) + yyᵀ/(yᵀs), where the curvature along s is positive."""
    Bs, sy = B @ s, float(s @ y)
    if sy <= 1e-10 * float(s @ Bs):
        return B
    return B - np.outer(Bs, Bs) / float(s @ Bs) + np.outer(y, y) / sy
