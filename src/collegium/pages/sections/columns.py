"""Effects of columns: how much it matters, and the curve of its effect."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...diagnostics.numbers import digits, percent, value_words
from ...explain.effects import Effect, effect
from ...tables.reading import DATE, LEVELS, NUMBER
from ..charts import Frame, axes, band, block, curve, dot, figure, gallery, share_bar, spread
from ..markup import Safe, paragraph, put_together, table, visible
from ..material import Material

Array = np.ndarray
#: Columns that are listed; classes and levels whose effects are drawn.
LISTED, CLASSES, LEVELS_DRAWN = 20, 2, 10
#: Standard deviations of a band that holds 95 %.
WIDTH = 1.96


def columns_section(own: Material) -> Safe:
    names, share = own.names, own.importance
    order = own.by_importance
    rows = [[names[j], percent(share[j]), share_bar(share[j])] for j in order[:LISTED]]
    rest = len(order) - LISTED
    caption = "How much each column matters"
    if rest > 0:
        left = float(share[order[LISTED:]].sum())
        caption += f" (the first {LISTED}; the other {rest:,} have {percent(left)} together)"
    said = (
        "The share of the variance of the predictions that goes with each column, alone or "
        "together with others (total effects). Columns that go together share what they explain."
    )
    averaged = own.budget.averaged
    some = [j for j in order if share[j] >= 0.005][: own.budget.drawn]
    drawn = [figure_of(own, j) for j in some]
    how = (
        f"The line is the mean {own.asked.words} as one column changes and all others stay as they "
        f"are in {min(own.n, averaged)} of the rows (partial dependence); the band is its "
        "95\u202f% interval, without noise. Bars at the bottom: where the rows are."
    )
    return put_together([
        paragraph(said), table(caption, ["column", "#share", "picture"], rows), paragraph(how),
        gallery([one for one in drawn if one]),
    ])  # fmt: skip


def outputs(own: Material) -> list[Any]:
    """Choose what curves are of: one number, or the probabilities of the most frequent classes."""
    if own.classes is None or len(own.classes) == 2:
        return [None]
    labels, counts = np.unique(np.asarray(own.y), return_counts=True)
    return list(labels[np.argsort(-counts, kind="stable")[:CLASSES]])


def figure_of(own: Material, j: int) -> Safe:
    """The picture of one column."""
    label = own.target if own.classes is None else "probability"
    most, points = own.budget.averaged, own.budget.points
    found = [
        effect(own.model, own.rows, j, grid=points, random_state=own.seed, output=one, n_rows=most)
        for one in outputs(own)
    ]
    if own.asked.columns[j].kind == LEVELS:
        return levels_figure(own, j, found[0], label)
    x = [_as_numbers(one.grid, own, j) for one in found]
    ends = [(one.mean - WIDTH * one.sd, one.mean + WIDTH * one.sd) for one in found]
    low, high = spread(np.concatenate([np.concatenate(pair) for pair in ends]))
    floor = low - 0.16 * (high - low)
    frame = Frame(spread(x[0], 0.02), (floor, high))
    parts = axes(frame, own.names[j], label, x_ticks=_dates(own, j, frame))
    parts += shares_of_rows(frame, x[0], found[0].share)
    for k, (one, at, (a, b)) in enumerate(zip(found, x, ends)):
        parts += [band(frame, at, a, b), curve(frame, at, one.mean)]
        if len(found) > 1:
            parts.append(_name(frame, at[-1], one.mean[-1], visible(outputs(own)[k], 14)))
    words = curve_words(own, j, found[0], label)
    return figure(frame, parts, words, f"Effect of {own.names[j]}. {words}")


def _name(frame: Frame, x: float, y: float, text: str) -> Safe:
    from ..markup import element

    return element("text", text, x=f"{frame.across(x) - 2:.1f}", y=f"{frame.up(y) - 4:.1f}",
                   text_anchor="end", class_="strong")  # fmt: skip


def curve_words(own: Material, j: int, found: Effect, label: str) -> str:
    """From where to where the curve goes, and its lowest and highest point."""
    low, high = int(np.argmin(found.mean)), int(np.argmax(found.mean))
    x = found.grid
    each = [
        f"{word} {digits(found.mean[k])} ± {digits(found.sd[k], 2)} at {visible(value_words(x[k]))}"
        for word, k in (("lowest", low), ("highest", high))
    ]
    of = "" if own.classes is None else f" ({found.words})"
    gaps = ""
    if found.missing is not None:
        gaps = f"; {digits(found.missing[0])} where it is missing"
    return f"{own.names[j]}{of}: {each[0]}, {each[1]}{gaps}."


def shares_of_rows(frame: Frame, x: Array, share: Array) -> list[Safe]:
    """Bars at the bottom, as high as there are rows near each point."""
    top = max(float(share.max()), 1e-12)
    low, high = frame.y
    order = np.argsort(x)
    at, height = x[order], share[order]
    if len(at) < 2:
        return []
    edges = np.concatenate([at[:1], 0.5 * (at[1:] + at[:-1]), at[-1:]])
    gap = 0.12 * (high - low)
    return [
        block(frame, (a, b), (low, low + gap * float(h) / top), "chance")
        for a, b, h in zip(edges, edges[1:], height)
        if h > 0
    ]


def levels_figure(own: Material, j: int, found: Effect, label: str) -> Safe:
    """Points with bars, one for each level; the most frequent ones where there are many."""
    most = np.argsort(-found.share, kind="stable")[:LEVELS_DRAWN]
    order = most[np.argsort(-found.mean[most], kind="stable")]
    ends = found.mean - WIDTH * found.sd, found.mean + WIDTH * found.sd
    height = 46 + 22 * len(order)
    frame = Frame(
        spread(np.concatenate([ends[0][order], ends[1][order]])), (-0.6, len(order) - 0.4),
        height=height, left=110,
    )  # fmt: skip
    names = [visible(value_words(found.grid[k]), 16) for k in order]
    places = [(len(order) - 1 - i, name) for i, name in enumerate(names)]
    parts = axes(frame, label, "", y_ticks=places)
    for (at, _), k in zip(places, order):
        parts.append(curve(frame, np.array([ends[0][k], ends[1][k]]), np.array([at, at])))
        parts.append(dot(frame, float(found.mean[k]), at))
    words = curve_words(own, j, found, label)
    return figure(frame, parts, words, f"Effect of {own.names[j]}. {words}")


def _as_numbers(grid: Any, own: Material, j: int) -> Array:
    """Dates in seconds since 1970, numbers as they are."""
    if own.asked.columns[j].kind == DATE:
        return np.asarray(grid, dtype="M8[us]").astype(np.int64) / 1e6
    return np.asarray(grid, dtype=float)


def _dates(own: Material, j: int, frame: Frame) -> list[tuple[float, str]] | None:
    """Three dates below the axis of a column of dates."""
    if own.asked.columns[j].kind == NUMBER:
        return None
    low, high = frame.x
    at = [low + share * (high - low) for share in (0.15, 0.5, 0.85)]
    return [(one, str(np.datetime64(int(one), "s"))[:10]) for one in at]
