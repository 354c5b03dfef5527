"""Hyperparameters, anchors, and the check of the error bars on held-out rows."""
