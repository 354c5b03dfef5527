"""The ten rows that surprise the model most."""

from __future__ import annotations

import numpy as np

from ...diagnostics.numbers import digits, percent, value_words
from ..judged import JudgedClasses, JudgedNumbers
from ..markup import Safe, paragraph, put_together, table, visible

Array = np.ndarray
WORST, COLUMNS = 10, 6


def worst_numbers(found: JudgedNumbers) -> Array:
    """Positions of the largest errors, in predicted standard deviations."""
    told = found.predicted
    z = np.abs(told.y - told.mean) / np.maximum(told.sd, 1e-300)
    return np.argsort(-z, kind="stable")[:WORST]


def worst_of_numbers(found: JudgedNumbers) -> Safe:
    own, told = found.material, found.predicted
    columns = own.by_importance[:COLUMNS]
    rows = []
    for i in worst_numbers(found):
        z = (told.y[i] - told.mean[i]) / max(told.sd[i], 1e-300)
        rows.append([
            f"{own.position[i] + 1:,}", value_words(told.y[i]), digits(told.mean[i], 4),
            digits(told.sd[i]), digits(z, 2), *(own.cell(j, i) for j in columns),
        ])  # fmt: skip
    heads = ["row", f"#{own.target}", "#prediction", "#sd", "#error in sd",
             *(own.names[j] for j in columns)]  # fmt: skip
    said = (
        "The largest errors in units of the standard deviation that was predicted. Look at these "
        "first: wrong values, or something that the columns do not say."
    )
    return put_together([paragraph(said), table("Ten worst rows, counted from 1", heads, rows)])


def worst_of_classes(found: JudgedClasses) -> Safe:
    own = found.material
    p = found.own_probability
    columns = own.by_importance[:COLUMNS]
    rows = []
    for i in np.argsort(p, kind="stable")[:WORST]:
        rows.append([
            f"{own.position[i] + 1:,}", visible(value_words(own.y[i])),
            percent(float(p[i]), 2), visible(value_words(own.classes[found.top[i]])),
            percent(float(found.probability[i].max())), *(own.cell(j, i) for j in columns),
        ])  # fmt: skip
    heads = ["row", "class that came", "#its probability", "predicted", "#probability",
             *(own.names[j] for j in columns)]  # fmt: skip
    said = (
        "The rows whose class was thought least probable. Look at these first: wrong labels, or "
        "something that the columns do not say."
    )
    return put_together([paragraph(said), table("Ten worst rows, counted from 1", heads, rows)])
