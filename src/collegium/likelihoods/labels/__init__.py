"""Likelihoods of labels: two of them (±1), or several classes."""
