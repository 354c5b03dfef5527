"""Limits and addresses of a service."""

from __future__ import annotations

import os
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

#: The environment variable that may hold the token.
TOKEN = "COLLEGIUM_TOKEN"
#: Characters that a token has at least.
SHORTEST = 16


@dataclass(frozen=True)
class ServiceSettings:
    """Arguments of `collegium serve`, and limits of what a request may cost."""

    path: str  # of the ledger
    host: str = "127.0.0.1"
    port: int = 8080
    token: str | None = None
    most_bytes: int = 1_000_000  # of a body
    most_rows: int = 10_000  # of a request
    most_waiting: int = 100_000  # rows that wait to be learnt
    patience: float = 10.0  # seconds for the head of a request, and for its body
    longest: float = 120.0  # seconds for an answer, its reader included
    connections: int = 512

    def __repr__(self) -> str:
        return f"ServiceSettings({self.path!r}, {self.host!r}, {self.port})"  # not the token

    @property
    def name(self) -> str:
        """The name of the model: that of the ledger without its ending."""
        return os.path.basename(self.path).rpartition(".")[0] or os.path.basename(self.path)

    @property
    def local(self) -> bool:
        """Whether the service can be reached from this machine alone."""
        return is_local(self.host)


def is_local(host: str) -> bool:
    """Whether an address is one of this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def token_of(file: str | None, environ: Any = os.environ) -> str | None:
    """Read the token from a file or from the environment; None: there is none."""
    if file is not None:
        with open(file, encoding="utf-8") as opened:
            found = opened.read(10_000).strip()
        where = file
    else:
        found, where = environ.get(TOKEN, "").strip(), TOKEN
        if not found:
            return None
    if len(found) < SHORTEST or not found.isascii() or not found.isprintable() or " " in found:
        raise ValueError(
            f"{where}: a token has at least {SHORTEST} printable characters without spaces, such "
            "as those of `openssl rand -hex 32`"
        )
    return found


def check_open(settings: ServiceSettings) -> None:
    """Refuse an address that others reach, unless they need a token."""
    if not settings.local and settings.token is None:
        raise ValueError(
            f"host {settings.host} can be reached from other machines: give a token by "
            f"--token-file or in {TOKEN}, or listen on 127.0.0.1"
        )
