"""Where a `RegressionFilter` expects inputs."""

from .core.filter.densities import Empirical, Normal, UniformBox

__all__ = ["Empirical", "Normal", "UniformBox"]
