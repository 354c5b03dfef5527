"""Bayesian regression by committee."""
