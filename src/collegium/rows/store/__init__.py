"""Rows on disk, sorted into cells: exact nearest rows without rows in memory (`store.py`)."""
