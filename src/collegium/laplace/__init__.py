"""Generalised committee: non-Gaussian likelihoods by Laplace's approximation."""
