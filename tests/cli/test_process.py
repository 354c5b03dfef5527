"""The command as a process: signals, pipes, and files that are whole or not there."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from running import rows, run, small_model, write_csv

import collegium

pd = pytest.importorskip("pandas")
COMMAND = [sys.executable, "-m", "collegium"]
ROW = b"0.25,-1.5\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A model, many queries, and a folder for temporary files that has to be empty at the end."""
    monkeypatch.chdir(tmp_path)
    small_model().save("m.clg")
    (tmp_path / "many.csv").write_bytes(b"a,b\n" + ROW * 1_500_000)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    yield tmp_path
    assert os.listdir("tmp") == []


def start(*args, **more):
    """Start the command; it may be interrupted, even where a shell runs the tests in the background
    with interrupts ignored, which children would inherit."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen([*COMMAND, *args], **pipes)
    finally:
        signal.signal(signal.SIGINT, before)


def wait_for(process, found, seconds=60.0):
    """Wait until `found()` is true of a process that is still at work."""
    end = time.monotonic() + seconds
    while not found():
        assert process.poll() is None and time.monotonic() < end, process.communicate()
        time.sleep(0.002)


@pytest.mark.parametrize(
    "how, code, old", [(signal.SIGINT, 130, False), (signal.SIGTERM, 143, True)]
)
def test_an_interrupted_run_leaves_no_half_file(folder, how, code, old):
    out = folder / "out.csv"
    if old:
        out.write_text("as it was")
    process = start("predict", "m.clg", "many.csv", "-o", "out.csv", "--jobs", "1")
    wait_for(process, lambda: any(one.endswith(".part") for one in os.listdir(".")))
    process.send_signal(how)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code and b"Traceback" not in err, err
    assert set(os.listdir(".")) == {"m.clg", "many.csv", "tmp", *(["out.csv"] if old else [])}
    if old:
        assert out.read_text() == "as it was"
    if how == signal.SIGINT:
        assert b"interrupted: no file was written" in err


def test_an_interrupted_pipe_leaves_no_temporary_file(folder):
    process = start("predict", "m.clg", "-", stdin=subprocess.PIPE)
    process.stdin.write(b"a,b\n" + ROW * 1000)
    process.stdin.flush()
    wait_for(process, lambda: os.listdir("tmp"))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


def test_an_interrupt_in_a_destructor_is_not_lost(monkeypatch):
    """Python prints errors of destructors and of callbacks from C, and goes on."""
    from collegium.cli.main import repeat_lost_interrupts

    class Ends:
        def __del__(self):
            raise KeyboardInterrupt

    def end():
        one = Ends()
        del one
        return list(range(9))

    monkeypatch.setattr(sys, "unraisablehook", lambda lost: None)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored here
    try:
        assert end() == list(range(9))
        monkeypatch.setattr(sys, "unraisablehook", repeat_lost_interrupts)
        with pytest.raises(KeyboardInterrupt):
            end()
            time.sleep(60)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_reader_that_has_seen_enough_ends_the_run_in_silence(folder):
    process = start("predict", "m.clg", "many.csv", "--jobs", "1")
    assert process.stdout.readline().strip().replace(b'"', b"") == b"mean,std"
    process.stdout.close()
    err = process.stderr.read()
    process.wait(timeout=60)
    assert process.returncode == 141 and b"error" not in err and b"Traceback" not in err
    assert b"\x1b" not in err and b"\r" not in err  # no terminal: neither colours nor progress


def test_a_traceback_is_shown_where_it_is_asked_for_only(folder):
    plain, debug = run("predict", "m.clg", "no.csv"), run("--debug", "predict", "m.clg", "no.csv")
    assert plain.code == debug.code == 3
    assert "Traceback" not in plain.err and "Traceback" in debug.err


HEAVY = "numpy scipy sklearn numba pandas pyarrow matplotlib rich".split()


@pytest.mark.parametrize("args", [["--help"], ["fit", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(args):
    code = (
        "import sys\nfrom collegium.cli.main import collegium\n"
        f"try:\n    collegium.main({args!r})\nexcept SystemExit:\n    pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert not set(HEAVY) & set(found.stderr.split()) and found.stdout


def test_doctor_says_what_is_there():
    found = run("doctor", "--json")
    assert found.code == 0, found.err
    said = found.answer
    assert all(said["self-test"]["good"].values()) and len(said["self-test"]["good"]) == 5
    assert said["versions"]["collegium"] == collegium.__version__
    assert {one["kind"] for one in said["threads"]} >= {"BLAS"} and said["cache"]["folder"]
    assert set(said["libraries"]) >= {"pyarrow", "distributed", "ray", "pyspark", "duckdb"}
    words = run("doctor").out.decode()
    assert "self-test      good" in words and "SQLite" in words


def test_doctor_fails_where_numbers_are_wrong(monkeypatch):
    from collegium.kernels import RBF

    value = RBF.value
    monkeypatch.setattr(RBF, "value", lambda *args: 1.01 * value(*args))
    found = run("doctor")
    assert found.code == 1 and "the self-test fails" in found.err


@pytest.mark.slow
def test_demo_prints_a_table_and_draws_a_picture(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run("demo", "--rows", 300, "--jobs", 1, "--out", "arm.png")
    assert found.code == 0, found.err
    words = found.out.decode()
    assert "Robot arm: 270 rows to learn from, 30 to test, 8 joint angles" in words
    assert "committee" in words and "kernel_" in words and "The picture is in arm.png" in words
    assert (tmp_path / "arm.png").read_bytes()[:4] == b"\x89PNG"


def in_terminal(*args, **env):
    """Text and exit code of a command in a pseudo-terminal of 80 columns."""
    import pty
    import struct

    fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    others = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    process = start(*args, stdout=theirs, stderr=theirs, env={**others, "TERM": "xterm", **env})
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        text += part
    os.close(ours)
    return text.decode().replace("\r\n", "\n"), process.wait(timeout=60)


def test_a_terminal_sees_colours_unless_no_color_is_set():
    assert in_terminal("fitt") == (
        "\x1b[31m\x1b[1merror\x1b[0m: No such command 'fitt'. "
        "(see 'collegium --help')\n", 2,
    )  # fmt: skip
    plain, code = in_terminal("fitt", NO_COLOR="1")
    assert code == 2 and plain.startswith("error: No such command") and "\x1b" not in plain


def test_answers_in_a_terminal_are_those_of_the_library_and_lines_fit(folder):
    names, found = [f"a_long_name_{k}" for k in range(9)], rows(9, seed=1)
    write_csv("wide.csv", {**found, **dict.fromkeys(names, range(9))})
    text, code = in_terminal("predict", "m.clg", "wide.csv", "-o", "out.npy", NO_COLOR="1")
    assert code == 0 and "9 predictions" in text and "\x1b" not in text
    lines = text.splitlines()
    assert len(lines) == 4 and max(map(len, lines)) <= 80, lines
    assert " ".join(" ".join(lines[1:3]).split()) == (
        f"note 10 columns are not used: y, {', '.join(names[:5])} and 4 more"
    )
    X = pd.DataFrame({name: found[name] for name in "ab"})
    assert_array_equal(np.load("out.npy")["mean"], collegium.load("m.clg").predict(X))
