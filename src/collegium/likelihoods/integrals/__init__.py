"""Integrals over f ~ N(m, v): by quadrature, in closed form, for moment matching (`sites.py`)."""
