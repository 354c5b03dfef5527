"""Combine Gaussian predictors: jointly with full covariances, query by query, or online."""

from .jacobians import basis_gaussian, laplace, linearised
from .joint import JointGaussian, bayesian, correlated, independent
from .members import Member, member
from .pointwise import combine
from .recursive import OnlineCommittee, OnlineMoments

__all__ = [
    "JointGaussian",
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
