"""Serve a ledger."""

from __future__ import annotations

import os

import click

from ..failures import DATA, MODEL_FILE, USAGE, Failure
from ..terminal import Terminal


def run_serve(terminal: Terminal, path: str, host: str, port: int, token_file: str | None) -> None:
    """Run the service of a ledger until it is told to end."""
    if not os.path.isfile(path):
        words = f"{path}: no such ledger: check the path (collegium.Ledger makes one)"
        raise Failure(MODEL_FILE, words, {"file": path})
    try:
        from ...service.child import ServiceRefused
        from ...service.server import run_service
        from ...service.settings import ServiceSettings, token_of
    except ImportError as error:
        words = f"{error.name} is not installed: pip install 'collegium[serve]'"
        raise Failure(USAGE, words) from error
    try:
        token = token_of(token_file)
        settings = ServiceSettings(path, host, port, token)
        run_service(settings, terminal.line)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    except OSError as error:
        words = f"{error.filename or path}: {error.strerror or error}"
        raise Failure(DATA, words) from error
    except ServiceRefused as error:
        words = str(error) if os.path.basename(path) in str(error) else f"{path}: {error}"
        raise Failure(MODEL_FILE, words, {"file": path}) from error
