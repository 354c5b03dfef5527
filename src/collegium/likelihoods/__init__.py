"""Likelihoods p(y | f), one file each; a new file in this folder is found by itself."""

from importlib import import_module
from pkgutil import iter_modules

from .base import Observation, Scalar
from .conformance import check
from .quadrature import QuadratureWarning

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

globals().update({one.__name__: one for one in Observation.registry})

__all__ = ["Observation", "QuadratureWarning", "Scalar", "check"]
__all__ += [*sorted(one.__name__ for one in Observation.registry)]
