"""The rows: how many, what they hold, and what the model has seen of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...diagnostics.numbers import count, digits, percent, value_words
from ...rows.partition import evenly_spaced
from ...tables.reading import DATE, LEVELS
from ..charts import Frame, axes, block, figure, gallery, spread
from ..judged import Judged, JudgedClasses
from ..markup import Safe, paragraph, put_together, table, visible
from ..material import Material

Array = np.ndarray
#: Columns and classes that a table lists; bars of a histogram.
MOST_COLUMNS, MOST_CLASSES, BARS = 40, 20, 24


def data_section(found: Judged, learnt: float) -> Safe:
    own = found.material
    said = [paragraph(rows_words(own, learnt, isinstance(found, JudgedClasses)))]
    if found.batch:  # type: ignore[attr-defined]
        said.append(
            paragraph(
                "The rows are a stream: a copy of the model predicted each hundred rows before it "
                "learnt from them."
            )
        )
    told = outside_words(own)
    said += [paragraph(told)] if told else []
    target = classes_table(own) if own.classes is not None else target_picture(own)
    return put_together([*said, target, columns_table(own)])


def rows_words(own: Material, learnt: float, classes: bool) -> str:
    """How many rows there are, how many were looked at, and whether they are new."""
    brief = count(own.n_given, "row")
    if own.n < own.n_given:
        brief += f"; this page looks at {own.n:,} of them, drawn by chance"
    total = getattr(own.model.model_, "total_weight", None) or getattr(
        own.model.model_, "n_seen", 0
    )
    text = f"The model is judged by {brief}."
    if total:
        text += f" It was fitted to {digits(total, 7, brief=True)} rows."
    if learnt > 0.02:
        text += (
            f" {percent(learnt, 0)} of the rows that it is judged by are among those that it was "
            "fitted to: errors on new rows will be larger than those below, and coverage lower."
        )
    return text


def outside_words(own: Material) -> str:
    """The share of rows that are extrapolations, where a model can tell."""
    if not hasattr(own.model, "outside"):
        return ""
    some = evenly_spaced(own.n, own.budget.candidates)
    share = float(np.mean(own.model.outside(own.rows[some])))
    among = f"{len(some):,} of the rows" if len(some) < own.n else "the rows"
    what = "far from all that the model has learnt from (extrapolations)"
    return f"Of {among}, {'none is' if share == 0.0 else f'{percent(share)} are'} {what}."


def target_picture(own: Material) -> Safe:
    """The histogram of y."""
    y = own.y.astype(float)
    low, high = np.quantile(y, [0.005, 0.995])
    if high <= low:
        low, high = spread(y)
    whole = bool((y == np.round(y)).all()) and high - low <= BARS
    edges = (
        np.arange(np.floor(low) - 0.5, np.floor(high) + 1.0)
        if whole
        else np.linspace(low, high, BARS + 1)
    )
    height = np.histogram(y, edges)[0] / own.n
    frame = Frame((float(edges[0]), float(edges[-1])), (0.0, float(height.max()) * 1.08 or 1.0))
    parts = axes(frame, own.target, "share of rows")
    for k, share in enumerate(height):
        parts.append(block(frame, (edges[k], edges[k + 1]), (0.0, float(share)), "bar"))
    beyond = 1.0 - float(height.sum())
    more = f" {percent(beyond)} of the rows lie beyond." if beyond > 0.0005 else ""
    words = (
        f"{own.target}: mean {digits(y.mean())}, standard deviation {digits(y.std())}, from "
        f"{value_words(y.min())} to {value_words(y.max())}.{more}"
    )
    return gallery([figure(frame, parts, words, f"Histogram of {own.target}. {words}")])


def classes_table(own: Material) -> Safe:
    labels, counts = np.unique(np.asarray(own.y), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rows = [[visible(labels[k]), f"{counts[k]:,}", percent(counts[k] / own.n)] for k in order]
    caption = f"Classes of {own.target}" + _cut(len(rows), MOST_CLASSES)
    return table(caption, ["class", "#rows", "#share"], rows[:MOST_CLASSES])


def columns_table(own: Material) -> Safe:
    """Each column with its kind and range."""
    rows = [_column(own, j) for j in range(min(len(own.names), MOST_COLUMNS))]
    caption = "Columns" + _cut(len(own.names), MOST_COLUMNS)
    heads = ["column", "kind", "#missing", "lowest", "middle half", "highest"]
    return table(caption, heads, rows)


def _cut(n: int, most: int) -> str:
    return f" (the first {most} of {n:,})" if n > most else ""


def _column(own: Material, j: int) -> list[Any]:
    column, gone = own.asked.columns[j], own.asked.missing(j, own.X)
    lost = percent(float(gone.mean())) if gone.any() else "0"
    there = own.X[~gone, j]
    if not there.size:
        return [own.names[j], "empty", lost, "", "", ""]
    if column.kind == LEVELS:
        codes, counts = np.unique(there, return_counts=True)
        often = own.say(j, codes[np.argmax(counts)])
        most = f"most often {often} ({percent(counts.max() / own.n)})"
        return [own.names[j], count(len(codes), "level"), lost, "", most, ""]
    ends = [
        own.say(j, value)
        for value in np.quantile(there, [0.0, 0.25, 0.75, 1.0], method="closest_observation")
    ]
    kind = "dates" if column.kind == DATE else "numbers"
    return [own.names[j], kind, lost, ends[0], f"{ends[1]} to {ends[2]}", ends[3]]
