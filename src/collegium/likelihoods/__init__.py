"""Likelihoods p(y | f), for the argument `likelihood` of estimators.

One file each; a new file in this folder is found by itself. Derive from `Scalar` for one of your
own, and try it with `check`.
"""

from importlib import import_module
from pkgutil import iter_modules

from .base import Observation, Scalar
from .conformance import check
from .integrals.quadrature import QuadratureWarning
from .support import CLASSES, COUNTS, POSITIVE, REALS, SIGNS, UNIT, Support

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

globals().update({one.__name__: one for one in Observation.registry})

__all__ = ["CLASSES", "COUNTS", "POSITIVE", "REALS", "SIGNS", "UNIT", "Support"]
__all__ += ["Observation", "QuadratureWarning", "Scalar", "check"]
__all__ += [*sorted(one.__name__ for one in Observation.registry)]
