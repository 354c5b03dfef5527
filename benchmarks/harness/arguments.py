"""Arguments that the scripts share."""

from __future__ import annotations

import argparse
from pathlib import Path

FOLDER = Path("../shared/data")


def data_parser(words: str | None) -> argparse.ArgumentParser:
    """A parser whose first argument is the data folder."""
    parser = argparse.ArgumentParser(description=words)
    parser.add_argument("folder", nargs="?", default=FOLDER, type=Path, help="data folder")
    return parser
