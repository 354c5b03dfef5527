"""Where a `RegressionFilter` expects inputs."""

from .filter.densities import Empirical, Normal, UniformBox

__all__ = ["Empirical", "Normal", "UniformBox"]
