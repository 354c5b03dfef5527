"""Judge error bars, overall and part by part: figures that pictures and reports share.

Everything is a function of plain arrays, one number per row. The probability integral transform u =
P(Y ≤ y) of each row comes first (`predicted.py`): y lies inside the central interval of probability
c where |2u − 1| ≤ c.
"""

from .baselines import BaselineError, baseline_errors, baseline_predictions
from .classes import Reliability, reliability
from .coverage import (
    CoveredShare,
    coverage_by_group,
    coverage_by_size,
    coverage_by_third,
    coverage_of_levels,
    covered_share,
    covers,
)
from .histogram import PitHistogram, pit_histogram, randomised_pit
from .predicted import Predicted, predicted_rows
from .regions import RowRegion, Slab, coverage_by_region, split_regions, worst_slab
from .rolling import RollingFigures, rolling_figures

__all__ = ["BaselineError", "CoveredShare", "PitHistogram", "Predicted", "RowRegion"]
__all__ += ["Reliability", "RollingFigures", "Slab", "baseline_errors", "baseline_predictions"]
__all__ += ["coverage_by_group", "coverage_by_region", "coverage_by_size", "coverage_by_third"]
__all__ += ["coverage_of_levels", "covered_share", "covers", "pit_histogram", "predicted_rows"]
__all__ += ["randomised_pit", "reliability", "rolling_figures", "split_regions", "worst_slab"]
