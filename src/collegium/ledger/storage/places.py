"""Where a ledger may be: local disks alone, one writer at a time."""

from __future__ import annotations

import os
import warnings

from ...numerics.durable import at_once, try_lock, unlock
from ..errors import LedgerError

#: Kinds of mounts on which the locks and shared memory of SQLite are not to be relied on.
NETWORK = {
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ncpfs", "fuse.sshfs", "fuse.rclone",
    "fuse.s3fs", "fuse.gcsfuse",
}  # fmt: skip
#: Those that may be another machine's, or a folder of the host that others change.
DOUBTFUL = {
    "9p",
    "virtiofs",
    "ceph",
    "fuse.ceph",
    "glusterfs",
    "fuse.glusterfs",
    "lustre",
    "beegfs",
}
MOUNTS = "/proc/self/mountinfo"


def check_place(path: str, mounts: str = MOUNTS) -> None:
    """Refuse a path on a network drive; warn of one that may be."""
    kind = mount_kind(os.path.dirname(path), mounts)
    if kind in NETWORK:
        raise LedgerError(
            f"{path} is on a network drive ({kind}), where a power cut or a second writer may "
            "damage a ledger: keep it on a local disk, and copy it when it is closed"
        )
    if kind in DOUBTFUL:
        warnings.warn(
            f"{path} is on a drive of kind {kind}: use the ledger from this machine alone",
            stacklevel=4,
        )


def mount_kind(folder: str, mounts: str = MOUNTS) -> str:
    """Name the kind of file system that a folder is on; "" where that is not known."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.split(" ") for line in file]
    except OSError:
        return ""
    best, kind = "", ""
    for words in lines:
        point = words[4].encode("utf-8", "surrogateescape").decode("unicode_escape")
        inside = folder == point or folder.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, words[words.index("-") + 1]
    return kind


class WriterLock:
    """The lock of the one process that may write; it ends with that process, however it ends.

    It is on a file of its own: SQLite gives up its own locks on the ledger as soon as any other
    handle of that file is closed.
    """

    def __init__(self, path: str) -> None:
        self.path, self._file, self._process = path, -1, os.getpid()

    @property
    def held(self) -> bool:
        return self._file >= 0

    def take(self, name: str) -> None:
        """Take the lock, or raise where another ledger has it."""
        if self.held:
            return
        try:
            file = at_once(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0))
        except OSError as error:
            raise LedgerError(f"{name} cannot be written: {error.strerror}") from error
        if try_lock(file) is False:
            os.close(file)
            raise LedgerError(
                f"{name} is being written by another process or another Ledger: this one can "
                "read, and write once that one is closed"
            )
        self._file = file

    def release(self) -> None:
        if self.held:
            if self._process == os.getpid():  # not that of a parent, which a fork shares
                unlock(self._file)
            os.close(self._file)
            self._file = -1

    def __del__(self) -> None:
        self.release()
