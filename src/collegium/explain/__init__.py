"""Explain answers: effects of columns, contributions to single predictions, nearest rows."""

from .effects import Effect, effect, effect2
from .explanation import Explanation

__all__ = ["Effect", "Explanation", "effect", "effect2"]
