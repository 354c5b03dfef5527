"""Intervals and sets that cover with a guarantee, whatever the model: conformal prediction."""
