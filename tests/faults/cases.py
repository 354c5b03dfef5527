"""What is done to stores, model files and sources, and what must hold after every fault."""

import os
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

import collegium
from collegium.rows.store import build, records, segment, store
from collegium.rows.store.store import Store
from collegium.sources.stamps import SourceChangedError
from collegium.sources.writing import columns_to
from ledger.kills import change, check_whole, killed_and_whole
from ledger.ledger_cases import fitted

from .disk import crashes, killed_at, laid_out
from .lost import left_by_power_cut, library, noting

N, MORE = 400, 150
QUERIES = np.random.default_rng(5).normal(size=(6, 2))


@dataclass
class Tried:
    """Faults that were tried, by kind, and those after which something was wrong."""

    counts: dict = field(default_factory=dict)
    wrong: list = field(default_factory=list)

    def add(self, kind, what, error=""):
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if error:
            self.wrong.append(f"{kind}: {what}: {error}")


def small_parts():
    """Several buckets and slices although there are few rows."""
    for module in (build, records, segment, store):
        module.TUNING = replace(module.TUNING, bucket_bytes=4_000, slice_bytes=2_000)


def some_rows(n, seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 2)), 1)
    return X, rng.normal(size=(n, 1)), 1.0 + rng.integers(3, size=n)


def blocks(n, seed, first=0):
    X, y, w = some_rows(n, seed)
    return [(X[a : a + 100], y[a : a + 100], w[a : a + 100], first + a) for a in range(0, n, 100)]


# -- stores -------------------------------------------------------------------------------


def built(path):
    return Store.build(path, blocks(N, 0), cell_rows=30, origin="a", merge=True)


def added(path):
    Store.open(path).add(blocks(MORE, 1, first=N))


def grown(path):
    """Add so many that all is sorted again, after some were forgotten."""
    Store.open(path).add(blocks(N, 2, first=N))


def forgotten(path):
    Store.open(path).forget(np.arange(7, 60))


def tentative(path):
    Store.open(path).add(blocks(MORE, 1, first=N), keep=1, tentative="b")


def tentative_again(path):
    Store.open(path).add(blocks(40, 4, first=N + MORE), keep=1, tentative="c")


def undone(path):
    Store.open(path).undo()


#: What leads to the state before, and what is done then.
STORES = {
    "build": ((), built),
    "add": ((built,), added),
    "add to forgotten": ((built, forgotten), grown),
    "forget": ((built,), forgotten),
    "forget more": ((built, added), forgotten),
    "undo": ((built, tentative), undone),
    "undo of two": ((built, forgotten, tentative, tentative_again), undone),
    "undo of merged": ((built, added, lambda path: Store.open(path).add(
        blocks(N, 3, first=N + MORE), keep=1, tentative="c")), undone),
}  # fmt: skip


def rows_in(path):
    """All rows by number, and neighbours of some places: the bytes of all answers."""
    found = Store.open(path)
    at = found.sample(10**6)
    ids = found.ids(at)
    near, distances = found.nearest(QUERIES, 25)
    X, y, w = found.take(at)
    answers = ids, X, y, w, found.ids(near), distances, np.array([found.total_weight(), len(found)])
    loaded = sum((chunk.load() for chunk in found.chunks()), ())
    order = np.concatenate([chunk.ids for chunk in found.chunks()])
    merged = [np.concatenate(loaded[k::3])[np.argsort(order)] for k in range(3)]
    assert all(np.array_equal(a, b) for a, b in zip(merged, (X, y, w)))
    return b"".join(np.ascontiguousarray(part).tobytes() for part in answers)


def found_or_error(path):
    try:
        return rows_in(path)
    except (ValueError, OSError) as error:
        return error


def crash_store(name, folder, tried, most=None):
    """Every state that a crash may leave: old rows or new ones, and the work can be done again."""
    before, work = STORES[name]
    root = Path(folder) / "live"
    root.mkdir(parents=True)
    path = root / "rows"
    for step in before:
        step(path)
    old = rows_in(path) if before else None
    states, last = crashes(root, lambda: work(path))
    new, crash = rows_in(path), Path(folder) / "crash"
    for what, state in states[:: 1 if most is None else max(1, len(states) // most)]:
        laid_out(state, crash)
        tried.add(f"crash, {name}", what, wrong_in(crash / "rows", work, old, new))
    laid_out(last, crash)
    kept = found_or_error(crash / "rows") == new
    tried.add(f"crash, {name}", "power cut when it was done", "" if kept else "it is gone")
    shutil.rmtree(folder)


def wrong_in(path, work, old, new):
    """Say what is wrong after a crash; empty: nothing is."""
    found = found_or_error(path)
    if not isinstance(found, bytes):
        if old is not None:
            return f"the store does not open: {found}"
    elif found not in (old, new):
        return "other rows, and no error"
    if found == new:
        return ""
    try:
        work(path)
    except Exception as error:
        return f"the work cannot be done again: {error!r}"
    return "" if rows_in(path) == new else "other rows once the work was done again"


def kill_store(name, folder, tried, every=1):
    """Kill a process ahead of each step, then do the work again."""
    before, work = STORES[name]
    start, path = Path(folder) / "start", Path(folder) / "rows"
    start.parent.mkdir(parents=True)
    for step in before:
        step(start)
    old = rows_in(start) if before else None

    def again():
        shutil.rmtree(path, ignore_errors=True)
        if before:
            shutil.copytree(start, path)

    again()
    work(path)
    new, k = rows_in(path), 1
    again()
    while killed_at(k, lambda: work(path)):
        tried.add(f"kill -9, {name}", f"step {k}", wrong_in(path, work, old, new))
        again()
        k += every
    shutil.rmtree(folder)


def flip_store(folder, tried, count, seed=0):
    """One byte of every file of a store: the same bits, or an error."""
    path = Path(folder) / "rows"
    path.parent.mkdir(parents=True)
    built(path)
    added(path)
    forgotten(path)
    good = rows_in(path)
    rng = np.random.default_rng(seed)
    for file in sorted(one for one in path.rglob("*") if one.is_file()):
        data = file.read_bytes()
        for at in rng.integers(len(data), size=count):
            with changed(file, data, int(at), int(rng.integers(1, 256))):
                found = found_or_error(path)
            same = found == good or not isinstance(found, bytes)
            tried.add(
                "flip, store", f"{file.name} byte {at}", "" if same else "other rows, no error"
            )
    shutil.rmtree(folder)


class changed:
    """One byte of a file, for a while."""

    def __init__(self, file, data, at, bits):
        self.file, self.data, self.at, self.bits = file, data, at, bits

    def __enter__(self):
        with open(self.file, "r+b") as file:
            file.seek(self.at)
            file.write(bytes([self.data[self.at] ^ self.bits]))

    def __exit__(self, *_):
        self.file.write_bytes(self.data)


def flip_unfinished(folder, tried, count, seed=0):
    """One byte of what an interrupted build left: the next one gives the same rows."""
    path, left = Path(folder) / "rows", Path(folder) / "left"
    path.parent.mkdir(parents=True)
    built(path)
    good = rows_in(path)
    shutil.rmtree(path)
    real, build._sort_bucket = build._sort_bucket, interrupted
    try:
        built(path)
    except KeyboardInterrupt:
        pass
    finally:
        build._sort_bucket = real
    path.rename(left)
    rng = np.random.default_rng(seed)
    for file in sorted((left / "unfinished-store").glob("[br]*")):
        for at in rng.integers(file.stat().st_size, size=count):
            shutil.copytree(left, path)
            own = path / "unfinished-store" / file.name
            data = own.read_bytes()
            own.write_bytes(data[:at] + bytes([data[at] ^ 0x24]) + data[at + 1 :])
            try:
                built(path)
                error = "" if rows_in(path) == good else "other rows, no error"
            except ValueError:
                error = ""
            tried.add("flip, unfinished build", f"{file.name} byte {at}", error)
            shutil.rmtree(path)
    shutil.rmtree(folder)


def interrupted(*_):
    raise KeyboardInterrupt


# -- model files and answers --------------------------------------------------------------


def two_models():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    fixed = {"kernel": collegium.kernels.RBF(), "noise": 0.1, "learn": False, "transforms": None}
    return [collegium.CommitteeRegressor(**fixed).fit(X[:n], np.sin(X[:n, 0])) for n in (60, 120)]


def crash_file(folder, tried):
    """A save and a table of answers: the old file or the new one."""
    one, two = two_models()
    for name, write in {
        "model file": (one.save, two.save),
        "answers": (lambda path: table_to(path, 3), lambda path: table_to(path, 9000)),
    }.items():
        root = Path(folder) / "live"
        root.mkdir(parents=True)
        path = root / ("m.clg" if name == "model file" else "m.parquet")
        write[0](path)
        old = path.read_bytes()
        states, last = crashes(root, lambda path=path, save=write[1]: save(path))
        new = path.read_bytes()
        gone = last.get(path.name) != new
        tried.add(f"crash, {name}", "power cut when it was done", "it is gone" * gone)
        for what, state in states:
            found = state.get(path.name)
            error = "" if found in (old, new) else "neither the old file nor the new one"
            laid_out(state, Path(folder) / "crash")
            write[1](Path(folder) / "crash" / path.name)
            left = os.listdir(Path(folder) / "crash")
            if left != [path.name]:
                error = f"left behind: {left}"
            tried.add(f"crash, {name}", what, error)
        shutil.rmtree(folder)


def table_to(path, n):
    with columns_to(path) as write:
        write({"mean": np.arange(n) * 0.5})


def kill_file(folder, tried):
    """Kill a save ahead of each step, before and after the name is replaced."""
    one, two = two_models()
    path = Path(folder) / "m.clg"
    path.parent.mkdir(parents=True)
    two.save(path)
    new = path.read_bytes()
    one.save(path)
    old, k = path.read_bytes(), 1
    while killed_at(k, lambda: two.save(path)):
        found = path.read_bytes()
        tried.add("kill -9, model file", f"step {k}", "" if found in (old, new) else "torn")
        one.save(path)
        k += 1
    assert os.listdir(folder) == ["m.clg"]
    shutil.rmtree(folder)


def flip_file(folder, tried, count, seed=0):
    """One byte of a model file: refused."""
    _, two = two_models()
    path = Path(folder) / "m.clg"
    path.parent.mkdir(parents=True)
    two.save(path)
    data, rng = path.read_bytes(), np.random.default_rng(seed)
    for at in rng.integers(len(data), size=count):
        with changed(path, data, int(at), int(rng.integers(1, 256))):
            try:
                collegium.load(path)
                error = "loaded"
            except collegium.ModelFileError:
                error = ""
        tried.add("flip, model file", f"byte {at}", error)
    shutil.rmtree(folder)


# -- ledgers ------------------------------------------------------------------------------


def kill_ledger(folder, tried, count, seed=0):
    """Kill a writer at random moments: what it was told is kept, and the state is a replay."""
    folder.mkdir(parents=True)
    path = folder / "a.clgdb"
    collegium.Ledger(path, fitted()).close()
    for k in range(1000 * seed, 1000 * seed + count):
        try:
            killed_and_whole(path, k)
            error = ""
        except (AssertionError, KeyError, collegium.LedgerError) as wrong:
            error = repr(wrong)
        tried.add("kill -9, ledger", f"seed {k}", error)
    shutil.rmtree(folder)


def cut_ledger(folder, tried, count, seed=0, changes=8, sessions=3):
    """Power cuts while a ledger is made, changed, closed and changed again: what was acknowledged
    is kept, and the state is a replay."""
    if library() is None:
        return  # SQLite is a part of this Python
    live = folder / "live"
    live.mkdir(parents=True)
    rng, path = np.random.default_rng(seed), live / "a.clgdb"
    with noting(live) as log:
        for session in range(sessions):
            with collegium.Ledger(path, fitted()) as own:
                log.tell(own.lsn, own.state)
                for _ in range(changes):
                    change(own, session, rng)
                    log.tell(own.lsn, own.state)
    for k in rng.integers(len(log.steps) + 1, size=count):
        found, told = left_by_power_cut(log, int(k), rng)
        laid_out(found, folder / "cut")
        tried.add("power cut, ledger", f"step {k}", wrong_in_ledger(folder / "cut/a.clgdb", told))
    shutil.rmtree(folder)


def wrong_in_ledger(path, told):
    """Say what is wrong after a power cut; empty: nothing is."""
    try:
        if not told:  # it was never made: it is begun now
            collegium.Ledger(path, fitted()).close()
        check_whole(path, told, 7)
    except (AssertionError, KeyError, collegium.LedgerError, OSError) as wrong:
        return repr(wrong)
    return ""


# -- sources ------------------------------------------------------------------------------

KINDS = ("parquet", "feather", "csv", "npy")


def written(folder, kind, seed):
    """A table of 300 rows in a format, in files of the same sizes for all seeds."""
    import pyarrow as pa
    from pyarrow import csv, feather, parquet

    values = np.random.default_rng(seed).integers(100, 999, size=(300, 3)) / 4.0 + 0.125
    own = pa.table({name: values[:, k] for k, name in enumerate("aby")})
    path = folder / f"rows.{kind}"
    if kind == "parquet":
        parquet.write_table(
            own, path, row_group_size=100, write_page_checksum=True, compression="none",
            use_dictionary=False,
        )  # fmt: skip
    elif kind == "feather":
        feather.write_feather(own, path, chunksize=100, compression="uncompressed")
    elif kind == "csv":
        csv.write_csv(own, path)
    else:
        np.save(folder / "X.npy", values[:, :2])
        np.save(folder / "y.npy", values[:, 2])
        return folder / "X.npy", folder / "y.npy"
    return path


def opened(paths):
    roles = {} if isinstance(paths, tuple) else {"target": "y"}
    return collegium.open(paths, chunk_rows=40, **roles)


def read(source, between=lambda k: None):
    """All rows, in two passes as a fit makes them; `between(k)` ahead of read k."""
    parts, k = [], 0
    for _ in range(2):
        rows = source.rows()
        while True:
            k += 1
            between(k)
            found = next(rows, None)
            if found is None:
                break
            parts += [part.tobytes() for part in found[1:]]
    return b"".join(parts), k


def swap_source(folder, tried, kinds=KINDS, ways=("renamed", "copied", "touched back")):
    """Other rows in the place of a source's, between any two reads of two passes."""
    for kind in kinds:
        folder.mkdir(parents=True)
        (folder / "other").mkdir()
        good, count = read(opened(written(folder, kind, 0)))
        for way in ways:
            for k in range(1, count + 1):
                paths = written(folder, kind, 0)
                theirs = written(folder / "other", kind, 1)
                several = zip(*(p if isinstance(p, tuple) else (p,) for p in (paths, theirs)))
                pairs = list(several)

                def swap(at, k=k, pairs=pairs, way=way):
                    if at == k:
                        for own, other in pairs:
                            exchange(own, other, way)

                try:
                    found = read(opened(paths), swap)[0]
                    error = "" if found == good else "a mixture, no error"
                except SourceChangedError:
                    error = ""
                tried.add(f"swap, {kind}", f"{way} ahead of read {k}", error)
        shutil.rmtree(folder)


def exchange(own, other, way):
    before = os.stat(own)
    if way == "renamed":
        os.replace(other, own)
        return
    shutil.copyfile(other, own)
    if way == "touched back":
        os.utime(own, ns=(before.st_atime_ns, before.st_mtime_ns))


def flip_parquet(folder, tried, count, seed=0):
    """One byte of the pages of a Parquet file that has checksums: the same rows, or an error."""
    folder.mkdir(parents=True)
    path = written(folder, "parquet", 0)
    good, data = read(opened(path))[0], path.read_bytes()
    pages = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    rng = np.random.default_rng(seed)
    for at in rng.integers(4, pages, size=count):
        with changed(path, data, int(at), int(rng.integers(1, 256))):
            try:
                error = "" if read(opened(path))[0] == good else "other rows, no error"
            except (ValueError, OSError):
                error = ""
        tried.add("flip, parquet pages", f"byte {at}", error)
    shutil.rmtree(folder)
