"""Rows on disk, sorted into cells: exact nearest rows without loading the rows (`store.py`)."""
