"""How many predictions a page may ask for, by how long each takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Budget:
    """Numbers of rows and points, chosen so that a page takes less than a minute."""

    rows: int  # that a page looks at, unless more are asked for
    drawn: int  # columns whose effects are drawn
    averaged: int  # rows that an effect is averaged over
    points: int  # of a curve
    candidates: int  # places that may be named next; rows that are asked for more than moments
    compared: int  # of these, whose covariances are looked at
    coarse: int  # pixels of a map in place of each so many along a side
    importance: int  # rows that shares of the variance are averaged over


QUICK = Budget(20_000, 6, 25, 13, 1_000, 60, 1, 300)
#: Each answer takes some milliseconds: it comes from its own nearest rows.
SLOW = Budget(5_000, 6, 12, 9, 200, 50, 3, 100)
#: Probabilities of several classes, which are integrals over as many functions.
CLASSES = Budget(5_000, 4, 12, 9, 200, 50, 4, 60)
MANY_CLASSES = Budget(1_000, 4, 12, 7, 100, 20, 8, 40)
#: Classes from which on there are many.
MANY = 10


def budget_of(model: Any) -> Budget:
    """Choose by what kind of model it is, never by a clock, so that pages stay the same."""
    classes = len(getattr(model, "classes_", ()))
    if classes > 2:
        return CLASSES if classes < MANY else MANY_CLASSES
    return SLOW if answers_slowly(model.model_) else QUICK


def answers_slowly(own: Any) -> bool:
    """Whether each answer comes from nearest rows of its own, with no cells that share them."""
    if not getattr(own, "costly_means", False) or getattr(own, "averaged", None):
        return False
    return getattr(getattr(own, "answering", None), "cells", None) is None
