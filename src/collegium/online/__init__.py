"""Sparse online Gaussian process of Csató & Opper (2002)."""
