"""Axes, colours and grids that all pictures share."""

from numbers import Real

import numpy as np
from sklearn.utils import check_array

#: Blue, vermilion and grey: safe for the colour-blind.
LINE, TRUTH, DOTS = "#0072B2", "#D55E00", "#444444"
GRID = 400


def new_axes(ax):
    return pyplot().subplots(layout="constrained")[1] if ax is None else ax


def pyplot():
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "collegium[plot]"') from error
    return plt


def two_axes():
    return pyplot().subplots(2, 1, sharex=True, layout="constrained", height_ratios=(3, 1))[1]


def grid(low, high, n=GRID):
    return np.linspace(low, high, n)[:, None]


def one_column(X, name):
    X = check_array(X, dtype=np.float64, input_name=name)
    if X.shape[1] != 1:
        raise ValueError(f"{name} has {X.shape[1]} columns: only one input can be drawn")
    return X


def check_ends(low, high):
    for name, value in (("low", low), ("high", high)):
        if not (isinstance(value, Real) and np.isfinite(value)):
            raise ValueError(f"{name}={value!r}: give a number, an end of the curve")
    if not low < high:
        raise ValueError(f"low={low!r} must be below high={high!r}")
    return float(low), float(high)
