"""Cells and tables of the pages in docs/."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchmarks.harness.task import OURS, Method


def lines(columns: Sequence[str], rows: list[list[str]]) -> str:
    """Format a table."""
    head = [list(columns), ["---"] * len(columns)]
    return "\n".join("| " + " | ".join(row) + " |" for row in head + rows)


def shown(name: str, methods: Mapping[str, Method]) -> str:
    """The name of a method; ours in bold."""
    return f"**{name}**" if methods[name].group in OURS else name


def unanswered(results: dict[str, dict], methods: Mapping[str, Method]) -> dict[str, str]:
    """Methods that gave no answer, and why."""
    said = {name: row.get("failed") or row.get("skipped") for name, row in results.items()}
    return {shown(name, methods): why for name, why in said.items() if why}


def without(reasons: Mapping[str, str], width: int, at: int = 1) -> list[list[str]]:
    """Rows of methods that gave no answer, with the reason in one column."""
    return [
        [name, *[""] * (at - 1), why, *[""] * (width - at - 1)] for name, why in reasons.items()
    ]


def seconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}"


def cost(row: dict) -> str:
    """CPU seconds."""
    return f"{seconds(row['fit_cpu_s'])} + {seconds(row['predict_cpu_s'])}"


def memory(row: dict) -> str:
    """Peak memory, and the part that was used before `fit`."""
    return f"{row['peak_gb']:.2f} ({row['baseline_gb']:.2f})"


def training_rows(row: dict, method: Method) -> str:
    subset = row["n_train"] < row["n_available"] and method.group == "peers"
    return f"{row['n_train']:,}" + (" (random subset)" if subset else "")


def decimals(value: float, digits: int = 3) -> str:
    """Format with a minus sign, not a hyphen."""
    return f"{value:.{digits}f}".replace("-", "−")


def or_dash(row: Mapping, key: str, shown: Callable[..., str]) -> str:
    """A cell of something that older results, or some methods, do not have."""
    return "–" if row.get(key) is None else shown(row[key])


def percents(shares: Sequence[float]) -> str:
    """Format shares as whole percentages."""
    return " · ".join(f"{100 * share:.0f}" for share in shares)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"
