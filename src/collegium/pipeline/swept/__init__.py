"""Likelihoods that are not Gaussian: chunks are approximated in sweeps, in memory or on disk."""
