"""The scikit-learn layer: validate, translate, name. No mathematics."""

from .classifier import CommitteeClassifier
from .committee import CommitteeRegressor
from .committee_of import CommitteeOf
from .nystrom import NystromRegressor
from .online_classifier import OnlineGPClassifier
from .online_regressor import OnlineGPRegressor
from .regression_filter import RegressionFilter
from .rvc import RVCRegressor
from .sparse import SparseGPRegressor

__all__ = [
    "CommitteeClassifier",
    "CommitteeOf",
    "CommitteeRegressor",
    "NystromRegressor",
    "OnlineGPClassifier",
    "OnlineGPRegressor",
    "RVCRegressor",
    "RegressionFilter",
    "SparseGPRegressor",
]
