"""Print the numbers of one tree, or of two side by side, as Markdown."""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

from . import PACKAGE, source

#: Of this repository, where the process that runs another tree finds this package.
HERE = Path(__file__).parents[3]


def measured(root: Path) -> dict[str, dict[str, str]]:
    """All tables of one tree: {title: {row: text}}."""
    files, rooms = source.read(root), defaultdict(list)
    for file in files:
        rooms[file.room].append(source.code_lines(file))
    path = f"{root.parent}{os.pathsep}{HERE}"
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.studies.house.running"]
    out = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    said = json.loads(out.stdout.splitlines()[-1])
    folder, fullest = Counter(file.place.parent for file in files).most_common(1)[0]
    record, fields = next(iter(said["records"].items()))
    cycles = [str(len(one)) for one in source.cycles(files)]
    house = {
        "files": len(files), "lines of code": sum(map(sum, rooms.values())),
        "files in the fullest folder": f"{fullest} ({folder})",
        "fields of the largest record": f"{fields} ({record.split('.')[-1]})",
        "edges between rooms": len(source.edges_between_rooms(files)),
        "modules in import cycles, hidden ones too": ", ".join(cycles) or "none",
        "class names with several meanings": len(source.duplicates(files, ast.ClassDef)),
        "function names with several meanings": len(source.duplicates(files, ast.FunctionDef)),
        "docstrings that begin oddly": len(source.odd_docstrings(files)),
        "module constants": sum(len(source.constants(file)) for file in files),
    }  # fmt: skip
    tables = {"house": {name: str(value) for name, value in house.items()}}
    pairs = {
        "files, lines of code of a room": {name: (len(n), sum(n)) for name, n in rooms.items()},
        "arguments, own classes of an estimator": said["estimators"],
        "modules, functions that a call passes": said["paths"],
    }
    for title, table in pairs.items():
        tables[title] = {name: f"{a:,} / {b:,}" for name, (a, b) in table.items()}
    return tables


def rendered(trees: list[dict[str, dict[str, str]]]) -> str:
    """Write the tables in Markdown, with one column per tree."""
    lines = []
    for title in trees[0]:
        lines += ["", " | ".join([f"| {title}", *["before", "now"][-len(trees) :]]) + " |"]
        lines += ["|---" * (1 + len(trees)) + "|"]
        for name in dict.fromkeys(name for tree in reversed(trees) for name in tree[title]):
            lines += [
                " | ".join([f"| {name}", *(tree[title].get(name, "") for tree in trees)]) + " |"
            ]
    return "\n".join(lines[1:])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", nargs="?", type=Path, default=Path("src") / PACKAGE)
    parser.add_argument("--before", type=Path, help="another tree, to stand beside it")
    asked = parser.parse_args()
    trees = [tree.resolve() for tree in (asked.before, asked.tree) if tree is not None]
    print(rendered([measured(tree) for tree in trees]))
