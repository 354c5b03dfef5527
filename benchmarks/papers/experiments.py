"""Helpers of the scripts of the papers: arguments, the loop over parts, pictures."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from benchmarks.harness import pictures
from benchmarks.harness.arguments import data_parser
from benchmarks.harness.meter import Meter
from collegium.engines import single_threaded

#: part(data folder, folder of the pictures, quick) prints a table or draws a figure.
Part = Callable[[Path, Path, bool], None]


def paper_parser(words: str | None, quick: str) -> argparse.ArgumentParser:
    """The data folder, where the pictures go, and whether to be quick."""
    parser = data_parser(words)
    parser.add_argument("--out", default=".", type=Path, help="where the pictures go")
    parser.add_argument("--quick", action="store_true", help=quick)
    return parser


def run(parts: Mapping[str, Part], words: str | None) -> None:
    """Run the parts that were asked for, each on one thread, and print what they cost."""
    parser = paper_parser(words, "fewer splits, repeats and sizes")
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    options = parser.parse_args()
    for name in options.only:
        with Meter() as spent, single_threaded():
            parts[name](options.folder, options.out, options.quick)
        print(f"  [{name}: {spent.cpu:.0f} CPU s, {spent.wall:.0f} s]", flush=True)


def save(figure, path: Path, dpi: int = 120) -> None:
    """Write and close a picture, and print its name."""
    print(f"  saved {pictures.save(figure, path, dpi)}")


def mean_and_error(values) -> tuple[float, float]:
    """Mean and its standard error."""
    values = np.asarray(values, dtype=float)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size))
