"""Code in pages of the documentation runs, block after block, as it stands there.

A page may need what a reader has already, such as X and y: a comment `<!-- before: … -->` has it,
which runs where it stands and is not shown."""

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers import pages as papers
from benchmarks.tasks.classes.render import EXAMPLES
from collegium.datasets import make_robot_arm

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^(?:```python|<!-- before:)\n(.*?)^(?:```|-->)$", re.DOTALL | re.MULTILINE)
#: Pages that take more than a few seconds, with the readers' hidden part.
SLOW = {"README", "answers", "files", "howto/coming_from", "index", "members", "optimise"}
SLOW |= {"papers/edakunni2007", "papers/schwaighofer2002", "papers/smola2002", "papers/tresp2000"}
SLOW |= {"plots", "priors", "report", "rvc", "streams", "works_with"}


def all_pages():
    """Every page with code, by its name below docs/."""
    paths = [path for path in DOCS.rglob("*.md") if "gallery" not in path.parts]
    return ["README", *sorted(str(path.relative_to(DOCS).with_suffix("")) for path in paths)]


def text_of(page):
    path = ROOT / "README.md" if page == "README" else DOCS / f"{page.removesuffix('.md')}.md"
    return path.read_text(encoding="utf-8")


def run(page):
    """Run all blocks of a page in one namespace, which is returned."""
    names = {}
    if page == "README":
        X, y = make_robot_arm(700, random_state=0)
        names = {"X": X[:600], "y": y[:600], "X_new": X[600:]}
    blocks = BLOCK.findall(text_of(page))
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    return names


#: Pages about libraries that the environment of the tests may lack.
OF_OTHER_LIBRARIES = {"works_with"}
#: Pages with a test of their own, for what they compute.
TESTED = {"classification", "conformal", "explain", "ledger", "maps", "sums"}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if page in SLOW else ())
        for page in all_pages()
        if BLOCK.search(text_of(page)) and page not in TESTED
    ],
)
def test_code_runs(page, tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    try:
        run(page)
    except ImportError as error:
        if page not in OF_OTHER_LIBRARIES:
            raise
        pytest.skip(str(error))


def test_classes_counts_and_outliers(capsys):
    names = run("classification.md")
    right, error = (float(line.split()[-1]) for line in capsys.readouterr().out.splitlines())
    assert right > 0.7 and error < 0.1
    assert (names["lower"] <= names["counts"][400:]).mean() > 0.85
    assert EXAMPLES in (DOCS / "classification.md").read_text(encoding="utf-8")


def test_conformal(capsys):
    names = run("conformal.md")
    covered, classes = (float(line.split()[-1]) for line in capsys.readouterr().out.splitlines())
    assert 0.85 < covered < 0.95 and 1.0 <= classes < 2.0
    y, new = names["y"], names["new"]
    inside = (names["lower"] <= y[new]) & (y[new] <= names["upper"])
    noisy = names["side"][new] == "noisy"
    assert inside[noisy].mean() > 0.83 and inside[~noisy].mean() > 0.83


def test_explain(capsys):
    names = run("explain.md")
    assert "error bar" in capsys.readouterr().out
    assert np.abs(names["found"].values[:, 2]).max() < 0.1 < names["found"].error.sum()
    assert names["curve"].joint and names["surface"].mean.shape == (12, 12)


def test_maps(capsys):
    pytest.importorskip("xarray")
    names = run("maps.md")
    assert capsys.readouterr().out == "('north', 'east') (41, 61)\n"
    assert 1.0 < float(names["change"].mean()) < 5.0
    assert names["across"]["mean"].shape == (3, 9)


@pytest.mark.slow
def test_sums():
    names = run("sums.md")
    assert names["north"].chunk_ids_ == ["north, May", "south, June"]
    assert 7 not in names["model"].chunk_ids_ and len(names["model"].chunk_ids_) == 19


@pytest.mark.parametrize("page", papers.pages(), ids=lambda page: page.stem)
def test_tables_of_papers_are_those_of_the_stored_results(page):
    assert papers.rendered(page) == page.read_text(encoding="utf-8")


def test_tables_say_what_is_stored(monkeypatch):
    """A cell that agrees, one that does not and one without a published number."""
    found = [
        {"where": "table 1, BUPA, BCM(10, 50), tuned", "here": 0.1234, "paper": 0.12, "error": 0.01,
         "why": "", "agrees": True},
        {"where": "table 1, BUPA, GPR mse, tuned", "here": 2.0, "paper": 1.0, "error": 0.1,
         "why": "another split", "agrees": False},
        {"where": "table 1, ours, GPR mse, tuned", "here": 1e-7, "paper": None, "error": None,
         "why": "", "agrees": None},
    ]  # fmt: skip
    monkeypatch.setattr(papers, "cells_of", lambda paper, pattern: found)
    match = papers.BLOCK.search('<!-- cells: t by 1 without "tuned" -->\nold\n<!-- end -->')
    text = papers.block("x", match)
    assert "|  | BCM(10, 50) | GPR mse |" in text and "old" not in text
    assert "| BUPA: here | 0.123 ± 0.01 | **2 ± 0.1** |\n| paper | 0.12 | 1 |" in text
    assert "| ours |  | 1.0e−07 |" in text
    assert "1 of 2 published numbers agree.\n\n- BUPA, GPR mse: another split." in text
