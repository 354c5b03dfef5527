"""Zhu & Rohwer (1995), "Bayesian regression filters and the issue of priors"."""
