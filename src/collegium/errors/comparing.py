"""Log densities of held-out rows under errors with a scale, to compare candidates.

Hyperparameters of the scale are learnt for the first candidate and kept for the others: all are
judged by the same prior, and each takes a fraction of the time. Weights, level and degrees of
freedom are each candidate's own, learnt from rows of other folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..rows.groups import count_of
from .basis import ScaleBasis
from .degrees import cross_fit
from .features import ScaleInputs
from .fitting import LearntScale, find_mode, learn_scale
from .scale import ErrorScale, OutputScale, least_log_scale, seen_errors
from .tuning import TUNING
from .values import Values

Array = np.ndarray


@dataclass(eq=False)
class Comparison:
    """Rows that candidates are compared by, and hyperparameters of the scale of each output."""

    y: Array  # (n, p)
    weight: Array  # (n,)
    values: Sequence[Values | None]
    group: Array | None = None
    known: dict[int, tuple[Array, float]] = field(default_factory=dict)  # θ, ν

    def log_density(self, inputs: ScaleInputs) -> Array:
        """Compute the log density of each y by a scale that was learnt from other rows  (n, p)."""
        w = self.weight / self.weight.mean()
        alone = self.group is not None and (self.group == self.group[0]).all()
        if alone or count_of(None, w) < TUNING.decision.fewest:
            plain = tuple(OutputScale.constant(values=one) for one in self.values)
            return ErrorScale(plain).predictive(inputs).log_density(self.y)
        if self.group is not None:
            w = w * (count_of(self.group, w) / w.size)
        found = [self._output(inputs, k, w) for k in range(self.y.shape[1])]
        return np.stack(found, axis=1)

    def _output(self, inputs: ScaleInputs, k: int, w: Array) -> Array:
        log_sd, errors = inputs.log_sd[:, k], self.y[:, k] - inputs.mean[:, k]
        bound = least_log_scale(log_sd, 0.0)
        seen, blurred = seen_errors(errors, log_sd, self.values[k], self.y[:, k], bound)
        basis = ScaleBasis.of(inputs, k, w)
        if k not in self.known:
            learnt = learn_scale(basis, blurred, w)
            self.known[k] = learnt.theta, learnt.nu
        else:
            theta, nu = self.known[k]
            B = basis.design(theta)
            learnt = LearntScale(theta, nu, B, find_mode(B, blurred, w, nu))
        return cross_fit(learnt, blurred, w, bound, self.group).log_density(seen) - log_sd
