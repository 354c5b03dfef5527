"""The scikit-learn layer: validate, translate, name. No mathematics."""

from .committee import CommitteeRegressor
from .committee_of import CommitteeOf
from .nystrom import NystromRegressor
from .sparse import SparseGPRegressor

__all__ = ["CommitteeOf", "CommitteeRegressor", "NystromRegressor", "SparseGPRegressor"]
