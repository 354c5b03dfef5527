"""Covariance functions: everything in `collegium.core.kernels`, under a short name."""

from .core.kernels import *  # noqa: F403
from .core.kernels import __all__  # noqa: F401
