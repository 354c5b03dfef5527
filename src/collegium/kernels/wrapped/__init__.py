"""Kernels of features of x, such as points on a globe: one file each."""
