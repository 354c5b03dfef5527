"""The table of README.md is that of the stored results."""

import json

from benchmarks.harness import front


def test_readme_has_the_table_of_the_results():
    text = front.README.read_text(encoding="utf-8")
    assert front.with_table(text) == text and front.BEGIN in text and front.END in text


def test_lines_are_those_of_the_files():
    results = json.loads((front.RESULTS / "regression" / "kin40k.json").read_text())
    others = [one["RMSE"] for name, one in results.items() if name in front.PROCESSES]
    cells = front.line("words", results).split("|")
    assert cells[3].strip() == f"**{100 * results['collegium']['RMSE']:.1f} %**"
    assert cells[5].strip() == f"{100 * min(others):.1f} %"
    assert "**" not in cells[4] and cells[2].strip() == f"{results['collegium']['n_train']:,}"
