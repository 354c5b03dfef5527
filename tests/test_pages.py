"""Code in pages of the documentation runs, block after block, as it stands there."""

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.tasks.classes.render import EXAMPLES

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def run(page):
    """Run all blocks of a page in one namespace, which is returned."""
    text, names = (DOCS / page).read_text(encoding="utf-8"), {}
    blocks = BLOCK.findall(text)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    return names


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


@pytest.mark.slow
def test_sums():
    names = run("sums.md")
    assert names["north"].chunk_ids_ == ["north, May", "south, June"]
    assert 7 not in names["model"].chunk_ids_ and len(names["model"].chunk_ids_) == 19
