"""Likelihoods p(y | f), for the argument `likelihood` of `CommitteeRegressor`.

Everything in `collegium.core.observation`; derive from `Scalar` for one of your own.
"""

from .core.observation import *  # noqa: F403
from .core.observation import __all__  # noqa: F401
