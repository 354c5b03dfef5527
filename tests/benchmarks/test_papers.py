"""The scripts of the papers: a quick run of each, and what is stored of it."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers.edakunni2007 import __main__ as edakunni2007
from benchmarks.papers.experiments import Cell, run
from benchmarks.papers.schwaighofer2002 import __main__ as schwaighofer2002
from benchmarks.papers.tresp2000 import __main__ as tresp2000
from benchmarks.papers.zhu1995 import __main__ as zhu1995

DATA = Path(os.environ.get("DATA", Path(__file__).parents[2] / "../shared/data")).resolve()
with_data = pytest.mark.skipif(not DATA.exists(), reason=f"no data folder {DATA}")

PAPERS = {
    "tresp2000": tresp2000.PARTS, "zhu1995": zhu1995.PARTS, "edakunni2007": edakunni2007.PARTS
}  # fmt: skip
#: A few parts of each script that together take seconds, and those of them that read data.
SOME = {
    "tresp2000": ["fig1", "fig5", "table2"], "zhu1995": ["fig4", "fig6"], "edakunni2007": ["fig3"]
}  # fmt: skip
STORED = {"tresp2000": ["table1"], "zhu1995": ["table1"], "edakunni2007": ["fig4"]}


def stored(folder, paper):
    files = sorted((folder / paper).glob("*.json"))
    return {path.stem: json.loads(path.read_text()) for path in files}


def run_quickly(paper, parts, tmp_path):
    given = ["--quick", "--out", tmp_path / "out", "--results", tmp_path, "--only", *parts]
    run(PAPERS[paper], "", [str(DATA), *map(str, given)])
    found = stored(tmp_path, paper)
    assert set(found) == set(parts)
    for part in found.values():
        assert part["quick"] and part["cells"]
        assert len({cell["where"] for cell in part["cells"]}) == len(part["cells"])
        assert all(np.isfinite(cell["here"]) for cell in part["cells"])
        assert all(cell["agrees"] in (True, False, None) for cell in part["cells"])


@pytest.mark.parametrize("paper", SOME)
def test_a_quick_run_stores_its_cells(paper, tmp_path):
    run_quickly(paper, SOME[paper], tmp_path)


@with_data
@pytest.mark.parametrize("paper", STORED)
def test_a_quick_run_on_stored_data(paper, tmp_path):
    run_quickly(paper, STORED[paper], tmp_path)


@pytest.mark.slow
@with_data
@pytest.mark.parametrize("paper", PAPERS)
def test_a_quick_run_of_the_other_parts(paper, tmp_path):
    others = set(PAPERS[paper]) - {*SOME[paper], *STORED[paper]}
    run_quickly(paper, sorted(others), tmp_path)


@with_data
def test_a_quick_run_of_schwaighofer2002(tmp_path):
    given = ["--quick", "--out", str(tmp_path), "--results", str(tmp_path), "--only", "A"]
    schwaighofer2002.main([str(DATA), *given])
    (part,) = stored(tmp_path, "schwaighofer2002").values()
    assert len(part["cells"]) == 3 and all(0 < cell["here"] < 100 for cell in part["cells"])


def test_sets_that_are_absent_are_skipped(tmp_path, capsys):
    given = [str(tmp_path), "--quick", "--out", str(tmp_path), "--only"]
    run(zhu1995.PARTS, "", [*given, "table1", "table2", "table3"])
    run(edakunni2007.PARTS, "", [*given, "fig4"])
    schwaighofer2002.main([*given, "A"])
    words = capsys.readouterr().out
    assert words.count("skipped boston: no boston.npz") == 3
    assert "skipped mcycle" in words and "skipped abalone" in words
    assert not list(tmp_path.glob("**/*.json"))


@pytest.mark.parametrize("cell, agrees", [
    (Cell("a", 1.0), None), (Cell("a", 1.0, np.nan), None), (Cell("a", 1.0, 1.09), True),
    (Cell("a", 1.0, 1.2), False), (Cell("a", 1.0, 1.2, 0.11), True),
    (Cell("a", 1.0, 1.05, 0.02), False),
])  # fmt: skip
def test_a_cell_agrees_within_two_errors_or_a_tenth(cell, agrees):
    assert cell.agrees is agrees
