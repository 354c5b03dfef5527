"""Values that y cannot take, and f of any size."""

from __future__ import annotations

import numpy as np

from ..base import Observation
from ..targets.support import CLASSES
from .methods import ORDINALS, possible

Array = np.ndarray
#: f at which numbers must stay finite.
EXTREME = (-1e5, -800.0, 800.0, 1e5)


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
