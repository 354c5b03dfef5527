"""Engines: where the sums over chunks are carried out."""

from .local import Serial, Threads, engine_for, single_threaded

__all__ = ["Serial", "Threads", "engine_for", "single_threaded"]
