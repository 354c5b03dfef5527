"""Sentences are plain English: idioms that readers stumbled over do not come back.

Pages, lessons, docstrings and messages are looked at; comments are not."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "NOTATION.md")]
PAGES += [path for path in sorted((ROOT / "docs").rglob("*.md")) if "gallery" not in path.parts]
PAGES += sorted((ROOT / "examples").rglob("*.py"))
SOURCES = sorted((ROOT / "src" / "collegium").rglob("*.py"))

#: What was written, and what says it better.
BETTER = {
    r"foretold|foretell\w*": "predicted one step ahead",
    r"learnt anew|learned anew": "relearnt",
    r"one a row|one an? (?:output|query|column|chunk)": "one per row",
    r"(?:second|minute|query|row) and core": "per second per core",
    r"made (?:tables|data|rows|sets)": "synthetic",
    r"not dear|\bdear\b": "cheap, expensive",
    r"held up to": "compared with",
    r"(?:gaps|missing values) are told": "accepted",
    r"\b(?:is|are|was|were) told (?:by|of|from)\b": "estimated from, given",
    r"(?:most|least|less|more) telling": "informative",
    r"\bknows? more than it\b": "accounts for",
    r"\bwho answers\b|\bspeaks? for\b": "choose the predictor",
    r"for what (?:refined|is left)": "for the residual of",
    r"before they get their units": "in standardised units",
    r"no row like others": "excluding",
    r"the first question comes": "the first predict",
    r"too timid|too bold": "under-confident, over-confident",
    r"is foreseen|was foreseen|foreseen for": "estimated",
    r"wait(?:s)? for the next one": "takes effect at the next fit",
    r"under which rows left out": "with the highest held-out log density",
    r"than were promised": "than expected",
    r"\bthereof\b|\bwhereof\b|\bhitherto\b|\bnought\b|\bwherein\b|\bthereby\b": "modern words",
    r"not as it ought": "differs",
    r"\bmight as well\b": "say what is better",
    r"\bof them that\b|\bof those who\b": "of the … that",
    r"\bone's own\b": "your own",
    r"\b(?:needed|refused|wanted|allowed) are\b": "the subject first",
}
BANNED = {word: re.compile(rf"(?:{word})", re.IGNORECASE) for word in BETTER}

#: No docstring begins like this.
OPENINGS = ("Of ", "The same", "Who ", "Those ", "What ")


def found(text):
    """Banned words in a text, each with a few words around it."""
    flat = " ".join(text.split())
    return [
        f"…{flat[max(0, at.start() - 40) : at.end() + 40]}… -> {BETTER[word]}"
        for word, pattern in BANNED.items()
        for at in pattern.finditer(flat)
    ]


def strings(path):
    """All texts of a module: docstrings, messages, descriptions."""
    tree = ast.parse(path.read_text("utf-8"))
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page):
    assert not found(page.read_text("utf-8"))


def test_docstrings_and_messages():
    wrong = [
        f"{path.name}: {one}" for path in SOURCES for text in strings(path) for one in found(text)
    ]
    assert not wrong, "\n".join(wrong)


def docstrings(path):
    """Every docstring of a module."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "name", path.stem), text


def test_docstrings_begin_with_a_verb_a_formula_or_a_thing():
    wrong = [
        f"{path.name}: {name}: {text.splitlines()[0]}"
        for path in SOURCES
        for name, text in docstrings(path)
        if text.startswith(OPENINGS)
    ]
    assert not wrong, "\n".join(wrong)


def test_idioms_are_seen():
    assert found("Rows are foretold, one a row.") and found("a thing not\ndear at all")
    assert not found("Predictions are told apart by their order; one per row.")
