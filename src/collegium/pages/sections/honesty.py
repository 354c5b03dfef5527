"""Are error bars honest: coverage, overall and by part; PIT; reliability; along a stream."""

from __future__ import annotations

import numpy as np

from ...diagnostics.classes import reliability
from ...diagnostics.coverage import CoveredShare, coverage_of_levels
from ...diagnostics.histogram import PitHistogram, pit_histogram
from ...diagnostics.numbers import digits, percent
from ...diagnostics.predicted import takes_counts
from ...diagnostics.regions import Slab
from ...diagnostics.rolling import rolling_figures
from ...rows.partition import evenly_spaced
from ..charts import (
    Frame,
    axes,
    band,
    band_bar,
    block,
    curve,
    dot,
    figure,
    gallery,
    spread,
    whisker,
)
from ..judged import LEVEL, Judged, JudgedClasses, JudgedNumbers, is_odd
from ..markup import Safe, element, paragraph, put_together, table
from .verdict import reliable

Array = np.ndarray
HEADS = ["rows", "#inside", "#promised", "picture", "#by chance (95\u202f%)", "#number"]
GUIDE = (
    "The dot is what was found, the line what was promised, the grey bar what chance allows. Dots "
    "in orange stand out: they are off by more than chance, and by more than 2\u202f% of the rows."
)


def bars_of_numbers(found: JudgedNumbers) -> Safe:
    own, predicted = found.material, found.predicted
    shares = coverage_of_levels(predicted.pit)
    widths = typical_widths(found)
    heads = [*HEADS[:4], "#typical width", *HEADS[4:]]
    rows = [
        [f"{one.label} interval", *_cells(one)[:3], width, *_cells(one)[3:]]
        for one, width in zip(shares, widths)
    ]
    said = [
        "An interval that promises 90\u202f% should hold 90\u202f% of the rows: not fewer, and not "
        "more, which would be too wide to be of use."
    ]
    if takes_counts(own.model):
        said.append(
            "Counts jump: a count at the end of an interval is taken as inside or outside by "
            "chance, in the proportion that makes the promise exact."
        )
    pictures = [pit_picture(pit_histogram(predicted.pit)), *error_picture(found)]
    more = [stream_pictures(found, predicted.log_density)] if found.batch else []
    return put_together([
        *(paragraph(one) for one in said),
        table("Central intervals", heads, rows),
        gallery(pictures), *more, *parts_of(found, "inside their 90\u202f% intervals"),
    ])  # fmt: skip


def bars_of_classes(found: JudgedClasses) -> Safe:
    p, true = reliable(found)
    told = reliability(p, true, seed=found.material.seed)
    two = found.probability.shape[1] == 2
    of = f"of {found.material.classes[1]}" if two else "of the class that was predicted"
    said = (
        f"Of rows whose probability {of} is 80\u202f%, eight in ten should turn out so. The mean "
        f"gap between probabilities and what came (expected calibration error) is "
        f"{percent(told.error)} (95\u202f% interval {percent(told.error_low)} to "
        f"{percent(told.error_high)}); right probabilities would give up to "
        f"{percent(told.by_chance)} by chance."
    )
    frame = Frame((0.0, 1.0), (0.0, 1.0), height=280)
    parts = [*axes(frame, f"predicted probability {of}", "share that came true"),
             curve(frame, np.array([0.0, 1.0]), np.array([0.0, 1.0]), "ideal")]  # fmt: skip
    for k in range(len(told.count)):
        odd = not told.low[k] <= told.share[k] <= told.high[k]
        parts.append(whisker(frame, told.probability[k], (told.low[k], told.high[k]), "line"))
        parts.append(dot(frame, told.probability[k], told.share[k], "dot odd" if odd else "dot"))
    words = (
        "Reliability: each dot is a tenth of the rows, on the dashed line if probabilities are "
        "right; the bar is what chance allows."
    )
    rows = [
        [f"{percent(told.probability[k])}", f"{told.count[k]:,}", percent(told.share[k]),
         f"{percent(told.low[k])} to {percent(told.high[k])}"]
        for k in range(len(told.count))
    ]  # fmt: skip
    log_density = np.log(np.maximum(found.own_probability, np.finfo(float).tiny))
    more = [stream_pictures(found, log_density)] if found.batch else []
    return put_together([
        paragraph(said), gallery([figure(frame, parts, words, f"{words} {said}")]),
        table("Reliability", ["predicted", "#rows", "#came true", "#by chance (95\u202f%)"], rows),
        *more, *parts_of(found, "right, beside the probability that was promised"),
    ])  # fmt: skip


def _cells(one: CoveredShare) -> list[object]:
    odd = is_odd(one)
    inside = element("span", percent(one.share), class_="odd") if odd else percent(one.share)
    return [
        inside, percent(one.level), band_bar(one.share, one.level, one.low, one.high, odd),
        f"{percent(one.low)} to {percent(one.high)}", f"{one.n:,}",
    ]  # fmt: skip


def typical_widths(found: JudgedNumbers) -> list[str]:
    """Median width of central intervals over some rows, at each level."""
    own = found.material
    some = evenly_spaced(own.n, own.budget.candidates)
    tails = [0.25, 0.1, 0.05, 0.025]
    q = np.array([*tails, *(1.0 - t for t in tails)])
    ends = own.model.quantile(own.rows[some], q, **own.given(some))
    ends = ends.reshape(len(some), -1, q.size)[:, 0]
    return [digits(float(np.median(ends[:, k + 4] - ends[:, k]))) for k in range(4)]


def parts_of(found: Judged, what: str) -> list[Safe]:
    """Tables of coverage by part of the rows."""
    said: list[Safe] = [element("h3", "Where they hold, and where not")]
    said.append(paragraph(GUIDE))
    heads = [HEADS[0], "#right" if isinstance(found, JudgedClasses) else HEADS[1], *HEADS[2:]]
    odd = found.odd_parts
    if not odd:
        said.append(paragraph("No part of the rows stands out.", class_="good"))
    for part in found.parts:
        rows = [[one.label, *_cells(one)] for one in part.shares]
        said.append(table(f"Rows {what}, {part.title}", heads, rows))
    if found.slab is not None:
        said.append(slab_words(found, found.slab))
    return said


def slab_words(found: Judged, slab: Slab) -> Safe:
    """The worst slab, as it was chosen and as other rows measured it."""
    own, order = found.material, np.argsort(-np.abs(slab.direction), kind="stable")
    names = [own.names[j] for j in found.slab_columns]
    main = [k for k in order[:3] if abs(slab.direction[k]) > 0.2]
    if abs(slab.direction[order[0]]) > 1.0 - 1e-12:
        j = found.slab_columns[order[0]]
        x, sign = own.X[:, j], float(np.sign(slab.direction[order[0]]))
        ends = sorted(x.mean() + sign * one * x.std() for one in (slab.low, slab.high))
        where = f"{names[order[0]]} between {own.say(j, ends[0])} and {own.say(j, ends[1])}"
    else:
        more = " + …" if len(names) > len(main) else ""
        where = (
            f"{weights_words(slab.direction[main], [names[k] for k in main])}{more} (columns "
            f"centred and scaled) between {digits(slab.low)} and {digits(slab.high)}"
        )
    chosen, measured = slab.chosen, slab.measured
    by_chance = f"chance gives {percent(measured.low)} to {percent(measured.high)}"
    verdict = "which chance explains" if measured.sign == 0 else "which chance does not explain"
    first = (
        f"One half of the rows was cut into slices along a hundred directions. The slice furthest "
        f"from what was promised is where {where}: {percent(chosen.share)} instead of "
        f"{percent(chosen.level)} of its {chosen.n:,} rows. Among so many slices one is bad by "
        "chance alone, so the other half of the rows, which had no part in the choice, measures "
        f"it: {percent(measured.share)} of its {measured.n:,} rows there, "
    )
    last = element("span", verdict, class_="odd" if is_odd(measured) else None)
    return put_together([
        element("h3", "The worst slice"), paragraph(first, last, f" ({by_chance}).")
    ])  # fmt: skip


def weights_words(weights: Array, names: list[str]) -> str:
    """A sum of columns: "0.8 × a − 0.3 × b"."""
    each = [f"{digits(abs(w), 2)} × {name}" for w, name in zip(weights, names)]
    signs = ["−" if w < 0 else "+" for w in weights]
    text = "".join(f" {sign} {one}" for sign, one in zip(signs, each))
    return text[3:] if text.startswith(" +") else f"−{text[3:]}"


def pit_picture(found: PitHistogram) -> Safe:
    """The histogram of P(Y ≤ y), and its shape in words."""
    bins = len(found.shares)
    top = 1.15 * max(float(found.shares.max()), found.high)
    frame = Frame((0.0, 1.0), (0.0, top))
    parts = axes(frame, "position of y in its prediction (PIT)", "share of rows")
    parts.append(block(frame, (0.0, 1.0), (found.low, found.high), "chance"))
    for k, share in enumerate(found.shares):
        odd = not found.low <= share <= found.high
        kind = "bar odd" if odd else "bar light"
        ends = (k + 0.06) / bins, (k + 0.94) / bins
        parts.append(block(frame, ends, (0.0, float(share)), kind))
    words = f"Flat, if predictions are right; grey is what chance allows. {pit_words(found)}"
    return figure(frame, parts, words, f"Histogram of the PIT in {bins} bins. {words}")


def pit_words(found: PitHistogram) -> str:
    """Say what the shape of the histogram means."""
    if found.flat:
        return "This one is flat."
    share, bins = found.shares, len(found.shares)
    k = max(bins // 10, 1)
    left, right = share[:k].mean() * bins, share[-k:].mean() * bins
    middle = share[bins // 3 : bins - bins // 3].mean() * bins
    if min(left, right) > 1.1 and middle < 1.05:
        return "High at both ends: large errors are more frequent than was promised."
    if max(left, right) < 0.9:
        return "High in the middle: intervals are wider than need be."
    for side, far, near in (("left", left, right), ("right", right, left)):
        if far > 1.25 and near < 1.1:
            what = "below" if side == "left" else "above"
            return (
                f"High at the {side} end: observations far {what} their predictions are more "
                "frequent than was promised."
            )
    half = share[: bins // 2].sum() - share[-(bins // 2) :].sum()
    if half > 0.04:
        return "Higher on the left: predictions are too high."
    if half < -0.04:
        return "Higher on the right: predictions are too low."
    if middle > 1.05:
        return "A little high in the middle: most errors are smaller than was promised."
    return "Not quite flat, in no simple shape."


def error_picture(found: JudgedNumbers) -> list[Safe]:
    """Errors that were made against those that were expected, in tenths of the rows."""
    own, predicted = found.material, found.predicted
    if np.ptp(predicted.sd) <= 1e-6 * predicted.sd.max(initial=0.0) or own.n < 50:
        return []
    parts_ = np.array_split(np.argsort(predicted.sd, kind="stable"), 10)
    expected = [_rms(predicted.sd[one]) for one in parts_]
    made = [_rms(predicted.mean[one] - own.y[one]) for one in parts_]
    top = 1.08 * max(*expected, *made)
    frame = Frame((0.0, top), (0.0, top), height=220)
    drawn = [*axes(frame, "error expected (sd)", "error made (RMS)"),
             curve(frame, np.array([0.0, top]), np.array([0.0, top]), "ideal")]  # fmt: skip
    drawn += [dot(frame, a, b) for a, b in zip(expected, made)]
    words = (
        "Does it know when it does not know? Each dot is a tenth of the rows: on the dashed line "
        "if errors are as large as was expected, above it if larger."
    )
    return [figure(frame, drawn, words, words)]


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def stream_pictures(found: Judged, log_density: Array) -> Safe:
    """Coverage and log density along the stream."""
    promised = LEVEL if np.ndim(found.level) == 0 else float(np.mean(found.level))
    told = rolling_figures(found.inside, log_density, promised)
    x = told.position.astype(float)
    frame = Frame((0.0, float(found.material.n)), spread([*told.coverage, told.low, told.high]))
    word = "inside 90\u202f%" if np.ndim(found.level) == 0 else "right"
    first = [*axes(frame, "row", f"share {word}"),
             band(frame, x, np.full(x.size, told.low), np.full(x.size, told.high), "chance"),
             curve(frame, x, told.coverage)]  # fmt: skip
    words = f"Rows {word} among the last {told.window:,}; grey is what chance allows."
    other = Frame(frame.x, spread(told.log_density))
    second = [*axes(other, "row", "log density"), curve(other, x, told.log_density)]
    text = f"Mean log density of the last {told.window:,} rows: better where higher."
    lows = f" From {percent(told.coverage.min())} to {percent(told.coverage.max())}."
    return gallery(
        [figure(frame, first, words + lows, words + lows), figure(other, second, text, text)]
    )
