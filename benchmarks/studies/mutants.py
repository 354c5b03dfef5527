"""Faults put into the mathematics one at a time: do the tests of the room see them?

python -m benchmarks.studies.mutants [--count 100] [--seed 0] [--first 0] [--seconds 300] [--own]

Works on a copy of src and tests in a temporary folder. A mutant changes one expression: a sign, a
product into a quotient, a constant doubled, max into min, a comparison, a term left out. The
quick tests of its room (and of rooms that use it most) run until one fails, or for --seconds. What
survives is printed, to be judged: some changes are equivalent (a branch for
speed, a bound that never acts).
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
ROOMS = ("kernels", "messages", "answers", "combining", "laplace", "likelihoods", "filter",
         "online", "rvc", "learning", "averaging", "rows", "errors", "transforms",
         "tables")  # fmt: skip
#: Rooms whose mathematics is seen by the tests of others too.
ALSO = {"answers": ("committee",), "rows": ("messages", "committee"), "learning": ("committee",)}
#: Rooms that compile functions of another into their own: numba's cache does not follow that.
CALLERS = {"likelihoods": ("online",)}

ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
COMPARISON = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt}
SWAPS = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum"}
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


@dataclass(frozen=True)
class Mutant:
    """A replacement of source[start:end] in a file."""

    path: Path  # relative to the package
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.old}  →  {self.new}"


# -- all mutants of a file --------------------------------------------------------------------


def mutants(package: Path, path: Path) -> Iterator[Mutant]:
    """All changes of expressions within functions; not of texts, annotations or defaults."""
    text = path.read_text()
    starts = np.cumsum([0] + [len(line.encode()) for line in text.splitlines(keepends=True)])
    raw = text.encode()
    for node in expressions(ast.parse(text)):
        start = int(starts[node.lineno - 1]) + node.col_offset
        end = int(starts[node.end_lineno - 1]) + node.end_col_offset
        old = raw[start:end].decode()
        for new in changes(node):
            yield Mutant(path.relative_to(package), node.lineno, start, end, old, new)


def expressions(tree: ast.Module) -> Iterator[ast.expr]:
    """Expressions in bodies of functions, except subscripts, f-strings, errors and warnings."""
    for one in ast.walk(tree):
        if isinstance(one, ast.FunctionDef):
            for statement in one.body:
                yield from _below(statement)


def _below(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.JoinedStr, ast.Raise, ast.Assert)):
        return
    if isinstance(node, ast.Call) and _name(node) in ("warn", "reshape", "ValueError", "say"):
        return
    if isinstance(node, (ast.BinOp, ast.Compare, ast.Call, ast.Constant)):
        yield node
    inner = (node.value,) if isinstance(node, ast.Subscript) else ast.iter_child_nodes(node)
    for child in inner:
        if child is not getattr(node, "annotation", None):
            yield from _below(child)


def _name(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def changes(node: ast.expr) -> Iterator[str]:
    """Sources of what may stand instead of an expression."""
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        left, right = ast.unparse(node.left), ast.unparse(node.right)
        yield f"(({left}) {SIGNS[ARITHMETIC[type(node.op)]]} ({right}))"
        if isinstance(node.op, (ast.Add, ast.Sub)):
            yield f"({left})"
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISON:
        other = COMPARISON[type(node.ops[0])]()
        yield f"({ast.unparse(ast.Compare(node.left, [other], node.comparators))})"
    elif isinstance(node, ast.Call) and _name(node) in SWAPS and len(node.args) > 1:
        swapped = ast.unparse(node.func).removesuffix(_name(node)) + SWAPS[_name(node)]
        yield f"{swapped}({', '.join(ast.unparse(one) for one in (*node.args, *node.keywords))})"
    elif isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value:
        yield repr(2.0 * node.value)


def drawn(package: Path, count: int, seed: int) -> list[Mutant]:
    """As many of each room as of the others, without replacement."""
    rng = np.random.default_rng(seed)
    found = []
    for room in ROOMS:
        files = sorted((package / room).rglob("*.py"))
        of_room = [one for path in files for one in mutants(package, path)]
        found.append([of_room[i] for i in rng.permutation(len(of_room))])
    turns = [of_room[i] for i in range(count) for of_room in found if i < len(of_room)]
    return turns[:count]


# -- running the tests ------------------------------------------------------------------------


def outcome(copy: Path, mutant: Mutant, seconds: float, own: bool) -> str:
    """Say "killed", "SURVIVED", or "no time": what was run in --seconds did not fail."""
    path = copy / "src" / "collegium" / mutant.path
    before = path.read_bytes()
    compiled = b"numba" in before or b"leaf" in before
    path.write_bytes(before[: mutant.start] + mutant.new.encode() + before[mutant.end :])
    room = mutant.path.parts[0]
    package = copy / "src" / "collegium"
    files = [
        one for name in (room, *CALLERS.get(room, ())) for one in (package / name).rglob("*.py")
    ]
    caches = sorted({one.parent / "__pycache__" for one in files})
    if compiled:
        for cache in caches:
            shutil.rmtree(cache, ignore_errors=True)
    try:
        said = set()
        for name in (room,) if own else (room, *ALSO.get(room, ())):
            said.add(tests(copy, name, seconds))
            if "killed" in said:
                return "killed"
        return "no time" if "no time" in said else "SURVIVED"
    finally:
        source = ROOT / "src" / "collegium"
        shutil.copy2(source / mutant.path, path)
        for cache in caches if compiled else ():
            shutil.rmtree(cache, ignore_errors=True)
            own = source / cache.relative_to(package)
            if own.exists():
                shutil.copytree(own, cache)


def tests(copy: Path, room: str, seconds: float) -> str:
    """Run the quick tests of a room, in a group of processes that can be ended."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", "-p",
               "no:cacheprovider", f"tests/{room}"]  # fmt: skip
    run = subprocess.Popen(
        command, cwd=copy, env={**os.environ, "PYTHONPATH": str(copy / "src")},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        return "SURVIVED" if run.wait(seconds) == 0 else "killed"
    except subprocess.TimeoutExpired:
        return "no time"
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="mutants to pass over")
    parser.add_argument("--seconds", type=float, default=300.0, help="for the tests of a room")
    parser.add_argument("--own", action="store_true", help="tests of the room alone")
    options = parser.parse_args()
    found, said = [], Counter()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("src", "tests", "benchmarks", "pyproject.toml", "docs", "README.md"):
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, copy / name)
        chosen = drawn(copy / "src" / "collegium", options.count, options.seed)
        for i, mutant in enumerate(chosen[options.first :], options.first):
            how = outcome(copy, mutant, options.seconds, options.own)
            said[how] += 1
            found += [f"{how}: {mutant}"] if how != "killed" else []
            print(f"{i:4} {how:9}{mutant}", flush=True)
    print("\n".join([f"{dict(said)}; not killed:", *found]))


if __name__ == "__main__":
    main()
