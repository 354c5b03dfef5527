"""Write the tables of docs/papers/*.md from the stored cells, between `<!-- cells: … -->` marks."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.markdown import lines
from benchmarks.papers.experiments import RESULTS

PAGES = Path(__file__).resolve().parents[2] / "docs" / "papers"
#: <!-- cells: table1_A_* by -2 without "B = 200" --> … <!-- end -->: parts; which word of a cell's
#: name is its column, counted from the end; words that are the same for all.
BLOCK = re.compile(
    r'(?P<head><!-- cells: (?P<parts>\S+)(?: by (?P<column>-?\d+))?(?: only "(?P<only>[^"]*)")?'
    r'(?: without "(?P<without>[^"]*)")? -->\n).*?(?P<tail><!-- end -->)',
    re.DOTALL,
)
#: Where the words of a cell's name are separated: not within brackets.
BREAK = re.compile(r", (?![^\[(]*[\])])")
PREFIX = re.compile(r"^(tables? \d+|figs 4, 5|fig\. \d+\w?|scaling)(?: (left|right))?, ")


@dataclass(frozen=True)
class Place:
    """Where a cell stands in the table of a page."""

    row: str
    column: str
    cell: dict


def cells_of(paper: str, pattern: str) -> list[dict]:
    """Cells of the parts of a paper that match, in the order in which they were stored."""
    paths = sorted((RESULTS / paper).glob(f"{pattern}.json"))
    if not paths:
        raise FileNotFoundError(f"no results of {paper} match {pattern}")
    return [cell for path in paths for cell in json.loads(path.read_text("utf-8"))["cells"]]


def place(cell: dict, column: int, without: Sequence[str]) -> Place:
    """Split the name of a cell into row and column."""
    side = PREFIX.match(cell["where"])
    words = [word for word in BREAK.split(PREFIX.sub("", cell["where"])) if word not in without]
    if side and side[2]:
        words.insert(0, side[2])
    name = words.pop(column) if len(words) > 1 else "here"
    return Place(", ".join(words), name, cell)


def number(value: float | None) -> str:
    """Three digits, as people write them."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    text = f"{value:.3g}"
    return f"{value:.1e}" if "e" in text and abs(value) < 1e-4 else f"{float(text):,.6g}"


def _here(cell: dict | None) -> str:
    """Ours, with its error; bold where it is not the paper's."""
    if cell is None:
        return ""
    text = number(cell["here"]).replace("-", "−")
    if cell["error"]:
        text += f" ± {number(cell['error'])}"
    return f"**{text}**" if cell["agrees"] is False else text


def _published(cell: dict | None) -> str:
    value = cell and cell["paper"]
    return number(value).replace("-", "−") if value is not None else ""


def table(places: Sequence[Place]) -> str:
    """One line of ours per row, and one of the paper's where it prints numbers."""
    rows, columns = (list(dict.fromkeys(getattr(one, by) for one in places)) for by in ("row", "column"))
    at = {(one.row, one.column): one.cell for one in places}
    found = []
    for row in rows:
        cells = [at.get((row, column)) for column in columns]
        published = any(cell and cell["paper"] is not None for cell in cells)
        label = f"{row}: here" if published and row else row or "here"
        found.append([label.replace("|", "\\|"), *map(_here, cells)])
        if published:
            found.append(["paper", *map(_published, cells)])
    return lines(["", *(column.replace("|", "\\|") for column in columns)], found)


def verdict(cells: Sequence[dict]) -> str:
    """How many published numbers agree, and the reasons where others do not."""
    told = [cell for cell in cells if cell["agrees"] is not None]
    if not told:
        return ""
    text = f"{sum(cell['agrees'] for cell in told)} of {len(told)} published numbers agree."
    reasons: dict[str, list[str]] = {}
    for cell in told:
        if not cell["agrees"] and cell["why"]:
            reasons.setdefault(cell["why"], []).append(PREFIX.sub("", cell["where"]))
    for why, names in reasons.items():
        which = names[0] if len(names) == 1 else f"{len(names)} cells"
        text += f"\n\n- {which}: {why[0].lower() + why[1:] if which[0].isdigit() else why}".rstrip(".") + "."
    return text + "\n\n"


def block(paper: str, match: re.Match) -> str:
    """The table that belongs between two marks."""
    without = (match["without"] or "").split("; ")
    cells = cells_of(paper, match["parts"])
    if match["only"]:
        cells = [cell for cell in cells if match["only"] in cell["where"]]
    places = [place(cell, int(match["column"] or -1), without) for cell in cells]
    return f"{match['head']}\n{table(places)}\n\n{verdict(cells)}{match['tail']}"


def rendered(page: Path) -> str:
    """The text of a page with its tables as they should be."""
    return BLOCK.sub(lambda match: block(page.stem, match), page.read_text("utf-8"))


def pages() -> list[Path]:
    return sorted(path for path in PAGES.glob("*.md") if (RESULTS / path.stem).is_dir())


def main() -> None:
    """Write all pages anew."""
    for page in pages():
        page.write_text(rendered(page), encoding="utf-8")


if __name__ == "__main__":
    main()
