"""Integrals over f ~ N(m, v): by quadrature, and of counts and rates in closed form."""
