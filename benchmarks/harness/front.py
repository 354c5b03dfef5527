"""benchmarks/results/regression/*.json -> the table of README.md, between its two marks.

python -m benchmarks.harness.front
"""

from __future__ import annotations

import json

from benchmarks.harness.driver import RESULTS, ROOT

README = ROOT / "README.md"
BEGIN, END = "<!-- table: written by make bench -->\n", "<!-- end of the table -->\n"
#: Name in the table, and in words what a row is.
SETS = {
    "kin40k": "a robot arm (kin40k)",
    "protein": "shapes of proteins (protein)",
    "cal_housing": "house prices (cal_housing)",
    "heaton_satellite": "a satellite image with gaps (heaton_satellite)",
    "flights_nyc13": "delays of flights (flights_nyc13)",
    "chm_simes": "heights of trees (chm_simes)",
}
OURS, TREES = "collegium", ("LightGBM",)
PROCESSES = ("GPBoost ARD", "GPBoost", "GPyTorch SVGP", "GPyTorch SGPR", "MuyGPyS")
HEAD = """\
| data | rows | typical error, collegium | LightGBM | best other GP | 95 % intervals of collegium hold | CPU seconds to fit, collegium | LightGBM | best other GP |
|---|---|---|---|---|---|---|---|---|
"""  # noqa: E501


def best(results: dict[str, dict], names: tuple[str, ...]) -> dict | None:
    """The one with the smallest errors, of those that were run and did not fail."""
    there = [results[name] for name in names if "RMSE" in results.get(name, {})]
    return min(there, key=lambda one: one["RMSE"], default=None)


def line(words: str, results: dict[str, dict]) -> str:
    """One row of the table; errors in per cent of the standard deviation of y."""
    three = [results[OURS], best(results, TREES), best(results, PROCESSES)]
    least = min(one["RMSE"] for one in three if one)
    cells = [words, f"{three[0]['n_train']:,}"]
    for one in three:
        text = _percent(100 * one["RMSE"]) if one else "–"
        cells.append(f"**{text}**" if one and one["RMSE"] == least else text)
    cells.append(f"{100 * three[0]['coverage']:.0f} %")
    cells += [f"{one['fit_cpu_s']:,.0f}" if one else "–" for one in three]
    return "| " + " | ".join(cells) + " |\n"


def _percent(share: float) -> str:
    return f"{share:.1f} %"


def table() -> str:
    found = {
        name: json.loads((RESULTS / "regression" / f"{name}.json").read_text()) for name in SETS
    }
    return HEAD + "".join(line(words, found[name]) for name, words in SETS.items())


def with_table(text: str) -> str:
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    README.write_text(with_table(README.read_text()))
