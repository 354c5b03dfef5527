"""Engines: where the sums over chunks are carried out."""

from .local import Serial, Threads, engine_for, single_threaded_blas

__all__ = ["Serial", "Threads", "engine_for", "single_threaded_blas"]
