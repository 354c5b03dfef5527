"""Likelihoods p(y | f), for the argument `likelihood` of `CommitteeRegressor`.

Derive from `Scalar` for one of your own; see CONTRIBUTING.
"""

from .core.observation import (
    Gaussian,
    Logit,
    Observation,
    Poisson,
    Probit,
    Scalar,
    Softmax,
    StudentT,
)

__all__ = [
    "Gaussian", "Logit", "Observation", "Poisson", "Probit", "Scalar", "Softmax", "StudentT",
]  # fmt: skip
