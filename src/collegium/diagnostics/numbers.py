"""Numbers as people read them, the same in pages and in pictures."""

from __future__ import annotations

from math import floor, isfinite, log10
from typing import Any

import numpy as np

MINUS = "\u2212"


def digits(value: float, digits: int = 3, *, brief: bool = False) -> str:
    """So many significant digits, whole digits kept, with a true minus; `brief`: without zeros at
    the end.

    Examples
    --------
    >>> digits(48321.4), digits(-0.01234), digits(0.0), digits(1.5e9)
    ('48,321', '−0.0123', '0', '1.5e+09')
    """
    value = float(value)
    if not isfinite(value):
        return "–" if value != value else ("∞" if value > 0 else f"{MINUS}∞")
    if value == 0.0:
        return "0"
    if not 1e-4 <= abs(value) < 1e7:
        text = f"{value:.{digits}g}"
    else:
        text = f"{value:,.{max(digits - 1 - floor(log10(abs(value))), 0)}f}"
        if brief and "." in text:
            text = text.rstrip("0").rstrip(".")
    return text.replace("-", MINUS, 1) if text.startswith("-") else text


def percent(share: float, digits: int = 1) -> str:
    """A share of one in percent, with a thin space.

    Examples
    --------
    >>> percent(0.8961)
    '89.6\\u202f%'
    """
    return "–" if share != share else f"{100.0 * share:.{digits}f}\u202f%"


def as_percent(share: float) -> str:
    """Write a share with as many digits as tell, as titles of pictures have it.

    Examples
    --------
    >>> as_percent(0.95), as_percent(0.9972), as_percent(0.00005)
    ('95 %', '99.7 %', '< 0.1 %')
    """
    value = 100.0 * share
    if 0.0 < value < 0.1:
        return "< 0.1 %"
    text = f"{value:.1f}".removesuffix(".0") if abs(value) >= 1.0 else f"{value:.2g}"
    return f"{text.replace('-', MINUS)} %"


def three_digits(value: float) -> str:
    """Write three digits that tell, and zeros after them.

    Examples
    --------
    >>> three_digits(44231.0), three_digits(0.0123), three_digits(-2.5)
    ('44,200', '0.0123', '−2.5')
    """
    return digits(float(f"{value:.3g}"), brief=True)


def count(n: int, word: str) -> str:
    """Write a number of things.

    Examples
    --------
    >>> count(1, "row"), count(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {word}{'s' * (n != 1)}"


def value_words(value: Any) -> str:
    """A value of a table: a number, a date, or a word."""
    if value is None:
        return "missing"
    if isinstance(value, np.datetime64):
        text = str(value.astype("M8[s]")).replace("T", " ")
        return text.removesuffix(" 00:00:00")
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, float, np.integer, np.floating)):
        return digits(float(value), 4, brief=True)
    return str(value)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between low and high, at steps of 1, 2 or 5 times a power of ten: two or more.

    Examples
    --------
    >>> ticks(0.0, 1.0), ticks(3.0, 41.0)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [10.0, 20.0, 30.0, 40.0])
    """
    width = high - low
    if not (isfinite(width) and width > 0.0):
        return [low]
    power = 10.0 ** floor(log10(width / most))
    steps = [power * k for k in (0.5, 1, 2, 5, 10)]
    at = next(i for i, step in enumerate(steps) if i and width / step <= most + 1e-9)
    found: list[float] = []
    for step in (steps[at], steps[at - 1]):
        first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
        found = [float(f"{k * step:.12g}") for k in range(first, last + 1)]
        if len(found) > 1:
            break
    return found
