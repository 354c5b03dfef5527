"""The page of pictures shows what is there."""

import re

from collegium import plots
from test_pages import DOCS, run

TEXT = (DOCS / "plots.md").read_text(encoding="utf-8")


def test_code_of_the_page_runs():
    names = run("plots.md")
    assert names["found"].covered > 0.85


def test_every_picture_of_the_page_is_there_and_small():
    pictures = re.findall(r"\]\((pictures/\w+\.png)\)", TEXT)
    assert len(pictures) >= 8
    assert all(0 < (DOCS / one).stat().st_size <= 120_000 for one in pictures)


def test_every_function_has_a_line():
    drawn = {*plots.__all__, "map"} - {"Predictions", "LearningCurve"}
    assert [name for name in drawn if f"`{name}" not in TEXT and f"plots.{name}" not in TEXT] == []
