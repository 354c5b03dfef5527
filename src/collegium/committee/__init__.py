"""The Bayesian committee machine as estimators: regression, counts, classes."""
