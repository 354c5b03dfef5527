"""Writers of a ledger that are killed at random moments, and what must hold then."""

import os
import signal
import time

import numpy as np

from collegium import Ledger
from ledger.ledger_cases import some_rows


def forked(work):
    """Do `work()` in a child; its process id."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child


def succeeded(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def write_on_and_on(path, seed, pipe):
    """Change a ledger until killed; number and state of each change that was acknowledged."""
    rng, own = np.random.default_rng(seed), Ledger(path)
    while True:
        change(own, seed, rng)
        os.write(pipe, f"{own.lsn} {own.state}\n".encode())


def change(own, seed, rng):
    """Change a ledger in some way."""
    ids, verb = [one.id for one in own.chunks()], rng.integers(6)
    X, y = some_rows(int(rng.integers(10**6)), 8)
    if verb < 3 or len(ids) < 3:
        own.add(X, y, id=f"{seed} {own.lsn}")
    elif verb == 3:
        own.replace(ids[rng.integers(len(ids))], X, y)
    elif verb == 4:
        own.forget(ids[rng.integers(len(ids))])
    else:
        with own.together():
            own.add(X, y)
            own.forget(rows={ids[0]: [0]})


def killed_and_whole(path, seed):
    """Kill a writer at a random moment; count the changes that it had been told were kept."""
    reads, writes = os.pipe()
    rng = np.random.default_rng(seed)
    child = forked(lambda: write_on_and_on(path, seed, writes))
    os.close(writes)
    with os.fdopen(reads, "rb") as file:
        told = [file.readline().decode() for _ in range(rng.integers(7))]
        time.sleep(rng.uniform(0.0, 0.06))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        told += file.read().decode().splitlines()
    told = [line.split() for line in told]
    check_whole(path, told, seed)
    return len(told)


def check_whole(path, told, seed):
    """Everything that was told is there, the state is a replay, and the ledger can be changed."""
    with Ledger(path) as own:
        events = {one.lsn: one.after for one in own.events()}
        for lsn, state in told:
            assert events[int(lsn)] == state
        assert own.verify()["state"] == own.state == events[own.lsn]
        own.add(*some_rows(seed), id=f"after {seed}")  # the lock has ended with its process
