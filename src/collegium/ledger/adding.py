"""Sums of messages of many rows, a batch at a time, so that memory is bounded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..messages.total import Total
from ..rows.ids import Id
from .table import GivenRows
from .tuning import TUNING


class RunningTotal:
    """total + Σ messages that were heard − Σ messages that were lost, where messages add up."""

    def __init__(self, template: Any, total: Total | None) -> None:
        self.template, self.total = template, total
        self._waiting: dict[bool, list[tuple[Id, GivenRows]]] = {False: [], True: []}
        self._n = 0

    def hear(self, id: Id, rows: GivenRows, *, lost: bool = False) -> None:
        """Add the messages of rows, or subtract them."""
        if self.template.exact:
            self._waiting[lost].append((id, rows))
            self._n += rows.n
            if self._n >= TUNING.batch:
                self._settle()

    def all(self, parts: Iterable[tuple[Id, GivenRows]], *, lost: bool = False) -> RunningTotal:
        """Add or subtract the messages of all parts."""
        if self.template.exact:
            for id, rows in parts:
                self.hear(id, rows, lost=lost)
        return self

    def _settle(self) -> None:
        new, gone = self._waiting[False], self._waiting[True]
        if gone:
            self.total = self.template.minus(self.total, gone)
        if new or self.total is None:
            self.total = self.template.plus(self.total, new)
        self._waiting, self._n = {False: [], True: []}, 0

    def result(self) -> Total | None:
        """Return the sum; None where messages do not add up."""
        if not self.template.exact:
            return None
        self._settle()
        return self.total
