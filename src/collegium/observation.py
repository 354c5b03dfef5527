"""Likelihoods p(y | f), for the argument `likelihood` of `CommitteeRegressor`.

Everything in `collegium.likelihoods`; derive from `Scalar` for one of your own.
"""

from .likelihoods import *  # noqa: F403
from .likelihoods import __all__  # noqa: F401
