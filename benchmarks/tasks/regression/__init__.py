"""Targets with Gaussian noise: `make bench`, docs/benchmarks.md."""
