"""Draw what happens in time: forecasts of series, and how well a stream is predicted."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..diagnostics.rolling import RollingFigures, rolling_figures
from ..interface.checks.arguments import check_coverage, whole_number
from ..interface.streams.watching import Progressive, StreamCheck
from ..rows.partition import evenly_spaced
from ..tables.reading import DATE, Found, names_of
from .axes import (
    ABOVE, BAND, DOTS, FAINT, INNER, LINE, TRUTH, dress, legend, new_axes, percent, shortened,
    two_axes,
)  # fmt: skip
from .judged import check_model, count_rows, read_column, take_rows, target_name

Array = np.ndarray
#: Moments of the past that are drawn one by one; of more, the range of each of so many stretches.
AS_DOTS, STRETCHES = 2_000, 500
#: Moments of the future that are asked about, evenly spaced, where there are more.
ASKED = 1_000
EQUAL = {"nrows": 2, "sharex": True}
