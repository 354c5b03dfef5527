"""Bayesian regression by committee.

Every chunk of data sends a Gaussian message about a finite vector of function values or
weights; a committee adds the messages to the prior. Batch, online and distributed learning
are all arithmetic on messages.
"""

import ast
import gc
from functools import partial
from importlib import import_module
from pkgutil import get_data
from typing import Any

from .numerics import records

#: The module of every public name, as written in `__init__.pyi`; of modules an empty one.
HOMES = {
    name.name: line.module or ""
    for line in ast.parse(get_data(__name__, "__init__.pyi") or b"").body
    if isinstance(line, ast.ImportFrom)
    for name in line.names
}
#: Without `filter` and `open`: an import of all names would hide those of Python.
__all__ = sorted(set(HOMES) - {"filter", "open", "__version__"})


def __getattr__(name: str) -> Any:
    """Import what is asked for by name, when it is first asked for."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if not HOMES[name]:
        return _imported(name)
    found = globals()[name] = getattr(_imported(HOMES[name]), name)
    return found


def _imported(module: str) -> Any:
    """Import a module, with the garbage collector paused: it would look through everything that
    scikit-learn makes, several times, which is a fifth of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return import_module(f".{module}", __name__)
    finally:
        if collects:
            gc.enable()


def __dir__() -> list[str]:
    """Names that users meet, modules too."""
    return sorted({*HOMES, *(name for name in globals() if name.startswith("__"))})


for _name, _home in HOMES.items():
    if _name == "__version__":
        globals()[_name] = __getattr__(_name)
    elif _home and _name[0].isupper():
        records.expect_estimator(f"estimator.{_name.lower()}/1", partial(__getattr__, _name))
