"""The library imports and works where it may write neither to its own folder nor to a home."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import collegium
from collegium.numerics.compiling import ANNOUNCEMENT, _Announcer, inner

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


def test_compiling_is_announced_once_per_process_and_reading_the_cache_is_not(tmp_path):
    work = "import numpy as np; from collegium.numerics import linalg, exact; "
    work += "linalg.mirror(np.eye(2)); exact.ExactSum.zero(3).include(np.ones(3))"
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    said = [
        subprocess.run(
            [sys.executable, "-c", work], env=env, capture_output=True, text=True, check=True
        ).stderr
        for _ in range(2)
    ]
    assert said == [ANNOUNCEMENT + "\n", ""]


def test_inner_functions_are_python_functions_for_python():
    @inner()
    def double(x):
        return 2 * x

    @numba.njit
    def four_times(x):
        return double(double(x))

    assert double(1.5) == 3.0 and double("ab") == "abab"
    assert four_times(1.5) == 6.0


def test_compiling_of_others_is_not_announced(caplog, monkeypatch):
    monkeypatch.setattr(_Announcer, "said", False)
    numba.njit(lambda x: 2 * x)(1)
    assert not caplog.records
