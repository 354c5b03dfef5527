"""Kernels that are products of finitely many features: one file each."""
