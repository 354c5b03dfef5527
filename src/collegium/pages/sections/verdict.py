"""The verdict: how wrong, how honest, and by which columns, in three plain sentences."""

from __future__ import annotations

import numpy as np

from ...diagnostics.classes import reliability
from ...diagnostics.coverage import CoveredShare, covered_share
from ...diagnostics.numbers import digits, percent
from ..judged import LEVEL, SMALL, Judged, JudgedClasses, JudgedNumbers
from ..markup import Safe, element, paragraph
from ..material import Material
from .places import NextPlace

#: The mean of the PIT, less a half, from which predictions are too low or too high.
SHIFTED = 0.05
ARTICLES = {"nearest row": "the nearest row", "mean": "the mean of all rows"}


def sentences(found: Judged, places: list[NextPlace]) -> tuple[str, str, str]:
    """Three sentences: errors, error bars, columns and places."""
    if isinstance(found, JudgedClasses):
        first, second = class_errors(found), class_bars(found)
    else:
        assert isinstance(found, JudgedNumbers)
        first, second = number_errors(found), number_bars(found)
    return first, second, columns_and_places(found.material, places)


def number_errors(found: JudgedNumbers) -> str:
    own, predicted = found.material, found.predicted
    away = np.abs(predicted.mean - predicted.y)
    rmse = float(np.sqrt(np.mean(away**2)))
    plain = {
        name: float(np.sqrt(np.mean((one - own.y) ** 2)))
        for name, one in found.baselines[0].items()
    }
    best = min(plain, key=lambda name: (plain[name], name))
    against = f"{ARTICLES.get(best, best)} would be wrong by {digits(plain[best])}"
    if best != "mean":
        against += f", the mean of all rows by {digits(plain['mean'])}"
    verdict = "" if rmse < plain[best] else ", so the model is no better than plain rules"
    return (
        f"Predictions of {own.target} are typically wrong by {digits(rmse)} (root mean square; "
        f"half of them by less than {digits(float(np.median(away)))}), where {against}{verdict}."
    )


def number_bars(found: JudgedNumbers) -> str:
    whole = covered_share(found.inside, LEVEL)
    said = f"90\u202f% intervals hold {percent(whole.share)} of the rows"
    if whole.sign == 0:
        most = " on the whole" if found.odd_parts else ""
        text = f"The error bars can be believed{most}: {said}"
    elif abs(whole.share - LEVEL) <= SMALL:
        text = f"The error bars are nearly right: {said}"
    else:
        word = "narrow" if whole.sign < 0 else "wide"
        text = f"The error bars are too {word}: {said}"
    shift = float(np.mean(found.predicted.pit)) - 0.5
    chance = 3.0 / np.sqrt(12.0 * found.material.n)  # three standard deviations of the mean
    side = (
        ""
        if abs(shift) < max(SHIFTED, chance)
        else f"; predictions are too {'low' if shift > 0 else 'high'}"
    )
    return f"{text}{where_not(found)}{side}."


def where_not(found: Judged) -> str:
    """Name the part whose coverage is furthest below, or else above, what was promised."""
    odd = found.odd_parts
    if not odd:
        return "" if not found.parts else ", and no part of the rows stands out"
    narrow = [part for part in odd if part.sign < 0]
    one = max(narrow or odd, key=lambda part: (abs(part.share - part.level), part.label))
    kind = next(part.title for part in found.parts if one in part.shares)
    more = f", and {len(odd) - 1} other parts stand out" if len(odd) > 2 else (
        ", and one other part stands out" if len(odd) == 2 else "")  # fmt: skip
    fine = abs(np.mean(found.inside) - LEVEL) <= SMALL
    word = "and" if one.share >= one.level else "but only" if fine else "and only"
    return f", {word} {percent(one.share)} {_place(kind, one)}{more}"


def _place(kind: str, one: CoveredShare) -> str:
    """Where a part is: "by" and what rows were cut by, and the label."""
    by = kind.removeprefix("by ")
    if by == "region":
        return f"where {one.label}"
    if by == "prediction":
        word, ends = one.label.split(" ", 1)
        return f"where predictions are {word} {ends}"
    if by == "the class that was predicted":
        return f"where the predicted class is {one.label}"
    return f"where the {by} is {one.label}" if " " in by else f"where {by} is {one.label}"


def class_errors(found: JudgedClasses) -> str:
    own, right = found.material, float(np.mean(found.inside))
    plain = {
        name: float(np.mean(one.argmax(axis=1) == found.codes))
        for name, one in found.baselines.items()
    }
    usual = plain.pop("mean")
    best = max(plain, key=lambda name: (plain[name], name))
    verdict = "" if right > max(usual, plain[best]) else ", so the model is no better than these"
    return (
        f"The most probable class of {own.target} is right in {percent(right)} of the rows, where "
        f"always naming the most frequent class is right in {percent(usual)} and "
        f"{ARTICLES.get(best, best)} in {percent(plain[best])}{verdict}."
    )


def class_bars(found: JudgedClasses) -> str:
    told = reliability(*reliable(found), seed=found.material.seed)
    off = percent(told.error)
    if told.error <= told.by_chance:
        text = f"The probabilities can be believed: they are off by {off} on average, as by chance"
    elif told.error <= SMALL:
        text = f"The probabilities are nearly right: they are off by {off} on average"
    else:
        gap = float(np.mean(found.level) - np.mean(found.inside))
        word = "overconfident" if gap > SMALL else "underconfident" if gap < -SMALL else "not right"
        text = f"The probabilities are {word}: they are off by {off} on average"
    odd = found.odd_parts
    if not odd:
        return f"{text}, and no part of the rows stands out."
    one = max(odd, key=lambda part: (abs(part.share - part.level), part.label))
    kind = next(part.title for part in found.parts if one in part.shares)
    return (
        f"{text}; {_place(kind, one)}, {percent(one.share)} are right and "
        f"{percent(one.level)} were promised."
    )


def reliable(found: JudgedClasses) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities and what came true: of two classes of the second, else of the likeliest."""
    if found.probability.shape[1] == 2:
        return found.probability[:, 1], found.codes == 1
    return found.probability.max(axis=1), found.inside


def columns_and_places(material: Material, places: list[NextPlace]) -> str:
    share, names = material.importance, material.names
    some = [j for j in material.by_importance if share[j] >= 0.05][:3]
    if not some:
        text = "No column matters by itself"
    else:
        words = [f"{names[j]} ({percent(share[j], 0)})" for j in some]
        words[0] = words[0].removesuffix(")") + " of what the model explains)"
        said = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
        text = f"What matters most is {said}"
    if not places:
        return f"{text}."
    return f"{text}; to learn more, measure next near {places[0].words}, where it knows least."


def verdict_section(lines: tuple[str, str, str]) -> Safe:
    return element("div", *(paragraph(one) for one in lines), class_="verdict")
