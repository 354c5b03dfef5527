"""Numbers that the source files say without being run."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from . import PACKAGE

#: A docstring starts with a verb or a formula, not with one of these.
ODD = re.compile(r"\s*(Of|The same|Who|Those|What|As if)\b")
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef

Name = tuple[str, ...]  # of a module, dot by dot


@dataclass(frozen=True, eq=False)
class File:
    """One source file of a package."""

    place: Path  # answers/cells.py
    module: Name  # ("collegium", "answers", "cells")
    source: str
    tree: ast.Module

    @property
    def room(self) -> str:
        return self.place.parts[0] if len(self.place.parts) > 1 else "."


def read(root: Path) -> list[File]:
    """Read all files of the package in a folder."""
    found = []
    for path in sorted(root.rglob("*.py")):
        place, source = path.relative_to(root), path.read_text()
        own = () if path.stem == "__init__" else (path.stem,)
        module = (PACKAGE, *place.parent.parts, *own)
        found.append(File(place, module, source, ast.parse(source)))
    return found


def docstrings(file: File) -> dict[str, ast.Constant]:
    """Find the docstrings of a file, by `name:line`."""
    nodes = [node for node in ast.walk(file.tree) if isinstance(node, DOCUMENTED)]
    nodes = [node for node in nodes if ast.get_docstring(node) is not None]
    texts = [(getattr(node, "name", "module"), node.body[0].value) for node in nodes]
    return {f"{name}:{text.lineno}": text for name, text in texts}


def odd_docstrings(files: list[File]) -> list[str]:
    return [
        f"{file.place} {name}: {text.value[:50]}"
        for file in files
        for name, text in docstrings(file).items()
        if ODD.match(text.value)
    ]


def code_lines(file: File) -> int:
    """Count lines that are neither docstring nor comment nor blank."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(file.source).readline):
        if token.type not in NO_CODE and token.string:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for text in docstrings(file).values():
        lines -= set(range(text.lineno, text.end_lineno + 1))
    return len(lines)


def body_lines(file: File) -> dict[str, int]:
    """Lines of each function below its docstring, by `name:line`."""
    found = {}
    for node in ast.walk(file.tree):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            found[f"{node.name}:{node.lineno}"] = lines
    return found


def constants(file: File) -> list[str]:
    """Names in capitals that a module assigns."""
    nodes = [node for node in file.tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    targets = [node.targets[0] if isinstance(node, ast.Assign) else node.target for node in nodes]
    names = [name for target in targets for name in getattr(target, "elts", [target])]
    return [name.id for name in names if isinstance(name, ast.Name) and name.id.isupper()]


def imports(file: File) -> set[Name]:
    """Absolute names of all imports, also under TYPE_CHECKING and inside functions."""
    package = (PACKAGE, *file.place.parent.parts)
    names = set()
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Import):
            names |= {tuple(alias.name.split(".")) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = tuple(node.module.split(".")) if node.module else ()
            names |= {(*base, *module, alias.name) for alias in node.names}
    return names


def edges_between_rooms(files: list[File]) -> set[tuple[str, str]]:
    """Pairs of rooms of which the first imports the second."""
    rooms = {file.room for file in files} - {"."}
    ours = {(file.room, *name[:2]) for file in files for name in imports(file)}
    found = {(one[0], one[2]) for one in ours if len(one) == 3 and one[1] == PACKAGE}
    return {(a, b) for a, b in found if a != b and {a, b} <= rooms}


def cycles(files: list[File]) -> list[list[str]]:
    """Modules that import each other, lazily or not: strongly connected components of the graph.

    An import of a module does not count as one of the packages around it, and the package
    itself, which forwards names, does not count.
    """
    modules = {file.module for file in files} - {(PACKAGE,)}
    graph = {
        file.module: {name if name in modules else name[:-1] for name in imports(file)} & modules
        for file in files
    }
    reached: dict[Name, set[Name]] = {}
    for start in modules:
        seen, waiting = set(), [start]
        while waiting:
            new = graph[waiting.pop()] - seen
            seen |= new
            waiting += new
        reached[start] = seen
    groups = {frozenset({a, *(b for b in reached[a] if a in reached[b])}) for a in modules}
    return sorted(sorted(".".join(one[1:]) for one in group) for group in groups if len(group) > 1)


def duplicates(files: list[File], kind: type[ast.stmt]) -> dict[str, list[str]]:
    """Public names that several modules give to a class (or a function) of their own."""
    found = defaultdict(list)
    for file in files:
        for node in file.tree.body:
            if isinstance(node, kind) and not node.name.startswith("_"):
                found[node.name].append(str(file.place))
    return {name: places for name, places in sorted(found.items()) if len(places) > 1}
