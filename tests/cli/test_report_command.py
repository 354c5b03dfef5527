"""`collegium report` writes the page that the library makes of the same rows."""

import json
from pathlib import Path

import numpy as np
import pytest
from running import rows, run, small_model, write_csv

import collegium

pd = pytest.importorskip("pandas")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small_model().save("m.clg")
    found = rows(50, seed=5)
    write_csv("test.csv", found | {"kind": (found["a"] > 0) + 1.0})


def test_the_page_is_that_of_the_library():
    ran = run("report", "m.clg", "--data", "test.csv", "-y", "y", "-o", "p.html", "--json")
    assert ran.code == 0, ran.err
    page = Path("p.html").read_text(encoding="utf-8")
    frame = pd.read_csv("test.csv")
    own = collegium.report(
        collegium.load("m.clg"), frame[["a", "b"]], frame["y"], target="y",
        command="collegium report m.clg test.csv --target y -o p.html",
    )  # fmt: skip
    assert page == own.html
    told = json.loads(ran.out)
    assert told["verdict"] == list(own.verdict)
    assert told["page"] == {"path": "p.html", "bytes": len(page.encode())}
    assert "1 column is not used: kind" in ran.err


def test_groups_conditions_and_a_page_without_rows():
    ran = run("report", "m.clg", "test.csv", "-y", "y", "-o", "p.html", "--group", "kind",
              "--where", "a < 1.5", "--no-rows", "--title", "Arms & legs")  # fmt: skip
    assert ran.code == 0, ran.err
    page = Path("p.html").read_text(encoding="utf-8")
    assert "Arms &amp; legs</h1>" in page and "by kind" in page and "worst rows" not in page
    n = int(np.sum(rows(50, seed=5)["a"] < 1.5))
    assert f"judged by {n} rows" in page
    assert "--no-rows" in page
    assert ran.out.decode().count("verdict") == 3


@pytest.mark.parametrize(
    "words, code",
    [
        (("m.clg", "test.csv", "-y", "z", "-o", "p.html"), 3),
        (("m.clg", "test.csv", "-o", "p.html"), 2),
        (("m.clg", "test.csv", "-y", "y", "-o", "test.csv"), 2),
        (("m.clg", "test.csv", "-y", "y", "-o", "p.html", "--group", "knd"), 3),
        (("no.clg", "test.csv", "-y", "y", "-o", "p.html"), 4),
    ],
)
def test_faults_have_codes_and_leave_no_page(words, code):
    ran = run("report", *words)
    assert ran.code == code, ran.err
    assert not Path("p.html").exists()
