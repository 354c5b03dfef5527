"""Words on the standard error, one JSON object on the standard output, progress on a terminal."""

from __future__ import annotations

import json
import logging
import math
import os
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import click

from .failures import Failure

#: Columns of the first word of a line.
FIRST = 13


class Terminal:
    """Says what one run of a command has to say."""

    def __init__(self) -> None:
        self.debug = False
        self.as_json = False
        self._shown = False  # whether a line of progress stands at the end

    @property
    def live(self) -> bool:
        """Whether the standard error is a terminal, where progress is shown."""
        return sys.stderr.isatty()

    def _style(self, text: str, live: bool, **style: Any) -> str:
        return click.style(text, **style) if live and not os.environ.get("NO_COLOR") else text

    def line(self, word: str, text: str) -> None:
        """Say one thing on the standard error: a word, then its text, wrapped on a terminal."""
        self.clear()
        self._write(self._lines(word, text, sys.stderr))

    def tell(self, word: str, text: str) -> None:
        """Write a line of the answer to the standard output, unless that is JSON."""
        if not self.as_json:
            self.clear()
            sys.stdout.write(self._lines(word, text, sys.stdout))
            sys.stdout.flush()

    def _lines(self, word: str, text: str, stream: TextIO) -> str:
        width, live = max(FIRST, len(word)) + 2, stream.isatty()
        space = shutil.get_terminal_size().columns - width if live else 0
        parts = textwrap.wrap(text, space, break_long_words=False) if space > 30 else [text]
        heads = [self._style(f"{word:<{width}}", live, bold=True), *[" " * width] * len(parts)]
        return "".join(f"{head}{part}\n" for head, part in zip(heads, parts or [""]))

    def note(self, text: str) -> None:
        """Say something that the user may not expect."""
        self.line("note", text)

    def fail(self, found: Failure) -> None:
        """Say why a command ends; as JSON on the standard output too, where that was asked for."""
        self.clear()
        self._write(f"{self._style('error', self.live, fg='red', bold=True)}: {found.words}\n")
        if self.as_json:
            said = {"code": found.code, "message": found.words, **found.where}
            self.answer({"error": said})

    def answer(self, found: dict[str, Any]) -> None:
        """Write one JSON object to the standard output."""
        sys.stdout.write(json.dumps(_plain(found), indent=2, ensure_ascii=False) + "\n")
        sys.stdout.flush()

    def progress(self, text: str) -> None:
        """Show a line that the next one replaces, on a terminal."""
        if self.live:
            self.clear()
            width = shutil.get_terminal_size().columns - 1
            self._write(self._style(text[:width], True, dim=True))
            self._shown = True

    def clear(self) -> None:
        """Remove the line of progress."""
        if self._shown:
            self._write("\r\x1b[2K")
            self._shown = False

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()

    @contextmanager
    def listening(self, hear: Callable[[str], bool] | None = None) -> Iterator[None]:
        """Show lines of the logger "collegium" as progress, and warnings as notes.

        `hear` sees every line first; it returns True for those that it has dealt with.
        """
        handler, logger = _Handler(self, hear), logging.getLogger("collegium")
        before, others = (logger.level, logger.propagate), logger.handlers
        logger.handlers = [handler]  # others may write to the standard output, which is for data
        logger.setLevel(logging.INFO)
        logger.propagate = False
        try:
            with warnings.catch_warnings():
                seen = set[str]()

                def told(message: Any, *_: Any, **__: Any) -> None:
                    if str(message) not in seen:
                        seen.add(str(message))
                        self.note(str(message))

                warnings.showwarning = told
                yield
        finally:
            self.clear()
            logger.handlers = others
            logger.level, logger.propagate = before


class _Handler(logging.Handler):
    """Shows lines of a logger on a terminal."""

    def __init__(self, terminal: Terminal, hear: Callable[[str], bool] | None) -> None:
        super().__init__()
        self.terminal, self.hear = terminal, hear

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        words = text.partition("] ")[2] if text.startswith("[collegium") else text
        if self.hear is not None and self.hear(words):
            return
        if record.levelno >= logging.WARNING:
            self.terminal.line("note", words)
        else:
            self.terminal.progress(words)


def _plain(value: Any) -> Any:
    """A value for JSON: numbers and arrays of NumPy as those of Python, null where not finite."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float)) or value is None else str(value)


def size_in_words(count: float) -> str:
    """Bytes, for people."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"
