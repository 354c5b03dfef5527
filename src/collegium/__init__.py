"""Bayesian regression by committee.

Every chunk of data sends a Gaussian message about a finite vector of function values or
weights; a committee adds the messages to the prior. Batch, online and distributed learning
are all arithmetic on messages.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import kernels
from .messages.basis import Anchors, Features
from .messages.experts.block import Block
from .messages.experts.diagonal import Diagonal
from .messages.experts.projected import Projected
from .messages.message import Belief, Message, normalise
from .numerics.version import __version__ as __version__
from .rows.chunk import Chunk

if TYPE_CHECKING:
    from . import combining, dof, likelihoods, plots, priors, selection
    from . import filter as filter
    from .combining.regressor import CommitteeOf
    from .committee.classifier import CommitteeClassifier
    from .committee.experts import ExpertsRegressor
    from .committee.regressor import CommitteeRegressor
    from .deployment import load, warm_up
    from .filter.regressor import RegressionFilter
    from .interface.options import CG, AnswerTime, Select, Sweeps, Transductive
    from .interface.watching import StreamWarning
    from .modelfile.errors import ModelFileError
    from .online.classifier import OnlineGPClassifier
    from .online.regressor import OnlineGPRegressor
    from .rvc.regressor import RVCRegressor
    from .sources.opening import open as open
    from .sources.source import Source
    from .sparse.nystrom_regressor import NystromRegressor
    from .sparse.regressor import SparseGPRegressor

__all__ = [
    "CG",
    "Anchors",
    "AnswerTime",
    "Belief",
    "Block",
    "Chunk",
    "CommitteeClassifier",
    "CommitteeOf",
    "CommitteeRegressor",
    "Diagonal",
    "ExpertsRegressor",
    "Features",
    "Message",
    "ModelFileError",
    "NystromRegressor",
    "OnlineGPClassifier",
    "OnlineGPRegressor",
    "Projected",
    "RVCRegressor",
    "RegressionFilter",
    "Select",
    "Source",
    "SparseGPRegressor",
    "StreamWarning",
    "Sweeps",
    "Transductive",
    "combining",
    "dof",
    "kernels",
    "likelihoods",
    "load",
    "normalise",
    "plots",
    "priors",
    "selection",
    "warm_up",
]
#: Where estimators and their options live. They are imported when first asked for: scikit-learn
#: takes longer to import than everything else. `open` and `filter` are not in `__all__`: an import
#: of all names would hide those of Python.
ESTIMATORS = {
    "CG": "interface.options",
    "AnswerTime": "interface.options",
    "CommitteeClassifier": "committee.classifier",
    "CommitteeOf": "combining.regressor",
    "CommitteeRegressor": "committee.regressor",
    "ExpertsRegressor": "committee.experts",
    "ModelFileError": "modelfile.errors",
    "NystromRegressor": "sparse.nystrom_regressor",
    "OnlineGPClassifier": "online.classifier",
    "OnlineGPRegressor": "online.regressor",
    "RVCRegressor": "rvc.regressor",
    "RegressionFilter": "filter.regressor",
    "Select": "interface.options",
    "Source": "sources.source",
    "SparseGPRegressor": "sparse.regressor",
    "StreamWarning": "interface.watching",
    "Sweeps": "interface.options",
    "Transductive": "interface.options",
    "load": "deployment",
    "open": "sources.opening",
    "warm_up": "deployment",
}
#: Modules that are imported when first asked for.
MODULES = (
    "combining", "datasets", "dof", "engines", "filter", "likelihoods", "metrics", "plots",
    "priors", "selection",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import what is asked for by name."""
    if name in MODULES:
        return import_module(f".{name}", __name__)
    if name in ESTIMATORS:
        return getattr(import_module(f".{ESTIMATORS[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *ESTIMATORS, *MODULES})
