"""The scikit-learn layer: validate, translate, name. No mathematics."""

from .committee import CommitteeRegressor
from .committee_of import CommitteeOf

__all__ = ["CommitteeOf", "CommitteeRegressor"]
