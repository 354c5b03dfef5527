"""A save that fails, or is killed, leaves the old file or the new one, and nothing else."""

import errno
import os
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest

import collegium
from collegium.kernels import Kernel
from collegium.modelfile.writing import replacing
from estimator_cases import committee, queries, rows

ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
#: Repeatedly forks a process that saves two models in turn, kills it at a random moment, and reads
#: the file.
KILLS = """
import itertools, os, random, signal, sys, time
import collegium
*paths, path, times, seed = sys.argv[1:]
models = [collegium.load(one, mmap=False) for one in paths]
known = [open(one, "rb").read() for one in paths]
models[0].save(path)
random.seed(int(seed))
for _ in range(int(times)):
    child = os.fork()
    if child == 0:
        for model in itertools.cycle(models):
            model.save(path)
    time.sleep(random.uniform(0.0, 0.1))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(known.index(open(path, "rb").read()))
    collegium.load(path)
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two models of one megabyte and of a few kilobytes, as files."""
    folder = tmp_path_factory.mktemp("two")
    committee("local", chunks=500, anchors=200, kernel=collegium.kernels.RBF(), noise=0.1,
              learn=False).fit(*rows(3000)).save(folder / "large.clg")  # fmt: skip
    committee("exact").fit(*rows(40)).save(folder / "small.clg")
    return folder / "large.clg", folder / "small.clg"


def killed(two, path, times, seed):
    """Say which of the two models the file holds after each kill."""
    code = [sys.executable, "-c", KILLS, *two, path, str(times), str(seed)]
    done = subprocess.run(code, capture_output=True, text=True, env=ENV)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == times
    return set(done.stdout.split())


def test_a_killed_save_leaves_the_old_file_or_the_new_one(two, tmp_path):
    killed(two, tmp_path / "m.clg", 10, 0)


@pytest.mark.slow
def test_three_hundred_killed_saves(two, tmp_path):
    assert len(killed(two, tmp_path / "m.clg", 300, 1)) == 2


def test_a_full_disk_leaves_the_old_file(two, tmp_path):
    """A limit on file size acts like a full disk: a write fails halfway."""
    path, model = tmp_path / "m.clg", collegium.load(two[0])
    old = two[1].read_bytes()
    path.write_bytes(old)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
        with pytest.raises(OSError, match="nothing was saved") as caught:
            model.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert caught.value.errno == errno.EFBIG and caught.value.filename == str(path)
    assert path.read_bytes() == old and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_any_step_that_fails_leaves_the_old_file(two, tmp_path, monkeypatch, step):
    path, model = tmp_path / "m.clg", collegium.load(two[0])
    path.write_bytes(b"old")

    def fails(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(f"collegium.modelfile.writing.os.{step}", fails)
        with pytest.raises(OSError, match="No space left on device: nothing was saved"):
            model.save(path)
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_an_interrupt_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.clg"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), replacing(str(path)) as file:
        file.write(b"new")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_a_folder_without_permission(two, tmp_path):
    """Run as another user: the superuser may write anywhere."""
    locked = tmp_path / "locked"
    locked.mkdir()
    (locked / "m.clg").write_bytes(b"old")
    locked.chmod(0o555)
    os.chmod(tmp_path, 0o755)
    code = (
        "import collegium, os, sys\n"
        "model = collegium.load(sys.argv[1], mmap=False)\n"
        "os.getuid() or os.setuid(65534)\n"
        "try:\n    model.save(sys.argv[2])\n"
        "except PermissionError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, two[1], locked / "m.clg"], env=ENV,
                          capture_output=True, text=True)  # fmt: skip
    assert "Permission denied: nothing was saved" in done.stdout, done.stderr
    locked.chmod(0o755)
    assert (locked / "m.clg").read_bytes() == b"old" and len(list(locked.iterdir())) == 1


def test_paths_that_cannot_be_files(tmp_path):
    model = committee().fit(*rows())
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match="this is a folder"):
        model.save(tmp_path / "folder")
    with pytest.raises(FileNotFoundError, match="nothing was saved"):
        model.save(tmp_path / "none" / "m.clg")
    with pytest.raises(OSError, match="this is a device"):
        model.save("/dev/full")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_links_and_permissions_stay(tmp_path):
    model = committee().fit(*rows())
    (tmp_path / "real.clg").write_bytes(b"old")
    (tmp_path / "real.clg").chmod(0o640)
    (tmp_path / "link.clg").symlink_to("real.clg")
    model.save(tmp_path / "link.clg")
    assert (tmp_path / "link.clg").is_symlink()
    assert (tmp_path / "real.clg").stat().st_mode & 0o777 == 0o640
    np.testing.assert_array_equal(
        collegium.load(tmp_path / "real.clg").predict(queries()), model.predict(queries())
    )


def test_a_new_file_has_the_usual_permissions(tmp_path):
    committee().fit(*rows()).save(tmp_path / "m.clg")
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "m.clg").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_long_name_in_another_alphabet(tmp_path):
    """80 letters of three bytes: the file that is renamed in the end has a longer name."""
    path = tmp_path / ("模" * 80)
    with replacing(str(path)) as file:
        file.write(b"x")
    assert path.read_bytes() == b"x"


def test_wrong_arguments_are_named(two, tmp_path):
    model = collegium.load(two[0])
    with pytest.raises(ValueError, match="rows='no'"):
        model.save(tmp_path / "m.clg", rows="no")
    with pytest.raises(ValueError, match="verify=1"):
        collegium.load(two[0], verify=1)
    for types in (Kernel, "x", [3]):
        with pytest.raises(ValueError, match="give a list of classes"):
            collegium.load(two[0], types=types)
    for bad in ("m.clg", type(model)()):
        with pytest.raises(ValueError, match="give fitted models"):
            collegium.warm_up(bad)
    other = tmp_path / "table.csv"
    other.write_text("a,b\n" * 50)
    with pytest.raises(collegium.ModelFileError, match="not a model file of collegium"):
        collegium.load(other)
