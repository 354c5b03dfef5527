"""Combine Gaussian predictors: jointly with full covariances, query by query, or online."""

from .core.combination import Gaussian, bayesian, correlated, independent
from .core.linearised import basis_gaussian, laplace, linearised
from .core.pointwise import combine
from .core.recursive import OnlineCommittee, OnlineMoments
from .estimators.gaussians import Member, member

__all__ = [
    "Gaussian",
    "Member",
    "OnlineCommittee",
    "OnlineMoments",
    "basis_gaussian",
    "bayesian",
    "combine",
    "correlated",
    "independent",
    "laplace",
    "linearised",
    "member",
]
