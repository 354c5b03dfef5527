"""Small pictures as SVG, of at most 200 marks; colours come from the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..diagnostics.numbers import digits, ticks
from .markup import Safe, element, put_together

Array = np.ndarray
#: Letters of a label below or beside an axis.
LABEL = 26


@dataclass(frozen=True)
class Frame:
    """Where data lie in a picture: ranges of x and y, and sizes in pixels."""

    x: tuple[float, float]
    y: tuple[float, float]
    width: int = 340
    height: int = 220
    left: int = 52
    right: int = 12
    top: int = 10
    bottom: int = 38

    def across(self, x: Any) -> Any:
        low, high = self.x
        return self.left + (x - low) / (high - low) * (self.width - self.left - self.right)

    def up(self, y: Any) -> Any:
        low, high = self.y
        return self.height - self.bottom - (y - low) / (high - low) * self.inner_height

    @property
    def inner_height(self) -> int:
        return self.height - self.top - self.bottom


def spread(values: Any, margin: float = 0.05) -> tuple[float, float]:
    """A range that holds all values, and is never empty."""
    values = np.asarray(values, dtype=float)
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        half = 0.5 * max(abs(low), 1.0)
        return low - half, high + half
    return low - margin * (high - low), high + margin * (high - low)


def figure(frame: Frame, parts: Sequence[Safe], caption: str, words: str) -> Safe:
    """A picture with its caption; `words` tell those who do not see it what it shows."""
    drawn = element(
        "svg", *parts, viewBox=f"0 0 {frame.width} {frame.height}", role="img", aria_label=words,
        xmlns="http://www.w3.org/2000/svg",
    )  # fmt: skip
    return element("figure", drawn, element("figcaption", caption))


def axes(frame: Frame, x: str, y: str, *, x_ticks: Any = None, y_ticks: Any = None) -> list[Safe]:
    """Lines of a grid with numbers (or pairs of place and word), and the names of both axes."""
    bottom, found = frame.height - frame.bottom, []
    for at, word in _worded(x_ticks, frame.x, 5):
        px = frame.across(at)
        found.append(_line(px, frame.top, px, bottom, "grid"))
        found.append(_text(px, bottom + 14, word, "middle"))
    for at, word in _worded(y_ticks, frame.y, 4):
        py = frame.up(at)
        found.append(_line(frame.left, py, frame.width - frame.right, py, "grid"))
        found.append(_text(frame.left - 5, py + 4, word, "end"))
    centre = 0.5 * (frame.left + frame.width - frame.right)
    found.append(_text(centre, frame.height - 6, cut_words(x, 44), "middle", "strong"))
    middle = frame.top + 0.5 * frame.inner_height
    turned = f"translate(11 {_round(middle)}) rotate(-90)"
    found.append(
        element("text", cut_words(y, 30), transform=turned, text_anchor="middle", class_="strong")
    )
    return found


def _worded(given: Any, ends: tuple[float, float], most: int) -> list[tuple[float, str]]:
    if given is not None:
        return [(at, cut_words(word, 12)) for at, word in given]
    return [(at, digits(at, 4, brief=True)) for at in ticks(*ends, most)]


def curve(frame: Frame, x: Array, y: Array, kind: str = "line") -> Safe:
    """A line through points; what is not finite breaks it."""
    path, pen = [], "M"
    for px, py in zip(frame.across(np.asarray(x)), frame.up(np.asarray(y))):
        if np.isfinite(px) and np.isfinite(py):
            path.append(f"{pen}{_round(px)} {_round(py)}")
            pen = "L"
        else:
            pen = "M"
    return element("path", d="".join(path) or "M0 0", class_=kind)


def band(frame: Frame, x: Array, low: Array, high: Array, kind: str = "band") -> Safe:
    """The area between two curves."""
    px = [*frame.across(np.asarray(x)), *frame.across(np.asarray(x))[::-1]]
    py = [*frame.up(np.asarray(low)), *frame.up(np.asarray(high))[::-1]]
    points = " ".join(f"{_round(a)},{_round(b)}" for a, b in zip(px, py))
    return element("polygon", points=points, class_=kind)


def block(frame: Frame, x: tuple[float, float], y: tuple[float, float], kind: str) -> Safe:
    """A rectangle from x₀ to x₁ and from y₀ to y₁."""
    a, b = sorted(frame.across(np.array(x)))
    c, d = sorted(frame.up(np.array(y)))
    return element("rect", x=_round(a), y=_round(c), width=_round(b - a), height=_round(d - c),
                   class_=kind)  # fmt: skip


def dot(frame: Frame, x: float, y: float, kind: str = "dot", r: float = 4.0) -> Safe:
    return element("circle", cx=_round(frame.across(x)), cy=_round(frame.up(y)), r=r, class_=kind)


def whisker(frame: Frame, x: float, y: tuple[float, float], kind: str = "axis") -> Safe:
    """A vertical line."""
    px = frame.across(x)
    return _line(px, frame.up(y[0]), px, frame.up(y[1]), kind)


def raster(frame: Frame, address: str) -> Safe:
    """A picture of pixels that fills the frame."""
    return element(
        "image", href=address, x=frame.left, y=frame.top,
        width=frame.width - frame.left - frame.right, height=frame.inner_height,
        preserveAspectRatio="none",
    )  # fmt: skip


def share_bar(share: float, odd: bool = False) -> Safe:
    """A bar for a cell of a table, of a share of one."""
    width = _round(120.0 * min(max(share, 0.0), 1.0))
    bar = element("rect", x=0, y=3, width=width, height=10, class_="bar odd" if odd else "bar")
    return element("svg", bar, viewBox="0 0 120 16", aria_hidden="true")


def band_bar(share: float, level: float, low: float, high: float, odd: bool) -> Safe:
    """A mark for a cell of a table: a share beside what was promised, and what chance allows."""
    ends = min(low, share, level), max(high, share, level)
    start = max(0.0, ends[0] - max(0.05, 0.15 * (ends[1] - ends[0])))
    stop = min(1.0, ends[1] + max(0.05, 0.15 * (ends[1] - ends[0])))
    start, stop = min(start, level - 0.1), max(stop, min(level + 0.1, 1.0))
    frame = Frame((max(start, 0.0), stop), (0, 1), 120, 16, 4, 4, 2, 2)
    parts = [
        _line(4, 8, 116, 8, "grid"), block(frame, (low, high), (0.15, 0.85), "chance"),
        whisker(frame, level, (0, 1), "axis"), dot(frame, share, 0.5, "dot odd" if odd else "dot"),
    ]  # fmt: skip
    return element("svg", *parts, viewBox="0 0 120 16", aria_hidden="true")


def cut_words(text: str, most: int = LABEL) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Safe:
    return element("line", x1=_round(x1), y1=_round(y1), x2=_round(x2), y2=_round(y2), class_=kind)


def _text(x: float, y: float, words: str, anchor: str, kind: str | None = None) -> Safe:
    return element("text", words, x=_round(x), y=_round(y), text_anchor=anchor, class_=kind)


def _round(value: float) -> str:
    text = f"{float(value):.1f}"
    return text.removesuffix(".0") if text != "-0.0" else "0"


def gallery(figures: Sequence[Safe]) -> Safe:
    """Pictures side by side where there is room."""
    return element("div", put_together(figures), class_="figures")
