"""One HTML page from its sections: no script, nothing from elsewhere, at most 300 kB."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

from ..numerics.durable import replacing
from .markup import Safe, element, paragraph, put_together
from .style import STYLE

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
#: Bytes of a page at most.
LIMIT = 300_000


@dataclass(frozen=True)
class PagePart:
    """A section with its heading; `name` is its anchor."""

    name: str
    title: str
    body: Safe


@dataclass(frozen=True)
class ReportPage:
    """A page about a model: `html` is its text, `verdict` its three sentences.

    In a notebook it shows its verdict.
    """

    html: str
    verdict: tuple[str, str, str]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page; a file that is there is replaced once the new one is complete."""
        with replacing(path) as file:
            file.write(self.html.encode())

    def __str__(self) -> str:
        return "\n".join(self.verdict)

    def __repr__(self) -> str:
        return f"<ReportPage of {len(self.html.encode()):,} bytes: {self.verdict[0]}>"

    def _repr_html_(self) -> str:
        return element("div", *(paragraph(one) for one in self.verdict))


def page_of(title: str, top: Safe, parts: Sequence[PagePart]) -> str:
    """Put a page together; pictures of pixels are left out where it would be too large."""
    html = _whole(title, top, parts)
    if len(html.encode()) > LIMIT:
        html = re.sub(r'<image href="data:[^"]*"[^>]*></image>', "", html)
    if len(html.encode()) > LIMIT:
        small = [PagePart(one.name, one.title, _without_pictures(one.body)) for one in parts]
        html = _whole(title, top, small)
    if len(html.encode()) > LIMIT:
        raise ValueError(f"the page has more than {LIMIT:,} bytes: give fewer columns or groups")
    return html


def _without_pictures(body: Safe) -> Safe:
    return Safe(re.sub(r"<figure>.*?</figure>", "", body, flags=re.DOTALL))


def _whole(title: str, top: Safe, parts: Sequence[PagePart]) -> str:
    head = element(
        "head", element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title), element("style", Safe(STYLE)),
    )  # fmt: skip
    links = [element("li", element("a", one.title, href=f"#{one.name}")) for one in parts]
    nav = element("nav", element("ul", *links), aria_label="Sections")
    body = [
        element("section", element("h2", one.title, id=f"{one.name}-title"), one.body,
                id=one.name, aria_labelledby=f"{one.name}-title")
        for one in parts
    ]  # fmt: skip
    main = element("main", element("h1", title), top, nav, put_together(body))
    page = element("html", head, element("body", main), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"
