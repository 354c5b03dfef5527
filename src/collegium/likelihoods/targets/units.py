"""Units in which a likelihood sees y: centred and scaled, or relative to a typical rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...numerics.records import record
from ...rows.scaling import Scaling

Array = np.ndarray


@record("rows.units/1")
@dataclass(frozen=True, eq=False)
class Units:
    """y = centre + scale · (what the likelihood sees), f relative to `shift`.

    With a second column of y, its exposures, the likelihood sees exposures times e^shift: so f
    is a log rate relative to a typical one.
    """

    scaling: Scaling
    shift: float = 0.0  # the latent number that the prior expects: added to f in answers
    standard: bool = False  # whether y as it is seen has its centre at zero and size one
    exposed: bool = False  # whether some exposure was not one

    def forward(self, y: Array) -> Array:
        """Convert y from the user's units to those of the likelihood  (n, c)."""
        if y.shape[1] > 1:
            return np.column_stack([y[:, 0], y[:, 1] * np.exp(self.shift)])
        return self.scaling.forward(y)

    def backward(self, y: Array) -> Array:
        """Convert y back: the inverse of `forward`."""
        if y.shape[1] > 1:
            return np.column_stack([y[:, 0], y[:, 1] / np.exp(self.shift)])
        return self.scaling.mean(y)

    @property
    def square(self) -> float:
        """scale²: one squared unit of the likelihood in squared units of the user."""
        return float(self.scaling.scale[0] ** 2)


def exposed(y: Array) -> bool:
    """Whether some exposure is not one."""
    return y.shape[1] > 1 and bool((y[:, 1] != 1.0).any())


def log_exposure(y: Array) -> Array | float:
    """log e of each row of y (…, c); zero where y has one column."""
    return np.log(y[..., 1]) if y.shape[-1] > 1 else 0.0


def signs(codes: Array, n_problems: int) -> list[Array]:
    """±1 of each problem: the second class of two, or each class against the rest."""
    own = [1] if n_problems == 1 else range(n_problems)
    return [np.where(codes == k, 1.0, -1.0) for k in own]
