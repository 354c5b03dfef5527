"""The memory of this machine, and the refusal of work that it could not hold."""

from __future__ import annotations

import os


def physical() -> float:
    """Bytes of memory of this machine; infinite where they are unknown."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # not on every system
        return float("inf")


def refuse_beyond_machine(needed: float, what: str, remedy: str) -> None:
    """Raise before arrays are allocated that this machine has no memory for."""
    allowed = physical()
    if needed > allowed:
        raise ValueError(
            f"{what} would take {in_words(needed)} of memory, and this machine has "
            f"{in_words(allowed)}: {remedy}"
        )


def in_words(count: float) -> str:
    """Format a number of bytes."""
    return f"{count / 1e9:.2f} GB" if count >= 1e8 else f"{count / 1e6:.2f} MB"
