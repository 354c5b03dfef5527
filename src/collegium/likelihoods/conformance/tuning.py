"""Tuning numbers of this room: changing one changes which likelihoods pass."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ConformanceTuning:
    """Steps of differences, and the errors that are forgiven."""

    step: float = 1e-3  # of five-point differences in f and in logs of parameters
    relative: float = 1e-5  # error of a derivative, relative to its value
    absolute: float = 1e-7  # error of a derivative, relative to the largest of all
    close: float = 1e-6  # relative error of an integral


TUNING = ConformanceTuning()
