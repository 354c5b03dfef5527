"""Bayesian optimisation: where to evaluate an expensive function next."""

from .loop import Optimum, minimise
from .suggesting import suggest

__all__ = ["Optimum", "minimise", "suggest"]
