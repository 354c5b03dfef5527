"""Tasks of the benchmarks, one folder each.

plan      data sets and methods (standard library only, see `benchmarks.harness.task`)
sets      split(folder, name, most) -> training and test rows
scores    of_answer(split, answer) -> scores, by name, of what a peer's `predict` gave; of_peer,
          where there is one: further scores of others than ours, which may fit them again
render    sections(found) -> the task's part of a page in docs/
pictures  draw(found, folder) -> the files of a page's pictures
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.harness.task import Task

NAMES = ("regression", "classes", "counts", "outliers")


def part(name: str, module: str) -> ModuleType:
    """A module of a task: its sets, scores, render or pictures."""
    return import_module(f"benchmarks.tasks.{name}.{module}")


def plan(name: str) -> Task:
    return part(name, "plan").TASK
