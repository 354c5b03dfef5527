"""Optional libraries, imported when something needs them."""

from importlib import import_module
from typing import Any


def library(name: str, extra: str, what: str) -> Any:
    """Import a module of an optional library; `extra` installs it, `what` needs it."""
    try:
        return import_module(name)
    except ImportError as error:
        needed = name.partition(".")[0]
        message = f"{what} needs {needed}: pip install 'collegium[{extra}]'"
        raise ImportError(message) from error
