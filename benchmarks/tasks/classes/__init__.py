"""Two classes and more: `make bench-classes`, docs/classification.md."""
