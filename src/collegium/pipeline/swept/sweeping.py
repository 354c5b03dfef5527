"""How often the chunks of a generalised committee are approximated again, and what to warn of."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from ...laplace.tuning import TUNING as LAPLACE
from ...numerics.records import record


@record("pipeline.sweeping/1")
@dataclass(frozen=True, eq=False)
class Sweeping:
    """The field `sweeps` of inference, resolved."""

    most: int
    settle: bool  # whether messages should come to rest
    sequential: bool
    tolerance: float

    def check(self, committees: Sequence[Any]) -> None:
        """Warn where messages did not come to rest, or modes were not found."""
        change = max(one.change for one in committees)
        if self.settle and change > max(self.tolerance, LAPLACE.sweeps.rounding):
            warnings.warn(
                f"messages still moved by {change:.1e} after {self.most} sweeps: give inference="
                "collegium.Inductive(sweeps=collegium.Sweeps(schedule='sequence')) (or "
                "Transductive), larger chunks, or sweeps=1",
                ConvergenceWarning,
                stacklevel=2,
            )
        check_modes(committees)


def check_modes(committees: Sequence[Any]) -> None:
    if not all(one.modes_found for one in committees):
        warnings.warn(
            "Newton's method did not find the mode of every chunk, and what these say may be "
            "wrong: look for extreme targets or weights, or give a kernel of less variance",
            ConvergenceWarning,
            stacklevel=2,
        )
