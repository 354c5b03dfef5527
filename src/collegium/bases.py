"""Bases of a `RegressionFilter`: records that map X (n, d) to values (n, m)."""

from .filter.bases import Cosines, GaussianBumps, LinearSplines, RandomFourier

__all__ = ["Cosines", "GaussianBumps", "LinearSplines", "RandomFourier"]
