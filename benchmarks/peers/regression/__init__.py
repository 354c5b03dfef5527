"""Means and standard deviations of new observations."""
