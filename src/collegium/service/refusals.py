"""Refusals: a code of HTTP, words, and where the fault is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Refusal(Exception):
    """Ends a request with a reason."""

    def __init__(
        self, status: int, words: str, *, headers: Mapping[str, str] | None = None, **where: Any
    ) -> None:
        super().__init__(words)
        self.status, self.words, self.where = status, words, where
        self.headers = dict(headers or {})

    def as_dict(self) -> dict[str, Any]:
        """Describe what clients see."""
        return {"error": {"status": self.status, "message": self.words, **self.where}}
