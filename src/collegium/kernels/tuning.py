"""Tuning numbers of this room: none is a hyperparameter; changing one changes answers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class KernelsTuning:
    """Numbers of `trend`, `filtered` and `embedding`."""

    trend_deviation: float = 10.0  # prior sd of a trend's level and slopes, data scaled to sd 1
    panel: int = 16  # Gauss–Legendre nodes per panel of a filter's grid
    level_coordinates: int = 8  # coordinates of a level's point; so many levels are exactly 1 apart
    level_distance: float = 3.0  # mean squared distance of levels beyond those


TUNING = KernelsTuning()
