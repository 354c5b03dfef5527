"""Tables in plain text."""

from __future__ import annotations


def table(rows: list[dict]) -> str:
    """Format one line per row, with the columns of the first."""
    heads = list(rows[0])
    cells = [[_cell(row.get(head, "")) for head in heads] for row in rows]
    widths = [max(len(head), *(len(c[i]) for c in cells)) for i, head in enumerate(heads)]
    lines = ["  ".join(head.rjust(w) for head, w in zip(heads, widths))]
    lines += ["  ".join(c.rjust(w) for c, w in zip(row, widths)) for row in cells]
    return "\n".join(lines)


def _cell(value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
