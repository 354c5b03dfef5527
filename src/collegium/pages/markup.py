"""HTML from elements: text is escaped unless it is marked as safe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

#: Elements without content.
VOID = {"meta", "br", "img"}
#: Control characters, those that turn the direction of text, and halves of characters.
ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
#: Characters of a name that are shown.
LONGEST = 60


class Safe(str):
    """Text that is HTML already."""

    __slots__ = ()


def visible(text: Any, longest: int = LONGEST) -> str:
    """Cut a name, and replace what cannot be seen: control characters and the like."""
    found = " ".join(ODD.sub("\ufffd", str(text)[: 4 * longest]).split())
    return found if len(found) <= longest else found[: longest - 1] + "…"


def put_together(parts: Iterable[Any], between: str = "") -> Safe:
    """Put parts together; what is not safe is escaped."""
    return Safe(between.join(one if isinstance(one, Safe) else escape(str(one)) for one in parts))


def element(name: str, /, *children: Any, **attributes: Any) -> Safe:
    """<name attribute="…">children</name>; underscores in names of attributes are hyphens.

    Examples
    --------
    >>> element("b", "1 < 2", class_="small")
    '<b class="small">1 &lt; 2</b>'
    """
    words = [
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    ]
    start = f"<{name}{''.join(words)}>"
    return Safe(start if name in VOID else f"{start}{put_together(children)}</{name}>")


def paragraph(*children: Any, **attributes: Any) -> Safe:
    return element("p", *children, **attributes)


def table(caption: str, heads: Sequence[Any], rows: Iterable[Sequence[Any]], **own: Any) -> Safe:
    """A table that scrolls within itself; the first cell of a row is its heading.

    Heads that begin with "#" are of columns of numbers.
    """
    numbers = [str(one).startswith("#") for one in heads]
    top = [
        element("th", one if not number else str(one)[1:], scope="col", class_=_kind(number))
        for one, number in zip(heads, numbers)
    ]
    body = []
    for row in rows:
        first = element("th", row[0], scope="row")
        rest = [
            element("td", one, class_=_kind(number)) for one, number in zip(row[1:], numbers[1:])
        ]
        body.append(element("tr", first, *rest))
    whole = element(
        "table", element("caption", caption), element("thead", element("tr", *top)),
        element("tbody", *body),
    )  # fmt: skip
    return element("div", whole, class_="scroll", tabindex="0", role="region",
                   aria_label=caption, **own)  # fmt: skip


def _kind(number: bool) -> str | None:
    return "number" if number else None
