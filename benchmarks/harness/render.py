"""benchmarks/results/<task>/*.json -> pages in docs/ and their pictures.

python -m benchmarks.harness.render [benchmarks classification] [--results folder] [--docs folder]
"""

from __future__ import annotations

import argparse
import ast
import json
from pathlib import Path

from benchmarks import tasks
from benchmarks.harness.driver import RESULTS, ROOT
from benchmarks.harness.task import Method

#: Tasks of each page; the first has its head and its pictures.
PAGES = {"benchmarks": ("regression",), "classification": ("classes", "counts", "outliers")}
#: Results by task, by set, by method.
Found = dict[str, dict[str, dict]]


def load(folder: Path, names: tuple[str, ...]) -> Found:
    """Results of some tasks, sets in the order of their plans."""
    return {name: _of_task(folder / name, tasks.plan(name).sets) for name in names}


def _of_task(folder: Path, sets: tuple[str, ...]) -> dict[str, dict]:
    files = {name: folder / f"{name}.json" for name in sets}
    return {name: json.loads(path.read_text()) for name, path in files.items() if path.exists()}


def document(found: Found, pictures: list[str]) -> str:
    first = tasks.part(next(iter(found)), "render")
    links = [
        f"![{words}](pictures/{file})" for file, words in first.CAPTIONS.items() if file in pictures
    ]
    parts = [first.HEAD.format(threads=threads(found)), "\n\n".join(links) + "\n"]
    for name, of_task in found.items():
        parts += tasks.part(name, "render").sections(of_task)
    return "\n".join([*parts, what_was_run(found), where(found)])


def all_rows(found: Found) -> list[dict]:
    return [row for sets in found.values() for results in sets.values() for row in results.values()]


def threads(found: Found) -> str:
    configurations = [row["configuration"] for row in all_rows(found) if "configuration" in row]
    counts = sorted({given["threads"] for given in configurations})
    return "one thread" if counts == [1] else f"{' or '.join(map(str, counts))} threads"


def what_was_run(found: Found) -> str:
    lines = []
    for task, sets in found.items():
        run = {name for results in sets.values() for name in results}
        methods = tasks.plan(task).methods
        lines += [described(name, method) for name, method in methods.items() if name in run]
    return "## What was run\n\n" + "\n".join(lines) + "\n"


def described(name: str, method: Method) -> str:
    given = ", ".join(f"{k}={v!r}" for k, v in method.arguments.items())
    most = f" At most {method.max_rows:,} random rows." if method.max_rows else ""
    return f"- {name}: {about(method.module)}{f' ({given})' if given else ''}{most}"


def peer_file(module: str) -> Path:
    return (ROOT / "benchmarks" / "peers").joinpath(*module.split(".")).with_suffix(".py")


def about(module: str) -> str:
    """The docstring of a peer's file, read without importing it."""
    return " ".join((ast.get_docstring(ast.parse(peer_file(module).read_text())) or "").split())


def where(found: Found) -> str:
    """Machines and versions of all results; usually one of each."""
    machines = [row["machine"] for row in all_rows(found) if "machine" in row]
    named = sorted({_machine(m) for m in machines})
    versions: dict[str, set[str]] = {}
    for row in all_rows(found):
        for package, number in row.get("versions", {}).items():
            versions.setdefault(package, set()).add(number)
    listed = ", ".join(f"{p} {' and '.join(sorted(v))}" for p, v in sorted(versions.items()))
    days = sorted({m["date"] for m in machines})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"## Machine and versions\n\n{'; '.join(named)}. {when}. {listed}.\n"


def _machine(m: dict) -> str:
    cores = f"{m['cores']} cores, {m['memory_gb']} GB"
    return f"{m['cpu']}, {cores}, {m['system']}, Python {m['python']}"


def render(page: str, results: Path, docs: Path) -> None:
    found = load(results, PAGES[page])
    if not any(found.values()):
        print(f"nothing to render: no results for {page} in {results}")
        return
    first = PAGES[page][0]
    pictures = tasks.part(first, "pictures").draw(found[first], docs / "pictures")
    (docs / f"{page}.md").write_text(document(found, pictures))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", metavar="page", help=" or ".join(PAGES))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    for page in options.pages or PAGES:
        render(page, options.results, options.docs)


if __name__ == "__main__":
    main()
