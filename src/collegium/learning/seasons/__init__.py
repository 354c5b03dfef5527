"""Seasons and trends of a series, found by forecasts of held-out future rows."""
