"""The library imports and works where it may write neither to its own folder nor to a home."""

import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import collegium
from collegium.numerics.compiling import announce_compiling

#: Another user, who may still read everything: the interpreter can lie in a closed folder.
ANOTHER_USER = """
import ctypes, os, sys
if os.getuid() == 0:
    libc, u32 = ctypes.CDLL(None), ctypes.c_uint32
    libc.prctl(8, 1, 0, 0, 0)  # keep capabilities
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    read_all = (u32 * 6)(4, 4, 0, 0, 0, 0)  # CAP_DAC_READ_SEARCH alone
    assert libc.capset((u32 * 2)(0x20080522, 0), read_all) == 0, "no capabilities to drop"
"""
WORK = """
import numpy as np
from collegium.numerics import linalg
A = np.tril(np.arange(9.0).reshape(3, 3))
assert (linalg.mirror(A) == A.T).all()
"""
EVERYTHING_COMPILED = "from collegium import OnlineGPRegressor, RegressionFilter, RVCRegressor"
KEPT = "import numba; assert os.listdir(numba.config.CACHE_DIR)"
NO_TEMPORARY_FOLDER = "import tempfile; tempfile.tempdir = '/nonexistent'"


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    """A copy of the package without what numba compiled, which nobody may write to."""
    if sys.platform != "linux":
        pytest.skip("users and capabilities of Linux")
    root = tmp_path_factory.mktemp("read_only")
    ignored = shutil.ignore_patterns("*.nbi", "*.nbc")
    shutil.copytree(Path(collegium.__file__).parent, root / "collegium", ignore=ignored)
    folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    yield root
    for folder in folders:
        folder.chmod(0o755)


def run(package: Path, temporary: Path, work: str) -> str:
    """The standard error of a script that works as another user, without a home."""
    temporary.chmod(0o777)
    settings = {"PYTHONPATH": str(package), "HOME": "/nonexistent", "TMPDIR": str(temporary)}
    script = f"{ANOTHER_USER}\nsys.dont_write_bytecode = True\n{work}"
    done = subprocess.run(
        [sys.executable, "-c", script], env=settings, capture_output=True, text=True, cwd=package
    )
    if "no capabilities to drop" in done.stderr:
        pytest.skip("root of a container that may not change capabilities")
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.slow
def test_a_temporary_folder_takes_what_is_compiled(package, tmp_path):
    said = run(package, tmp_path, f"{WORK}\n{EVERYTHING_COMPILED}\n{KEPT}")
    assert said.count("compiled functions are kept in") == 1


def test_without_any_folder_every_process_compiles(package, tmp_path):
    said = run(package, tmp_path, f"{NO_TEMPORARY_FOLDER}\n{WORK}")
    assert said.count("every process compiles them again") == 1


def test_the_first_call_of_a_compiled_function_is_announced():
    @numba.njit
    def double(x):
        return 2 * x

    said = []
    announce_compiling(double, said.append)
    double(1)
    announce_compiling(double, said.append)
    assert len(said) == 1 and "compiling" in said[0]
