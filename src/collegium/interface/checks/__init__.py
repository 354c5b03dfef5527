"""Checks of arguments and rows that users pass."""
