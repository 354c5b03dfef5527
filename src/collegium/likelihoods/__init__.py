"""Likelihoods p(y | f), for the argument `likelihood` of estimators.

One file each; a new file in this folder or in `labels/` is found by itself. Derive from `Scalar`
for one of your own, and try it with `check`.
"""

from importlib import import_module
from pkgutil import walk_packages

from .base import Observation, Scalar
from .conformance import check
from .integrals.quadrature import QuadratureWarning
from .targets.support import CLASSES, COUNTS, POSITIVE, REALS, SIGNS, UNIT, Support

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)

globals().update({one.__name__: one for one in Observation.registry})

__all__ = ["CLASSES", "COUNTS", "POSITIVE", "REALS", "SIGNS", "UNIT", "Support"]
__all__ += ["Observation", "QuadratureWarning", "Scalar", "check"]
__all__ += [*sorted(one.__name__ for one in Observation.registry)]
