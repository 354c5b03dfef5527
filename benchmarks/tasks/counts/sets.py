"""The sets of counts: a random tenth for testing, X standardised, y as it is."""

from __future__ import annotations

from pathlib import Path

from benchmarks.harness.data import Split, labelled_split, load
from benchmarks.tasks.counts.plan import TASK


def split(folder: Path | str, name: str, most: int | None = None) -> Split:
    return labelled_split(load(folder, TASK.file(name)), most)
