"""Tresp (2000), "A Bayesian committee machine"."""
