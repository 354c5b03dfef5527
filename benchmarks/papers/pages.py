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
#: <!-- cells: table1_A_* by 1 only "ART" without "B = 200" --> … <!-- end -->: which parts; which
#: word of a cell's name is its column (`by 2:`: all from there on; `by name`: none); which cells;
#: words left out.
BLOCK = re.compile(
    r"(?P<head><!-- cells: (?P<parts>\S+)(?: by (?P<column>-?\d+:?|name))?"
    r'(?: only "(?P<only>[^"]*)")?(?: without "(?P<without>[^"]*)")? -->\n)'
    r".*?(?P<tail><!-- end -->)",
    re.DOTALL,
)
#: Where the words of a cell's name are separated: not within brackets.
BREAK = re.compile(r", (?!mid gap)(?![^\[(]*[\])])")
#: Between these marks: classifiers that differ in their sweeps, from the results of bench-classes.
SWEEPS = re.compile(r"(?P<head><!-- sweeps -->\n).*?(?P<tail><!-- end -->)", re.DOTALL)
WAYS = {
    "clusters, one sweep": "collegium, one sweep",
    "clusters, until still": "collegium",
    "random chunks, one sweep": "collegium, random chunks, one sweep",
    "random chunks, until still": "collegium, random chunks",
}
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


def words_of(cell: dict, without: Sequence[str]) -> list[str]:
    """Split the name of a cell, without the table that it is in."""
    side = PREFIX.match(cell["where"])
    words = [word for word in BREAK.split(PREFIX.sub("", cell["where"])) if word not in without]
    return [side[2], *words] if side and side[2] and side[2] not in without else words


def place(cell: dict, column: str, without: Sequence[str]) -> Place:
    """Find row and column of a cell; by "name" there is one column."""
    words = words_of(cell, without)
    if column == "name" or len(words) == 1:
        return Place(", ".join(words), "here", cell)
    at = int(column.rstrip(":"))
    span = slice(at, None if column.endswith(":") or at == -1 else at + 1)
    name = ", ".join(words[span])
    del words[span]
    return Place(", ".join(words), name, cell)


def number(value: float | None) -> str:
    """Three digits, as people write them."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    text = (
        f"{value:.1e}"
        if abs(value) < 1e-4 or abs(value) >= 1e6
        else f"{float(f'{value:.3g}'):,.6g}"
    )
    return text.replace("-", "−")


def _here(cell: dict | None) -> str:
    """Ours, with its error; bold where it is not the paper's."""
    if cell is None:
        return ""
    text = number(cell["here"])
    if cell["error"]:
        text += f" ± {number(cell['error'])}"
    return f"**{text}**" if cell["agrees"] is False else text


def _published(cell: dict | None) -> str:
    value = cell and cell["paper"]
    return number(value) if value is not None else ""


def table(places: Sequence[Place]) -> str:
    """One line of ours per row, and one of the paper's where it prints numbers; or, where there is
    one column, the paper's beside ours."""
    rows, columns = (
        list(dict.fromkeys(getattr(one, by) for one in places)) for by in ("row", "column")
    )
    at = {(one.row, one.column): one.cell for one in places}
    printed = {
        row: any(
            (cell := at.get((row, column))) and cell["paper"] is not None for column in columns
        )
        for row in rows
    }
    if columns == ["here"] and any(printed.values()):
        found = [
            [_escaped(row), _here(at[row, "here"]), _published(at[row, "here"])] for row in rows
        ]
        return lines(["", "here", "paper"], found)
    found = []
    for row in rows:
        cells = [at.get((row, column)) for column in columns]
        label = f"{row}: here" if printed[row] and row else row or "here"
        found.append([_escaped(label), *map(_here, cells)])
        if printed[row]:
            found.append(["paper", *map(_published, cells)])
    return lines(["", *map(_escaped, columns)], found)


def _escaped(name: str) -> str:
    """Bars end a cell of a table."""
    return name.replace("|", "\\|")


def verdict(cells: Sequence[dict], without: Sequence[str] = ()) -> str:
    """How many published numbers agree, and the reasons where others do not."""
    told = [cell for cell in cells if cell["agrees"] is not None]
    if not told:
        return ""
    text = f"{sum(cell['agrees'] for cell in told)} of {len(told)} published numbers agree."
    reasons: dict[str, list[str]] = {}
    for cell in told:
        if not cell["agrees"] and cell["why"]:
            name = ", ".join(words_of(cell, without))
            reasons.setdefault(cell["why"], []).append(name)
    for why, names in reasons.items():
        which = names[0] if len(names) == 1 else f"{len(names)} cells"
        text += (
            f"\n\n- {which}: {why[0].lower() + why[1:] if which[0].isdigit() else why}".rstrip(".")
            + "."
        )
    return text + "\n\n"


def block(paper: str, match: re.Match) -> str:
    """The table that belongs between two marks."""
    without = (match["without"] or "").split("; ")
    cells = cells_of(paper, match["parts"])
    if match["only"]:
        cells = [cell for cell in cells if match["only"] in cell["where"]]
    places = [place(cell, match["column"] or "-1", without) for cell in cells]
    return f"{match['head']}\n{table(places)}\n\n{verdict(cells, without)}{match['tail']}"


def sweeps() -> str:
    """Log losses of classifiers by one sweep and by sweeps until messages stop moving."""
    rows = []
    for path in sorted((RESULTS.parent / "classes").glob("*.json")):
        found = json.loads(path.read_text("utf-8"))
        losses = [found.get(name, {}).get("log_loss") for name in WAYS.values()]
        if sum(loss is not None for loss in losses) > 1:
            rows.append([path.stem, *("" if loss is None else f"{loss:.4f}" for loss in losses)])
    return lines(["data", *WAYS], rows)


def rendered(page: Path) -> str:
    """The text of a page with its tables as they should be."""
    text = SWEEPS.sub(
        lambda at: f"{at['head']}\n{sweeps()}\n\n{at['tail']}", page.read_text("utf-8")
    )
    return BLOCK.sub(lambda match: block(page.stem, match), text)


def pages() -> list[Path]:
    return sorted(path for path in PAGES.glob("*.md") if "<!-- end -->" in path.read_text("utf-8"))


def main() -> None:
    """Write all pages anew."""
    for page in pages():
        page.write_text(rendered(page), encoding="utf-8")


if __name__ == "__main__":
    main()
