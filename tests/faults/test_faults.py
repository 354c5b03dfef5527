"""Some of the faults of `make faults`; and the harness sees what it should."""

import pytest

from collegium.ledger.storage import database
from collegium.rows.store import build, folder, segment
from faults import cases
from faults.disk import quick
from faults.lost import library
from faults.run import all_faults


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    for module in (cases.build, cases.records, cases.segment, cases.store):
        monkeypatch.setattr(module, "TUNING", module.TUNING)  # put back afterwards
    cases.small_parts()
    with quick():
        yield


def none_wrong(tried, least):
    assert not tried.wrong, "\n".join(tried.wrong)
    assert sum(tried.counts.values()) >= least, tried.counts


@pytest.mark.parametrize("name", cases.STORES)
def test_a_crash_leaves_old_rows_or_new_ones(tmp_path, name):
    tried = cases.Tried()
    cases.crash_store(name, tmp_path / "a", tried, most=8)
    none_wrong(tried, 7)


def test_kills_files_flips_and_swaps(tmp_path):
    pytest.importorskip("pyarrow")
    tried = cases.Tried()
    cases.kill_store("build", tmp_path / "a", tried, every=20)
    cases.kill_store("forget", tmp_path / "b", tried, every=3)
    cases.flip_store(tmp_path / "c", tried, 3)
    cases.flip_unfinished(tmp_path / "d", tried, 1)
    cases.crash_file(tmp_path / "e", tried)
    cases.kill_file(tmp_path / "f", tried)
    cases.flip_file(tmp_path / "g", tried, 10)
    for k, kind in enumerate(cases.KINDS):
        cases.swap_source(tmp_path / f"h{k}", tried, [kind], ["touched back"])
    cases.flip_parquet(tmp_path / "i", tried, 10)
    none_wrong(tried, 150)


needs_sqlite = pytest.mark.skipif(library() is None, reason="SQLite cannot be reached")


@needs_sqlite
def test_a_power_cut_loses_nothing_of_a_ledger_that_was_acknowledged(tmp_path):
    tried = cases.Tried()
    cases.cut_ledger(tmp_path / "a", tried, 40, changes=5)
    none_wrong(tried, 40)


@needs_sqlite
def test_a_power_cut_while_a_ledger_is_made_leaves_one_or_none(tmp_path):
    tried = cases.Tried()
    cases.cut_ledger(tmp_path / "a", tried, 200, changes=0, sessions=1)
    none_wrong(tried, 200)


@needs_sqlite
@pytest.mark.slow
def test_five_hundred_power_cuts(tmp_path):
    tried = cases.Tried()
    for seed in range(1, 6):
        cases.cut_ledger(tmp_path / "a", tried, 100, seed, changes=12)
    none_wrong(tried, 500)


@needs_sqlite
@pytest.mark.parametrize("place", ["commits", "names"])
def test_a_ledger_that_does_not_wait_for_the_disk_is_seen(tmp_path, monkeypatch, place):
    """The harness is one that can fail."""
    if place == "commits":
        monkeypatch.setattr(database, "SETTINGS", ("synchronous = NORMAL", *database.SETTINGS[1:]))
    else:
        monkeypatch.setattr(database, "sync_folder", lambda path: None)
    tried = cases.Tried()
    cases.cut_ledger(tmp_path / "a", tried, 60, changes=3)
    assert tried.wrong


@pytest.mark.slow
def test_a_thousand_faults(tmp_path):
    pytest.importorskip("pyarrow")
    none_wrong(all_faults(tmp_path, 40, 0), 1000)


@pytest.mark.parametrize("place", ["buckets", "files", "folders"])
def test_what_was_not_synced_is_seen(tmp_path, monkeypatch, place):
    """The harness is one that can fail."""
    if place == "folders":
        monkeypatch.setattr(folder, "sync_folder", lambda path: None)
        monkeypatch.setattr(build, "sync_folder", lambda path: None)
        monkeypatch.setattr(cases.store, "sync_folder", lambda path: None)
        monkeypatch.setattr("collegium.numerics.durable.sync_folder", lambda path: None)
    else:
        real, wanted = build.sync, place == "files"
        monkeypatch.setattr(
            build,
            "sync",
            lambda file: None if ("bucket" not in file.name) == wanted else real(file),
        )
    if place == "buckets":  # and what is short is not looked at
        monkeypatch.setattr(build.Routed, "_is_there", lambda routed, work: True)
        monkeypatch.setattr(build.Routed, "intact", lambda routed, work: True)
        monkeypatch.setattr(build.Piled, "check", lambda found, written, path: None)
    tried = cases.Tried()
    cases.crash_store("build" if place != "files" else "add", tmp_path / "a", tried)
    assert tried.wrong


def test_flips_that_nobody_looks_for_are_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(segment.Segment, "_refuse", lambda *_: None)
    monkeypatch.setattr(segment.Segment, "_refuse_cell", lambda *_: None)
    tried = cases.Tried()
    cases.flip_store(tmp_path / "a", tried, 5)
    assert tried.wrong
