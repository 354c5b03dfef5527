"""CONTRIBUTING.md names files and folders that exist."""

import re
from pathlib import Path

import pytest

import collegium

PACKAGE = Path(collegium.__file__).parent
TESTS = Path(__file__).parent
ROOT = TESTS.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PATHS = re.compile(r"`([\w./]+(?:\.py|/))`")


def named():
    """Pairs of a path and the folder that it is in: a room's own in the tables of the map."""
    rooms, found = {path.name for path in PACKAGE.iterdir() if path.is_dir()}, set()
    table = None
    for line in TEXT.splitlines():
        first = re.match(r"\| (?:in )?`(\w+)/?`", line)
        if not line.startswith("|"):
            table = None
        elif line.startswith("| in `"):
            table = PACKAGE / first[1]
        own = PACKAGE / first[1] if table is None and first and first[1] in rooms else table
        found |= {(path, own) for path in PATHS.findall(line)}
    return sorted(found, key=str)


@pytest.mark.parametrize("path, room", named(), ids=lambda one: getattr(one, "name", str(one)))
def test_paths_exist(path, room):
    """As written below the repository, the package or the tests, or somewhere below the room."""
    whole = any((base / path).exists() for base in (ROOT, PACKAGE, TESTS))
    below = [*room.rglob(path)] if room else [*PACKAGE.rglob(path), *TESTS.rglob(path)]
    assert whole or below, path


def test_paths_are_found_in_the_text():
    paths = named()
    assert len(paths) > 100
    assert ("rows.py", PACKAGE / "interface") in paths
    assert ("kept/", PACKAGE / "pipeline") in paths
    assert ("filter/stream.py", None) in paths
