"""Means and intervals of counts."""
