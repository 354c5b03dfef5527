"""Ledgers of many rows: models find rows in a store beside the file, and promise the same."""

import copy
import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from collegium import CommitteeRegressor, Ledger, LedgerError, load
from collegium.ledger.storage import beside
from collegium.ledger.tuning import TUNING
from collegium.pipeline.kept.lent import Lent
from collegium.rows.store.store import Store
from ledger.kills import forked, succeeded
from ledger.ledger_cases import QUERIES, classified, fitted, fresh, same_answers, some_rows
from ledger.test_ledger import check_walk, random_walk
from ledger.test_ledger_faults import all_bytes, marks

FEW, MANY = 60, 10**6


def in_memory(n):
    object.__setattr__(TUNING, "rows_in_memory", n)


@pytest.fixture(autouse=True)
def low():
    """Put models of more than 60 rows on disk, and add messages in small batches."""
    before = TUNING.batch
    in_memory(FEW)
    object.__setattr__(TUNING, "batch", 40)
    yield
    in_memory(MANY)
    object.__setattr__(TUNING, "batch", before)


@pytest.fixture
def own(tmp_path):
    with Ledger(tmp_path / "a.clgdb", fitted(), keep=["who"]) as found:
        yield fill(found, range(6))


def fill(ledger, numbers, n=25):
    for k in numbers:
        kept = {"who": [i % 3 for i in range(n)]}
        ledger.add(*some_rows(k, n), id=k, kept=kept, source=f"s{k % 3}")
    return ledger


def on_disk(model):
    return isinstance(model.model_.stored, Lent)


def close_answers(a, b):
    return all(
        np.allclose(x, y, rtol=1e-11, atol=1e-12)
        for x, y in zip(*(m.predict(QUERIES, return_std=True) for m in (a, b)))
    )


def both(ledger, ask):
    """What is found on disk, and in memory."""
    ledger._cached = None
    found = ask(ledger)
    in_memory(MANY)
    ledger._cached = None
    try:
        return found, ask(ledger)
    finally:
        in_memory(FEW)
        ledger._cached = None


def bytes_of(folder):
    """All files of a ledger and of the folder beside it."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return b"".join(path.read_bytes() for path in files)


# -- equality ---------------------------------------------------------------------------------


def test_the_model_is_that_of_rows_in_memory(own):
    disk, memory = both(own, Ledger.model)
    assert on_disk(disk) and not on_disk(memory)
    assert close_answers(disk, memory)
    assert disk.model_.chunks.n == memory.model_.chunks.n
    assert disk.model_.total_weight == memory.model_.total_weight
    assert disk.predict(QUERIES, return_std=True)[1].max() < 0.9
    assert np.allclose(*(m.predict_interval(QUERIES, coverage=0.8) for m in (disk, memory)))


@pytest.mark.parametrize("seed", range(4))
def test_random_changes_are_a_fresh_build_to_the_last_bit(tmp_path, seed, monkeypatch):
    monkeypatch.setattr("collegium.ledger.ledger.TAIL", 2)
    in_memory(5)
    check_walk(tmp_path, seed)


@pytest.mark.parametrize("seed", range(50, 52))
def test_all_models_on_the_way_are_those_in_memory(tmp_path, seed):
    """The store is added to, hidden from, and built anew, step by step."""
    in_memory(5)
    ledger, _, history = random_walk(tmp_path / "w.clgdb", seed, 10)
    with ledger:
        for lsn in range(len(history)):
            if sum(len(y) for _, y, *_ in history[lsn].values()) <= 5:
                continue
            in_memory(5)
            disk = ledger.as_of(lsn)
            in_memory(MANY)
            assert on_disk(disk) and close_answers(disk, ledger.as_of(lsn))
        in_memory(5)
        assert ledger.verify()["store"] in ("whole", "none")


def test_one_store_serves_all_models(own, monkeypatch):
    built, added, build, add = [], [], Store.build, Store.add
    monkeypatch.setattr(Store, "build", lambda *a, **k: built.append(a) or build(*a, **k))
    monkeypatch.setattr(Store, "add", lambda *a, **k: added.append(a) or add(*a, **k))
    in_memory(30)
    assert len(own.by("source")) == 3
    own.explain(QUERIES[:1])
    own.model()
    own.as_of(4)
    assert (len(built), len(added)) == (1, 0)
    fill(own, [6])
    own.model()
    own.replace(6, *some_rows(70), kept={"who": [0] * 25})
    own.by("who")
    assert on_disk(own.as_of(own.lsn - 1))
    assert (len(built), len(added)) == (1, 2)
    own.forget(0)
    own.model()
    assert (len(built), len(added)) == (2, 2)


@pytest.mark.parametrize("by", ["who", "source", "id"])
def test_groups_and_explanations_are_those_in_memory(own, by):
    if by == "id":
        fill(own, [7], 100)
    disk, memory = both(own, lambda ledger: ledger.by(by))
    assert [*disk] == [*memory] and sum(map(on_disk, disk.values())) == (by == "id")
    assert all(close_answers(disk[one], memory[one]) for one in disk)
    in_memory(30)  # also of the rows of one value
    disk, memory = both(own, lambda ledger: ledger.by(by))
    assert by == "id" or all(map(on_disk, disk.values()))
    assert all(close_answers(disk[one], memory[one]) for one in disk)
    disk, memory = both(own, lambda ledger: ledger.explain(QUERIES, by=by))
    assert disk.values == memory.values and disk.rows == memory.rows
    assert np.allclose(disk.means, memory.means, rtol=1e-10, atol=1e-12)
    assert np.allclose(disk.stds, memory.stds, rtol=1e-10)


def test_copies_of_a_row_are_left_out_one_by_one(tmp_path):
    """Equal rows of a chunk are one row with their weight, of which a source has a share."""
    X, y = some_rows(0, 80)
    X, y, w = np.repeat(X, 2, axis=0), np.repeat(y, 2), np.tile([0.7, 1.9], 80)
    with Ledger(tmp_path / "a.clgdb", fitted(), keep=["who"]) as own:
        own.add(X, y, id=0, sample_weight=w, kept={"who": ["a"] + ["b", "c"] * 79 + ["b"]})
        disk, memory = both(own, lambda ledger: ledger.explain(QUERIES, by="who"))
        assert np.abs(memory.changes).max() > 1e-4
        assert np.allclose(disk.means, memory.means, rtol=1e-10, atol=1e-12)
        assert np.allclose(disk.stds, memory.stds, rtol=1e-10)
        disk, memory = both(own, lambda ledger: ledger.by("who"))
        assert on_disk(disk["b"]) and close_answers(disk["b"], memory["b"])


def test_rows_at_equal_distances_are_chosen_alike_however_they_came(tmp_path):
    rng = np.random.default_rng(4)
    chunks = {k: (rng.integers(-2, 3, size=(30, 2)) * 1.0, rng.normal(size=30)) for k in range(6)}
    with fresh(tmp_path / "a.clgdb", chunks) as one:
        whole = one.model()
    with Ledger(tmp_path / "b.clgdb", fitted()) as two:
        for k in (5, 3, 0, 1, 4, 2):
            two.add(*chunks[k], id=k)
            last = two.model()
        assert on_disk(last) and same_answers(last, whole, chunks[0][0])


def test_records_and_certificates(own):
    disk, memory = both(own, Ledger.export)
    assert disk["coverage"] == pytest.approx(memory["coverage"])
    own.forget(where="who = 1")
    assert own.certify().rebuilt and own.certify().erased
    assert own.verify()["state"] == own.state


def test_merging_reads_one_batch_at_a_time(own, tmp_path):
    with Ledger(tmp_path / "b.clgdb", fitted(), keep=["who"]) as other:
        fill(other, range(6, 10))
        other.merge(own)
        with Ledger(tmp_path / "c.clgdb", fitted(), keep=["who"]) as third:
            fill(third, [*range(9, 2, -1), 0, 1, 2])
            own.merge(other)
            assert own.state == other.state == third.state
            assert same_answers(own.model(), third.model())
            assert on_disk(own.model())


def test_models_that_keep_no_rows_need_no_store(tmp_path):
    with fresh(tmp_path / "a.clgdb", {k: some_rows(k) for k in range(5)}, fitted(n_local=0)) as own:
        disk, memory = both(own, Ledger.model)
        assert same_answers(disk, memory) and not own._beside.path.exists()
        assert disk.model_.chunks.n == memory.model_.chunks.n


def test_other_likelihoods_stay_in_memory(tmp_path):
    chunks = {}
    for k in range(4):
        X, f = some_rows(k)
        chunks[k] = X, np.where(f > 0.3, "high", "low")
    with fresh(tmp_path / "a.clgdb", chunks, classified()) as own:
        assert own.model().model_.stored is None and not own._beside.path.exists()


def test_relearning_begins_another_store(own):
    first = own.model()
    own.relearn()
    assert not own._beside.path.exists()  # it had rows as the earlier basis saw them
    disk, memory = both(own, Ledger.model)
    assert on_disk(disk) and close_answers(disk, memory)
    assert on_disk(first) and np.isfinite(first.predict(QUERIES)).all()


# -- what a model may do ----------------------------------------------------------------------


def test_a_model_outlives_changes_of_the_ledger(own):
    model = own.model()
    copied, known = copy.deepcopy(model), model.predict(QUERIES)
    fill(own, [6, 7])
    own.model()
    own.forget([0, 6])
    own.model()
    for one in (model, copied):
        assert np.array_equal(one.predict(QUERIES), known)


def test_rows_are_changed_in_the_ledger_alone(own):
    model = own.model()
    known = model.predict(QUERIES)
    for change in (
        lambda: model.partial_fit(*some_rows(9)), lambda: model.forget(2), lambda: model.relearn(),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="belong to a ledger"):
            change()
    assert np.array_equal(model.predict(QUERIES), known)


def test_a_saved_model_needs_the_store_as_it_was(own, tmp_path):
    model = own.model()
    known = model.predict(QUERIES)
    model.save(tmp_path / "m.clg")
    assert np.array_equal(load(tmp_path / "m.clg").predict(QUERIES), known)
    code = "import sys, collegium; print(*collegium.load(sys.argv[1]).predict(eval(sys.argv[2])))"
    asked = [sys.executable, "-c", code, str(tmp_path / "m.clg"), str(QUERIES.tolist())]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert np.allclose([float(one) for one in done.stdout.split()], known, rtol=1e-12)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(QUERIES), known)
    fill(own, [8])
    own.model()
    with pytest.raises(ValueError, match="ask that ledger for its model again"):
        load(tmp_path / "m.clg").predict(QUERIES)


# -- bytes ------------------------------------------------------------------------------------


def test_no_byte_of_forgotten_rows_is_in_the_store(own, tmp_path):
    model = own.model()
    y = model.model_.scaling.forward(some_rows(1)[1][:, None])
    gone = marks(some_rows(1)[0], []) + marks(some_rows(2)[0][3:5], []) + marks(y, [])
    stay = marks(some_rows(2)[0][:3], []) + marks(some_rows(3)[0], [])
    there = bytes_of(own._beside.path)
    assert all(one in there for one in gone + stay)
    own.replace(1, *some_rows(60), kept={"who": [0] * 25})
    own.model()
    assert all(one in bytes_of(tmp_path) for one in gone)  # for `as_of`
    done = [own.forget(1), own.forget(rows={2: [3, 4]})]
    assert all(one.erased for one in done)
    gone += marks(some_rows(60)[0], [])
    for _ in range(3):
        there = bytes_of(tmp_path)
        assert not [one for one in gone if one in there] and all(one in there for one in stay)
        assert close_answers(*both(own, Ledger.model))
    assert all(one in bytes_of(own._beside.path) for one in stay)


def test_remains_of_a_kill_are_erased_too(own, tmp_path):
    """A process that is killed while it writes the store leaves rows in files of no store."""
    own.model()
    fill(own, [6])
    whole = next(own._beside.path.glob("cells-*"))
    gone = marks(some_rows(6)[0], [])
    for folder in (whole / "unfinished-store", own._beside.path / "cells-0" / "unfinished-store"):
        folder.mkdir(parents=True)
        (folder / "spool").write_bytes(some_rows(6)[0].tobytes())
    assert own.forget(6).erased
    assert not [one for one in gone if one in bytes_of(tmp_path)]
    assert whole.exists()  # the chunk was not in it yet
    assert close_answers(*both(own, Ledger.model))


def test_a_store_in_use_by_another_process_delays_the_erasure(own, tmp_path):
    own.model()
    object.__setattr__(TUNING, "wait", 0.05)
    try:
        with own._beside._alone():
            done = own.forget(0)
            assert not done.erased and not own.certify().erased
    finally:
        object.__setattr__(TUNING, "wait", 60.0)
    fill(own, [9])
    assert own.certify().erased
    assert not [one for one in marks(some_rows(0)[0], []) if one in bytes_of(tmp_path)]


def test_a_ledger_that_has_few_rows_again_has_no_store(own):
    own.model()
    own.forget([0, 1, 2, 3])
    assert not own._beside.path.exists() and not on_disk(own.model())


# -- kills, damage, copies --------------------------------------------------------------------


def killed_at(path, work, moment):
    """Kill a process that does `work` on a ledger, when it reaches a moment."""

    def child():
        with pytest.MonkeyPatch.context() as patch:
            moment(patch, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
            work(Ledger(path))

    assert not succeeded(forked(child))


MOMENTS = {
    "before the store is written": lambda patch, die: patch.setattr(
        "collegium.rows.store.store.Store.build", die
    ),
    "before rows are added": lambda patch, die: patch.setattr(
        "collegium.rows.store.store.Store.add", die
    ),
    "before a segment is part of it": lambda patch, die: patch.setattr(
        "collegium.rows.store.store._finish", die
    ),
    "before it is noted what is held": lambda patch, die: patch.setattr(
        beside.RowsBeside, "_noted", die
    ),
    "before forgotten rows are erased": lambda patch, die: patch.setattr(
        beside.RowsBeside, "remove_unless", die
    ),
}


@pytest.mark.parametrize("there", [False, True], ids=["new", "there"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_kill_between_a_commit_and_the_store_is_repaired(tmp_path, moment, there):
    path = tmp_path / "a.clgdb"
    with Ledger(path, fitted(), keep=["who"]) as own:
        fill(own, range(5))
        if there:
            own.model()

    def work(ledger):
        fill(ledger, [5])
        ledger.model()
        ledger.forget(2)
        os._exit(0)

    if (moment, there) in (
        ("before rows are added", False), ("before the store is written", True),
    ):  # fmt: skip
        return  # not on the way
    killed_at(path, work, MOMENTS[moment])
    with Ledger(path) as own:
        expected = {0, 1, 3, 4, 5} | (set() if "erased" in moment else {2})
        assert {one.id for one in own.chunks()} == expected
        assert close_answers(*both(own, Ledger.model))
        fill(own, [9])
        own.forget(9)
        if "erased" in moment:
            assert not [one for one in marks(some_rows(2)[0], []) if one in bytes_of(tmp_path)]
        assert own.verify()["store"] in ("whole", "none")
        assert close_answers(*both(own, Ledger.model))
        assert len([*own._beside.path.glob("cells-*")]) == 1


@pytest.mark.slow
def test_kills_at_random_moments(tmp_path):
    path, rng = tmp_path / "a.clgdb", np.random.default_rng(8)
    Ledger(path, fitted(), keep=["who"]).close()
    with Ledger(path) as own:
        fill(own, range(4)).model()  # functions are compiled before processes part

    def work():
        own = Ledger(path)
        for k in range(1000):
            fill(own, [100 * own.lsn + k], 20)
            own.model().predict(QUERIES)
            if k % 3 == 2:
                own.forget(own.chunks()[0].id)

    for _ in range(6):
        child = forked(work)
        time.sleep(rng.uniform(0.05, 0.4))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with Ledger(path) as own:
            assert close_answers(*both(own, Ledger.model))
            assert own.verify()["store"] == "whole"


def cells_file(own, name="X.npy"):
    return next(own._beside.path.glob(f"cells-*/segment-*/{name}"))


DAMAGE = {
    "missing": lambda own: shutil.rmtree(own._beside.path),
    "no book": lambda own: (own._beside.path / beside.BOOK).unlink(),
    "half a book": lambda own: os.truncate(own._beside.path / beside.BOOK, 50),
    "another book": lambda own: (own._beside.path / beside.BOOK).write_text("[1]"),
    "a file cut short": lambda own: os.truncate(cells_file(own), 100),
    "a missing file": lambda own: cells_file(own, "cells.npz").unlink(),
    "other boxes": lambda own: cells_file(own, "cells.npz").write_bytes(
        bytes(cells_file(own, "cells.npz").stat().st_size)
    ),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_store_is_built_again(own, how):
    known = own.model().predict(QUERIES)
    DAMAGE[how](own)
    own._cached = None
    model = own.model()
    assert on_disk(model) and np.array_equal(model.predict(QUERIES), known)


def spoil(file, at=-700):
    """Overwrite some bytes of a file that may be open."""
    with open(file, "r+b") as own:
        own.seek(at, os.SEEK_END)
        own.write(b"?" * 500)


@pytest.mark.parametrize("name", ["X.npy", "id.npy"])
def test_damage_that_is_met_by_the_ledger_is_repaired(own, name):
    known = own.model().predict(QUERIES)
    spoil(cells_file(own, name))
    own._cached = None
    assert np.array_equal(own.model().predict(QUERIES), known)


def test_damage_that_is_met_by_a_model_is_told_and_verify_repairs_it(own):
    model, fine = own.model(), own.model()
    known = fine.predict(QUERIES)
    del model, fine
    spoil(cells_file(own, "y.npy"))
    own._cached = None
    with pytest.raises(ValueError, match=r"Call verify\(\) of the ledger"):
        own.model().predict(QUERIES)
    assert own.verify()["store"].startswith("damaged, and removed")
    assert np.array_equal(own.model().predict(QUERIES), known)
    assert own.verify()["store"] == "whole"


def test_other_rows_in_a_whole_store_are_found_by_verify(own, monkeypatch):
    real = Ledger._models

    def other(self, con):
        found = real(self, con)
        read = type(found.template).read

        def wrong(template, key, id, rows):
            one = read(template, key, id, rows)
            one.rows.y[3] += 1e-9
            return one

        monkeypatch.setattr(type(found.template), "read", wrong)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "_models", other)
        own.model()
        monkeypatch.undo()
    assert own.verify()["store"].startswith("damaged")


def test_a_copy_without_its_store_builds_one(own, tmp_path):
    known = own.model().predict(QUERIES)
    own.copy_to(tmp_path / "b.clgdb")
    with Ledger(tmp_path / "b.clgdb") as other:
        assert np.array_equal(other.model().predict(QUERIES), known)
        assert other._beside.path.name == "b.clgdb.rows" and other._beside.path.exists()
        other.forget(0)
    assert np.array_equal(own.model().predict(QUERIES), known)


def test_a_reader_builds_the_store_and_follows_the_writer(own, tmp_path):
    with Ledger(tmp_path / "a.clgdb") as reader:
        one = reader.model()
        assert on_disk(one) and same_answers(one, own.model())
        fill(own, [6])
        own.forget([1, 2])
        assert same_answers(reader.model(), own.model())
        assert one.model_.total_weight == 150 and reader.model().model_.total_weight == 125


def test_where_the_store_cannot_be_written_the_ledger_says_so(own):
    own._beside.path.write_text("a file in its place")
    with pytest.raises(LedgerError, match="The ledger is as it was"):
        own.model()
    own._beside.path.unlink()
    assert on_disk(own.model())


def test_a_full_disk_leaves_the_ledger_and_the_store_as_they_were(tmp_path):
    path = tmp_path / "a.clgdb"
    with Ledger(path, fitted(), keep=["who"]) as own:
        fill(own, range(3), 100).model()

    def work():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        own = Ledger(path)
        fill(own, range(3, 40), 100)
        own.close()
        own = Ledger(path)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        with pytest.raises(LedgerError, match="The ledger is as it was"):
            own.model()
        assert own.n_rows == 4000
        os._exit(0)

    assert succeeded(forked(work))
    with Ledger(path) as own:
        assert close_answers(*both(own, Ledger.model))
        assert own.verify()["rows"] == 4000


def test_files_of_a_ledger_that_forgets_are_only_its_own(own, tmp_path):
    """Other files in the folder are left alone."""
    own.model()
    (own._beside.path / "notes.txt").write_text("mine")
    own.forget([0, 1, 2, 3, 4])
    assert [one.name for one in own._beside.path.iterdir()] == ["notes.txt"]
    assert b"mine" in all_bytes(tmp_path, "a.clgdb.rows/notes")


def test_numbers_of_rows_follow_from_the_chunk_alone():
    keys = [f"{k:02x}" + "0" * 62 for k in range(5)] + [
        "00" + "0" * 61 + "1",
        "f" * 64,
        "f" * 63 + "e",
    ]
    found = beside.first_numbers(keys)
    assert found == beside.first_numbers(keys[::-1]) and len(set(found.values())) == len(keys)
    assert found["0" * 64] == 0 and found["0" * 63 + "1"] == 1 << beside.ROWS
    assert 0 <= min(found.values()) and max(found.values()) < 2**62
    assert {found["f" * 63 + "e"], found["f" * 64]} == {
        (2**36 - 1) << beside.ROWS,
        2 << beside.ROWS,
    }


@pytest.mark.slow
def test_words_and_transforms_are_stored_as_the_model_sees_them(tmp_path):
    rng = np.random.default_rng(6)
    words = np.array(["Rome", "Oslo", "Lima"])
    n = 400
    X = [
        {"a": float(a), "town": str(t)} for a, t in zip(rng.lognormal(size=n), rng.choice(words, n))
    ]
    y = np.array([np.log(one["a"]) + len(one["town"]) % 2 for one in X]) + 0.1 * rng.normal(size=n)
    asked = CommitteeRegressor(anchors=20, chunks=60, n_local=20, random_state=0, transforms="auto")
    start = asked.set_params(inference="inductive", members=None).fit(X, np.exp(y))
    with Ledger.of(start, X, np.exp(y), path=tmp_path / "a.clgdb") as own:
        disk, memory = both(own, Ledger.model)
        assert on_disk(disk)
        found = [m.predict(X[:50], return_std=True) for m in (disk, memory)]
        assert all(np.allclose(a, b, rtol=1e-6) for a, b in zip(*found))
