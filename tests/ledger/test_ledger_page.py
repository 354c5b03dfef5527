"""The page about the ledger and the example run as they are printed."""

import runpy
from pathlib import Path

import pytest

from test_pages import run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ledger.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    run("ledger.md")
    said = capsys.readouterr().out
    assert "bytes           erased" in said and "\n()\n" in said and "north" in said


@pytest.mark.slow
def test_the_example_runs(capsys):
    pytest.importorskip("pandas")
    runpy.run_path(str(ROOT / "examples" / "ledger.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "these remember: none" in said and "as of Monday" in said


def test_the_page_names_every_verb():
    from collegium import Ledger

    verbs = [name for name in vars(Ledger) if not name.startswith("_")]
    assert len(verbs) > 10
    assert not [name for name in verbs if f"{name}(" not in PAGE]
