"""Schwaighofer & Tresp (2002), "Transductive and inductive methods for approximate Gaussian process
regression".
"""
