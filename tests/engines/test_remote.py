"""Workers that are killed or stopped change no bit; a chunk that kills is named."""

import os
import signal
import time

import numpy as np
import pytest

import collegium
from cluster_cases import (
    MAKERS,
    Deadly,
    Slowly,
    after,
    assert_same_total,
    parquet_files,
    processes,
    sender,
)
from collegium.engines import Serial
from collegium.messages.adding import add_up, add_up_source
from collegium.messages.total import Total
from collegium.sources.pieces import BadChunkError

pytestmark = pytest.mark.slow
KILLS = {"dask": 50, "ray": 10, "spark": 10}
#: Seconds that a sum takes on two workers, about.
SECONDS = 1.2


@pytest.fixture(scope="module", params=[name for name in MAKERS if name != "threads"])
def name(request):
    return request.param


@pytest.fixture(scope="module")
def engine(name):
    with MAKERS[name]() as found:
        yield found


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """A slow function, chunks in files, and the sum of one thread."""
    send, basis = sender()
    paths = parquet_files(tmp_path_factory.mktemp("rows"))
    source = collegium.open(paths, target="y", chunk_rows=20)
    start = Total.zero(basis.m, 1)
    chunks = source.chunks
    expected = start.plus(Serial().imap(send, chunks))
    return Slowly(send, 2 * SECONDS / len(chunks)), chunks, start, expected


def kill(pid, how=signal.SIGKILL):
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        pass


def two_processes(engine):
    deadline = time.monotonic() + 60
    while len(found := processes(engine)) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return found


def test_a_worker_killed_at_any_moment_changes_nothing(engine, name, case):
    f, chunks, start, expected = case
    rng, hit = np.random.default_rng(0), 0
    for _ in range(KILLS[name]):
        victim = rng.choice(two_processes(engine))
        begun = time.monotonic()
        timer = after(rng.uniform(0.0, SECONDS), lambda pid=victim: kill(pid))
        found = add_up(engine, f, chunks, start)
        hit += timer.finished.is_set() and time.monotonic() > begun
        timer.cancel()
        timer.join()
        assert_same_total(found, expected)
    assert hit >= 0.8 * KILLS[name]


def test_all_workers_killed_change_nothing(engine, case):
    f, chunks, start, expected = case
    for moment in (0.3, 0.8):
        victims = two_processes(engine)
        timer = after(moment * SECONDS, lambda pids=victims: [kill(pid) for pid in pids])
        assert_same_total(add_up(engine, f, chunks, start), expected)
        timer.join()


def test_several_kills_in_one_call_change_nothing(engine, case):
    f, chunks, start, expected = case
    slower = Slowly(f, 0.1)
    timers = [
        after(1.0 + 1.5 * k, lambda: [kill(pid) for pid in processes(engine)[:1]]) for k in range(3)
    ]
    assert_same_total(add_up(engine, slower, chunks, start), expected)
    for timer in timers:
        timer.cancel()
        timer.join()


def test_a_worker_that_stops_for_a_while_changes_nothing(engine, case):
    f, chunks, start, expected = case
    victim = two_processes(engine)[0]
    timers = [
        after(0.4, lambda: kill(victim, signal.SIGSTOP)),
        after(20.4, lambda: kill(victim, signal.SIGCONT)),
    ]
    assert_same_total(add_up(engine, f, chunks, start), expected)
    for timer in timers:
        timer.join()


@pytest.mark.parametrize("guilty", [0, 37, 59])
def test_a_chunk_that_kills_its_worker_is_named(engine, case, guilty):
    f, chunks, start, _ = case
    group, row = guilty % 15 // 3, 20 * (guilty % 3)
    where = rf"chunk {guilty} \(.*part{guilty // 15}.parquet, row group {group}, rows {row}–"
    with pytest.raises(BadChunkError, match=where + r".*died \(signal 9\)"):
        add_up(engine, Deadly(f.f, guilty), chunks, start)


def test_a_chunk_that_kills_its_worker_is_left_out(engine, tmp_path):
    send, basis = sender()
    paths = parquet_files(tmp_path)
    source = collegium.open(paths, target="y", chunk_rows=20, on_bad_chunk="skip")
    start = Total.zero(basis.m, 1)
    found = add_up_source(engine, Deadly(send, 41), source, start)
    others = [chunk for chunk in source.chunks if chunk.id != 41]
    assert_same_total(found, start.plus(map(send, others)))
    assert [one.id for one in source.skipped] == [41]
    assert "died (signal 9)" in source.skipped[0].reason
