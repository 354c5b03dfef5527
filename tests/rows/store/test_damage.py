"""Damaged files, two writers, remains of killed ones: rows are right, or refused by name."""

import errno
import os
import pickle
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from store_cases import blocks, contents, rows, tune

from collegium.numerics import durable
from collegium.numerics.durable import try_lock
from collegium.rows.store import build, folder, masks
from collegium.rows.store import store as store_module
from collegium.rows.store.checksums import checksum, words
from collegium.rows.store.store import Store

DATA = rows(1000, 2)
#: In order: damage to each is met by what reads it.
READS = {
    "X": lambda store: store.inputs(np.arange(1000)),
    "y": lambda store: store.take(np.arange(1000))[1],
    "w": lambda store: store.total_weight(),
    "id": lambda store: store.ids(np.arange(1000)),
}


def built(path, data=DATA, **more):
    return Store.build(path, blocks(data, 3), cell_rows=60, **more)


def flipped(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 0x10]))


@pytest.mark.parametrize("kind", ["<f8", "<f4", "<i2", "|u1"])
def test_the_checksum_is_its_formula_whatever_the_words(kind):
    given = np.random.default_rng(1).integers(0, 100, size=(7, 3)).astype(kind)
    expected = 0
    for i, word in enumerate(given.reshape(-1).view(f"u{given.itemsize}").tolist()):
        z = word ^ (5 + i) * 0x9E3779B97F4A7C15 % 2**64
        z = (z ^ z >> 32) * 0xBF58476D1CE4E5B9 % 2**64
        expected += z ^ z >> 32
    assert int(checksum(words(given), 5)) == expected % 2**64


def test_rows_that_change_or_change_places_change_the_checksum():
    given = np.round(np.random.default_rng(2).normal(size=300))  # many zeros at the end of words
    sums = {int(checksum(words(given), 0))}
    for i in range(300):
        other = given.copy()
        other[i] += 1.0
        sums.add(int(checksum(words(other), 0)))
        other[i] = given[i]
        j = int(np.flatnonzero(given != given[i])[0])
        other[[i, j]] = other[[j, i]]
        sums.add(int(checksum(words(other), 0)))
    swaps = len({frozenset((i, int(np.flatnonzero(given != given[i])[0]))) for i in range(300)})
    assert len(sums) == 1 + 300 + swaps


@pytest.mark.parametrize("name", READS)
def test_a_changed_number_is_refused_by_file_and_cell(tmp_path, name):
    store = built(tmp_path / "rows")
    file = tmp_path / "rows" / "segment-000" / f"{name}.npy"
    cell = 7
    r = int(store.chunks()[cell].segment.start[cell]) + 3
    width = (file.stat().st_size - 128) // 1000
    flipped(file, 128 + r * width + 1)
    store = Store.open(tmp_path / "rows")
    with pytest.raises(ValueError, match=rf"{name}\.npy is damaged: rows \d+–\d+ \(cell {cell}\)"):
        READS[name](store)
    chunks = store.chunks()
    if name != "id":
        with pytest.raises(ValueError, match="is damaged"):
            chunks[cell].load()
        pickle.loads(pickle.dumps(chunks[cell - 1])).load()  # others can be read


def test_a_search_meets_damage_where_it_looks(tmp_path):
    built(tmp_path / "rows")
    for name in ("X", "id"):
        shutil.copytree(tmp_path / "rows", tmp_path / name)
        file = tmp_path / name / "segment-000" / f"{name}.npy"
        flipped(file, file.stat().st_size - 3)
        store = Store.open(tmp_path / name)
        X = store._segments[0].columns["X"]
        store.nearest(X[:1], 5)  # far away
        with pytest.raises(ValueError, match=rf"{name}\.npy is damaged: .*cell 1\d\)"):
            store.nearest(np.asarray(X[-2:-1]), 40)
        with pytest.raises(ValueError, match="is damaged"):
            Store.open(tmp_path / name).nearest(X[:1], 1000)


@pytest.mark.parametrize("name", ["manifest.json", "segment-000/cells.npz", "tombstones-000.npy"])
def test_every_byte_of_small_files_counts(tmp_path, name):
    store = built(tmp_path / "rows")
    store.forget([3, 500])
    file = tmp_path / "rows" / name
    good, answers = file.read_bytes(), READS["X"](store)
    for at in np.random.default_rng(0).choice(len(good), 60, replace=False):
        flipped(file, at)
        try:
            found = Store.open(tmp_path / "rows")
        except ValueError as error:
            assert "damaged" in str(error) or "has the format" in str(error)
        else:
            np.testing.assert_array_equal(READS["X"](found), answers)
        file.write_bytes(good)


# -- builds that go on --------------------------------------------------------------------


def left_after_routing(path, monkeypatch):
    """Start a build that is interrupted once rows are in buckets."""

    def stop(*_):
        raise KeyboardInterrupt

    tune(monkeypatch, bucket_bytes=8_000)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(build, "_sort_bucket", stop)
        built(path, origin="a", merge=True)
    return sorted((path / "unfinished-store").glob("bucket-*"))


@pytest.mark.parametrize("damage", ["short", "gone", "empty", "zeros", "longer"])
def test_a_bucket_that_lost_rows_is_not_taken_for_merged_duplicates(tmp_path, monkeypatch, damage):
    whole = built(tmp_path / "whole", origin="a", merge=True)
    bucket = left_after_routing(tmp_path / "rows", monkeypatch)[1]
    size = bucket.stat().st_size
    if damage == "gone":
        bucket.unlink()
    elif damage == "zeros":
        bucket.write_bytes(bytes(size))
    else:
        os.truncate(bucket, {"short": size // 2, "empty": 0, "longer": 2 * size}[damage])
    store = built(tmp_path / "rows", origin="a", merge=True)
    assert len(store) == len(whole)
    np.testing.assert_array_equal(np.sort(store.ids(np.arange(len(store)))),
                                  np.sort(whole.ids(np.arange(len(whole)))))  # fmt: skip


@pytest.mark.parametrize("name", ["bucket-00001", "spool"])
def test_work_that_is_damaged_while_it_is_used_is_refused(tmp_path, monkeypatch, name):
    tune(monkeypatch, bucket_bytes=8_000)
    real = build.write_segment if name != "spool" else build.median_planes

    def damaged(*given):
        flipped(tmp_path / "rows" / "unfinished-store" / name, 100)
        return real(*given)

    if name == "spool":
        monkeypatch.setattr(build, "median_planes", damaged)
    else:
        monkeypatch.setattr("collegium.rows.store.store.write_segment", damaged)
    with pytest.raises(ValueError, match=f"{name} is damaged: "):
        Store.build(tmp_path / "rows", iter(blocks(DATA, 3)), cell_rows=60)
    assert not (tmp_path / "rows").exists()


def test_all_is_on_the_disk_before_the_marker_and_the_manifest(tmp_path, monkeypatch):
    tune(monkeypatch, bucket_bytes=8_000)
    synced, names = set(), []
    fsync, replace = os.fsync, os.replace

    def path_of(descriptor):
        return os.readlink(f"/proc/self/fd/{descriptor}")

    def noted(descriptor):
        fsync(descriptor)
        synced.add(path_of(descriptor))

    def renamed(a, b):
        names.append(Path(b).name)
        assert str(a) in synced
        work = tmp_path / "rows" / "unfinished-store"
        if names[-1] == "routed.npz":
            assert {str(one) for one in work.glob("bucket-*")} <= synced and str(work) in synced
        if names[-1] == "manifest.json":
            inside = {Path(one).name for one in synced if "unfinished-store/segment" in one}
            assert inside == {"segment", "X.npy", "y.npy", "w.npy", "id.npy", "cells.npz"}
            assert str(tmp_path / "rows") in synced and str(tmp_path) in synced
        synced.discard(str(Path(b).parent))
        replace(a, b)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(os, "replace", renamed)
    built(tmp_path / "rows", origin="a")
    assert names == ["routed.npz", "manifest.json"]
    assert str(tmp_path / "rows") in synced


# -- two writers --------------------------------------------------------------------------


class Held:
    """The lock of a folder, as another process would hold it."""

    def __init__(self, path):
        self.descriptor = os.open(path, os.O_RDONLY)
        assert try_lock(self.descriptor)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.descriptor)


def test_a_second_writer_is_refused_and_nothing_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "TUNING", type(folder.TUNING)(lock_seconds=0.05))
    store = built(tmp_path / "rows")
    more = blocks(rows(50, 2, seed=3), first=1000)
    with Held(tmp_path / "rows"):
        before = contents(tmp_path / "rows")
        for write in (lambda: store.add(more), lambda: store.forget([3])):
            with pytest.raises(BlockingIOError, match="another process or thread is writing"):
                write()
        assert contents(tmp_path / "rows") == before
        Store.open(tmp_path / "rows").nearest(np.zeros((1, 2)), 5)  # readers need no lock
    store.add(more)
    (tmp_path / "new").mkdir()
    with Held(tmp_path / "new"), pytest.raises(BlockingIOError):
        built(tmp_path / "new")
    assert len(built(tmp_path / "new")) == 1000


def test_a_store_that_changed_meanwhile_is_not_changed_again(tmp_path):
    store, other = built(tmp_path / "rows"), Store.open(tmp_path / "rows")
    other.add(blocks(rows(50, 2, seed=3), first=1000))
    before = contents(tmp_path / "rows")
    for write in (
        lambda: store.add(blocks(rows(60, 2, seed=4), first=1000)), lambda: store.forget([3])
    ):  # fmt: skip
        with pytest.raises(ValueError, match="changed by another process"):
            write()
    assert contents(tmp_path / "rows") == before


#: A process that takes the lock, says so, and waits to be killed.
HOLDER = """
import sys, time
from pathlib import Path
from collegium.rows.store import folder
with folder.alone(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_the_lock_of_a_killed_process_is_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "TUNING", type(folder.TUNING)(lock_seconds=0.05))
    store = built(tmp_path / "rows")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "rows")], stdout=subprocess.PIPE,
        env=environment,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(BlockingIOError):
            store.forget([3])
        process.send_signal(signal.SIGKILL)
        process.wait()
    store.forget([3])
    assert len(store) == 999


# -- remains ------------------------------------------------------------------------------


def test_remains_are_swept_when_a_store_is_opened_unless_another_writes(tmp_path):
    path = tmp_path / "rows"
    built(path).forget([5])
    before = contents(path)
    (path / "unfinished-store").mkdir()
    (path / "unfinished-store" / "bucket-00000").write_bytes(b"rows")
    shutil.copytree(path / "segment-000", path / "segment-007")
    for name in (".manifest.json.0123456789abcdef.part", "tombstones-009.npy",
                 "sites-1.f64", "sites-1.f64.passing"):  # fmt: skip
        (path / name).write_bytes(b"left")
    (path / "mine.txt").write_text("not ours")
    (path / "sites-2.f64").write_text("kept by a model file")
    with Held(path):
        Store.open(path)
        assert (path / "segment-007").exists() and (path / "unfinished-store").exists()
    Store.open(path)
    (path / "mine.txt").unlink()
    (path / "sites-2.f64").unlink()
    assert contents(path) == before


def no_locks(monkeypatch, how):
    if how == "none":
        monkeypatch.setattr(durable, "fcntl", None)
    else:

        def refused(*_):
            raise OSError(errno.ENOLCK, "no locks available")

        monkeypatch.setattr(durable.fcntl, "flock", refused)


@pytest.mark.parametrize("how", ["none", "refused"])
def test_without_locks_a_reader_removes_nothing_that_a_writer_may_need(tmp_path, monkeypatch, how):
    path = tmp_path / "rows"
    store, real = built(path), store_module.sync_folder
    n, seen = len(store), []
    X, y, w = np.ones((50, store.schema.d)), np.ones((50, store.schema.p)), np.ones(50)

    def reader_comes(folder):  # the segment is there, the manifest does not list it yet
        real(folder)
        (path / "sites-1.f64.passing").write_bytes(b"held by the writer")
        seen.append(len(Store.open(path)))

    no_locks(monkeypatch, how)
    monkeypatch.setattr(store_module, "sync_folder", reader_comes)
    store.add([(X, y, w, store.next_row)])
    assert seen == [n] and len(Store.open(path)) == n + 50
    assert (path / "sites-1.f64.passing").exists()


def test_forgotten_rows_take_a_bit_each(tmp_path):
    store = built(tmp_path / "rows")
    gone = np.arange(0, 1000, 7)
    view = store.without(gone)
    assert [one.dead.nbytes for one in view._segments] == [125]
    assert len(view) == 1000 - gone.size and len(store) == 1000
    later = store.without([1], from_row=600)
    assert len(later) == 599 and later.ids(later.sample(10**6)).max() == 599
    dead = np.zeros(1000, bool)
    dead[gone] = True
    mask = masks.mask_of(np.arange(1000), gone)
    np.testing.assert_array_equal(masks.marked(mask, 13, 777), dead[13:777])
    np.testing.assert_array_equal(masks.marked_at(mask, gone[::2] + 1), dead[gone[::2] + 1])
    assert masks.count_marked(mask) == gone.size
