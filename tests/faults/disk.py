"""A disk that forgets what was not synced: the states that a crash may leave, at every step.

Steps are the calls that change what is on a disk or the names on it. At each of them a folder can
be found in three states:

    killed      names and contents as they are: the process ended, the machine did not
    power cut   only names that were synced with their folder, and contents synced with their file
    late data   names as they are, contents only as far as they were synced (journals do this)
"""

import builtins
import hashlib
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

STEPS = ("fsync", "replace", "rename", "mkdir", "unlink", "remove", "rmdir", "truncate")


class Disk:
    """Follows a folder, and what of it is on the disk."""

    def __init__(self, root):
        self.root = Path(root)
        self.contents, self.names, self.open = {}, {}, {}
        for folder, _, files in os.walk(self.root):
            self._sync(folder)
            for name in files:
                self._sync(os.path.join(folder, name))

    def _hold(self, path):
        """Keep a file open, so that no other gets its number."""
        held = os.open(path, os.O_RDONLY)
        number = os.fstat(held).st_ino
        if number in self.open:
            os.close(held)
        else:
            self.open[number] = held
        return number

    def _sync(self, path):
        if os.path.isdir(path):
            entries = {one.name: self._hold(one.path) for one in os.scandir(path)}
            self.names[self._hold(path)] = entries
        else:
            self.contents[self._hold(path)] = Path(path).read_bytes()

    def synced(self, descriptor):
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        if Path(path).is_relative_to(self.root) and os.path.exists(path):
            self._sync(path)

    def close(self):
        for held in self.open.values():
            os.close(held)

    # -- states ---------------------------------------------------------------------------

    def killed(self):
        return self._live(lambda path: path.read_bytes())

    def late_data(self):
        return self._live(lambda path: self.contents.get(path.stat().st_ino, b""))

    def _live(self, read):
        found = {}
        for path in sorted(self.root.rglob("*")):
            name = str(path.relative_to(self.root))
            found[name] = None if path.is_dir() else read(path)
        return found

    def power_cut(self):
        return self._durable(os.stat(self.root).st_ino, "")

    def _durable(self, number, prefix):
        found = {}
        for name, one in sorted(self.names.get(number, {}).items()):
            path = prefix + name
            if one in self.names or os.path.isdir(f"/proc/self/fd/{self.open[one]}"):
                found[path] = None
                found |= self._durable(one, path + "/")
            else:
                found[path] = self.contents.get(one, b"")
        return found

    def states(self):
        return {
            "killed": self.killed(),
            "power cut": self.power_cut(),
            "late data": self.late_data(),
        }


def laid_out(state, folder):
    """Make a folder of a state."""
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    for name, data in state.items():
        path = Path(folder) / name
        if data is None:
            path.mkdir(exist_ok=True)
        else:
            path.write_bytes(data)


def mark(state):
    """A hash by which equal states are told."""
    found = hashlib.sha256()
    for name, data in sorted(state.items()):
        found.update(repr((name, data)).encode())
    return found.digest()


@contextmanager
def hooked(before):
    """Call `before(step)` ahead of every step, and `before.after(…)` of every fsync."""
    real = {name: getattr(os, name) for name in STEPS}
    real_open = builtins.open

    def wrap(name):
        def call(*given, **more):
            before(name)
            if name == "fsync":  # the simulated disk alone is meant
                return before.after(given[0])
            return real[name](*given, **more)

        return call

    def opened(file, mode="r", *given, **more):
        if set(mode) & set("wax+"):
            before("open")
        return real_open(file, mode, *given, **more)

    try:
        for name in STEPS:
            setattr(os, name, wrap(name))
        builtins.open = opened
        yield
    finally:
        for name in STEPS:
            setattr(os, name, real[name])
        builtins.open = real_open


class Recorder:
    """Notes the states of a folder at every step."""

    def __init__(self, root):
        self.disk, self.found, self.steps, self.busy = Disk(root), {}, 0, False

    def __call__(self, step):
        if self.busy:
            return
        self.busy = True
        self.steps += 1
        for kind, state in self.disk.states().items():
            self.found.setdefault(mark(state), (f"{kind} before step {self.steps}, {step}", state))
        self.busy = False

    def after(self, descriptor):
        if not self.busy:
            self.busy = True
            self.disk.synced(descriptor)
            self.busy = False


def crashes(root, work):
    """Do `work()`; return the states that a crash may leave of a folder, each with its name, and
    the state after a power cut once the work is done."""
    recorder = Recorder(root)
    with hooked(recorder):
        work()
    recorder("the end")
    last = recorder.disk.power_cut()
    recorder.disk.close()
    return list(recorder.found.values()), last


@contextmanager
def quick():
    """Let fsync return at once: what is on the real disk does not matter here."""
    real, os.fsync = os.fsync, lambda descriptor: None
    try:
        yield
    finally:
        os.fsync = real


class Deadly:
    """Kills the process ahead of step k."""

    def __init__(self, k):
        self.k = k

    def __call__(self, step):
        self.k -= 1
        if self.k == 0:
            os.kill(os.getpid(), 9)

    def after(self, descriptor):
        pass


def killed_at(k, work):
    """Do `work()` in a child that is killed ahead of step k; whether it was."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with hooked(Deadly(k)):
                work()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the work failed"
    return os.WIFSIGNALED(status)
