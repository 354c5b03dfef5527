"""Helpers of the scripts of the papers: arguments, the loop over parts, cells, pictures."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.harness import pictures
from benchmarks.harness.arguments import data_parser
from benchmarks.harness.meter import Meter
from collegium.engines import single_threaded

RESULTS = Path(__file__).resolve().parents[1] / "results" / "papers"
#: A cell agrees within this many standard errors of ours and of the paper's together …
ERRORS = 2.0
#: … or, where neither gives any, within this share of the paper's value.
SHARE = 0.1


@dataclass(frozen=True)
class Cell:
    """One number of a paper and ours, or a number of ours alone."""

    where: str  # table or figure, row and column
    here: float
    paper: float | None = None
    error: float | None = None  # standard error of the difference, or the spread it is judged by
    why: str = ""  # reason, where it is not the paper's

    @property
    def agrees(self) -> bool | None:
        """Whether it is the paper's; None where the paper gives no number."""
        if self.paper is None or not np.isfinite(self.paper):
            return None
        if self.error:
            return bool(abs(self.here - self.paper) <= ERRORS * self.error)
        return bool(abs(self.here - self.paper) <= SHARE * abs(self.paper))


#: part(data folder, folder of the pictures, quick) prints a table or draws a figure.
Part = Callable[[Path, Path, bool], Sequence[Cell]]


def paper_parser(words: str | None, quick: str) -> argparse.ArgumentParser:
    """The data folder, where pictures and results go, and whether to be quick."""
    parser = data_parser(words)
    parser.add_argument("--out", default=".", type=Path, help="where the pictures go")
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument(
        "--results", type=Path, help=f"where cells go; default {RESULTS.name}/, quick: nowhere"
    )
    return parser


def run(parts: Mapping[str, Part], words: str | None, arguments: Sequence[str] | None = None):
    """Run the parts that were asked for, each on one thread; print what they cost, store cells."""
    parser = paper_parser(words, "fewer splits, repeats and sizes, in seconds")
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    options = parser.parse_args(arguments)
    paper = _paper(parts)
    for name in options.only:
        with Meter() as spent, single_threaded():
            cells = parts[name](options.folder, options.out, options.quick)
        print(f"  [{name}: {spent.cpu:.0f} CPU s, {spent.wall:.0f} s]", flush=True)
        keep(cells, paper, name, options, spent.cpu)


def _paper(parts: Mapping[str, Part]) -> str:
    """The name of the folder of the scripts."""
    return next(iter(parts.values())).__module__.split(".")[-2]


def keep(cells: Sequence[Cell], paper: str, part: str, options, seconds: float) -> None:
    """Write cells as JSON, and print how many agree with the paper."""
    told = [cell for cell in cells if cell.agrees is not None]
    if told:
        print(f"  {part}: {sum(map(agrees, told))} of {len(told)} published cells agree")
    folder = options.results or (None if options.quick else RESULTS)
    if folder is None or not cells:
        return
    found = {
        "paper": paper, "part": part, "quick": options.quick, "cpu_seconds": round(seconds),
        "cells": [_rounded(asdict(cell)) | {"agrees": cell.agrees} for cell in cells],
    }  # fmt: skip
    path = folder / paper / f"{part}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def agrees(cell: Cell) -> bool:
    return cell.agrees is True


def _rounded(cell: dict) -> dict:
    """Numbers with four digits; None where there is no finite number."""

    def shown(value):
        if not isinstance(value, float | np.floating):
            return value
        return float(f"{value:.4g}") if np.isfinite(value) else None

    return {name: shown(value) for name, value in cell.items()}


def save(figure, path: Path, dpi: int = 120) -> None:
    """Write and close a picture, and print its name."""
    print(f"  saved {pictures.save(figure, path, dpi)}")


def mean_and_error(values) -> tuple[float, float]:
    """Mean and its standard error."""
    values = np.asarray(values, dtype=float)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size))


def of_rows(where: str, rows: Sequence[dict]) -> list[Cell]:
    """Cells of a table of numbers without a paper's beside them: row, column, value."""
    return [
        Cell(f"{where}, {row['']}, {name}", float(value))
        for row in rows
        for name, value in row.items()
        if isinstance(value, int | float | np.floating)
    ]
