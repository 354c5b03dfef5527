"""The scikit-learn layer: validate, translate, name. No mathematics."""

from .committee import CommitteeRegressor

__all__ = ["CommitteeRegressor"]
