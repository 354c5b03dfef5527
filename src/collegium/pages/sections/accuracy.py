"""How large errors are, beside those of plain predictions."""

from __future__ import annotations

import numpy as np

from ...diagnostics.baselines import BaselineError, baseline_errors, error_of
from ...diagnostics.numbers import digits, percent
from ..charts import Frame, axes, curve, dot, figure, gallery, raster, spread
from ..judged import JudgedClasses, JudgedNumbers
from ..markup import Safe, paragraph, put_together, table, visible
from ..pixels import density_picture

Array = np.ndarray
TINY = np.finfo(float).tiny
#: Classes of which a table says who was taken for whom.
MOST_CLASSES = 8
#: Rows up to which each is a dot.
FEW_DOTS = 150


def errors_of_numbers(found: JudgedNumbers) -> Safe:
    own, predicted = found.material, found.predicted
    plain, kept = found.baselines
    ours = error_of("this model", own.y.astype(float), predicted.mean)
    others = baseline_errors(plain, own.y.astype(float))
    rows = [_row(one, ours) for one in (ours, *others)]
    heads = ["prediction by", "#RMSE", "#mean absolute", "#× the model's"]
    variance = float(np.var(own.y))
    share = 1.0 - ours.rmse**2 / variance if variance > 0 else np.nan
    said = (
        f"RMSE is the root of the mean squared error, in the units of {own.target}. The model "
        f"explains {percent(share)} of the variance; its mean log density is "
        f"{digits(float(predicted.log_density.mean()), 4)}."
    )
    how = (
        "The plain rules learnt from rows that the model keeps (20,000 at most)."
        if kept
        else "The plain rules learnt from the other four fifths of these rows, in turn."
    )
    return put_together([
        paragraph(said), table("Errors", heads, rows), paragraph(how, class_="note"),
        gallery([scatter(found)]),
    ])  # fmt: skip


def _row(one: BaselineError, ours: BaselineError) -> list[str]:
    times = one.rmse / ours.rmse if ours.rmse > 0 else np.inf
    return [one.name, digits(one.rmse), digits(one.mae), digits(times)]


def scatter(found: JudgedNumbers) -> Safe:
    """Predictions against what was observed, as shades of how many rows lie there."""
    own, mean = found.material, found.predicted.mean
    y = own.y.astype(float)
    ends = np.quantile(np.concatenate([y, mean]), [0.001, 0.999])
    ends = spread(ends)
    frame = Frame(ends, ends, height=280)
    parts = [*axes(frame, "prediction", own.target),
             curve(frame, np.array(ends), np.array(ends), "ideal")]  # fmt: skip
    if own.n <= FEW_DOTS:
        parts += [dot(frame, a, b, r=2.5) for a, b in zip(mean, y)]
    else:
        parts.append(raster(frame, density_picture(mean, y, ends)))
    more = "" if own.n <= FEW_DOTS else " The stronger the colour, the more rows."
    words = f"Predictions and what was observed: on the dashed line they are equal.{more}"
    tell = f"{words} Their correlation is {digits(_correlation(mean, y))}."
    return figure(frame, parts, words, tell)


def _correlation(a: Array, b: Array) -> float:
    return float(np.corrcoef(a, b)[0, 1]) if np.ptp(a) and np.ptp(b) else float("nan")


def errors_of_classes(found: JudgedClasses) -> Safe:
    codes, p = found.codes, found.probability
    share = found.baselines["mean"]
    exact = np.eye(p.shape[1])[codes]
    rows = [
        ["this model", percent(float(found.inside.mean())), digits(mean_log_loss(p, codes)),
         digits(float(((p - exact) ** 2).sum(axis=1).mean()))],
        ["shares of classes", percent(_right(share, codes)), digits(mean_log_loss(share, codes)),
         digits(float(((share - exact) ** 2).sum(axis=1).mean()))],
    ]  # fmt: skip
    for name, one in found.baselines.items():
        if name != "mean":
            rows.append([name, percent(_right(one, codes)), "–", "–"])
    said = (
        "Log loss is the mean of −log(probability of the class that came), the Brier score the "
        "mean squared distance of probabilities from what came: both are better where smaller. The "
        "plain rules learnt from the other four fifths of these rows, in turn."
    )
    heads = ["prediction by", "#right", "#log loss", "#Brier score"]
    return put_together(
        [table("Errors", heads, rows), paragraph(said, class_="note"), confusion(found)]
    )


def mean_log_loss(p: Array, codes: Array) -> float:
    """−mean log of the probability of the class that came."""
    return float(-np.log(np.maximum(p[np.arange(len(codes)), codes], TINY)).mean())


def _right(p: Array, codes: Array) -> float:
    return float(np.mean(p.argmax(axis=1) == codes))


def confusion(found: JudgedClasses) -> Safe:
    """Rows by the class that came and the class that was predicted."""
    labels = [visible(one, 24) for one in found.material.classes]
    if len(labels) > MOST_CLASSES:
        return by_class(found, labels)
    counts = np.zeros((len(labels), len(labels)), dtype=int)
    np.add.at(counts, (found.codes, found.top), 1)
    rows = [[name, *(f"{n:,}" for n in line)] for name, line in zip(labels, counts)]
    heads = ["came, predicted →", *(f"#{name}" for name in labels)]
    return table("Rows by the class that came (lines) and was predicted (columns)", heads, rows)


def by_class(found: JudgedClasses, labels: list[str]) -> Safe:
    """The share found of each class, worst first."""
    rows = []
    for k, name in enumerate(labels):
        own = found.codes == k
        if own.any():
            right = float(np.mean(found.top[own] == k))
            wrong = np.bincount(found.top[own & ~found.inside], minlength=len(labels))
            taken = labels[int(wrong.argmax())] if wrong.any() else "–"
            rows.append((right, [name, f"{int(own.sum()):,}", percent(right), taken]))
    rows.sort(key=lambda one: (one[0], one[1][0]))
    heads = ["class", "#rows", "#found", "most often taken for"]
    return table("Classes, worst first (30 at most)", heads, [one for _, one in rows[:30]])
