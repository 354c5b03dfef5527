"""Counts: `make bench-classes`, docs/classification.md."""
