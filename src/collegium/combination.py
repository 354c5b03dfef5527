"""Combine Gaussian predictors: jointly with full covariances, query by query, or online."""

from .core.combination import Gaussian, bayesian, correlated, independent
from .core.pointwise import combine
from .core.recursive import OnlineCommittee, OnlineMoments

__all__ = [
    "Gaussian",
    "OnlineCommittee",
    "OnlineMoments",
    "bayesian",
    "combine",
    "correlated",
    "independent",
]
