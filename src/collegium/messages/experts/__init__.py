"""Experts, which send the messages of chunks, one file each; a new file is found by itself."""

from importlib import import_module
from pkgutil import iter_modules

from .base import Conditional, Diag, Expert, Full, log_repeats

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

globals().update({expert.__name__: expert for expert in Expert.registry})

__all__ = ["Conditional", "Diag", "Expert", "Full", "log_repeats"]
__all__ += sorted(expert.__name__ for expert in Expert.registry)
