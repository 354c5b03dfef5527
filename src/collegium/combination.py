"""Combine Gaussian predictors: jointly with full covariances, query by query, or online."""

from .combining.joint import Gaussian, bayesian, correlated, independent
from .combining.linearised import basis_gaussian, laplace, linearised
from .combining.members import Member, member
from .combining.pointwise import combine
from .combining.recursive import OnlineCommittee, OnlineMoments

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
