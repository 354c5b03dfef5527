"""Covariances of predictions that cost little: correlations from few nearest rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..answers.predictors import LocalPredictor
from .tuning import TUNING

Array = np.ndarray


def quick(predictor: Any) -> Any:
    """The predictor of f below errors, members, refined means and cells; of nearest rows with few
    of them, since covariances take the square of the number of all rows near any query."""
    own = predictor
    while True:
        if isinstance(own, LocalPredictor):
            few = replace(own, k=min(own.k, TUNING.near))
            vars(few)["design"] = own.design
            return few
        inner = getattr(own, "own", None) or getattr(own, "accurate", None) or _one_latent(own)
        if inner is None:
            return own
        own = inner


def _one_latent(own: Any) -> Any:
    """The predictor of the one latent function of counts and the like; None: it is not one."""
    latents = getattr(own, "latents", None)
    return None if latents is None or latents.together is not None else latents.each[0]


def correlations(C: Array) -> Array:
    """C with ones on its diagonal; zeros elsewhere in rows without variance."""
    sd = np.sqrt(np.maximum(C.diagonal(), 0.0))
    inverse = np.divide(1.0, sd, out=np.zeros_like(sd), where=sd > 0.0)
    R = np.clip(C * inverse * inverse[:, None], -1.0, 1.0)
    np.fill_diagonal(R, 1.0)
    return R


def from_sds(R: Array, sd: Array) -> Array:
    """sdᵢ sdⱼ Rᵢⱼ."""
    return R * sd * sd[:, None]
