"""Ctrl-C inside compiled functions."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts() -> Iterator[None]:
    """Let Ctrl-C come out as KeyboardInterrupt.

    An interrupt that arrives while a compiled function returns becomes the cause of a SystemError
    ("returned a result with an exception set").
    """
    try:
        yield
    except Exception as error:
        link: BaseException | None = error
        while link is not None:
            if isinstance(link, KeyboardInterrupt):
                raise KeyboardInterrupt from error
            link = link.__cause__ or link.__context__
        raise
