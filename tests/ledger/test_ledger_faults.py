"""Kills, full disks, second writers, damaged and tampered files: nothing is lost in silence."""

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from collegium import CommitteeClassifier, Ledger, LedgerError
from collegium.ledger.storage import places
from ledger.kills import forked, killed_and_whole, succeeded, write_on_and_on
from ledger.ledger_cases import QUERIES, fitted, fresh, same_answers, some_rows

# -- kills ----------------------------------------------------------------------------------


def test_a_kill_at_any_moment_loses_nothing_that_was_acknowledged(tmp_path):
    path = tmp_path / "a.clgdb"
    Ledger(path, fitted()).close()
    assert sum(killed_and_whole(path, seed) for seed in range(8)) > 15


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_five_hundred_kills(tmp_path, part):
    Ledger(tmp_path / "a.clgdb", fitted()).close()
    seeds = range(100 * part + 100, 100 * part + 200)
    assert sum(killed_and_whole(tmp_path / "a.clgdb", seed) for seed in seeds) > 250


# -- disks ----------------------------------------------------------------------------------


#: Texts that fill a small disk soon.
LONG = {"note": ["a long text " * 300] * 25}


def fill_up(own):
    """Add rows until that fails; how many chunks were added."""
    for k in range(10_000):
        state, lsn = own.state, own.lsn
        try:
            own.add(*some_rows(k), id=k, kept=LONG)
        except LedgerError as error:
            assert "Nothing of this step was kept" in str(error)
            assert (own.state, own.lsn) == (state, lsn)
            return k
    raise AssertionError("the disk is never full")


@pytest.fixture
def small_disk(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can mount a disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    asked = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if subprocess.run(asked, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_keeps_what_was_there(small_disk, tmp_path):
    own = Ledger(small_disk / "a.clgdb", fitted())
    count = fill_up(own)
    assert count > 3
    state = own.state
    assert own.verify()["chunks"] == count
    with pytest.raises(LedgerError, match="make room"):
        own.forget(where="1", reason="no" * 2_000_000)
    assert own.state == state
    own.close()
    for file in small_disk.glob("a.clgdb*"):  # there may be no room to empty the log
        shutil.copy(file, tmp_path)
    with Ledger(tmp_path / "a.clgdb") as copy:
        assert copy.verify()["state"] == state
        copy.add(*some_rows(count), id=count, kept=LONG)
        chunks = {k: (*some_rows(k), LONG) for k in range(count + 1)}
        with fresh(tmp_path / "b.clgdb", chunks) as other:
            assert copy.state == other.state


def test_a_file_that_may_not_grow_keeps_what_was_there(tmp_path):
    """As a full disk, for those who cannot mount one."""
    path = tmp_path / "a.clgdb"
    Ledger(path, fitted()).close()

    def work():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
        assert fill_up(Ledger(path)) > 3
        os._exit(0)

    assert succeeded(forked(work))
    with Ledger(path) as own:
        assert own.verify()["chunks"] > 3


def test_a_ledger_that_cannot_be_written_can_be_read():
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    folder = Path(tempfile.mkdtemp())
    try:
        with Ledger(folder / "a.clgdb", fitted()) as own:
            own.add(*some_rows(0), id=0)
            state, known = own.state, own.model().predict(QUERIES)
        os.chmod(folder / "a.clgdb", 0o444)
        os.chmod(folder / "a.clgdb-lock", 0o444)
        os.chmod(folder, 0o555)

        def work():
            os.setuid(65534)
            other = Ledger(folder / "a.clgdb")
            assert other.state == state and other.verify()["rows"] == 25
            assert np.array_equal(other.model().predict(QUERIES), known)
            with pytest.raises(LedgerError, match="cannot be written"):
                other.add(*some_rows(1), id=1)
            assert other.state == state

        assert succeeded(forked(work))
    finally:
        shutil.rmtree(folder)


# -- other processes --------------------------------------------------------------------------


def test_a_second_writer_is_refused_and_reads_on(tmp_path):
    path = tmp_path / "a.clgdb"
    one = Ledger(path, fitted())
    one.add(*some_rows(0), id=0)
    state = one.state

    def work():
        own = Ledger(path)
        assert (own.state, own.n_rows) == (state, 25)
        with pytest.raises(LedgerError, match="another process"):
            own.forget(0)
        assert own.state == state

    assert succeeded(forked(work))
    two = Ledger(path)
    with pytest.raises(LedgerError, match="another Ledger"):
        two.add(*some_rows(1), id=1)
    one.add(*some_rows(1), id=1)
    assert two.state == one.state and two.n_rows == 50
    assert same_answers(one.model(), two.model())
    one.close()
    two.add(*some_rows(2), id=2)
    assert two.n_rows == 75
    two.close()


def test_a_child_neither_uses_nor_ends_the_ledger_of_its_parent(tmp_path):
    one = Ledger(tmp_path / "a.clgdb", fitted())
    one.add(*some_rows(0), id=0)

    def work():
        with pytest.raises(LedgerError, match="open it here again"):
            one.add(*some_rows(1), id=1)
        one._db.lock.release()

    assert succeeded(forked(work))
    two = Ledger(tmp_path / "a.clgdb")
    with pytest.raises(LedgerError, match="another process"):
        two.add(*some_rows(1), id=1)
    one.close()
    two.close()


def test_readers_see_one_state_while_others_write(tmp_path):
    path = tmp_path / "a.clgdb"
    Ledger(path, fitted()).close()
    reads, writes = os.pipe()
    child = forked(lambda: write_on_and_on(path, 1, writes))
    os.read(reads, 1)
    try:
        other = Ledger(path)
        for _ in range(15):
            assert other.verify()["state"]
            other.model()
        other.close()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reads)
        os.close(writes)


def test_network_drives_are_refused(tmp_path):
    table = tmp_path / "mountinfo"
    table.write_text(
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "30 22 0:44 / /mnt/a\\040b rw shared:1 - nfs4 host:/x rw\n"
        "31 22 0:45 / /host rw - 9p share rw\n"
    )
    assert places.mount_kind("/mnt/a b/c", table) == "nfs4"
    assert places.mount_kind("/mnt", table) == "ext4"
    with pytest.raises(LedgerError, match="network drive"):
        places.check_place("/mnt/a b/c/own.clgdb", table)
    with pytest.warns(UserWarning, match="this machine alone"):
        places.check_place("/host/own.clgdb", table)
    places.check_place("/mnt/own.clgdb", table)


# -- bytes ------------------------------------------------------------------------------------


def all_bytes(folder, name):
    return b"".join(path.read_bytes() for path in sorted(folder.glob(f"{name}*")))


def marks(X, words):
    return [*(np.float64(x).tobytes() for x in X.ravel()), *(word.encode() for word in words)]


def test_no_byte_of_forgotten_rows_is_in_any_file(tmp_path):
    """In db, wal and shm, while the ledger is open and when it is closed."""
    own = Ledger(tmp_path / "a.clgdb", fitted())
    parts = {}
    for k in range(6):
        X, y = some_rows(k, 30)
        parts[k] = X, [f"person {k} {i:02d}" for i in range(30)]
        own.add(X, y, id=k, kept={"person": parts[k][1]})
    old = some_rows(50, 30)
    own.replace(5, *some_rows(51, 30), kept={"person": [f"new {i}" for i in range(30)]})
    own.replace(5, *old, kept={"person": [f"newer {i}" for i in range(30)]})
    gone = marks(*parts[1]) + marks(*parts[5]) + marks(parts[2][0][:7], parts[2][1][:7])
    gone += marks(parts[3][0][4:5], parts[3][1][4:5])
    stay = marks(parts[2][0][7:], parts[2][1][7:]) + marks(*parts[0])
    there = all_bytes(tmp_path, "a.clgdb")
    assert all(one in there for one in gone + stay)
    own.forget([1, 5])
    own.forget(rows={2: range(7)})
    own.forget(where="person = 'person 3 04'")
    for _ in range(2):
        there = all_bytes(tmp_path, "a.clgdb")
        assert not [one for one in gone if one in there] and all(one in there for one in stay)
        own.close()


def test_no_word_of_forgotten_rows_is_in_any_file(tmp_path):
    """Levels of inputs are stored with their chunk, and labels too."""
    words = ["Rome", "Oslo"] * 15
    tables = [[{"a": float(i), "town": one} for i, one in enumerate(words)] for _ in range(2)]
    tables[1][4]["town"] = tables[1][9]["town"] = "Atlantis"
    labels = [["yes", "no", "no"] * 10 for _ in range(2)]
    with Ledger(tmp_path / "a.clgdb", CommitteeClassifier(random_state=0), keep=[]) as own:
        own.add(tables[0], labels[0], id=0)
        own.add(tables[1], [*labels[1][:-1], "perhaps"], id=1)
        there = all_bytes(tmp_path, "a.clgdb")
        marked = [b"Atlantis", "perhaps".encode("utf-32-le")]
        assert all(one in there for one in marked)
        own.forget(rows={1: [4, 9, 29]})
        there = all_bytes(tmp_path, "a.clgdb")
        assert not [one for one in marked if one in there] and b"Oslo" in there
        stay = [k for k in range(30) if k not in (4, 9, 29)]
        with Ledger(tmp_path / "b.clgdb", CommitteeClassifier(random_state=0), keep=[]) as other:
            other.add([tables[1][k] for k in stay], [labels[1][k] for k in stay], id=1)
            other.add(tables[0], labels[0], id=0)
            assert own.state == other.state


def test_commits_wait_for_the_disk_and_deleted_bytes_are_overwritten(tmp_path):
    with Ledger(tmp_path / "a.clgdb", fitted()) as own:
        asked = ("journal_mode", "synchronous", "secure_delete", "temp_store")
        found = [own._db.con.execute(f"PRAGMA {name}").fetchone()[0] for name in asked]
    assert found == ["wal", 2, 1, 2]


def test_a_reader_in_the_way_delays_the_erasure_and_the_certificate_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("collegium.ledger.storage.database.PATIENCE", 0.05)
    own = Ledger(tmp_path / "a.clgdb", fitted())
    X, y = some_rows(0)
    own.add(X, y, id=0)
    reader = sqlite3.connect(tmp_path / "a.clgdb", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM chunk").fetchone()
    done = own.forget(0)
    assert not done.erased and not own.certify().erased and "not erased yet" in str(done)
    assert any(one in all_bytes(tmp_path, "a.clgdb") for one in marks(X, []))
    reader.close()
    own.add(*some_rows(1), id=1)
    assert own.certify().erased
    assert not any(one in all_bytes(tmp_path, "a.clgdb") for one in marks(X, []))
    own.close()


def test_relearning_erases_the_anchors_that_were_rows(tmp_path):
    X, y = some_rows(100, 60)
    model = fitted(anchors=11)
    own = Ledger.of(model, X, y, path=tmp_path / "a.clgdb", ids=np.arange(60) // 20)
    own.forget(0)
    own.relearn()
    there = all_bytes(tmp_path, "a.clgdb")
    assert not [one for one in marks(X[:20], []) + marks(model.anchors_, []) if one in there]
    own.close()


# -- damage -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A closed ledger with all kinds of events, its bytes, and its state."""
    folder = tmp_path_factory.mktemp("whole")
    path = folder / "a.clgdb"
    with Ledger(path, fitted()) as own:
        for k in range(5):
            own.add(*some_rows(k), id=k, source=f"s{k}", kept={"who": [k] * 25})
        own.forget(rows={1: [3, 4]})
        own.replace(2, *some_rows(20), kept={"who": [9] * 25})
        state, head = own.state, own.head
    return path, path.read_bytes(), state, head


def looked_at(path, head):
    """The state of a ledger that was verified, and answers; or the error."""
    try:
        with Ledger(path) as own:
            found = own.verify(head)["state"], own.head
            own.model().predict(QUERIES)
            return found
    except LedgerError as error:
        return error


def test_a_damaged_page_is_found_or_does_not_matter(whole, tmp_path):
    _, data, *known = whole
    rng, path, found = np.random.default_rng(0), tmp_path / "a.clgdb", []
    for at in [*range(0, 100, 9), *rng.integers(0, len(data), 60)]:
        path.write_bytes(data[:at] + bytes([data[at] ^ int(rng.integers(1, 256))]) + data[at + 1 :])
        found.append(looked_at(path, known[1]))
        assert isinstance(found[-1], LedgerError) or found[-1] == tuple(known), at
        for end in ("-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)
    assert sum(isinstance(one, LedgerError) for one in found) > 20
    for size in (0, 10, 4096, len(data) - 4096):
        path.write_bytes(data[:size])
        with pytest.raises((LedgerError, FileNotFoundError)):
            Ledger(path).verify()
    path.write_bytes(b"something else entirely, and long enough to be read as a page" * 100)
    with pytest.raises(LedgerError, match="damaged|not a ledger"):
        Ledger(path)


TAMPERED = {
    "reason": "UPDATE event SET reason = 'other' WHERE lsn = 3",
    "time": "UPDATE event SET at = '2001-01-01' WHERE lsn = 2",
    "dropped event": "DELETE FROM event WHERE lsn = 4",
    "dropped last event": "DELETE FROM event WHERE lsn = (SELECT max(lsn) FROM event)",
    "all events": "DELETE FROM event",
    "dropped chunk": "DELETE FROM chunk WHERE id = 3",
    "source": "UPDATE chunk SET source = 'another' WHERE id = 3",
    "time of a chunk": "UPDATE chunk SET at = '2001-01-01' WHERE id = 3",
    "number of a chunk": "UPDATE chunk SET lsn = 1 WHERE id = 3",
    "hash of a chunk": "UPDATE chunk SET sha256 = 'a' WHERE id = 3",
    "rows": "UPDATE chunk SET rows = (SELECT rows FROM chunk WHERE id = 0) WHERE id = 3",
    "rows of an earlier version": """UPDATE chunk SET rows = (SELECT rows FROM chunk WHERE id = 0)
                                     WHERE gone NOT NULL""",
    "revived": "UPDATE chunk SET gone = NULL WHERE gone NOT NULL",
    "earlier version": "UPDATE chunk SET gone = 1 WHERE gone NOT NULL",
    "kept": "UPDATE kept SET who = 77 WHERE _row = 5",
    "sum": "UPDATE snapshot SET state = zeroblob(1000)",
    "basis": "UPDATE basis SET model = zeroblob(1000)",
    "columns": """UPDATE meta SET value = replace(value, '"target": null', '"target": "y"')
                  WHERE name = 'roles'""",
    "no columns": "DELETE FROM meta WHERE name = 'roles'",
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_tampered_ledger_is_found(whole, tmp_path, what):
    path = tmp_path / "a.clgdb"
    path.write_bytes(whole[1])
    con = sqlite3.connect(path, isolation_level=None)
    assert con.execute(TAMPERED[what]).rowcount > 0
    con.close()
    found = looked_at(path, whole[3])
    assert isinstance(found, LedgerError), found


@pytest.mark.parametrize("what", ["rows", "kept"])
def test_rows_are_compared_before_they_are_taken_out_of_a_sum(whole, tmp_path, what):
    path = tmp_path / "a.clgdb"
    path.write_bytes(whole[1])
    con = sqlite3.connect(path, isolation_level=None)
    con.execute(TAMPERED[what])
    con.close()
    with Ledger(path) as own, Ledger(tmp_path / "b.clgdb", fitted()) as other:
        X, y = some_rows(1)
        for change in (
            lambda: own.forget(3), lambda: own.relearn(), lambda: other.merge(own),
            lambda: own.replace(3, X, y, kept={"who": [1] * 25}),
        ):  # fmt: skip
            with pytest.raises(LedgerError, match="chunk . are not as they were written"):
                change()
        assert (own.state, other.n_rows) == (whole[2], 0)


def test_an_untouched_ledger_is_whole(whole, tmp_path):
    path = tmp_path / "a.clgdb"
    path.write_bytes(whole[1])
    assert looked_at(path, whole[3]) == whole[2:]


def test_files_of_a_later_release_are_refused(whole, tmp_path):
    path = tmp_path / "a.clgdb"
    path.write_bytes(whole[1])
    con = sqlite3.connect(path, isolation_level=None)
    con.execute("PRAGMA user_version = 9")
    con.close()
    with pytest.raises(LedgerError, match="newer collegium"):
        Ledger(path)
