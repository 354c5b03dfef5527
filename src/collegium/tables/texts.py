"""Dates and numbers that came as text, which would be levels of which hardly two are alike."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence

import numpy as np

from .levels import Key
from .reading import LEVELS, Found

CLOCK = r"(?:[T ]\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?\s?(?:Z|[+-]\d\d:?\d\d)?)?"
DAY = r"(?:\d{4}-\d{1,2}-\d{1,2}|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}[./-]\d{1,2}[./-]\d{4})"
A_DATE = re.compile(DAY + CLOCK)
A_NUMBER = re.compile(r"[+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?")
#: How a missing value is written among texts.
MISSING = frozenset({"", "-", "?", "na", "n/a", "nan", "none", "null"})
#: Fewer different texts may well be levels.
FEWEST = 10


class TextColumnWarning(UserWarning):
    """A column of texts looks like one of dates or numbers, and is treated as levels."""


def warn_of_texts(found: Sequence[Found], levels: Iterable[int] = ()) -> None:
    """Warn of columns of dates or numbers that came as text; those of `levels` are meant so."""
    meant = set(levels)
    for k, one in enumerate(found):
        kind = None if k in meant or one.kind != LEVELS else written_kind(one)
        if kind is not None:
            function = {"dates": "pd.to_datetime", "numbers": "pd.to_numeric"}[kind]
            warnings.warn(
                f"column {one.name!r} holds {kind} as text, which are treated as words, each equal "
                f"to itself alone: convert it ({function} does), or name it in "
                "categorical_features= if words are meant",
                TextColumnWarning,
                stacklevel=2,
            )


def written_kind(found: Found) -> str | None:
    """Say which kind all texts of a column are written as: "dates", "numbers" or None.

    Numbers may be codes; they are named only where most rows have a number of their own.
    """
    used = np.bincount(found.values[~found.gone].astype(np.int64), minlength=len(found.keys))
    keys: list[Key] = [key for key, n in zip(found.keys, used) if n]
    if len(keys) < FEWEST or any(kind != "text" for kind, _ in keys):
        return None
    texts = [text.strip() for _, text in keys]
    texts = [text for text in texts if text.lower() not in MISSING]
    if len(texts) < FEWEST:
        return None
    if _all_match(A_DATE, texts):
        return "dates"
    return "numbers" if 2 * len(keys) > used.sum() and _all_match(A_NUMBER, texts) else None


def _all_match(pattern: re.Pattern[str], texts: Iterable[str]) -> bool:
    return all(pattern.fullmatch(text) for text in texts)
