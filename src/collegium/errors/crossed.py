"""Judge predictions of held-out rows by the density that errors with a learnt scale would give."""

from __future__ import annotations

import numpy as np

from ..rows.groups import count_of
from .basis import ScaleBasis
from .degrees import cross_fit
from .density import log_t_density
from .features import ScaleInputs
from .fitting import learn_scale
from .scale import _least, floor
from .tuning import TUNING

Array = np.ndarray


def crossed_density(
    at: ScaleInputs, y: Array, w: Array, steps: Array, group: Array | None = None
) -> Array:
    """log p(y) of held-out rows, each with a scale and a level by the other folds  (n, p).

    `steps`: the resolution of each output (p,). Too few rows show no scale: N(m, sd²).
    """
    errors, found = y - at.mean, np.empty(y.shape)
    few = w.size == 0 or count_of(group, w) < TUNING.decision.fewest
    for k in range(y.shape[1]):
        log_sd = at.log_sd[:, k]
        z = errors[:, k] * np.exp(-log_sd)
        if few:
            found[:, k] = log_t_density(z**2, 0.0, np.inf) - log_sd
            continue
        share = w / w.mean()
        bound = _least(log_sd, floor(float(steps[k]), errors[:, k]))
        blurred = np.hypot(z, np.exp(0.5 * bound))
        learnt = learn_scale(ScaleBasis.of(at, k, share), blurred, share)
        cross = cross_fit(learnt, blurred, share, bound, group)
        found[:, k] = cross.log_density(z) - log_sd
    return found
