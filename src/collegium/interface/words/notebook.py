"""Say what was found when a model was fitted, in a few lines of HTML for notebooks."""

from __future__ import annotations

from html import escape
from typing import Any

from .brief import brief_of
from .summary import found_lines

#: Letters of a line; colours are those of the notebook.
LETTERS = 200
TABLE = "border-collapse:collapse;margin:.3em 0"
CELL = "text-align:left;vertical-align:top;padding:.1em .8em .1em 0;font-weight:normal"


def with_findings(estimator: Any, html: str) -> str:
    """Put what was found below scikit-learn's picture of an estimator; nothing before `fit`."""
    if not hasattr(estimator, "model_"):
        return html
    if estimator.explains:
        lines = found_lines(estimator)
    else:
        lines = [("model", brief_of(estimator))]
    rows = "".join(
        f'<tr><th scope="row" style="{CELL};opacity:.7">{escape(word)}</th>'
        f'<td style="{CELL}">{escape(_short(text))}</td></tr>'
        for word, text in lines
    )
    more = "summary() says which columns matter" if estimator.explains else ""
    note = f'<div style="opacity:.7">{more}</div>' if more else ""
    return f'{html}<table style="{TABLE}"><tbody>{rows}</tbody></table>{note}'


def _short(text: str) -> str:
    return text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"
