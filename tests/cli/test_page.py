"""The page and the example run as they are written."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from running import run

from collegium.cli.main import ORDER

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
SCRIPT = ROOT / "examples" / "command_line.sh"
#: Numbers that depend on the machine.
VARIES = re.compile(r"fit \d+ s on an idle machine.*|in \d+\.\d s|\d+\.\d+ kB")


def sessions():
    """Commands of the page, with what it says that they write."""
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL):
        for part in block.split("$ ")[1:]:
            command, _, said = part.partition("\n")
            yield shlex.split(command)[1:], said


def same(text):
    return VARIES.sub("…", text)


@pytest.mark.slow
def test_the_page_says_what_the_commands_write(tmp_path, monkeypatch):
    env = {**os.environ, "PYTHON": sys.executable, "OPENBLAS_NUM_THREADS": "1"}
    found = subprocess.run(
        ["sh", str(SCRIPT), str(tmp_path)], env=env, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    assert "exit code 3: a column that is not there" in found.stderr
    assert len((tmp_path / "map.csv").read_text().splitlines()) == 751
    monkeypatch.chdir(tmp_path)
    Path("bad.csv").write_text('east,north,height\n1,2,16\n3,4,"17,5"\n')
    for args, said in sessions():
        ran = run(*args)
        assert same(ran.err + ran.out.decode()) == same(said), args
    assert len([*sessions()]) == 4


def test_options_of_the_page_exist():
    known = "".join(run(name, "--help").out.decode() for name in ORDER)
    named = set(re.findall(r"(?<![\w-])--[a-z]+", PAGE)) - {"--debug", "--help"}
    assert len(named) > 20 and all(name in known for name in named), named
