"""Bayesian regression by committee.

Every chunk of data sends a Gaussian message about a finite vector of function values or
weights; a committee adds the messages to the prior. Batch, online and distributed learning
are all arithmetic on messages.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import kernels
from .core.basis import Anchors, Features
from .core.chunk import Chunk
from .core.experts import Block, Diagonal, Projected
from .core.message import Belief, Message, normalise

if TYPE_CHECKING:
    from . import bases, combination, densities, dof, observation, plots, priors, selection
    from .estimators import (
        CommitteeClassifier,
        CommitteeOf,
        CommitteeRegressor,
        NystromRegressor,
        OnlineGPClassifier,
        OnlineGPRegressor,
        RegressionFilter,
        RVCRegressor,
        SparseGPRegressor,
    )

__version__ = "0.1.0"

__all__ = [
    "Anchors",
    "Belief",
    "Block",
    "Chunk",
    "CommitteeClassifier",
    "CommitteeOf",
    "CommitteeRegressor",
    "Diagonal",
    "Features",
    "Message",
    "NystromRegressor",
    "OnlineGPClassifier",
    "OnlineGPRegressor",
    "Projected",
    "RVCRegressor",
    "RegressionFilter",
    "SparseGPRegressor",
    "bases",
    "combination",
    "densities",
    "dof",
    "kernels",
    "normalise",
    "observation",
    "plots",
    "priors",
    "selection",
]
#: Imported when first asked for.
MODULES = (
    "bases", "combination", "densities", "dof", "engines", "estimators", "observation", "plots",
    "priors", "selection",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Estimators, and what checks its arguments as they do, when first asked for: scikit-learn
    takes longer to import than everything else.
    """
    if name in MODULES:
        return import_module(f".{name}", __name__)
    if name in __all__:
        return getattr(import_module(".estimators", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
