"""Distributions of y where a likelihood says no more than its mean and variance given f."""
