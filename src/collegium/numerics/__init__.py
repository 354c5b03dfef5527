"""Foundations: factorisations, jitter, LAPACK, threads, clocks, memory."""
