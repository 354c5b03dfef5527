"""Bayesian regression by committee.

Every chunk of data sends a Gaussian message about a finite vector of function values or
weights; a committee adds the messages to the prior. Batch, online and distributed learning
are all arithmetic on messages.
"""

import ast
from functools import partial
from importlib import import_module
from pkgutil import get_data
from typing import Any

from .numerics import records

#: Rooms that are imported at once; other names when they are first asked for.
EAGER = ("kernels", "messages", "numerics", "rows")
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
    """Import what is asked for by name."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if not HOMES[name]:
        return import_module(f".{name}", __name__)
    return getattr(import_module(f".{HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES})


for _name, _home in HOMES.items():
    if (_home or _name).split(".")[0] in EAGER:
        globals()[_name] = __getattr__(_name)
    elif _name[0].isupper():
        records.expect_estimator(f"estimator.{_name.lower()}/1", partial(__getattr__, _name))
