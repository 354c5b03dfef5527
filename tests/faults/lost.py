"""A disk that loses what was not synced, below SQLite: the files that a power cut may leave.

SQLite writes through a table of functions, its file system. Copies of these functions note what is
written, cut, synced and deleted. A power cut at any moment leaves of each file what was synced,
and of the later writes any part: none, all, some of them, the first bytes of one.
"""

import _sqlite3
import ctypes
import os
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_void_p
from pathlib import Path

FUNCTIONS = (
    "xOpen xDelete xAccess xFullPathname xDlOpen xDlError xDlSym xDlClose xRandomness xSleep "
    "xCurrentTime xGetLastError xCurrentTimeInt64 xSetSystemCall xGetSystemCall xNextSystemCall"
).split()
#: Words in the table of functions of an open file, and the places of some of them.
WORDS, WRITE, TRUNCATE, SYNC = 19, 3, 4, 5
OPENED = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
DELETED = CFUNCTYPE(c_int, c_void_p, c_char_p, c_int)
WRITTEN = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
CUT = CFUNCTYPE(c_int, c_void_p, c_int64)
SYNCED = CFUNCTYPE(c_int, c_void_p, c_int)
#: Bytes that a disk writes as a whole.
SECTOR = 512
GONE = ("gone",)


class Vfs(ctypes.Structure):
    """sqlite3_vfs."""

    _fields_ = [
        ("iVersion", c_int), ("szOsFile", c_int), ("mxPathname", c_int), ("pNext", c_void_p),
        ("zName", c_char_p), ("pAppData", c_void_p), *((name, c_void_p) for name in FUNCTIONS),
    ]  # fmt: skip


def library():
    """The library that Python's sqlite3 uses, and not one that another package brings; None where
    it cannot be reached."""
    found = ctypes.CDLL(getattr(_sqlite3, "__file__", None))  # looks in what it is linked with too
    if not hasattr(found, "sqlite3_vfs_find"):
        return None
    found.sqlite3_vfs_find.restype = POINTER(Vfs)
    found.sqlite3_vfs_find.argtypes = [c_char_p]
    found.sqlite3_vfs_register.argtypes = [POINTER(Vfs), c_int]
    found.sqlite3_vfs_unregister.argtypes = [POINTER(Vfs)]
    return found


class Log:
    """What happened to the files of a folder, in order: (what, name, …)."""

    def __init__(self, folder):
        self.folder = os.path.realpath(folder)
        self.start = {one.name: one.read_bytes() for one in Path(folder).iterdir()}
        self.steps, self.paths, self._tables, self._calls = [], {}, {}, []

    def tell(self, *what):
        """Note that a change was acknowledged."""
        self.steps.append(("told", "", *what))

    def _note(self, what, file, *more):
        if file in self.paths:
            self.steps.append((what, self.paths[file], *more))

    def _own(self, path):
        folder, name = os.path.split(os.fsdecode(path))
        return name if folder == self.folder and not name.endswith("-shm") else None

    def vfs(self, real):
        """A copy of a file system that notes what it is asked."""
        own = Vfs.from_buffer_copy(real.contents)
        own.zName = b"noting"
        opened, deleted = OPENED(own.xOpen), DELETED(own.xDelete)

        def open_(_, name, file, flags, out):
            code = opened(ctypes.addressof(real.contents), name, file, flags, out)
            path = self._own(ctypes.string_at(name)) if name else None
            self.paths.pop(file, None)
            if code == 0 and path is not None:
                self.paths[file] = path
                self._note("open", file)
                functions = c_void_p.from_address(file)
                functions.value = self._table(functions.value)
            return code

        def delete(_, name, sync):
            code, path = deleted(ctypes.addressof(real.contents), name, sync), self._own(name)
            if code == 0 and path is not None:
                self.steps.append(("delete", path))
            return code

        self._calls += [opened, deleted, OPENED(open_), DELETED(delete)]
        own.xOpen, own.xDelete = (ctypes.cast(one, c_void_p).value for one in self._calls[-2:])
        return own

    def _table(self, at):
        """A copy of the functions of an open file that notes writes, cuts and syncs."""
        if at not in self._tables:
            own = (c_void_p * WORDS).from_buffer_copy((c_void_p * WORDS).from_address(at))
            write, cut, sync = WRITTEN(own[WRITE]), CUT(own[TRUNCATE]), SYNCED(own[SYNC])

            def noted(call, what, data):
                def run(file, *given):
                    code = call(file, *given)
                    if code == 0:
                        self._note(what, file, *data(*given))
                    return code

                return run

            calls = (
                WRITTEN(noted(write, "write", lambda b, n, at: (at, ctypes.string_at(b, n)))),
                CUT(noted(cut, "truncate", lambda size: (size,))),
                SYNCED(noted(sync, "sync", lambda flags: ())),
            )
            self._calls += [write, cut, sync, *calls]
            for place, call in zip((WRITE, TRUNCATE, SYNC), calls):
                own[place] = ctypes.cast(call, c_void_p).value
            self._tables[at] = own
        return ctypes.addressof(self._tables[at])


@contextmanager
def noting(folder):
    """Note all that SQLite does to the files of a folder."""
    lib, log, fsync = library(), Log(folder), os.fsync
    real = lib.sqlite3_vfs_find(None)
    own = log.vfs(real)
    lib.sqlite3_vfs_register(ctypes.byref(own), 1)

    def synced(descriptor):
        fsync(descriptor)
        if os.path.realpath(f"/proc/self/fd/{descriptor}") == log.folder:
            log.steps.append(("names", ""))

    os.fsync = synced
    try:
        yield log
    finally:
        os.fsync = fsync
        lib.sqlite3_vfs_unregister(ctypes.byref(own))
        lib.sqlite3_vfs_register(real, 1)


def left_by_power_cut(log, k, rng):
    """Files by name after the first k steps and a power cut, and what had been acknowledged."""
    synced, later, told = dict(log.start), {name: [] for name in log.start}, []
    for what, name, *more in log.steps[:k]:
        if what == "told":
            told.append(tuple(more))
        elif what == "names":  # the folder is synced: files are there, or gone for good
            synced = {n: data or b"" for n, data in synced.items() if later[n] != [GONE]}
        elif what == "sync":
            synced[name] = _applied(synced.get(name) or b"", later.get(name, ()))
            later[name] = []
        elif what == "delete":
            # whether the name is gone is left to chance, until there is a new file
            later[name] = [GONE]
        elif what == "open":
            if later.get(name) == [GONE]:
                synced[name], later[name] = None, []
            synced.setdefault(name, None)
            later.setdefault(name, [])
        else:
            later[name].append((what, *more))
    share = rng.choice([0.0, 0.5, 0.9, 1.0])
    found = {}
    for name, data in synced.items():
        some = [one for one in later[name] if rng.random() < share]
        if GONE in some or (data is None and not some and rng.random() < 0.5):
            continue
        found[name] = _applied(data or b"", [_torn(one, rng, share) for one in some])
    return found, told


def _torn(one, rng, share):
    """A write, or only its first sectors."""
    if one[0] != "write" or share == 1.0 or rng.random() < 0.7:
        return one
    at, data = one[1:]
    return "write", at, data[: SECTOR * int(rng.integers(1 + len(data) // SECTOR))]


def _applied(data, steps):
    own = bytearray(data)
    for what, at, *more in (one for one in steps if one != GONE):
        if what == "truncate":
            del own[at:]
            continue
        own.extend(bytes(max(0, at - len(own))))
        own[at : at + len(more[0])] = more[0]
    return bytes(own)
