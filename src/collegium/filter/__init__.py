"""Regression filters: a function-space prior projected onto a basis (Zhu & Rohwer 1995).

Bases are records that map X (n, d) to values (n, m); densities say where inputs are expected.
"""

from .bases import Cosines, GaussianBumps, LinearSplines, RandomFourier
from .densities import Empirical, NormalInputs, UniformBox

__all__ = [
    "Cosines",
    "Empirical",
    "GaussianBumps",
    "LinearSplines",
    "NormalInputs",
    "RandomFourier",
    "UniformBox",
]
