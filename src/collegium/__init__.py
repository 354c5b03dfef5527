"""Bayesian regression by committee.

Every chunk of data sends a Gaussian message about a finite vector of function values or
weights; a committee adds the messages to the prior. Batch, online and distributed learning
are all arithmetic on messages.
"""

from . import combination, dof, kernels, selection
from .core.basis import Anchors, Features
from .core.chunk import Chunk
from .core.experts import Block, Diagonal, Projected
from .core.message import Belief, Message, normalise
from .estimators import (
    CommitteeOf,
    CommitteeRegressor,
    NystromRegressor,
    OnlineGPClassifier,
    OnlineGPRegressor,
    SparseGPRegressor,
)

__version__ = "0.1.0"

__all__ = [
    "Anchors",
    "Belief",
    "Block",
    "Chunk",
    "CommitteeOf",
    "CommitteeRegressor",
    "Diagonal",
    "Features",
    "Message",
    "NystromRegressor",
    "OnlineGPClassifier",
    "OnlineGPRegressor",
    "Projected",
    "SparseGPRegressor",
    "combination",
    "dof",
    "kernels",
    "normalise",
    "selection",
]
