"""Targets with large errors among them: `make bench-classes`, docs/classification.md."""
