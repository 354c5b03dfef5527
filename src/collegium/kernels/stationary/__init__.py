"""Stationary kernels: their base class, the compiled leaves they share, and one file each."""

from .base import Stationary

__all__ = ["Stationary"]
