"""Killed, out of space, or given nonsense: a store is whole or not there."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from store_cases import blocks, contents, rows, tune

from collegium.rows.store import build
from collegium.rows.store.store import Store

DATA = rows(900, 2)
OLD = tuple(values[:500] for values in DATA)
NEW = tuple(values[500:] for values in DATA)

#: In one process: a child for each moment, which kills itself there.
CHILDREN = """
import os, signal, sys
from pathlib import Path
from store_cases import blocks
from test_folder import DATA, NEW
from collegium.rows.store.store import Store

def die():
    os.kill(os.getpid(), signal.SIGKILL)

class Deadly(list):
    def __init__(self, given, passes, count):
        super().__init__(given)
        self.passes, self.count = passes, count

    def __iter__(self):
        self.passes -= 1
        for k, block in enumerate(super().__iter__()):
            if self.passes == 0 and k == self.count:
                die()
            yield block

def renaming(last):
    replace = os.replace
    os.replace = lambda a, b: die() if Path(b).name == last else replace(a, b)

def work(moment, path):
    task, when = moment.split()
    given = blocks(DATA if task == "build" else NEW, 6, first=0 if task == "build" else 500)
    if when in ("sampling", "routing"):
        given = Deadly(given, 2 if when == "routing" else 1, 3)
    else:
        renaming("manifest.json")
    if task == "build":
        Store.build(path, given, cell_rows=40)
    else:
        Store.open(path).add(given)

for path in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        work(Path(path).name, path)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL, path
"""
MOMENTS = [
    f"{task} {when}" for task in ("build", "add") for when in ("sampling", "routing", "naming")
]


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A folder for each moment at which a build or an addition was killed."""
    folder = tmp_path_factory.mktemp("killed")
    for moment in MOMENTS:
        if moment.startswith("add"):
            Store.build(folder / moment, blocks(OLD), cell_rows=40)
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here), *sys.path])
    subprocess.run(
        [sys.executable, "-c", CHILDREN, *(str(folder / moment) for moment in MOMENTS)],
        env={**os.environ, "PYTHONPATH": paths},
        check=True,
    )
    return folder


@pytest.mark.parametrize("moment", MOMENTS[:3])
def test_a_build_that_was_killed_is_no_store_and_is_started_over(killed, tmp_path, moment):
    path = killed / moment
    assert (path / "unfinished-store").is_dir()
    with pytest.raises(ValueError, match="build was not finished"):
        Store.open(path)
    Store.build(path, blocks(DATA, 2), cell_rows=40)
    Store.build(tmp_path / "rows", blocks(DATA), cell_rows=40)
    assert contents(path) == contents(tmp_path / "rows")
    assert not (path / "unfinished-store").exists()


@pytest.mark.parametrize("moment", MOMENTS[3:])
def test_an_addition_that_was_killed_leaves_the_store_as_it_was(killed, tmp_path, moment):
    path = killed / moment
    store = Store.open(path)
    assert len(store) == 500 and store.next_row == 500
    store.nearest(OLD[0][:3], 30)
    store.add(blocks(NEW, 2, first=500))
    whole = Store.build(tmp_path / "rows", blocks(OLD), cell_rows=40)
    whole.add(blocks(NEW, first=500))
    assert contents(path) == contents(tmp_path / "rows")


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EACCES])
@pytest.mark.parametrize("count", [0, 2, 6])
def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch, error, count):
    store = Store.build(tmp_path / "old", blocks(OLD))
    before = contents(tmp_path / "old")
    real, calls = build.write_bytes, []

    def write(file, values):
        calls.append(file)
        if len(calls) > count:
            raise OSError(error, os.strerror(error))
        real(file, values)

    monkeypatch.setattr(build, "write_bytes", write)
    said = "free about" if error == errno.ENOSPC else "you may write to"
    with pytest.raises(OSError, match=said) as raised:
        Store.build(tmp_path / "rows", iter(blocks(DATA, 3)))
    assert raised.value.errno == error and raised.value.filename == str(tmp_path / "rows")
    assert not (tmp_path / "rows").exists()
    calls.clear()
    with pytest.raises(OSError, match=said):
        store.add(iter(blocks(NEW, 3, first=500)))
    assert contents(tmp_path / "old") == before
    assert len(store) == 500


def test_errors_of_the_source_stay_what_they_are(tmp_path):
    def source():
        yield from blocks(DATA, 2)
        open(tmp_path / "missing.parquet")

    with pytest.raises(FileNotFoundError, match="missing.parquet"):
        Store.build(tmp_path / "rows", source())
    assert not any(tmp_path.iterdir())


def test_what_is_there_already_is_not_touched(tmp_path):
    Store.build(tmp_path / "rows", blocks(OLD))
    with pytest.raises(FileExistsError, match="open it with Store.open"):
        Store.build(tmp_path / "rows", blocks(DATA))
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match="is a file: choose another path"):
        Store.build(tmp_path / "file", blocks(DATA))
    for name in ("mine.txt", "manifest.json"):
        folder = tmp_path / f"folder of {name}"
        (folder / "unfinished-store").mkdir(parents=True)
        (folder / name).write_text("{}")
        with pytest.raises(ValueError, match="nor empty: choose another path"):
            Store.build(folder, blocks(DATA))
        assert (folder / name).read_text() == "{}" and (folder / "unfinished-store").exists()
        with pytest.raises(ValueError, match="is not a row store|is damaged"):
            Store.open(folder)
    with pytest.raises(FileNotFoundError, match="make it first"):
        Store.build(tmp_path / "no" / "rows", blocks(DATA))
    with pytest.raises(FileNotFoundError, match="build it first"):
        Store.open(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    assert len(Store.build(tmp_path / "empty", blocks(OLD))) == 500


def test_files_that_were_cut_off_are_named(tmp_path):
    Store.build(tmp_path / "rows", blocks(OLD))
    file = tmp_path / "rows" / "segment-000" / "y.npy"
    os.truncate(file, 1000)
    with pytest.raises(ValueError, match=r"y.npy is missing or cut short: put back a copy"):
        Store.open(tmp_path / "rows")


X, y, w = OLD
NONSENSE = {
    "no rows": ([], "no rows"),
    "no blocks": ([X], "block 0 is not"),
    "lengths": ([(X, y[1:], w, 0)], "500 rows of X, 499 of y"),
    "shape": ([(X[:, 0], y, w, 0)], r"X is \(n, d\)"),
    "number": ([(X, y, w, -1)], "begin at 0"),
    "overlap": ([(X, y, w, 0), (X, y, w, 499)], "row number 499 comes twice"),
    "text": ([(X.astype(str), y, w, 0)], "convert it to float64"),
    "columns": ([(X, y, w, 0), (X[:, :1], y, w, 500)], "block 1 has columns"),
    "nan": ([(X, y, w, 0), (np.where(X == X[7], np.nan, X), y, w, 500)], "row 507, column 0"),
    "large": ([(X * 1e155, y, w, 0)], r"beyond 1e\+150"),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_rows_that_cannot_be_sorted_are_refused(tmp_path, name):
    given, said = NONSENSE[name]
    with pytest.raises(ValueError, match=said):
        Store.build(tmp_path / "rows", given)
    assert not (tmp_path / "rows").exists()


def test_blocks_that_change_between_two_readings_are_refused(tmp_path):
    class Shrinking(list):
        def __iter__(self):
            found = super().__iter__()
            yield from list(found)
            self.pop()

    with pytest.raises(ValueError, match="other rows when read again"):
        Store.build(tmp_path / "rows", Shrinking(blocks(DATA, 4)))
    with pytest.raises(ValueError, match="cell_rows=0"):
        Store.build(tmp_path / "rows", blocks(DATA), cell_rows=0)
    assert not (tmp_path / "rows").exists()


class Read(list):
    """Blocks that count how often they are read."""

    times = 0

    def __iter__(self):
        for k, block in enumerate(super().__iter__()):
            self.times += k == 0
            yield block


class Stopped(KeyboardInterrupt):
    """Ctrl-C."""


@pytest.mark.parametrize("where", ["_sort_bucket", "_write_header", "merge_equal"])
def test_an_interrupted_build_goes_on_from_what_it_had_read(tmp_path, monkeypatch, where):
    tune(monkeypatch, bucket_bytes=8_000)
    kind = {"cell_rows": 40, "merge": True}
    Store.build(tmp_path / "whole", blocks(DATA), origin="a", **kind)

    def stopped_at(path, origin):
        given, count, own = Read(blocks(DATA)), [0], getattr(build, where)

        def stop(*arguments):
            count[0] += 1
            if count[0] == 3:
                raise Stopped
            return own(*arguments)

        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(build, where, stop)
            Store.build(path, given, origin=origin, **kind)
        assert given.times == 2
        return given

    given = stopped_at(tmp_path / "a", "a")
    with pytest.raises(ValueError, match="not finished"):
        Store.open(tmp_path / "a")
    Store.build(tmp_path / "a", given, origin="a", **kind)
    assert contents(tmp_path / "a") == contents(tmp_path / "whole")
    assert given.times == 2  # not read again
    given = stopped_at(tmp_path / "b", "a")  # then other rows
    Store.build(tmp_path / "b", given, origin="b", **kind)
    assert given.times == 4
    stopped_at(tmp_path / "c", "")  # rows of which nobody knows whether they are the same
    assert not (tmp_path / "c").exists()
