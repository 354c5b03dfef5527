"""The version of this library, where every room can read it."""

__version__ = "0.2.0.dev0"
